"""What a picture of a live view must look like, checked against what was drawn on its canvas."""

import functools
import math
import re
from typing import NamedTuple

import numpy as np

from mha_utils import theme

HATCH, PAPER = "hatch", (255, 255, 255)
MARK, WARNING = theme.OKABE_ITO["orange"], theme.OKABE_ITO["vermilion"]


class Cell(NamedTuple):
    """A cell of a grid: its colour, the number or the text on it, whether it has a frame."""

    fill: tuple | str
    number: float | str = ""
    framed: bool = False


class Grid(NamedTuple):
    """Cells with a word for each row and column; one row or one cell may be marked."""

    rows: list
    columns: list
    cells: list
    row: int | None = None
    cell: tuple | None = None
    ends: list | None = None


@functools.cache
def shade(share: float, palette: str = theme.WEIGHTS) -> tuple:
    """The colour of a share between 0 and 1, always the same for the same share."""
    colours = palette_of(palette)
    places = np.linspace(0, 1, len(colours))
    return tuple(float(np.interp(share, places, part)) for part in colours.T)


@functools.cache
def palette_of(name: str) -> np.ndarray:
    return np.array(theme.palette(name))


def signed_shade(share: float) -> tuple:
    return shade(0.5 + share / 2, theme.SIGNED)


@functools.cache
def rgb(text: str) -> tuple:
    if text.startswith("#"):
        return tuple(int(text[at : at + 2], 16) for at in (1, 3, 5))
    return tuple(float(part) for part in re.findall(r"[\d.]+", text)[:3])


def require_colour(found, expected, where="", atol: float = 2.5) -> None:
    if isinstance(expected, str) and not expected.startswith("#"):
        assert found == expected, (where, found, expected)
        return
    expected = rgb(expected) if isinstance(expected, str) else expected
    assert found != HATCH, (where, found, expected)
    found = rgb(found) if isinstance(found, str) else found
    assert all(abs(a - b) <= atol for a, b in zip(found, expected)), (where, found, expected)


def require_number(text: str, number: float, where="") -> None:
    """The text is the number, rounded to the digits that it has, and it has some."""
    if not math.isfinite(number):
        assert text in ({"−∞"} if number < 0 else {"NaN", "∞"}), (where, text, number)
        return
    said = float(text.replace("−", "-"))
    digits = len(text.partition(".")[2])
    assert abs(said - number) <= 0.5 * 10**-digits + 1e-5, (where, text, number)


def of(picture: dict, what: str) -> list[dict]:
    return [note for note in picture["notes"] if note["what"] == what]


def check_canvas(picture: dict, ink: str) -> None:
    """Not stretched, not wider than its place, and its words are in the colour of the page."""
    assert np.abs(np.subtract(picture["drawn"], (picture["width"], picture["height"]))).max() <= 1
    assert picture["width"] <= picture["room"] + 1
    rects = of(picture, "rect")
    for text in of(picture, "text"):
        if rgb(text["fill"]) != rgb(ink):
            assert rgb(text["fill"]) in ((0, 0, 0), (255, 255, 255)), text
            assert any(is_inside((text["x"], text["y"]), rect) for rect in rects), text


def is_inside(point: tuple, box: dict) -> bool:
    return all(0 <= at - box[n] <= box[m] for at, n, m in zip(point, "xy", "wh"))


def check_grid(picture: dict, grid: Grid) -> None:
    """Colours, numbers, words, marks and frames stand where they belong."""
    rects, rows, columns = of(picture, "rect"), len(grid.rows), len(grid.columns)
    assert len(rects) == rows * columns
    left, top, side = rects[0]["x"] - 1, rects[0]["y"] - 1, rects[0]["w"] + 1
    assert side >= 8
    texts = {}
    for text in of(picture, "text"):
        place = math.floor((text["y"] - top) / side), math.floor((text["x"] - left) / side)
        texts.setdefault(place, []).append(text)
    assert left + columns * side <= picture["width"] + 0.5
    assert top + rows * side <= picture["height"] + 0.5
    for n, rect in enumerate(rects):
        i, j = divmod(n, columns)
        cell = grid.cells[i][j]
        place = (rect["x"], rect["y"], rect["w"], rect["h"])
        assert place == (left + j * side + 1, top + i * side + 1, side - 1, side - 1)
        require_colour(rect["fill"], cell.fill, (i, j))
        centre = left + (j + 0.5) * side, top + (i + 0.5) * side
        check_text(texts.get((i, j), []), centre, side, cell)
    check_words(picture, grid, left, top, side)
    check_marks(picture, grid, left, top, side)


