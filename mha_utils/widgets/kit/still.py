"""Still pictures that stand in for a live view; Pillow draws one in a few milliseconds.

matplotlib would take half a second, which a reader would wait before the view appears.
"""

import functools
import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import matplotlib
from PIL import Image, ImageDraw, ImageFont

from mha_utils import theme

WIDTH, TALLEST, MARGIN, LINE = 820, 2000, 12, 19
LONGEST = 24  # letters of a word
CLEAR = f"{theme.PAPER}00"  # the page shows through, light or dark
HALF = 53  # letters of a text that stands beside another part


class Cell(NamedTuple):
    """One number of a tensor: its colour, what is written on it, whether it is marked.

    A cell of the colour `theme.FORBIDDEN` is hatched.
    """

    colour: str
    text: str = ""
    marked: bool = False


def share_cell(share: float, marked: bool = False) -> Cell:
    """A weight from 0 to 1 as colour and number."""
    return Cell(theme.weight_colour(share), f"{share:.2f}", marked)


def size_cell(size: float, largest: float, wrong: bool) -> Cell:
    """A number of a map: blank if exactly 0, red and marked where there should be none."""
    if size == 0:
        return Cell(theme.PAPER)
    text = "NaN" if math.isnan(size) else f"{size:.{2 if abs(size) < 9.995 else 0}f}"
    if wrong or math.isnan(size):
        return Cell(theme.OKABE_ITO["vermilion"], text, marked=True)
    return Cell(theme.weight_colour(size / largest), text)


class Grid(NamedTuple):
    """Rows of cells below a title, with labels beside the rows and below the columns or none."""

    title: str
    cells: list[list[Cell]]
    rows: Sequence[str] = ()
    columns: Sequence[str] = ()
    framed: int | None = None  # a row
    largest: tuple[int, int] = (36, 36)  # width and height of a cell where there is room


def shortened(word: str) -> str:
    """A word as it stands in a picture: in one line, and not longer than `LONGEST`."""
    line = " ".join(word.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def picture(finding: str, *lines: list[Grid | str]) -> Image.Image:
    """The finding, below it lines of parts side by side, each as wide as its neighbours."""
    image = Image.new("RGBA", (WIDTH, TALLEST), CLEAR)
    bottom = _write(image, textwrap.wrap(finding, 105), MARGIN, MARGIN - 4, _font(14))
    for parts in lines:
        width, top = (WIDTH - MARGIN) // len(parts), bottom + 10
        for n, part in enumerate(parts):
            draw = _draw_grid if isinstance(part, Grid) else _draw_text
            bottom = max(bottom, draw(image, part, MARGIN + n * width, top, width - MARGIN))
    return image.crop((0, 0, WIDTH, min(bottom + MARGIN, TALLEST)))


def _draw_text(image: Image.Image, text: str, left: int, top: int, width: int) -> int:
    font = _font(12, "DejaVuSansMono")
    room = int(width / font.getlength("x"))
    lines = [line if len(line) <= room else f"{line[: room - 1]}…" for line in text.splitlines()]
    return _write(image, lines, left, top, font)


def _draw_grid(image: Image.Image, grid: Grid, left: int, top: int, width: int) -> int:
    """Draw it and return where it ends."""
    top = _write(image, grid.title.splitlines(), left, top, _font(12))
    indent = _widest(grid.rows)
    columns = max(map(len, grid.cells))
    wide = max(min(grid.largest[0], (width - indent) // columns), 1)
    tall, x = min(grid.largest[1], wide), left + indent
    for i, row in enumerate(grid.cells):
        for j, cell in enumerate(row):
            image.paste(_tile(cell, wide, tall), (x + j * wide, top + i * tall))
    _write_labels(image, grid, (x, top), (wide, tall))
    if grid.framed is not None:
        y = top + grid.framed * tall
        box = (x - 2, y - 2, x + columns * wide, y + tall)
        frame = ImageDraw.Draw(image)
        frame.rectangle(box, outline=theme.OKABE_ITO["orange"], width=3)
    return top + len(grid.cells) * tall + _widest(grid.columns)


def _write_labels(image: Image.Image, grid: Grid, corner: tuple, side: tuple) -> None:
    (x, y), (wide, tall), draw = corner, side, ImageDraw.Draw(image)
    for i, label in enumerate(map(shortened, grid.rows)):
        draw.text((x - 6, y + (i + 0.5) * tall), label, theme.MUTED, _font(13), anchor="rm")
    floor = y + len(grid.cells) * tall + 4
    for j, label in enumerate(map(shortened, grid.columns)):
        tile = Image.new("RGBA", (_widest([label]), 16), CLEAR)
        ImageDraw.Draw(tile).text((tile.width - 1, 8), label, theme.MUTED, _font(13), anchor="rm")
        image.paste(tile.rotate(90, expand=True), (round(x + (j + 0.5) * wide) - 8, floor))


@functools.lru_cache(maxsize=4096)
def _tile(cell: Cell, wide: int, tall: int) -> Image.Image:
    """A cell and the gap behind it; cells that are alike are drawn once."""
    tile = Image.new("RGBA", (wide, tall), CLEAR)
    draw = ImageDraw.Draw(tile)
    gap = 2 if tall >= 10 else 1  # between a cell and the next
    is_hatched = cell.colour == theme.FORBIDDEN
    draw.rectangle((0, 0, wide - gap, tall - gap), theme.PAPER if is_hatched else cell.colour)
    for x in range(-tall, wide, 5) if is_hatched else ():
        draw.line((x, tall - gap, x + tall, -gap), theme.MUTED)
    if cell.marked:
        draw.rectangle((0, 0, wide - gap, tall - gap), outline=theme.INK, width=3)
    elif gap > 1:  # a thin line around: a cell of 0 is white
        draw.rectangle((0, 0, wide - gap, tall - gap), outline=theme.EDGE)
    if cell.text and wide > 10 and _font(12).getlength(cell.text) <= wide - 4:
        middle = (wide / 2 - 1, tall / 2 - 1)
        draw.text(middle, cell.text, theme.ink_on(cell.colour), _font(12), anchor="mm")
    return tile


def _write(image: Image.Image, lines: list[str], left: int, top: int, font) -> int:
    """Write lines of text and return where they end."""
    draw = ImageDraw.Draw(image)
    for n, line in enumerate(lines):
        draw.text((left, top + n * LINE), line, theme.MUTED, font)
    return top + len(lines) * LINE


def _widest(labels: Sequence[str]) -> int:
    """The room that labels need; none for no labels."""
    widths = (_font(13).getlength(shortened(label)) + 8 for label in labels)
    return math.ceil(max(widths, default=0))


@functools.cache
def _font(size: int, name: str = "DejaVuSans") -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(Path(matplotlib.get_data_path(), f"fonts/ttf/{name}.ttf"), size)
