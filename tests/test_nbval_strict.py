"""Stored outputs are compared strictly: each kind of difference in a cell makes nbval red."""

import base64
import json
import os
import shutil
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from tools.notebooks import LIVE, STATE
from tools.suite import nbval_strict
from tools.suite.comparing import same_text

DOT = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
SHOW = f"from IPython.display import display\ndisplay({{'image/png': {DOT!r}}}, raw=True)"
COUNT = "runs = globals().get('runs', 0) + 1\nprint({})"
TORCH = """
given = threads = int(__import__("os").environ.get("OMP_NUM_THREADS", 7))
def get_num_threads(): return threads
def set_num_threads(number): globals().update(threads=number)
"""  # a stand-in: the real one takes seconds to import


def printed(text):
    return [new_output("stream", name="stdout", text=text + "\n")]


def value(text):
    return [new_output("execute_result", data={"text/plain": text}, execution_count=1)]


PICTURE = [new_output("display_data", data={"image/png": DOT})]
DIFFER, SECOND = "Cell outputs differ", "(its second run, right after the first)"
CELLS = {  # source, stored outputs, what nbval has to say; "" where it has to pass
    "as stored": ("print(0.25)", printed("0.25"), ""),
    "the last digit": ("print(0.7615)", printed("0.7614"), ""),
    "a changed number": ("print(0.7616)", printed("0.7614"), DIFFER),
    "a changed last digit of an integer": ("print(11)", printed("12"), DIFFER),
    "a changed value": ("0.7616", value("0.7614"), DIFFER),
    "a value": ("0.7614", value("0.7614"), ""),
    "a value that is not stored": ("0.7614", [], DIFFER),
    "a value after a semicolon": ("0.7614;", [], ""),
    "a value of before": ("Out[max(Out)]", value("0.7614"), ""),
    "outputs cleared": ("print(1)", [], DIFFER),
    "stored and not printed": ("pass", printed("1"), DIFFER),
    "a picture": (SHOW, PICTURE, ""),
    "a picture that is not stored": (SHOW, [], "0 pictures stored, 1 drawn"),
    "a picture that is not drawn": ("pass", PICTURE, "1 pictures stored, 0 drawn"),
    "an error": ("1 / 0", [], "Cell execution caused an exception"),
    "something else when run again": (COUNT.format("runs"), printed("1"), SECOND),
    "an error when run again": (COUNT.format("1 / (4 - runs)"), printed("1.0"), SECOND),
    "something else with other threads": (
        "import torch\nprint(torch.get_num_threads() == torch.given)",
        printed("True"),
        SECOND,
    ),
    "one thread in the second run": ("assert torch.get_num_threads() in (7, 1)", [], ""),
    "live": ("print(0.1)", [], ""),
    "live, and its assert fails": ("assert 1 > 2", [], "Cell execution caused an exception"),
    "never run": ("x = 1", [], "Stored without having been run"),
    "the first run has the threads of before": (
        "print(torch.get_num_threads())",
        printed("7"),
        SECOND,
    ),
    "a view": ("import ipywidgets\nview = ipywidgets.IntSlider(5)", [], ""),
}


class Keep:
    """What nbval said of each cell."""

    def __init__(self):
        self.said: dict[str, str] = {}

    def pytest_runtest_logreport(self, report):
        if report.when == "call":
            said = str(report.longrepr or "")
            self.said[report.nodeid.split("::")[1]] = said if report.outcome == "failed" else ""


def notebook():
    cells = [new_code_cell(source, outputs=outputs) for source, outputs, _ in CELLS.values()]
    for number, (name, cell) in enumerate(zip(CELLS, cells), start=1):
        cell.execution_count = None if name == "never run" else number
        cell.metadata.tags = [LIVE] if name.startswith("live") else []
    return new_notebook(cells=cells)