def check_text(inside: list, centre: tuple, side: float, cell: Cell) -> None:
    if cell.number == "":
        assert inside == []
        return
    if side < 34 and not inside:
        return  # no room
    (text,) = inside
    assert text["align"] == "center"
    assert abs(text["x"] - centre[0]) < 1.5
    assert abs(text["y"] - centre[1]) < 1.5
    assert text["wide"] <= side
    if isinstance(cell.number, str):
        assert text["text"] == cell.number
    else:
        require_number(text["text"], cell.number, centre)
    if isinstance(cell.fill, tuple):  # contrast of the ink
        light = sum(a * b for a, b in zip((0.299, 0.587, 0.114), cell.fill))
        assert rgb(text["fill"])[0] == (0 if light > 128 else 255) or 90 < light < 140


def check_words(picture: dict, grid: Grid, left: float, top: float, side: float) -> None:
    texts = of(picture, "text")
    rows = sorted((t for t in texts if t["x"] < left and not t["turned"]), key=lambda t: t["y"])
    columns = sorted((t for t in texts if t["turned"]), key=lambda t: t["x"])
    assert [t["text"] for t in rows] == list(grid.rows)
    assert [t["text"] for t in columns] == list(grid.columns)
    for i, text in enumerate(rows):
        assert abs(text["y"] - top - (i + 0.5) * side) < 1
        assert text["x"] - text["wide"] >= 0
    for j, text in enumerate(columns):
        assert abs(text["x"] - left - (j + 0.5) * side) < 1
        assert text["wide"] <= text["y"] < top
    ends = sorted((t for t in texts if t["x"] > left + len(columns) * side), key=lambda t: t["y"])
    assert len(ends) == (0 if grid.ends is None else 1 + len(grid.ends))
    for text, number in zip(ends[1:], grid.ends or ()):
        require_number(text["text"], number)
        assert text["x"] - text["wide"] > left + len(columns) * side


def check_marks(picture: dict, grid: Grid, left: float, top: float, side: float) -> None:
    frames, inner = of(picture, "frame"), set()
    for frame in frames:
        place = ((frame["y"] - top) / side, (frame["x"] - left) / side)
        if frame["w"] == frame["h"] == side - 5:
            inner.add(tuple(round(n - 3 / side, 3) for n in place))
    expected = {(i, j) for i, r in enumerate(grid.cells) for j, c in enumerate(r) if c.framed}
    assert inner == expected
    marks = [f for f in frames if rgb(f["stroke"]) == rgb(MARK) and f["w"] != side - 5]
    found = [(f["x"] - left, f["y"] - top, f["w"], f["h"]) for f in marks]
    if grid.row is not None:
        assert found == [(0, grid.row * side, len(grid.columns) * side, side)]
    if grid.cell is not None:
        i, j = grid.cell
        assert found == [(j * side, i * side, side, side)]
    assert len(found) == (grid.row is not None) + (grid.cell is not None)


def check_image(note: dict, shares: np.ndarray, palette: str = theme.WEIGHTS) -> None:
    """A map of pixels shows these shares."""
    assert note["columns"] == shares.shape[1]
    colours = [shade(round(255 * float(s)) / 255, palette) for s in shares.ravel()]
    assert np.abs(np.subtract(note["pixels"], colours)).max() <= 2.5


def check_bars(picture: dict, shares, skip: tuple = ()) -> float:
    """One bar for each share, side by side on one floor; pixels for a share of 1."""
    bars = of(picture, "rect")
    assert len(bars) == len(shares)
    floor, step = bars[0]["y"] + bars[0]["h"], bars[0]["w"] / 0.8
    tall, frames = [], of(picture, "frame")
    for j, (bar, share) in enumerate(zip(bars, shares)):
        assert abs(bar["x"] - bars[0]["x"] - j * step) < 1e-6
        assert abs(bar["y"] + bar["h"] - floor) < 1e-6
        assert bar["h"] >= 0
        assert [frames[j][n] for n in "xywh"] == [bar[n] for n in "xywh"]
        if j not in skip:
            require_colour(bar["fill"], shade(float(share)), j)
            tall += [bar["h"] / float(share)] if share > 1e-3 else []
    assert 0 <= bars[0]["x"] < bars[-1]["x"] + bars[-1]["w"] <= picture["width"]
    assert max(tall) - min(tall) < 0.01 * max(tall)
    assert 60 < max(tall) < floor < picture["height"]
    return max(tall)


def check_axis(values: list, places: list) -> None:
    """Every number stands where one and the same scale puts it."""
    values, places = np.array(values, float), np.array(places, float)
    slope, start = np.polyfit(values, places, 1)
    assert abs(slope) > 0
    np.testing.assert_allclose(places, start + slope * values, atol=0.6)


def ticks(picture: dict, align: str, numbers: dict) -> tuple[list, list]:
    """The numbers that are written beside an axis, and where."""
    found = [t for t in of(picture, "text") if t["align"] == align and t["text"] in numbers]
    assert sorted(t["text"] for t in found) == sorted(numbers)
    axis = "y" if align == "right" else "x"
    return [numbers[t["text"]] for t in found], [t[axis] for t in found]
