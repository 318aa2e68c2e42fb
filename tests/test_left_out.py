"""A cell that cannot live with a change further up says so and is left out; others raise."""

import json

import pytest
from IPython.core.interactiveshell import InteractiveShell

from mha_utils import left_out

SIZES = "T, width = 4, 6"
WORDS = "import torch\nwords = torch.ones(T, width)"
SCORES = "first = words.sum()\nscores = words @ torch.ones(6, T)"
SHOWN = "print(scores.shape)"
ALONE = "print('all the rest')"
CHAPTER = (SIZES, WORDS, SCORES, SHOWN, ALONE)


class Notebook:
    """Cells that are run with the ids that they were published with, as JupyterLab does."""

    def __init__(self):
        self.shell = InteractiveShell()
        left_out.watch(self.shell)

    def run(self, published: str, text: str | None = None):
        text = published if text is None else text
        return self.shell.run_cell(text, store_history=True, cell_id=self.id_of(published))

    def id_of(self, published: str) -> str | None:
        return left_out.digest(published)

    def run_all(self, changes: dict[str, str]) -> list[str]:
        """The cells that stop Run All."""
        results = {cell: self.run(cell, changes.get(cell)) for cell in CHAPTER}
        return [cell for cell, result in results.items() if not result.success]


class WithoutIds(Notebook):
    """As nbclient, Colab and others run cells: only the file says what was published."""

    def __init__(self, folder):
        super().__init__()
        cells = [{"id": left_out.digest(cell), "source": "as it was saved"} for cell in CHAPTER]
        (folder / "a chapter.ipynb").write_text(json.dumps({"cells": cells}), "utf-8")
        (folder / "broken.ipynb").write_text("{", "utf-8")

    def id_of(self, published: str) -> None:
        return None


class WithOtherIds(WithoutIds):
    """As editors run cells that give them names of their own."""

    def id_of(self, published: str) -> str:
        return f"cell-{CHAPTER.index(published)}"


@pytest.fixture(autouse=True)
def as_for_a_reader(monkeypatch):
    monkeypatch.delenv(left_out.SWITCH)


@pytest.fixture
def notebook():
    return Notebook()


