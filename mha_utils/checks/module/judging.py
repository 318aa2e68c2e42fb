"""Hold a whole multi-head attention to the NumPy reference, and name the mistake if it is known."""

import functools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch

from mha_utils.checks.judge import close
from mha_utils.checks.module import dropout_probe
from mha_utils.checks.module.adapter import Adapter
from mha_utils.checks.module.attempts import Attempt, Results
from mha_utils.checks.module.diagnosis import (
    can_probe_dropout,
    diagnosis,
    dropout_diagnosis,
    dropout_findings,
)
from mha_utils.checks.module.naming import UnclearError
from mha_utils.checks.module.scenarios import SCENARIOS, Scenario, draw, for_sizes
from mha_utils.checks.report import RAISED, Report, name_of, raised

NOT_TRIED = {
    "context": "cross-attention",
    "mask": "masks",
    "causal": "is_causal",
    "empty rows": "rows with nothing to attend to",
    "dropout": "dropout",
}
KINDS = {"out": "the output", "weights": "the weights"}


class WrongError(Exception):
    """Carries the message of a failed check, and whether only numbers were wrong."""

    def __init__(self, message: str, only_numbers: bool = False):
        super().__init__(message)
        self.only_numbers = only_numbers


def check_module(answer, adapter: Adapter, seed: int) -> Report:
    """Try `answer` on every scenario that its adapter can play; then look at its dropout."""
    name, adapter = name_of(answer), replace(adapter, build=functools.cache(adapter.build))
    attempts = [Attempt(adapter, draw(s, seed)) for s in scenarios_for(adapter)]
    try:
        for attempt in attempts:
            require_right(name, attempt)
    except WrongError as wrong:
        return Report(False, f"{wrong}{diagnosis(adapter, attempts) if wrong.only_numbers else ''}")
    try:
        for training in (True, False) if can_probe_dropout(adapter) else ():
            require_right_dropout(name, adapter, training)
    except WrongError as wrong:
        return Report(False, f"{wrong}{dropout_diagnosis(adapter) if wrong.only_numbers else ''}")
    left_out = [text for key, text in NOT_TRIED.items() if key not in adapter.takes]
    not_tried = f"; not tried: {', '.join(left_out)}" if left_out else ""
    has_weights = any("weights" in attempt.results() for attempt in attempts)
    tried = "outputs, gradients and weights" if has_weights else "outputs and gradients"
    return Report(True, f"✓ {name}: {tried} right in {len(attempts)} cases{not_tried}")


def scenarios_for(adapter: Adapter) -> list[Scenario]:
    """Those that the adapter can play; all of them causal if the module always is."""
    everything = for_sizes(*adapter.sizes) if adapter.sizes else SCENARIOS
    found = [s for s in everything if s.needs <= adapter.takes]
    if adapter.always_causal:
        found = [replace(s, is_causal=True) for s in found]
    return list(dict.fromkeys(found))


def require_right(name: str, attempt: Attempt) -> None:
    """Raise WrongError at the first thing that is wrong in this case."""
    where = describe(name, attempt.case.scenario)
    for need_weights in (True, False):
        found = told(name, where, lambda need=need_weights: attempt.results(need))
        require_tensors(name, attempt, where)
        if attempt.changed:
            raise WrongError(f"✗ {where} changes its input {attempt.changed[0]} in place")
        require_shapes(found, attempt.expected, where)
        for kind in ("out", "weights"):
            if kind in found and not close(found[kind], attempt.expected[kind]):
                raise WrongError(numbers(kind, found[kind], attempt.expected[kind], where), True)
    for kind, dtype in attempt.dtypes.items():
        if dtype != torch.float32:
            raise WrongError(f"✗ {where}: {KINDS[kind]} should be torch.float32, got {dtype}")
    if attempt.case.scenario.with_gradient:
        require_gradients(attempt.results(), attempt.expected, where)


def told(name: str, where: str, play: Callable):
    """play(); what the answer raises is shown as the answer's own."""
    try:
        return play()
    except UnclearError:
        raise
    except NotImplementedError:
        raise WrongError(f"○ {name}: not solved yet (it raised NotImplementedError)") from None
    except RAISED as error:
        raise WrongError(f"✗ {where} {raised(error)}") from error


def require_tensors(name: str, attempt: Attempt, where: str) -> None:
    if attempt.came in ("NoneType", "ellipsis"):
        raise WrongError(f"○ {name}: not solved yet (no tensor came; is there a `return`?)")
    if "out" not in attempt.dtypes:
        raise WrongError(f"✗ {where}: the output should be a tensor, got {attempt.came}")


def require_shapes(found: Results, expected: Results, where: str) -> None:
    for kind, meaning in KINDS.items():
        if kind in found and found[kind].shape != expected[kind].shape:
            wanted, came = expected[kind].shape, found[kind].shape
            raise WrongError(f"✗ {where}: {meaning} should have shape {wanted}, got {came}")


def require_gradients(found: Results, expected: Results, where: str) -> None:
    grads = {n: g for n, g in expected.items() if n not in ("out", "weights")}
    if not any(n in found for n in grads):
        raise WrongError(f"✗ {where}: the output is right, but no gradient flows back", True)
    wrong = [n for n in grads if n in found and not close(found[n], grads[n])]
    if wrong:
        text = f"✗ {where}: the output is right, and the gradient is wrong for {', '.join(wrong)}"
        raise WrongError(text, True)


def numbers(kind: str, came: np.ndarray, expected: np.ndarray, where: str) -> str:
    """Where it is furthest off, with the row of numbers around it."""
    off = np.nan_to_num(np.abs(came - expected), nan=np.inf)
    at = np.unravel_index(np.argmax(off), off.shape)
    place = ", ".join(str(int(i)) for i in at[:-1])
    return (
        f"✗ {where}: {'the weights have' if kind == 'weights' else 'the output has'} the right "
        f"shape and wrong numbers.\n"
        f"  Furthest off in {kind}[{place}]: expected {row(expected[at[:-1]])}\n"
        f"  {' ' * len(f'Furthest off in {kind}[{place}]:')} got      {row(came[at[:-1]])}"
    )


def row(values: np.ndarray) -> str:
    shown = ", ".join(f"{v:.4f}" for v in values[:8])
    return f"[{shown}{', ...' if len(values) > 8 else ''}]"


def require_right_dropout(name: str, adapter: Adapter, training: bool) -> None:
    where = f"{name} with dropout={dropout_probe.P}"
    found = told(name, where, lambda: dropout_findings(adapter, training))
    complaint = dropout_probe.complaint(found, training)
    if complaint:
        raise WrongError(f"✗ {where}: {complaint}", True)


def describe(name: str, scenario: Scenario) -> str:
    width, (query_len, key_len) = scenario.embed_dim, scenario.lengths
    x = (scenario.batch_size, query_len, width)
    context = f", context {(scenario.batch_size, key_len, width)}" if scenario.key_len else ""
    masks = {"all": "(T, S)", "padding": "(B, 1, 1, S)", "heads": "(B, H, T, S)", "empty": "(T, S)"}
    mask = f", mask {masks[scenario.mask]}" if scenario.mask else ""
    causal = ", is_causal=True" if scenario.is_causal else ""
    mode = "training" if scenario.training else "evaluation"
    sizes = f"embed_dim={width}, num_heads={scenario.num_heads}"
    return f"{name}({sizes}) in {mode}, x {x}{context}{mask}{causal}"
