"""Hold a whole multi-head attention to the NumPy reference; say what would make it right."""

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from mha_utils.checks.judge import close
from mha_utils.checks.module import dropout
from mha_utils.checks.module.adapters import Adapter, adapter_for
from mha_utils.checks.module.attempts import (
    Attempt,
    are_same,
    can_look_at_dropout,
    dropout_findings,
    play,
)
from mha_utils.checks.module.diagnosis import diagnosis, dropout_diagnosis
from mha_utils.checks.module.naming import UnclearError
from mha_utils.checks.module.scenarios import (
    SCENARIOS,
    Drawn,
    Results,
    Scenario,
    draw,
    for_sizes,
)
from mha_utils.checks.report import (
    RAISED,
    Report,
    WrongError,
    WrongResultError,
    name_of,
    or_none,
    raised,
    require_filled_in,
    require_returned,
)

NOT_TRIED = {
    "context": "cross-attention",
    "mask": "masks",
    "head masks": "masks of single heads",
    "causal": "is_causal",
    "empty rows": "rows with nothing to attend to",
    "strides": "x that is not contiguous",
    "dropout": "dropout",
}
MEANINGS = {"out": "the output", "weights": "the weights", "plain out": "the output"}


def check_module(answer, adapter: Adapter, seed: int) -> Report:
    """Try `answer` on every scenario that its adapter can play; then look at its dropout."""
    scenarios, attempts = scenarios_for(adapter), []
    try:
        for scenario in scenarios:
            case, where = draw(scenario, seed), f"{name_of(answer)}{scenario.described()}"
            attempts.append(shown_as_theirs(answer, where, lambda c=case: play(adapter, c)))
            require_right(answer, attempts[-1], where)
    except WrongResultError as wrong:
        named = diagnosis(adapter, attempts, scenarios, seed)
        said = f"\n  Assumed: {', '.join(adapter.assumed)}." if adapter.assumed else ""
        return Report(False, f"{wrong}\n  {named}{said}")
    except WrongError as wrong:
        return Report(False, str(wrong))
    try:
        for training in (True, False) if can_look_at_dropout(adapter) else ():
            require_right_dropout(answer, adapter, training)
    except WrongResultError as wrong:
        return Report(False, f"{wrong}{dropout_diagnosis(adapter)}")
    except WrongError as wrong:
        return Report(False, str(wrong))
    takes = adapter.takes if "mask" in adapter.takes else adapter.takes | {"head masks"}
    left_out = [text for key, text in NOT_TRIED.items() if key not in takes]
    not_tried = f"; not tried: {', '.join(left_out)}" if left_out else ""
    has_weights = any("weights" in attempt.results for attempt in attempts)
    tried = "outputs, gradients and weights" if has_weights else "outputs and gradients"
    said = f"; assumed: {', '.join(adapter.assumed)}" if adapter.assumed else ""
    message = f"✓ {name_of(answer)}: {tried} right in {len(attempts)} cases{not_tried}{said}"
    return Report(True, message)


def scenarios_for(adapter: Adapter) -> list[Scenario]:
    """Those that the adapter can play; all of them causal if the module always is."""
    everything = for_sizes(*adapter.sizes) if adapter.sizes else SCENARIOS
    found = [s for s in everything if s.needs <= adapter.takes]
    if adapter.always_causal:
        found = [replace(s, is_causal=True) for s in found]
    return list(dict.fromkeys(found))


def shown_as_theirs(answer, where: str, try_answer: Callable):
    """try_answer(); what the answer raises is shown as the answer's own."""
    try:
        return try_answer()
    except UnclearError:
        raise
    except RAISED as error:
        require_filled_in(answer, error)
        raise WrongError(f"✗ {where} {raised(error)}") from error


def require_right(answer, attempt: Attempt, where: str) -> None:
    """Raise a WrongError at the first thing that is wrong in this case."""
    for output in attempt.outputs:
        require_returned(answer, output)
        if not isinstance(output, Tensor):
            got = type(output).__name__
            raise WrongError(f"✗ {where}: the output should be a tensor, got {got}")
    if attempt.changed:
        raise WrongError(f"✗ {where} changes its input {attempt.changed[0]} in place")
    results, expected = attempt.results, attempt.expected()
    for kind in ("out", "weights", "plain out"):
        if kind in results:
            require_numbers(kind, results[kind], expected[kind.removeprefix("plain ")], where)
    for kind, dtype in attempt.dtypes.items():
        if dtype != torch.float32:
            raise WrongError(f"✗ {where}: {MEANINGS[kind]} should be torch.float32, got {dtype}")
    if attempt.case.scenario.with_gradient:
        require_gradients(results, expected, where)


