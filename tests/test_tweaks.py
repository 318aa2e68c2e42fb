"""The first third of the edits of tests/tweaks/, and what a table of them must have."""

import pytest
from tweaking import FIRST, TABLES, lightened, lighter, punished, sources

from tools.notebooks import FOLDER
from tools.suite.chapter_runner import code_cells


@FIRST
def test_an_edit_is_never_punished(chapter, name):
    assert punished(chapter, name) is None


@pytest.mark.parametrize("chapter", TABLES)
def test_what_makes_a_chapter_lighter_is_in_it(chapter):
    cells = [cell.source for cell in code_cells(FOLDER / f"{chapter}.ipynb")]
    for exchange in lighter(chapter):
        assert any(lightened(source, [exchange]) != source for source in cells), exchange


@pytest.mark.parametrize("chapter", TABLES)
def test_a_table_is_long_enough(chapter):
    assert len(TABLES[chapter]["tweaks"]) >= 8
    assert len(TABLES[chapter]["laws"]) >= 3
    for law in TABLES[chapter]["laws"]:
        assert any(law in source for source in sources(chapter)), law
