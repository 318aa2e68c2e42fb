"""What is said at the end of a run, and that a test which writes into the checkout is noticed."""

import re
import subprocess
import sys

import pytest

from tools.browser import lab
from tools.browser.chromium import NO_BROWSER, advice
from tools.suite.report import state_of_checkout, what_is_missing

TESTS = """
import pathlib, pytest

def test_writes():
    for path in {paths!r}:
        pathlib.Path(path).parent.mkdir(exist_ok=True)
        pathlib.Path(path).write_text("by a test")

@pytest.mark.skipif(True, reason="{reason}")
def test_view(): pass
"""


def run_suite(folder, *options, writes=()):
    """A suite of two tests in a repository of its own."""
    paths = [str(folder / path) for path in writes]
    source = TESTS.format(paths=paths, reason=NO_BROWSER)
    (folder / "test_two.py").write_text(source)
    (folder / "none.ini").write_text("[pytest]\n")
    (folder / ".gitignore").write_text("__pycache__/\n.pytest_cache/\nartifacts/\n")
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tools.suite.report", *options]
    command += ["-c", folder / "none.ini", f"--rootdir={folder}", folder]
    done = subprocess.run(command, capture_output=True, text=True, cwd=lab.ROOT)
    return done.returncode, done.stdout


def test_files_that_a_test_writes_turn_the_run_red(tmp_path):
    paths = ["test_two.py", "new.txt", "artifacts/picture.png"]
    code, said = run_suite(tmp_path, writes=paths)
    assert code == 1
    assert "1 passed, 1 skipped" in said
    for path in paths:
        assert f"Changed while the tests ran: {path.split('/')[0]}" in said


def test_cost_and_what_waits_are_said(tmp_path):
    code, said = run_suite(tmp_path, "-n", "1", writes=[".pytest_cache/x"])
    assert code == 0, said
    assert "Changed" not in said
    assert re.search(r"^wall 0\.\d min, CPU 0\.\d min; the slowest", said, re.MULTILINE)
    assert "test_two.py::test_view" in said
    assert said.splitlines()[-1] == what_is_missing(1)


def test_outside_of_git_nobody_watches(tmp_path, monkeypatch):
    assert state_of_checkout(lab.ROOT) is not None
    assert state_of_checkout(tmp_path) is None
    monkeypatch.setenv("PATH", "")
    assert state_of_checkout(lab.ROOT) is None


def test_what_is_missing_is_said_in_capitals_with_one_command():
    said, _, command = what_is_missing(319).partition(" WHAT HELPS: ")
    assert said.upper() == said
    assert "319 TESTS IN A BROWSER DID NOT RUN" in said
    assert command == advice()


def test_no_chromium_where_one_is_demanded_is_an_error(monkeypatch):
    monkeypatch.setattr(lab, "chromium", lambda: None)
    with pytest.raises(RuntimeError, match="no Chromium or Chrome was found"):
        lab.browser().__enter__()