def run_nbval(folder: Path, book, patience: int = 60) -> list[str]:
    """Strict nbval in a session of its own, in this process."""
    nbformat.write(book, folder / "book.ipynb")
    keep = Keep()
    quiet = [f"--rootdir={folder}", "-c", os.devnull, "-q", "-p", "no:cacheprovider"]
    quiet += ["-p", "no:faulthandler", "-p", "no:xdist", "-p", "tools.suite.nbval_strict"]
    options = ["--nbval", "--nbval-current-env", f"--nbval-cell-timeout={patience}"]
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTEST_ADDOPTS", raising=False)  # it is for the suite around this run
        pytest.main([str(folder / "book.ipynb"), *quiet, *options], plugins=[keep])
    return list(keep.said.values())


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    folder = tmp_path_factory.mktemp("strict")
    (folder / "torch.py").write_text(TORCH)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MHA_THREADS", raising=False)
        return dict(zip(CELLS, run_nbval(folder, notebook()), strict=True))


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_is_judged(said, name):
    expected = CELLS[name][2]
    assert expected in said[name]
    assert bool(expected) == bool(said[name]), said[name]
    if expected == DIFFER:
        assert "(its first run)" in said[name]


def test_a_changed_package_turns_a_notebook_red_and_mha_threads_rules(tmp_path, monkeypatch):
    monkeypatch.setenv("MHA_THREADS", "3")
    (tmp_path / "torch.py").write_text(TORCH)
    (tmp_path / "piece.py").write_text("scale = 0.5")
    cells = [
        new_code_cell("import piece, torch", execution_count=1),
        new_code_cell("print(piece.scale)", execution_count=2, outputs=printed("0.7")),
        new_code_cell("assert torch.get_num_threads() == 3", execution_count=3),
    ]
    first, second, third = run_nbval(tmp_path, new_notebook(cells=cells))
    assert first == third == ""
    assert DIFFER in second


def test_after_a_cell_that_took_too_long_the_others_are_compared(tmp_path):
    slow = new_code_cell("import time\ntime.sleep(5)", execution_count=1)
    wrong = new_code_cell("print(1)", execution_count=2, outputs=printed("2"))
    first, second = run_nbval(tmp_path, new_notebook(cells=[slow, wrong]), patience=1)
    assert "Timeout of 1 seconds exceeded" in first
    assert second


def test_what_the_chapters_gave_is_kept_for_the_site(tmp_path, monkeypatch):
    kept, really_remove = {}, shutil.rmtree

    def rmtree(folder):
        kept.update(json.loads((Path(folder) / "book.ipynb").read_text()))
        really_remove(folder)

    monkeypatch.setattr("tools.suite.nbval_strict.shutil.rmtree", rmtree)
    view = new_code_cell("import ipywidgets\nipywidgets.IntSlider(5)", execution_count=1)
    view.outputs = value("IntSlider(value=5)")
    assert run_nbval(tmp_path, new_notebook(cells=[view])) == [""]
    (output,) = kept["cells"][0]["outputs"]
    model = output["data"]["application/vnd.jupyter.widget-view+json"]["model_id"]
    assert kept["metadata"]["widgets"][STATE]["state"][model]["state"]["value"] == 5


@pytest.mark.parametrize(
    ("new", "stored", "same"),
    [
        ("0.7614", "0.7614", True),
        ("0.7615", "0.7614", True),
        ("0.7616", "0.7614", False),
        ("-0.0000", "0.0000", True),
        ("-0.0001", "0.0001", False),
        ("tensor([ 0.1, -0.2])", "tensor([0.1, -0.1])", True),
        ("0.76", "0.7614", False),
        ("11", "12", False),
        ("tensor([1., 2.])", "tensor([1., 3.])", False),
        ("1.0000 a", "0.9999 a", True),
        ("1.0000 a", "1.0000 b", False),
        ("2.13.0", "2.13.1", False),
        ("1.0e-05", "1.0e-06", False),
    ],
)
def test_only_the_last_printed_digit_is_forgiven(new, stored, same):
    assert same_text(new, stored) is same


@pytest.mark.parametrize(("deaths", "is_started"), [(0, True), (1, True), (2, False)])
def test_a_kernel_that_dies_at_its_start_is_started_once_more(monkeypatch, deaths, is_started):
    left = ["died"] * deaths

    def start(kernel, name):
        if left:
            raise RuntimeError(left.pop())
        kernel.name = name

    monkeypatch.setattr(nbval_strict.Kernel.__base__, "__init__", start)
    if is_started:
        assert nbval_strict.Kernel("python3").name == "python3"
    else:
        with pytest.raises(RuntimeError, match="died"):
            nbval_strict.Kernel("python3")
