"""What a reader changes: every cell below still runs, and laws stay true.

A chapter that trains or measures does it for a few steps here: its table says in `lighter`
what is exchanged for that in all its rows. With MHA_SLOW_TWEAKS=1 (`make tweaks`) nothing is.
Tables that take long even so say `slow = true` and run only then. Rows of every_chapter.toml
belong to each of them.
"""

import functools
import os
import tomllib
from pathlib import Path

import pytest

from tools.notebooks import FOLDER
from tools.planting import in_a_fork
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
WIDEST = 50  # inches of a picture: more than a page can show, far from what matplotlib refuses


@pytest.mark.parametrize(("chapter", "name"), CASES)
def test_an_edit_is_never_punished(chapter, name):
    old, new = TABLES[chapter]["tweaks"][name]
    assert any(old in source for source in sources(chapter))
    play = functools.partial(broken, chapter, old, new)
    assert in_a_fork(FOLDER.parent, play, fresh=False, seconds=600) is None


@functools.cache  # read once, not for each edit
def sources(chapter: str) -> list[str]:
    found = [cell.source for cell in code_cells(FOLDER / f"{chapter}.ipynb")]
    return found if ALL else [lightened(source, lighter(chapter)) for source in found]


def lighter(chapter: str) -> list[list[str]]:
    return TABLES[chapter].get("lighter", [])


def lightened(source: str, exchanges: list[list[str]]) -> str:
    return functools.reduce(lambda text, exchange: text.replace(*exchange), exchanges, source)


@pytest.mark.parametrize("chapter", TABLES)
def test_what_makes_a_chapter_lighter_is_in_it(chapter):
    cells = [cell.source for cell in code_cells(FOLDER / f"{chapter}.ipynb")]
    for exchange in lighter(chapter):
        assert any(lightened(source, [exchange]) != source for source in cells), exchange


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


@pytest.mark.parametrize("chapter", TABLES)
def test_a_table_is_long_enough(chapter):
    assert len(TABLES[chapter]["tweaks"]) >= 8
    assert len(TABLES[chapter]["laws"]) >= 3
    for law in TABLES[chapter]["laws"]:
        assert any(law in source for source in sources(chapter)), law
