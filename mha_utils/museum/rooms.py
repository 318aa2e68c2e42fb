"""All bugs of the museum, room by room, in the order in which they stand there."""

import difflib

from mha_utils.cells import is_a_cell_asking
from mha_utils.museum import dropping, extending, masking, projecting, weighing
from mha_utils.museum.label import LABELLED, Bug

ROOMS = (projecting, weighing, masking, dropping, extending)
MUSEUM = tuple(b for room in ROOMS for b in LABELLED if b.module.__module__ == room.__name__)
DROPPING = tuple(b for b in MUSEUM if b.room == "dropping")  # right without dropout
EXTENDING = tuple(b for b in MUSEUM if b.room == "extending")  # right without options


def bug(name: str) -> Bug:
    """The bug of that name; in a cell of a notebook one of a name like it, which is said.

    Raises:
        ValueError: if there is none.
    """
    found = {b.name: b for b in MUSEUM}
    if name in found:
        return found[name]
    if not is_a_cell_asking():
        raise ValueError(f"no bug is called {name!r}; there are {list(found)}")
    (nearest,) = difflib.get_close_matches(str(name), found, n=1, cutoff=0)
    print(f"No bug is called {name!r}. We go on with {nearest!r}.")
    return found[nearest]
