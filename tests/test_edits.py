"""The tool that draws random edits (`make edits`): what is drawn, and what is said of it."""

import nbformat

from tools.edits import edits, sample, survey

CELLS = (
    "import math",
    "n, name = 2, 'cat'",
    "found = [10, 20, 30][n], name.index('c')",
    "hidden = 5",
)


def notebook(folder):
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
    cells[-1].metadata = {"tags": ["hide-input"], "jupyter": {"source_hidden": True}}
    path = folder / "99_three_cells.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path, cells


def test_numbers_words_and_lists_are_changed_and_nothing_else():
    source = 'x = f(3, "é", width=0.5, title="T")[4]\nprint("said")\ny = [1, 2]'
    changed = dict(edits(source))
    assert changed["3 -> 7"] == source.replace("3", "7")
    assert changed["\"é\" -> 'she'"] == source.replace('"é"', "'she'")
    assert changed["0.5 -> -0.5"] == source.replace("0.5", "-0.5")
    assert changed["[1, 2] -> [1,]"] == source.replace("[1, 2]", "[1,]")
    assert changed["[1, 2] -> [1, 2, 2,]"] == source.replace("[1, 2]", "[1, 2, 2,]")
    assert {what.split(" -> ")[0] for what in changed} == {"3", '"é"', "0.5", "[1, 2]", "1", "2"}


def test_a_sample_is_of_what_is_in_sight(tmp_path):
    _, cells = notebook(tmp_path)
    drawn = sample(cells, count=8, seed=3)
    assert drawn == sample(cells, count=8, seed=3) != sample(cells, count=8, seed=4)
    assert [edit.cell for edit in drawn].count(1) == [edit.cell for edit in drawn].count(2) == 4


def test_a_survey_says_where_an_edit_raises(tmp_path):
    path, cells = notebook(tmp_path)
    found = survey(path, count=100, seed=1)
    assert sum(map(len, found.values())) == len(sample(cells, 100, 1))
    assert found["broken below"] == []
    below = "\n".join(found["left out below"])
    assert "[1] 2 -> 7 1, first [2] IndexError" in below
    assert "[1] 'cat' -> 'zebra' 1, first [2] ValueError" in below
    assert any(line.startswith("[1] 2 -> 1") for line in found["survived"])
    assert any("(2, 'cat',)" not in line for line in found["survived"])
    own = "\n".join(found["raised in their own cell"])
    assert "[1] 2, 'cat' -> (2,) in [1] ValueError" in own
