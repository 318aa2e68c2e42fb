"""Routes through the series take about as long as chapter 00 says."""

import re

import nbformat
import pytest

from tools.notebooks import FOLDER

TIME = re.compile(
    r"\*\*Time:?\*\* about (\d+) minutes(?: to read)?(?:, as many again to play)?"
    r"(?:, (\d+) for the exercise)?"
)
ROUTE = re.compile(
    r"^\| \*\*(.+?)\*\*(.*) \| (.*) \| about (\d+) (minutes|hours) \|$", re.MULTILINE
)


def texts(name: str) -> str:
    cells = nbformat.read(next(FOLDER.glob(f"{name}_*.ipynb")), as_version=4).cells
    return "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def minutes(chapter: str, exercises: bool) -> int:
    reading, solving = TIME.search(texts(chapter)).groups()
    return int(reading) + exercises * int(solving or 0)


def routes() -> list[tuple[str, str, str, str, str]]:
    return ROUTE.findall(texts("00"))


def test_there_are_three_routes():
    assert [name for name, *_ in routes()] == ["90 minutes", "The whole build", "The lab"]


@pytest.mark.parametrize("number", range(3))
def test_a_route_takes_about_as_long_as_is_said(number):
    _, how, chapters, time, unit = routes()[number]
    numbers = re.findall(r"\b\d\d\b(?=[] ])", chapters)
    if " to [" in chapters:
        numbers = [f"{n:02}" for n in range(int(numbers[0]), int(numbers[1]) + 1)]
    said = int(time) * {"minutes": 1, "hours": 60}[unit]
    found = sum(minutes(n, exercises="without exercises" not in how) for n in numbers)
    assert abs(found - said) <= 0.25 * said, (numbers, found)
