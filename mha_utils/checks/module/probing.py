"""Judge a probe: does it accuse the modules that have a fault, and no other?"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from mha_utils.checks.report import Report, WrongError, name_of, run_answer, shown
from mha_utils.core.modules import MultiHeadAttention
from mha_utils.museum import mutant, with_numbers

INNOCENT = ("no scale", "v through k's projection", "causal off by one: a token cannot see itself")
SAME = "are the two runs really different? (`b = a` is no copy, `a.clone()` is)"


@dataclass(frozen=True, kw_only=True)
class Probe:
    """An exercise that asks for a probe: it has to accuse the modules with a fault, no other.

    `asks` says what the probe gets and returns; `does` what the fault is, `guilty` which pieces
    of the museum have it, `hint` what to ask a reader whose probe accuses the right module.
    """

    asks: str
    does: str
    guilty: tuple[str, ...]
    hint: str

    def __post_init__(self):
        object.__setattr__(self, "__doc__", f"Check {self.asks}")

    def __call__(self, probe: Callable) -> Report:
        """Hold `probe(module)` to modules with the fault (True) and without it (False)."""
        suspects = [("the right module", MultiHeadAttention, False)]
        suspects += [(n, mutant(n).module, True) for n in self.guilty]
        suspects += [(n, mutant(n).module, False) for n in INNOCENT]
        try:
            verdicts = [_verdict(probe, label, kind) for label, kind, _ in suspects]
        except WrongError as wrong:
            return Report(False, str(wrong))
        for (label, _, is_guilty), verdict in zip(suspects, verdicts):
            if verdict != is_guilty:
                what = (
                    f"lets go: {label!r}, which {self.does}" if is_guilty else f"accuses: {label!r}"
                )
                hint = self._hint(verdicts, [guilty for *_, guilty in suspects])
                return Report(False, f"✗ {name_of(probe)} {what}{hint}")
        return Report(True, f"✓ {name_of(probe)}: right about all {len(suspects)} suspects")

    def _hint(self, verdicts: list[bool], right: list[bool]) -> str:
        if all(verdict != guilty for verdict, guilty in zip(verdicts, right)):
            return "\n  All verdicts are the other way round: True = the fault is there"
        if verdicts[0]:
            return f"\n  Even the right module: {self.hint}"
        if not any(verdicts):
            return f"\n  It accuses nobody: {SAME}"
        return ""


def _verdict(probe: Callable, label: str, kind: type) -> bool:
    name = name_of(probe)
    verdict = run_answer(probe, [with_numbers(kind)], f"{name} ({label})")
    if verdict is None or verdict is Ellipsis:
        hint = "; is there a `return` on every way?" if verdict is None else ""
        raise WrongError(f"○ {name}: not solved yet (it returned {verdict!r}{hint})")
    shape = tuple(getattr(verdict, "shape", ()))
    if math.prod(shape) != 1:
        raise WrongError(f"✗ {name} should return one True or False, got a tensor of shape {shape}")
    if verdict not in (True, False):
        raise WrongError(f"✗ {name} should return True or False, got {shown(verdict)}")
    return bool(verdict)
