"""Wrong answers that newcomers are likely to give: every message leads to the mistake."""

import re

import nbformat
import pytest
from wrong import CHAPTERS

from mha_utils import checks
from tools.notebooks import FOLDER

LONGEST = 8  # lines


def exercises() -> set[tuple[str, str]]:
    """Chapter and check of every exercise in the notebooks."""
    found = set()
    for path in FOLDER.glob("[0-9][0-9]_*.ipynb"):
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type == "code" and "# your turn" in cell.source:
                found |= {(path.name[:2], c) for c in re.findall(r"checks\.(\w+)\(", cell.source)}
    return found


ROWS = [
    pytest.param(check, answer, leads, id=f"{chapter}-{check.removeprefix('check_')}-{leads[:40]}")
    for chapter, tables in CHAPTERS.items()
    for check, rows in tables.items()
    for answer, leads in rows
]


@pytest.mark.parametrize(("check", "answer", "leads"), ROWS)
def test_the_message_leads_to_the_mistake(check, answer, leads):
    report = getattr(checks, check)(answer)
    assert not report
    assert leads in without_their_line(repr(report), leads)
    assert len(repr(report).splitlines()) <= LONGEST


def without_their_line(message: str, leads: str) -> str:
    """The message without the quoted line: a row of a table quotes what it must find."""
    return (
        message if leads.startswith("in your line") else re.sub("in your line `.*`:", ":", message)
    )


def test_every_exercise_has_three_wrong_answers():
    written = {
        (chapter, c): rows for chapter, tables in CHAPTERS.items() for c, rows in tables.items()
    }
    assert set(written) == exercises()
    few = [exercise for exercise, rows in written.items() if len({a for a, _ in rows}) < 3]
    assert not few


def test_the_exercises_are_found():
    assert len(exercises()) >= 30
    assert ("01", "check_attention") in exercises()
