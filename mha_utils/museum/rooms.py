"""All bugs of the museum, room by room, in the order in which they stand there."""

from mha_utils.museum import dropping, extending, masking, projecting, weighing
from mha_utils.museum.label import LABELLED, Bug

ROOMS = (projecting, weighing, masking, dropping, extending)
MUSEUM = tuple(b for room in ROOMS for b in LABELLED if b.module.__module__ == room.__name__)
DROPPING = tuple(b for b in MUSEUM if b.room == "dropping")  # right without dropout
EXTENDING = tuple(b for b in MUSEUM if b.room == "extending")  # right without options


def bug(name: str) -> Bug:
    """The bug of that name.

    Raises:
        ValueError: if there is none.
    """
    found = {b.name: b for b in MUSEUM}
    if name not in found:
        raise ValueError(f"no bug is called {name!r}; there are {list(found)}")
    return found[name]
