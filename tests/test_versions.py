"""Every allowed version: which Pythons are tried, and what is red."""

import subprocess
import sys

import pytest

from mha_utils.bench.record import load_records
from tools import versions

JUNIT = """<testsuites><testsuite>
<testcase classname="a" name="fine"/><testcase classname="a" name="no"><failure/></testcase>
<testcase classname="a" name="left"><skipped/></testcase><testcase name="b"><error/></testcase>
</testsuite></testsuites>"""


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """Made-up environments: what pytest and the chapters say in them."""

    def answer(command, **options):
        if report := [str(c).split("=")[1] for c in command if "--junitxml=" in str(c)]:
            with open(report[0], "w") as file:
                file.write(JUNIT)
        chapters = "01_single_head: as stored\n02_many: cell 3: ValueError: a: b\n"
        said = chapters if "tools.suite.chapter_runner" in command else "1 " * len(versions.NAMED)
        return subprocess.CompletedProcess(command, 0, said, "")

    monkeypatch.setattr(versions, "RECORD", tmp_path / "versions.json")
    monkeypatch.setattr(versions, "pythons", lambda: {"3.12": "python3.12"})
    monkeypatch.setattr(versions, "environment", lambda *_: "python")
    monkeypatch.setattr(versions.subprocess, "run", answer)
    return tmp_path


def test_finds_the_python_that_runs():
    running = "{}.{}".format(*sys.version_info)
    assert versions.pythons()[running] == sys.executable
    assert set(versions.pythons()) <= set(versions.PYTHONS)


def test_a_red_test_and_a_chapter_that_differs_make_it_red(machine, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["versions", "--versions", "lowest"])
    said = versions.main().splitlines()
    assert [line.split(": ", 1)[0] for line in said] == ["Python 3.12, lowest"] * 3
    assert "a::no" in said[0]
    assert "cell 3: ValueError: a: b" in said[2]
    record = versions.json.loads(versions.RECORD.read_text())
    (result,) = record["runs"].values()
    assert (result["passed"], len(result["failed"]), result["chapters"]) == (1, 2, 2)
    assert result["versions"]["torch"] == "1"
    assert result["machine"]["device"] == "cpu"  # each run says where it ran
    assert set(result["differ"]) == {"02_many"}


def test_the_record_is_none_of_times():
    assert all("cases" in record for record in load_records())
