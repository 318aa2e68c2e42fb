"""A folder for a class: `make lesson CHAPTERS="01 03 06"` writes build/lesson.

notebooks/    the chapters without their solutions; hints stay
solutions/    each exercise with its solution and its check, to run
source/       the exercises for nbgrader, a point for each star: the checks are its tests
slides/       hook, pictures and bets, made by nbconvert; the prose is in the speaker's notes
notes.md      minutes, questions to ask, what learners get wrong and what the check says to it
"""

import argparse
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbconvert import SlidesExporter
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from mha_utils import checks
from tools.notebooks import SETTLES, chapters
from tools.planting import ROOT

FOLDED = re.compile(r"<details><summary>(?!Hint).*?</summary>\s*(.*?)\s*</details>\s*", re.DOTALL)
PYTHON = re.compile(r"```python\n(.*?)```\s*", re.DOTALL)
LINK = re.compile(r"(?<!!)\[([^]]+)\]\((\d\d)_\w+\.ipynb\)")
EXERCISE = re.compile(r"^### (.*\bExercise\b.*)$", re.MULTILINE)
ASKED = re.compile(r"^checks\.(check_\w+)\(.*\)$", re.MULTILINE)
BET = re.compile(r"^(.+)\nThe answer: (.+)$", re.MULTILINE)  # as stored where a bet is settled
STUB = "# your turn"


def write(target: Path, numbers: list[str]) -> Path:
    """Write the folder anew and return it.

    Raises:
        ValueError: if there is no chapter of such a number.
    """
    known = {path.name[:2]: path for path in chapters()}
    if missing := [number for number in numbers if number not in known]:
        raise ValueError(f"no chapter {', '.join(missing)}; there are {', '.join(known)}")
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(ROOT / "media", target / "media", ignore=shutil.ignore_patterns("src"))
    pages = [f"# Notes for teachers\n\nIn class: chapters {', '.join(numbers)}.{FOLDERS}"]
    for number in numbers:
        chapter = nbformat.read(known[number], as_version=4)
        pages.append(notes(number, chapter))
        save(with_solutions(chapter), target / "solutions" / known[number].name)
        save(for_nbgrader(chapter), target / "source" / known[number].stem / known[number].name)
        html, _ = slides(chapter)
        save(html, target / "slides" / f"{known[number].stem}.html")
        save(without_solutions(chapter, numbers), target / "notebooks" / known[number].name)
    save("\n\n".join(pages) + "\n", target / "notes.md")
    return target


FOLDERS = """
`notebooks` is for the learners, `solutions` for you, `source` for nbgrader. Open `slides`
in a browser (it fetches reveal.js from the network); S shows the speaker's notes."""


def save(content, path: Path) -> None:
    path.parent.mkdir(exist_ok=True, parents=True)
    text = content if isinstance(content, str) else nbformat.writes(content) + "\n"
    path.write_text(text, encoding="utf-8")


def without_solutions(chapter, numbers: list[str]):
    """The chapter without what is folded, except hints; links lead to chapters of the lesson."""

    def link(found: re.Match) -> str:
        return found[0] if found[2] in numbers else found[1]

    for cell in chapter.cells:
        if cell.cell_type == "markdown":
            cell.source = LINK.sub(link, FOLDED.sub("", cell.source)).rstrip()
    chapter.cells = [cell for cell in chapter.cells if cell.source]
    return chapter


def with_solutions(chapter):
    """The set-up cell, then each exercise with its solution where the reader's code would be."""
    cells = [set_up(chapter)]
    for task, stub, folded in exercises(chapter):
        solution = FOLDED.search(folded.source)[1]
        code = "".join(found[1] for found in PYTHON.finditer(solution))
        check = ASKED.search(stub.source)[0]
        cells += [new_markdown_cell(task.source), new_code_cell(f"{code}\n\n{check}")]
        cells += [new_markdown_cell(said)] if (said := PYTHON.sub("", solution)) else []
    return new_notebook(cells=cells, metadata=chapter.metadata)


def for_nbgrader(chapter):
    """Each exercise with its solution, which nbgrader takes out, and its check as a test."""
    cells = [set_up(chapter)]
    for number, (task, stub, folded) in enumerate(exercises(chapter), start=1):
        code = "".join(found[1] for found in PYTHON.finditer(FOLDED.search(folded.source)[1]))
        check = ASKED.search(stub.source)[0]
        cells.append(new_markdown_cell(task.source))
        cells.append(graded(marked(stub.source, code), f"exercise-{number}", solution=True))
        test = f"report = {check}\nassert report, report"
        cells.append(graded(test, f"check-{number}", grade=True, points=task.source.count("★")))
    return new_notebook(cells=cells, metadata=chapter.metadata)