@pytest.fixture(params=[WithoutIds, WithOtherIds])
def elsewhere(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return request.param(tmp_path)


@pytest.fixture
def said(capsys):
    return lambda: capsys.readouterr().out


def test_a_chapter_as_published_says_nothing(notebook, said):
    assert notebook.run_all({}) == []
    assert said() == "torch.Size([4, 4])\nall the rest\n"


def test_run_all_goes_on_below_a_change_that_does_not_fit(notebook, said):
    assert notebook.run_all({SIZES: "T, width = 4, 5"}) == []
    text = said()
    assert "This cell is left out. It does not fit what you changed in [1]" in text
    assert "RuntimeError: mat1 and mat2 shapes" in text
    assert "No cell has made scores since you changed [1]" in text
    assert text.endswith("all the rest\n")


def test_run_all_goes_on_where_the_kernel_is_not_told_our_ids(elsewhere, said):
    assert elsewhere.run_all({}) == []
    assert said() == "torch.Size([4, 4])\nall the rest\n"
    assert elsewhere.run_all({SIZES: "T, width = 4, 5"}) == []
    assert "This cell is left out. It does not fit what you changed in [6]" in said()
    assert elsewhere.run_all({WORDS: "words = not_known", SIZES: SIZES}) == [WORDS]


def test_a_text_that_nobody_published_raises_as_ever(notebook, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notebook.run(SIZES, "T, width = 4, 5")
    assert not notebook.shell.run_cell(SCORES).success


def test_a_switch_lets_every_cell_raise(monkeypatch):
    monkeypatch.setenv(left_out.SWITCH, "raise")
    assert Notebook().run_all({SIZES: "T, width = 4, 5"}) == [SCORES, SHOWN]


def test_the_changed_line_is_told_where_it_is_known(notebook, said):
    notebook.run_all({})
    notebook.run_all({WORDS: "import torch\nwords = torch.ones(T, width).double()"})
    assert "you changed in [7]: words = torch.ones(T, width).double()" in said()


def test_nothing_old_is_shown_in_place_of_what_is_left_out(notebook, said):
    notebook.run_all({})
    said()
    notebook.run_all({SIZES: "T, width = 4, 5"})
    assert "torch.Size" not in said()
    assert "scores" not in notebook.shell.user_ns
    assert notebook.shell.user_ns["first"] == 20  # made before the line that fails


def test_a_name_that_a_cell_reads_and_makes_stays(notebook):
    notebook.run(SIZES, "T, width = 4, 5")
    notebook.run("T = T + torch.ones(2)")
    assert notebook.shell.user_ns["T"] == 4


def test_a_changed_cell_raises_as_ever(notebook, said):
    assert notebook.run_all({WORDS: "words = not_known", SCORES: "scores = 1"}) == [WORDS]
    assert "NameError" in said()


@pytest.mark.parametrize("published", [None, "another"])
def test_a_cell_of_ones_own_raises_as_ever(notebook, said, published):
    notebook.run(SIZES, "T, width = 4, 5")
    result = notebook.shell.run_cell("1 / 0", cell_id=published)
    assert not result.success
    assert "left out" not in said()


def test_without_a_change_an_error_is_an_error(notebook, said):
    notebook.run(SIZES)
    assert not notebook.run(SHOWN).success
    assert "left out" not in said()


def test_a_cell_that_was_skipped_is_told_from_one_that_is_left_out(notebook, said):
    notebook.run(SIZES, "T, width = 4, 5")
    assert notebook.run(SHOWN).success
    assert "run the cells above first, or look at what you changed last, [1]" in said()


def test_what_does_not_go_back_to_a_change_is_told_as_a_guess(notebook, said):
    notebook.run(ALONE, "import torch\ntorch.manual_seed(3)")
    assert notebook.run("torch.nothing").success
    assert "It may not fit what you changed in [1]" in said()


def test_a_name_goes_back_to_a_change_after_cells_that_use_it(notebook, said):
    notebook.run(SIZES, "T = [4]")
    notebook.run("T[0] = 5")
    assert notebook.run("T.nothing").success
    assert "It does not fit what you changed in [1]" in said()


def test_after_a_cell_that_is_left_out_errors_are_errors(notebook):
    notebook.run_all({SIZES: "T, width = 4, 5"})
    assert not notebook.run(ALONE, "1 / 0").success


def test_the_latest_change_is_named(notebook, said):
    for published in (SIZES, ALONE, SIZES):
        notebook.run(published, "import torch")
    assert notebook.run("torch.nothing").success
    assert "It may not fit what you changed in [3]" in said()


def test_what_runs_behind_the_scenes_is_no_cell(notebook, said):
    notebook.run(SIZES, "T, width = 4, 5")
    notebook.run(ALONE)
    assert not notebook.shell.run_cell("1 / 0", silent=True).success
    assert "left out" not in said()


def test_a_change_that_is_taken_back_leaves_no_trace(notebook, said):
    notebook.run_all({SIZES: "T, width = 4, 5"})
    said()
    notebook.run_all({})
    assert said() == "torch.Size([4, 4])\nall the rest\n"
    assert notebook.shell.changed_cells.behind == {}
    assert not notebook.run("{}['key']").success  # nothing is changed any more


def test_all_changes_that_may_be_guilty_are_named(notebook, said):
    notebook.run_all({SIZES: "T, width = 4, 5", WORDS: WORDS + "\nmore = 1"})
    assert "[1], or in [2]" in said()


def test_the_whole_error_can_be_unfolded(notebook, monkeypatch):
    shown = []
    monkeypatch.setattr(left_out, "display", shown.append)
    notebook.run_all({SIZES: "T, width = 4, '<b>'"})
    page = shown[0]._repr_html_()
    assert "&lt;b&gt;" not in page
    assert "<details><summary>the whole error</summary><pre>Traceback" in page
    assert "interactiveshell.py" not in page


@pytest.mark.parametrize(
    ("source", "made", "touched", "read"),
    [
        ("x = y", {"x"}, set(), {"y"}),
        ("import torch\nx[0] = torch.ones(1)", set(), {"x"}, {"x", "torch"}),
        ("model.eval()", set(), {"model"}, {"model"}),
        ("layer.weight.data = w", set(), {"layer"}, {"layer", "w"}),
        ("def f(a):\n    q = a\n    return q @ W", {"f"}, set(), {"W"}),
        ("class Head:\n    def f(self):\n        return W", {"Head"}, set(), {"W"}),
        ("heads += 1", {"heads"}, set(), {"heads"}),
        ("for x, y in pairs:\n    print(x)", {"x", "y"}, set(), {"pairs", "print", "x"}),
        ("%%time\nx = 1", set(), set(), set()),
    ],
)
def test_names_of_a_cell(source, made, touched, read):
    found = left_out.names_of(source)
    assert (set(found.made), found.touched, found.read) == (made, touched, read)


def test_a_first_cell_may_run_again(notebook):
    left_out.watch(notebook.shell)
    left_out.watch(notebook.shell)
    assert len(notebook.shell.events.callbacks["post_run_cell"]) == 1


@pytest.mark.parametrize(
    "source", ["x = (1,", " x = 1\ny = 2", "x = 1\n y = 2", "def f():\n    1 / 0\n\n\nf()"]
)
def test_what_raises_as_ever_looks_as_ever(notebook, said, source):
    plain = InteractiveShell()
    fails = not plain.run_cell(source).success
    expected = said()
    assert fails or source.startswith(" ")  # IPython 9.0 runs a cell whose first line is indented
    assert ("Error" in expected) == fails
    assert notebook.shell.run_cell(source, cell_id="another").success != fails
    assert said() == expected
