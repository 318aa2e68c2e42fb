"""The bug museum: wrong multi-head attention, each piece with every shape right.

Every piece is `Steps`, the right module, with one step exchanged. Where it was seen stands in
`source`, where it is taught in `chapter` and `section`.
"""

from mha_utils.museum import projecting, weighing, masking, dropping  # isort: skip  (room 1 to 4)
from mha_utils.museum.bug import FOUND, Mutant
from mha_utils.museum.hunt import Hunt, with_numbers
from mha_utils.museum.steps import Steps

__all__ = ["DROPPING", "MUSEUM", "ROOMS", "Hunt", "Mutant", "Steps", "mutant", "with_numbers"]

ROOMS = (projecting, weighing, masking, dropping)
MUSEUM = tuple(FOUND)
DROPPING = tuple(m for m in MUSEUM if m.module.__module__ == dropping.__name__)  # right without it


def mutant(name: str) -> Mutant:
    """The piece of that name.

    Raises:
        ValueError: if there is none.
    """
    found = [m for m in MUSEUM if m.name == name]
    if not found:
        raise ValueError(f"no mutant is called {name!r}; there are {[m.name for m in MUSEUM]}")
    return found[0]
