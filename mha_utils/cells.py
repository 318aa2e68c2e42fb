"""Lenient in a notebook: an impossible value raises, but in a cell the nearest one is taken."""

import sys

CHECKERS = ("jaxtyping", "beartype")  # they stand between caller and called


def is_a_cell_asking() -> bool:
    """Whether a cell, or a function that a cell has made, called the function that asks this."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is None:
        return False
    frames = [frame for frame in frames_above() if not is_a_checkers(frame)]
    return len(frames) > 1 and frames[1].f_globals is shell.user_global_ns


def frames_above():
    """The frames above this module's, the nearest first."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_globals is not globals():
            yield frame
        frame = frame.f_back


def is_a_checkers(frame) -> bool:
    """Whether it belongs to what checks annotations in the tests."""
    module, file = str(frame.f_globals.get("__name__")), frame.f_code.co_filename
    return module.startswith(CHECKERS) or "beartype" in file or "jaxtyping" in file
