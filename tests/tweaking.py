"""What a reader changes: every cell below still runs, and laws stay true.

A chapter that trains or measures does it for a few steps here: its table says in `lighter`
what is exchanged for that in all its rows. With MHA_SLOW_TWEAKS=1 (`make tweaks`) nothing is.
Tables that take long even so say `slow = true` and run only then. Rows of every_chapter.toml
belong to each of them.

A worker of pytest takes whole files, so the rows are dealt out to three, each chapter's to all:
they take about as long as each other, whatever is added.
"""

import contextlib
import functools
import os
import re
import tomllib
from collections.abc import Callable
from multiprocessing import Pipe
from pathlib import Path

import pytest

from tools.notebooks import FOLDER
from tools.planting import forget_the_package, in_a_fork
from tools.suite.chapter_runner import code_cells, run


def read(path: Path) -> dict:
    return tomllib.loads(path.read_text("utf-8"))


FOR_ALL = Path(__file__).parent / "tweaks" / "every_chapter.toml"
TABLES = {path.stem: read(path) for path in sorted(FOR_ALL.parent.glob("[0-9]*.toml"))}
for _table in TABLES.values():
    _table["tweaks"] |= read(FOR_ALL)
ALL = "MHA_SLOW_TWEAKS" in os.environ
SLOW = pytest.mark.skipif(not ALL, reason="slow: make tweaks")
CASES = [
    pytest.param(chapter, name, marks=SLOW if table.get("slow") else ())
    for chapter, table in TABLES.items()
    for name in table["tweaks"]
]
FIRST, SECOND, THIRD = (
    pytest.mark.parametrize(("chapter", "name"), CASES[start::3]) for start in range(3)
)
IMPORTS = re.compile(r"^ *(from mha_utils[\w.]* import (?:\([^)]*\)|.*))", re.MULTILINE)
WIDEST = 50  # inches of a picture: more than a page can show, far from what matplotlib refuses


def punished(chapter: str, name: str) -> str | None:
    """What goes wrong in a chapter after an edit of its table, or None."""
    old, new = TABLES[chapter]["tweaks"][name]
    if not any(old in source for source in sources(chapter)):
        return f"no cell has {old!r}"
    return played(chapter, functools.partial(broken, chapter, old, new))


def played(chapter: str, play: Callable[[], str | None]) -> str | None:
    """What play() returns in a fork in which all that the chapter imports is there."""
    plain_process().send((chapter, play))
    return plain_process().recv()


@functools.cache
def plain_process():
    """The way to a process that has the package as a kernel has it.

    In this one jaxtyping looks at every call of the package, and a chapter makes thousands.
    """
    here, there = Pipe()
    if os.fork() == 0:
        try:
            here.close()
            _serve(there)
        finally:
            os._exit(0)  # an error, too, ends it here: the tests go on in the other process
    there.close()
    return here


def _serve(asked) -> None:
    forget_the_package(FOLDER.parent)
    with contextlib.suppress(EOFError):  # the process that asks has ended
        while True:
            chapter, play = asked.recv()
            import_for(chapter)
            asked.send(in_a_fork(FOLDER.parent, play, fresh=False, seconds=600))


@functools.cache  # read once, not for each edit
def sources(chapter: str) -> list[str]:
    found = [cell.source for cell in code_cells(FOLDER / f"{chapter}.ipynb")]
    return found if ALL else [lightened(source, lighter(chapter)) for source in found]


@functools.cache
def import_for(chapter: str) -> None:
    """Import here what the chapter imports from the package, so that no fork has to."""
    for line in IMPORTS.findall("\n".join(sources(chapter))):
        exec(line, {})


def lighter(chapter: str) -> list[list[str]]:
    return TABLES[chapter].get("lighter", [])


def lightened(source: str, exchanges: list[list[str]]) -> str:
    return functools.reduce(lambda text, exchange: text.replace(*exchange), exchanges, source)


def broken(chapter: str, old: str, new: str) -> str | None:
    """The first cell that raises, or the first law that does not hold, after an edit."""
    import matplotlib.pyplot as plt
    from IPython.core.interactiveshell import InteractiveShell

    os.chdir(FOLDER)
    plt.switch_backend("agg")
    printed = []
    for source in sources(chapter):
        text, _, error = run(InteractiveShell.instance(), source.replace(old, new))
        widest = max((max(plt.figure(n).get_size_inches()) for n in plt.get_fignums()), default=0)
        plt.close("all")
        if error is None and widest > WIDEST:
            return f"a picture of {widest:.0f} inches in\n{source}"
        if error is not None:
            return f"{type(error).__name__}: {error} in\n{source}"
        printed += text.splitlines()
    kept = (f"✓ {law}" for law in TABLES[chapter]["laws"])
    return next((f"not said: {line}" for line in kept if line not in printed), None)
