"""Judge a probe: does it accuse the modules that have a fault, and no other?"""

from collections.abc import Callable

from mha_utils.checking import Report
from mha_utils.modules import MultiHeadAttention
from mha_utils.museum import mutant, with_numbers

SEES_THE_FUTURE = (
    "causal only in training",
    "merge without transpose",
    "causal off by one: the next token is seen",
    "direct view to heads",
    "stored mask cut at the wrong end",
    "softmax over the queries",
)
SEES_OTHER_SEQUENCES = ("batch and time exchanged by view", "softmax over the batch")
INNOCENT = ("no scale", "v through k's projection", "causal off by one: a token cannot see itself")


def check_probe(probe: Callable, guilty: tuple[str, ...], fault: str) -> Report:
    """Hold `probe(module)` to modules with the fault (True) and without it (False)."""
    name = getattr(probe, "__name__", "the probe")
    suspects = [("the right module", MultiHeadAttention, False)]
    suspects += [(n, mutant(n).module, True) for n in guilty]
    suspects += [(n, mutant(n).module, False) for n in INNOCENT]
    for label, kind, has_fault in suspects:
        try:
            verdict = probe(with_numbers(kind))
        except Exception as error:
            return Report(False, f"✗ {name} raised {type(error).__name__}: {error}")
        if verdict is None or verdict is Ellipsis:
            return Report(False, f"○ {name}: not solved yet (it returned {verdict!r})")
        if verdict not in (True, False):
            return Report(False, f"✗ {name} should return True or False, got {verdict!r}")
        if bool(verdict) != has_fault:
            text = f"lets go: {label!r}, which {fault}" if has_fault else f"accuses: {label!r}"
            return Report(False, f"✗ {name} {text}")
    return Report(True, f"✓ {name}: right about all {len(suspects)} suspects")
