"""A game: suspects without a name, an accusation, a score sheet; and the cast of chapter 12."""

import random

import torch

from mha_utils.core.guards import require_seed
from mha_utils.core.modules import MultiHeadAttention
from mha_utils.museum.rooms import MUSEUM, bug
from mha_utils.museum.steps import Steps

LEVELS = {
    1: ("projecting", "weighing"),
    2: ("masking",),
    3: ("dropping",),
    4: ("extending",),
}
SUSPECTS = 3
BIRDS = {  # of chapter 12, and what their layers are; here, so that no cell tells
    "Lark": "merge without transpose",
    "Robin": "q and k swapped",
    "Thrush": "detached scores",
    "Wren": "",
}
WRONG_LINES = {"X": "F.softmax", "Y": "none: it is right", "Z": "masked_fill"}  # of its suspects


def four_layers() -> dict[str, type]:
    """Bird -> the class of its attention layer: one of the four is right."""
    return {name: bug(what).module if what else MultiHeadAttention for name, what in BIRDS.items()}


class Hunt:
    """Three bugs of one level, to be found by probes. Prints as a score sheet.

    Args:
        level: 1 projections, scores and softmax; 2 masks; 3 dropout; 4 shared heads, rotary,
            cache and windows.
        seed: which three.

    Raises:
        ValueError: if there is no such level, or the seed is not an integer of at least 0.
    """

    def __init__(self, level: int = 1, seed: int = 0):
        if level not in LEVELS:
            raise ValueError(f"level must be one of {list(LEVELS)}, got {level!r}")
        require_seed(seed)
        self.level = level
        bugs = [bug for bug in MUSEUM if bug.room in LEVELS[level]]
        self.names = [bug.name for bug in bugs]
        self._bugs = dict(enumerate(random.Random(seed).sample(bugs, SUSPECTS), start=1))
        self.accusations: dict[int, list[str]] = {number: [] for number in self._bugs}

    def suspect(self, number: int, dropout: float = 0.0, **options) -> Steps:
        """A fresh module (8 columns, 4 heads) with the fault of suspect 1, 2 or 3.

        `options` are more arguments of the layer: `num_kv_heads=2`, `rotary=Rotary(2)`.

        Raises:
            ValueError: if there is no such suspect.
        """
        self._require_suspect(number)
        kind = type("Suspect", (self._bugs[number].module,), {"__doc__": "Who is it?"})
        return with_numbers(kind, dropout, **options)

    def accuse(self, number: int, name: str) -> "Hunt":
        """Say which bug a suspect has; the sheet says whether that is so.

        Raises:
            ValueError: if there is no such suspect, or no such bug in this level.
        """
        self._require_suspect(number)
        if name not in self.names:
            raise ValueError(f"level {self.level} has no {name!r}; it has {self.names}")
        self.accusations[number].append(name)
        return self

    def found(self) -> int:
        """How many suspects have been named."""
        return sum(self._bugs[n].name in names for n, names in self.accusations.items())

    def __repr__(self) -> str:
        lines = [self._line(number) for number in self._bugs]
        return "\n".join([f"level {self.level}: {self.found()} of {SUSPECTS} found", *lines])

    def _line(self, number: int) -> str:
        bug, tried = self._bugs[number], self.accusations[number]
        if bug.name in tried:
            return f"  {number}  ✓ {bug.name} ({bug.place}), accusation {len(tried)}"
        return f"  {number}  ? {f'not {tried[-1]}' if tried else 'no accusation yet'}"

    def _require_suspect(self, number: int) -> None:
        if number not in self._bugs:
            raise ValueError(f"suspects are {list(self._bugs)}, got {number!r}")


def with_numbers(kind, dropout=0.0, seed=0, embed_dim=8, num_heads=4, **options):
    """A layer of class `kind` in evaluation, its parameters drawn anew: biases are not small."""
    module = kind(embed_dim, num_heads, dropout, **options)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return module.eval()