def marked(stub: str, solution: str) -> str:
    """The solution, with nbgrader's marks around what stands in the place of the stub's answer."""
    header, indent = re.match(r"(.*?)( +)return \.\.\.", stub, re.DOTALL).groups()
    before, _, answer = solution.partition(header)
    begin, end = f"{indent}### BEGIN SOLUTION", f"{indent}### END SOLUTION"
    return f"{before}{header}{begin}\n{answer.rstrip()}\n{end}"


def graded(source: str, name: str, **cell):
    """A code cell with what nbgrader has to know about it."""
    told = {"grade": False, "solution": False, "task": False, "locked": not cell.get("solution")}
    about = {"grade_id": name, "schema_version": 3} | told | cell
    return new_code_cell(source, metadata={"nbgrader": about})


def set_up(chapter):
    return new_code_cell(next(c.source for c in chapter.cells if "setup_chapter()" in c.source))


def exercises(chapter) -> Iterator[tuple]:
    """The cells of each exercise: what is asked, the stub with its check, hint and solution.

    What is asked often stands in one cell with the solution of the exercise before: not here.
    """
    task = None
    for cell, folded in zip(chapter.cells, chapter.cells[1:]):
        if cell.cell_type == "markdown":
            *_, heading = None, *EXERCISE.finditer(cell.source)
            task = heading and new_markdown_cell(cell.source[heading.start() :])
        elif STUB in cell.source and task:
            yield task, cell, folded


def slides(chapter) -> tuple[str, dict]:
    """A page of reveal.js with the pictures inside."""
    deck = new_notebook(cells=[*slide_cells(chapter)], metadata=chapter.metadata)
    exporter = SlidesExporter(embed_images=True, exclude_input=True, exclude_output_prompt=True)
    title = chapter.cells[0].source.splitlines()[0].lstrip("# ")
    resources = {"metadata": {"name": title, "path": str(ROOT)}}
    return exporter.from_notebook_node(deck, resources)


def slide_cells(chapter) -> Iterator:
    """The hook, then headings, pictures and bets up to the exercises; prose becomes notes."""
    for number, cell in enumerate(chapter.cells):
        if "## Your turn" in cell.source:
            return
        if cell.cell_type == "markdown":
            parts = cell.source.replace("](../media/", "](media/").split("\n\n")
            hook = [p for p in parts if p[:1] not in "#>!"][: number == 0]
            if shown := [p for p in parts if p[:1] in "#>!" or p in hook]:
                yield slide(new_markdown_cell("\n\n".join(shown)), "slide")
            told = [p for p in parts if p not in shown]
            yield slide(new_markdown_cell("\n\n".join(told)), "notes")
        elif SETTLES in cell.metadata.get("tags", []) or has_picture(cell):
            yield slide(new_code_cell(cell.source, outputs=cell.outputs), "subslide")


def has_picture(cell) -> bool:
    return "image/png" in str(cell.outputs) and "RunBelow()" not in cell.source


def slide(cell, kind: str):
    cell.metadata["slideshow"] = {"slide_type": kind}
    return cell


def notes(number: str, chapter) -> str:
    """One chapter's part of the page of notes."""
    title, first = chapter.cells[0].source.splitlines()[0], chapter.cells[0].source
    minutes = LINK.sub(r"\1", re.search(r"\*\*Time:\*\*.*", first)[0])
    told = "".join(o.get("text", "") for c in chapter.cells for o in c.get("outputs", []))
    asked = [f"{question} — {answer}" for question, answer in BET.findall(told)]
    wrong = "\n\n".join(get_wrong(number, *cells[:2]) for cells in exercises(chapter))
    return (
        f"#{title}\n\n{minutes}\n\n### Questions to ask before the answer is shown\n\n"
        f"{bullets(asked)}\n\n### What learners get wrong\n\n{wrong}"
    )


def get_wrong(number: str, task, stub) -> str:
    """The mistakes that a check knows by name, and other answers that the tests try on it."""
    heading, name = EXERCISE.search(task.source)[1], ASKED.search(stub.source)[1]
    known = [" ".join(m.split()) for m in getattr(getattr(checks, name), "mistakes", {})]
    tried = [leads.strip().removeprefix("equals: ") for _, leads in tried_answers()[number][name]]
    others = dict.fromkeys(leads for leads in tried if leads not in "\n".join(known))
    said = [f"the check says: *{leads}*" for leads in others]
    return f"**{heading}**\n\n{bullets(known + said)}"


def tried_answers() -> dict:
    """Wrong answers of the tests, by chapter and check."""
    sys.path.insert(0, str(ROOT / "tests"))
    from wrong import CHAPTERS

    return CHAPTERS


def bullets(lines: list[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("numbers", nargs="+", help="of chapters: 01 03 06")
    numbers = parser.parse_args(given).numbers
    try:
        print(f"see {write(ROOT / 'build' / 'lesson', numbers) / 'notes.md'}")
    except ValueError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