def require_numbers(kind: str, got: np.ndarray, expected: np.ndarray, where: str) -> None:
    """Shape and numbers; a wrong one is shown with the row of numbers around it."""
    if got.shape != expected.shape:
        shapes = f"{expected.shape}, got {got.shape}"
        raise WrongError(f"✗ {where}: {MEANINGS[kind]} should have shape {shapes}")
    if close(got, expected):
        return
    off = np.nan_to_num(np.abs(got - expected), nan=np.inf)
    *at, _ = np.unravel_index(np.argmax(off), off.shape)
    place = f"Furthest off in {kind.removeprefix('plain ')}[{', '.join(map(str, map(int, at)))}]:"
    have = "have" if kind == "weights" else "has"
    raise WrongResultError(
        f"✗ {where}: {MEANINGS[kind]} {have} the right shape and wrong numbers.\n"
        f"  {place} expected {row(expected[tuple(at)])}\n"
        f"  {' ' * len(place)} got      {row(got[tuple(at)])}"
    )


def row(values: np.ndarray) -> str:
    shown = ", ".join(f"{v:.4f}" for v in values[:8])
    return f"[{shown}{', ...' if len(values) > 8 else ''}]"


def require_gradients(results: Results, expected: Results, where: str) -> None:
    names = [name for name in expected if name not in MEANINGS]
    if not any(name in results for name in names):
        raise WrongResultError(f"✗ {where}: the output is right, but no gradient flows back")
    wrong = [n for n in names if n in results and not close(results[n], expected[n])]
    if wrong:
        what = f"the gradient is wrong for {', '.join(wrong)}"
        raise WrongResultError(f"✗ {where}: the output is right, and {what}")


def require_right_dropout(answer, adapter: Adapter, training: bool) -> None:
    where = f"{name_of(answer)} with dropout={dropout.P}"
    found = shown_as_theirs(answer, where, lambda: dropout_findings(adapter, training))
    complaint = dropout.complaint(found, training)
    if complaint:
        raise WrongResultError(f"✗ {where}: {complaint}")


EQUALS = "\n  Your result equals"
READINGS = (  # in a notebook; in a shell
    ("causal", True, "--causal"),
    ("true_means", "not allowed", "--true-means 'not allowed'"),
    ("true_means", "added", "--true-means added"),
    ("empty_rows", False, "--no-empty-rows"),
)


def proposal(answer, said: dict, seed: int, report: Report) -> str:
    """Lines for a report: what else to say, so that the answer is right or its bug is known."""
    for size in (1,) if EQUALS in repr(report) else (1, 2):
        for chosen in itertools.combinations(READINGS, size):
            options = {name: value for name, value, _ in chosen}
            is_new = len(options) == size and not said.keys() & options.keys()
            if is_new and is_right(answer, said | options, seed):
                written = ", ".join(f"{name}={value!r}" for name, value in options.items())
                flags = " ".join(flag for *_, flag in chosen)
                return f"\n  It is right if you say {written} (in a shell: {flags})."
    return "" if EQUALS in repr(report) else named_otherwise(answer, said, seed)


def named_otherwise(answer, said: dict, seed: int) -> str:
    """The bug that it equals when masks are read in another way."""
    plain = or_none(is_right_in, adapter_for(answer, **said), draw(Scenario(2, 3, 2, 2), seed))
    for name, value, flag in READINGS:
        if name not in said and not (plain and name == "causal"):  # a plain layer sees the future
            report = check_module(answer, adapter_for(answer, **said, **{name: value}), seed)
            _, equals, bug = repr(report).partition(EQUALS)
            if equals:
                return f"\n  If you say {name}={value!r} (in a shell: {flag}):{equals}{bug}"
    return ""


def is_right(answer, options: dict, seed: int) -> bool:
    """Whether it is, with these options; stops at the first case that it gets wrong."""
    try:
        adapter = adapter_for(answer, **options)
        modes = (True, False) if can_look_at_dropout(adapter) else ()
        drops_well = all(dropout_findings(adapter, mode) == dropout.right(mode) for mode in modes)
        cases = (draw(scenario, seed) for scenario in scenarios_for(adapter))
        return drops_well and all(is_right_in(adapter, case) for case in cases)
    except RAISED:
        return False


def is_right_in(adapter: Adapter, case: Drawn) -> bool:
    attempt = or_none(play, adapter, case)
    return attempt is not None and are_same(attempt.results, attempt.expected())
