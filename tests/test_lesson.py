"""`make lesson` writes what a teacher needs, and nothing that tells learners the answers."""

import re

import nbformat
import pytest
from wrong import CHAPTERS

from mha_utils import checks
from tools.build_site import ROOT
from tools.lesson import (
    exercises,
    for_nbgrader,
    main,
    notes,
    with_solutions,
    without_solutions,
    write,
)
from tools.notebooks import chapters

CHAPTER = "03"


@pytest.fixture(scope="module")
def lesson(tmp_path_factory):
    return write(tmp_path_factory.mktemp("lesson") / "lesson", [CHAPTER])


def read(folder):
    (path,) = folder.iterdir()
    return path.read_text("utf-8")


def sources(folder) -> list[str]:
    return [cell.source for cell in nbformat.reads(read(folder), as_version=4).cells]


def test_learners_get_the_chapter_without_solutions(lesson):
    found = sources(lesson / "notebooks")
    whole = nbformat.read(next(p for p in chapters() if p.name[:2] == CHAPTER), as_version=4)
    assert [s for s in found if s.startswith("def ")] == [
        c.source for c in whole.cells if c.source.startswith("def ")
    ]
    text = "\n".join(found)
    assert set(re.findall("<summary>(.*?)</summary>", text)) == {"Hint"}
    assert text.count("<details>") == text.count("</details>") == 3
    for source in sources(lesson / "solutions"):
        solution = re.search(r"return .+", source)
        assert solution is None or f"    {solution[0]}" not in text
    assert "](01_single_head.ipynb)" not in text  # is not in this lesson
    assert "**You need** chapter 01: one head" in text
    for picture in re.findall(r"!\[[^]]+\]\(\.\./([^)]+)\)", text):
        assert (lesson / picture).exists()


def test_every_solution_passes_its_check(lesson):
    names: dict = {}
    reports = []
    for source in sources(lesson / "solutions"):
        *code, last = source.rsplit("\n\n", 1)
        if last.startswith("checks."):
            exec(code[0], names)
            reports.append(eval(last, names))
        elif "setup_chapter()" in source:
            exec(source.replace("setup_chapter()", ""), names)
    assert len(reports) == 3
    assert all(reports), reports


def test_slides_show_the_hook_pictures_and_bets_and_no_code(lesson):
    page = read(lesson / "slides")
    slides, notes = re.subn(r"<aside class=.notes.>.*?</aside>", "", page, flags=re.DOTALL)
    assert "<h1" in slides
    assert "one head asks one question and brings home one average" in slides
    assert "How much “state” does “it” bring home?" in slides
    assert "The answer: 0.00." in slides
    assert slides.count("data:image/png;base64") >= 10
    assert not re.search(r"src=.(\.\./)?media", page)
    assert "draw_weights" not in page
    assert notes >= 8
    assert "One sentence, two maps" not in slides
    assert "One sentence, two maps" in page
    assert "Your turn" not in page


def test_notes_have_minutes_questions_and_mistakes(lesson):
    text = (lesson / "notes.md").read_text("utf-8")
    assert "## 03 · Stacked heads" in text
    assert (
        "**Time:** about 20 minutes to read, as many again to play, 20 for the exercises." in text
    )
    assert "- How much “state” does “it” bring home? — 0.00." in text
    chapter = nbformat.read(next(p for p in chapters() if p.name[:2] == CHAPTER), as_version=4)
    for task, stub, _ in exercises(chapter):
        assert f"**{re.search('^### (.*)$', task.source, re.MULTILINE)[1]}**" in text
        name = re.search(r"checks\.(check_\w+)", stub.source)[1]
        for mistake in getattr(checks, name).mistakes:
            assert f"- {' '.join(mistake.split())}\n" in text
    assert "- the check says: *" in text


def test_every_exercise_of_every_chapter_is_found():
    for path in chapters():
        chapter = nbformat.read(path, as_version=4)
        asked = re.findall(r"^### .*Exercise.*$", text_of(chapter), re.MULTILINE)
        assert asked, path.name
        for found in (with_solutions(chapter), for_nbgrader(chapter)):
            tasks = [c.source for c in found.cells if "Exercise" in c.source.split("\n")[0]]
            assert [task.split("\n")[0] for task in tasks] == asked
            assert "<details>" not in text_of(found), path.name  # nor another one's solution
        assert all(text in notes(path.name[:2], chapter) for text in ("Time:", "What learners get"))
        left = without_solutions(chapter, ["01"])
        assert not re.search("<summary>(?!Hint)", text_of(left)), path.name


def text_of(chapter) -> str:
    return "\n".join(cell.source for cell in chapter.cells)


def test_a_chapter_that_is_not_there(capsys):
    with pytest.raises(SystemExit):
        main(["00", "77"])
    assert "no chapter 77; there are 00, 01," in capsys.readouterr().err


def test_the_command_of_the_makefile():
    assert "-m tools.lesson $(CHAPTERS)" in (ROOT / "Makefile").read_text()


@pytest.mark.parametrize("path", chapters(), ids=lambda path: path.stem)
def test_exercises_are_ready_for_nbgrader(path):
    """What is taken out leaves a function that fails the check; with it the check passes."""
    names: dict = {}
    graded = [c for c in for_nbgrader(nbformat.read(path, as_version=4)).cells if c.metadata]
    setup = "import math, torch, numpy as np\nfrom torch import nn\nfrom mha_utils import checks"
    exec(setup, names)
    for answer, test in zip(graded[::2], graded[1::2], strict=True):
        told, asked = answer.metadata["nbgrader"], test.metadata["nbgrader"]
        assert (told["solution"], told["grade"], told["locked"]) == (True, False, False)
        assert (asked["solution"], asked["grade"], asked["locked"]) == (False, True, True)
        assert asked["points"] in (1, 2, 3)
        exec(answer.source, names)
        exec(test.source, names)
        taken = re.sub(
            r"### BEGIN SOLUTION.*### END SOLUTION", "return ...", answer.source, flags=re.S
        )
        assert taken != answer.source
        exec(taken, names)
        with pytest.raises(AssertionError, match="not solved yet"):
            exec(test.source, names)


@pytest.mark.parametrize("path", chapters(), ids=lambda path: path.stem)
def test_a_wrong_answer_gets_no_points_and_is_told_why(path):
    """The cell of nbgrader raises, with the sentence that the chapter's own check says."""
    graded = for_nbgrader(nbformat.read(path, as_version=4)).cells
    tests = [c.source for c in graded if c.metadata and c.metadata["nbgrader"]["grade"]]
    assert tests
    for source in tests:
        check, answer = re.search(r"checks\.(\w+)\((\w+)", source).groups()
        wrong, leads = CHAPTERS[path.name[:2]][check][0]
        with pytest.raises(AssertionError, match=re.escape(leads)):
            exec(source, {"checks": checks, answer: wrong})
