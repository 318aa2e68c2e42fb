"""Shared heads, positions, a cache, windows: tried on a layer that has these options of ours."""

import inspect
from dataclasses import dataclass, field

import numpy as np
import torch

from mha_utils.checks.judge import close
from mha_utils.checks.module.diagnosis import named
from mha_utils.checks.module.judging import require_numbers, shown_as_theirs
from mha_utils.checks.report import Report, WrongError, name_of, or_none
from mha_utils.core.cache import KeyValueCache
from mha_utils.core.modules import MultiHeadAttention
from mha_utils.core.rotary import Rotary
from mha_utils.museum import EXTENDING
from mha_utils.reference import options as oracle

EMBED_DIM, NUM_HEADS, SEQ_LEN = 16, 4, 7
NEEDED = {"mask", "is_causal", "cache"}  # arguments of a layer that can be tried
NAMES = ("q", "k", "v", "out")


@dataclass(frozen=True)
class Trial:
    """One causal text of 7 tokens: how the layer is built, and how it reads the text."""

    name: str
    options: dict = field(default_factory=dict)
    chunks: tuple[int, ...] = (SEQ_LEN,)  # more than one: with a cache
    capacity: int = SEQ_LEN
    window: tuple[int, int] | None = None  # keys, sinks


TURNED = {"rotary": Rotary(EMBED_DIM // NUM_HEADS)}
TRIALS = (
    Trial("two heads of keys for four of queries", {"num_kv_heads": 2}),
    Trial("rotary positions", TURNED),
    Trial("a cache, token by token", TURNED, (1,) * SEQ_LEN),
    Trial("a cache, piece by piece", TURNED | {"num_kv_heads": 1}, (3, 4)),
    Trial("a cache for 6 tokens of 7", {}, (3, 3, 1), capacity=6),
    Trial("a window of 3 keys", window=(3, 0)),
    Trial("a window of 2 keys and a sink", window=(2, 1)),
)


def trials_for(kind) -> list[Trial]:
    """Those that a class can play; none if it is not called as our layer is."""
    if not inspect.isclass(kind) or not set(inspect.signature(kind.forward).parameters) >= NEEDED:
        return []
    known = set(inspect.signature(kind).parameters)
    return [t for t in TRIALS if known >= set(t.options) and (not t.window or has_window(kind))]


def has_window(kind) -> bool:
    """Whether it makes its own windows; where the caller gives a mask, the caller is asked."""
    return hasattr(kind, "window")


def with_options(answer, report: Report, seed: int) -> Report:
    """The report, and what the trials add to it."""
    trials = trials_for(answer) if report else []
    try:
        for trial in trials:
            require_right(answer, trial, seed)
    except WrongError as wrong:
        return Report(False, f"{wrong}{diagnosis(answer, trials, seed)}")
    added = f", and in {len(trials)} with options" if trials else ""
    return Report(report.passed, report.message + added)


def require_right(answer, trial: Trial, seed: int) -> None:
    """Raise a WrongError unless the layer gives what the oracle gives."""
    where = f"{name_of(answer)} with {trial.name}"
    if trial.capacity >= SEQ_LEN:
        got = shown_as_theirs(answer, where, lambda: played(answer, trial, seed))
        require_numbers("out", got, expected(trial, seed), where)
    elif or_none(played, answer, trial, seed) is not None:
        raise WrongError(f"✗ {where} should raise a ValueError: the cache is full")


def diagnosis(answer, trials: list[Trial], seed: int) -> str:
    """The bug that gives the same outputs in every trial."""
    found = [or_none(played, answer, trial, seed) for trial in trials]
    for bug in EXTENDING:
        others = [or_none(played, bug.module, trial, seed) for trial in trials]
        if all(map(are_same, found, others)):
            return f"\n  {named(bug)}"
    return ""


def are_same(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    """Whether both are refused, or both are given and equal."""
    return a is b if a is None or b is None else a.shape == b.shape and close(a, b)


def built(kind, trial: Trial, seed: int):
    """A layer and x in float64, the same numbers for every class."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layer = kind(EMBED_DIM, NUM_HEADS, dtype=torch.float64, **trial.options).eval()
        return layer, torch.randn(2, SEQ_LEN, EMBED_DIM, dtype=torch.float64)


@torch.no_grad()
def played(kind, trial: Trial, seed: int) -> np.ndarray:
    """The outputs for all tokens, one chunk after the other."""
    layer, x = built(kind, trial, seed)
    given = {"is_causal": True}
    if trial.window:
        given["mask"] = layer.window(SEQ_LEN, SEQ_LEN, *trial.window)
    if len(trial.chunks) > 1:
        num_kv_heads = trial.options.get("num_kv_heads", NUM_HEADS)
        sizes = len(x), num_kv_heads, trial.capacity, EMBED_DIM // NUM_HEADS
        given["cache"] = KeyValueCache(*sizes, dtype=torch.float64)
    outs = [layer(part, **given) for part in x.split(trial.chunks, dim=1)]
    return torch.cat(outs, dim=1).numpy()


def expected(trial: Trial, seed: int) -> np.ndarray:
    """What the oracle gives for the whole text."""
    layer, x = built(MultiHeadAttention, trial, seed)
    arrays = {n: p.detach().numpy() for n, p in layer.named_parameters()}
    parameters = {n: (arrays[f"{n}_proj.weight"], arrays[f"{n}_proj.bias"]) for n in NAMES}
    distance = np.subtract.outer(np.arange(SEQ_LEN), np.arange(SEQ_LEN))  # query - key
    window, sinks = trial.window or (SEQ_LEN, 0)
    mask = (distance >= 0) & ((distance < window) | (np.arange(SEQ_LEN) < sinks))
    positions = range(SEQ_LEN) if layer.rotary else None
    given = x.numpy(), parameters, layer.head_dim, np.zeros(x.shape), mask, positions
    return oracle.self_attention(*given)["out"]
