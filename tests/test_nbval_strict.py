"""The stored outputs bite: a changed number, a changed package, a cleared cell turn nbval red."""

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from tools.nbval_strict import same_text
from tools.notebooks import FOLDER, shown_name

ROOT = FOLDER.parent
CHAPTER = "01_single_head.ipynb"


def run_nbval(notebook, folder: Path, package: Path = ROOT) -> tuple[int, str]:
    """Run strict nbval on a notebook in a folder of its own; `package` holds mha_utils."""
    path = folder / CHAPTER
    nbformat.write(notebook, path)
    command = [sys.executable, "-m", "pytest", str(path), f"--rootdir={folder}", "-c", os.devnull]
    command += ["-p", "tools.nbval_strict", "--nbval", "--nbval-current-env", "-q", "-x"]
    command += ["-p", "no:cacheprovider", "-p", "no:xdist"]
    env = os.environ | {"PYTHONPATH": f"{package}{os.pathsep}{ROOT}"}
    env.pop("PYTEST_ADDOPTS", None)
    result = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    return result.returncode, result.stdout


def chapter():
    return nbformat.read(FOLDER / CHAPTER, as_version=4)


def copy_package(folder: Path, name: str, old: str, new: str) -> Path:
    """A copy of mha_utils with one change of its source."""
    target = folder / "changed" / "mha_utils"
    for source in (ROOT / "mha_utils").rglob("*"):
        if source.suffix in {".py", ".js", ".css"}:
            copy = target / source.relative_to(ROOT / "mha_utils")
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(source.read_text("utf-8"), "utf-8")
    text = (target / name).read_text("utf-8")
    assert text.count(old) == 1, "the line to break is gone: update the test"
    (target / name).write_text(text.replace(old, new), "utf-8")
    return target.parent


def test_green_as_it_is(tmp_path):
    code, text = run_nbval(chapter(), tmp_path)
    assert code == 0, text


def test_red_when_one_stored_number_is_changed(tmp_path):
    notebook = chapter()
    outputs = [o for c in notebook.cells for o in c.get("outputs", []) if "0.7614" in str(o)]
    outputs[0].text = outputs[0].text.replace("0.7614", "0.7616")
    code, text = run_nbval(notebook, tmp_path)
    assert code == 1
    assert "Cell outputs differ" in text


def test_red_when_a_cell_is_cleared(tmp_path):
    notebook = chapter()
    cell = next(c for c in notebook.cells if c.get("outputs"))
    cell.outputs, cell.execution_count = [], None
    code, text = run_nbval(notebook, tmp_path)
    assert code == 1
    assert "Stored without having been run" in text


def test_red_when_outputs_are_cleared_but_the_count_is_kept(tmp_path):
    notebook = chapter()
    next(c for c in notebook.cells if "print" in c.source).outputs = []
    code, text = run_nbval(notebook, tmp_path)
    assert code == 1
    assert "Cell outputs differ" in text


def test_red_when_a_picture_is_missing(tmp_path):
    notebook = chapter()
    cell = next(c for c in notebook.cells if "image/png" in str(c.get("outputs")))
    del cell.outputs[0].data["image/png"]
    code, text = run_nbval(notebook, tmp_path)
    assert code == 1
    assert "0 pictures stored, 1 came" in text


SCALE = (" / q.shape[-1] ** 0.5", "")
FAULTS = {
    "scale removed": ("attention.py", *SCALE),
    "softmax over queries": (
        "attention.py",
        "return scores.softmax(dim=-1)",
        "return scores.softmax(dim=-2)",
    ),
    "v through k's projection": ("modules.py", "self.v_proj(x), mask", "self.k_proj(x), mask"),
    "ids with a hole": ("data.py", "enumerate(self.words)}", "enumerate(self.words, 1)}"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_red_when_the_package_is_broken(fault, tmp_path):
    package = copy_package(tmp_path, *FAULTS[fault])
    code, text = run_nbval(chapter(), tmp_path, package)
    assert code == 1, text


def test_red_when_the_scale_is_removed_and_the_chapter_shows_it(tmp_path):
    notebook = chapter()
    cell = next(c for c in notebook.cells if shown_name(c) == "attention_scores")
    assert SCALE[0] in cell.source
    cell.source = cell.source.replace(*SCALE)
    package = copy_package(tmp_path, "attention.py", *SCALE)
    code, text = run_nbval(notebook, tmp_path, package)
    assert code == 1, text


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
