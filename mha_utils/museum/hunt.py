"""A game: suspects without a name, an accusation, a score sheet."""

import random

import torch

from mha_utils.core.contracts import require_seed
from mha_utils.museum.bug import FOUND, Mutant
from mha_utils.museum.steps import Steps

LEVELS = {
    1: ("projecting", "weighing"),
    2: ("masking",),
    3: ("dropping",),
}
SUSPECTS = 3


class Hunt:
    """Three pieces of the museum of one level, to be found by probes. Prints as a score sheet.

    Args:
        level: 1 projections, scores and softmax; 2 masks; 3 dropout.
        seed: which three.

    Raises:
        ValueError: if there is no such level, or the seed is not an integer of at least 0.
    """

    def __init__(self, level: int = 1, seed: int = 0):
        if level not in LEVELS:
            raise ValueError(f"level must be one of {list(LEVELS)}, got {level!r}")
        require_seed(seed)
        self.level = level
        self.names = [m.name for m in FOUND if _room(m) in LEVELS[level]]
        chosen = random.Random(seed).sample([m for m in FOUND if m.name in self.names], SUSPECTS)
        self._pieces = dict(enumerate(chosen, start=1))
        self.accusations: dict[int, list[str]] = {number: [] for number in self._pieces}

    def suspect(self, number: int, dropout: float = 0.0) -> Steps:
        """A fresh module (8 columns, 4 heads) with the fault of suspect 1, 2 or 3.

        Raises:
            ValueError: if there is no such suspect.
        """
        self._require_suspect(number)
        kind = type("Suspect", (self._pieces[number].module,), {"__doc__": "Who is it?"})
        return with_numbers(kind, dropout)

    def accuse(self, number: int, name: str) -> "Hunt":
        """Say which piece of the museum a suspect is; the sheet says whether that is so.

        Raises:
            ValueError: if there is no such suspect, or no such piece in this level.
        """
        self._require_suspect(number)
        if name not in self.names:
            raise ValueError(f"level {self.level} has no {name!r}; it has {self.names}")
        self.accusations[number].append(name)
        return self

    def found(self) -> int:
        """How many suspects have been named."""
        return sum(self._pieces[n].name in names for n, names in self.accusations.items())

    def __repr__(self) -> str:
        lines = [self._line(number) for number in self._pieces]
        return "\n".join([f"level {self.level}: {self.found()} of {SUSPECTS} found", *lines])

    def _line(self, number: int) -> str:
        piece, tried = self._pieces[number], self.accusations[number]
        if piece.name in tried:
            return f"  {number}  ✓ {piece.name} ({piece.place}), accusation {len(tried)}"
        return f"  {number}  ? {f'not {tried[-1]}' if tried else 'no accusation yet'}"

    def _require_suspect(self, number: int) -> None:
        if number not in self._pieces:
            raise ValueError(f"suspects are {list(self._pieces)}, got {number!r}")


def with_numbers(kind: type, dropout: float = 0.0, seed: int = 0):
    """kind(8, 4, dropout) in evaluation, with parameters drawn anew: biases are not small."""
    module = kind(8, 4, dropout)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return module.eval()


def _room(piece: Mutant) -> str:
    return piece.module.__module__.rpartition(".")[2]
