"""Judge a probe: does it accuse the modules that have a fault, and no other?"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from mha_utils.checks.exercise import Asked
from mha_utils.checks.report import WrongError, call_answer, name_of, shown
from mha_utils.core.modules import MultiHeadAttention
from mha_utils.museum import bug, with_numbers

THE_RIGHT = "the right module"
INNOCENT = ("no scale", "v through k's projection", "causal off by one: a token cannot see itself")
SAME = "are the two runs really different? (`b = a` is no copy, `a.clone()` or a deepcopy is)"


@dataclass(frozen=True, kw_only=True)
class Probe(Asked):
    """An exercise that asks for a probe: it has to accuse the modules with a fault, no other.

    `does` says what the fault is, `guilty` which bugs of the museum have it, `hint` what to ask a
    reader whose probe accuses the right module.
    """

    does: str
    guilty: tuple[str, ...]
    hint: str

    def judge(self, answer: Callable, seed: int) -> str:
        """Call the probe with the right module and with bugs; seed is not used."""
        innocent = [name for name in INNOCENT if name not in self.guilty]
        right = dict.fromkeys(self.guilty, True) | dict.fromkeys(innocent, False)
        accused = {THE_RIGHT: _verdict(answer, THE_RIGHT, MultiHeadAttention)}
        accused |= {name: _verdict(answer, name, bug(name).module) for name in right}
        for name, is_guilty in ({THE_RIGHT: False} | right).items():
            if accused[name] != is_guilty:
                what = (
                    f"lets go: {name!r}, which {self.does}" if is_guilty else f"accuses: {name!r}"
                )
                raise WrongError(f"✗ {name_of(answer)} {what}{self._hint(accused, right)}")
        return f"right about all {len(accused)} suspects"

    def _hint(self, accused: dict[str, bool], right: dict[str, bool]) -> str:
        if accused[THE_RIGHT] and all(accused[name] != right[name] for name in right):
            return "\n  All verdicts are the other way round: True = the fault is there"
        if accused[THE_RIGHT]:
            return f"\n  Even the right module: {self.hint}"
        return "" if any(accused.values()) else f"\n  It accuses nobody: {SAME}"


def _verdict(probe: Callable, label: str, kind: type) -> bool:
    name = name_of(probe)
    verdict = call_answer(probe, [with_numbers(kind)], f"{name} ({label})")
    shape = tuple(getattr(verdict, "shape", ()))
    if math.prod(shape) != 1:
        raise WrongError(f"✗ {name} should return one True or False, got a tensor of shape {shape}")
    if verdict not in (True, False):
        raise WrongError(f"✗ {name} should return True or False, got {shown(verdict)}")
    return bool(verdict)
