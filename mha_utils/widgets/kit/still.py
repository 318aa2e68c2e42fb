"""Still pictures that stand in for a live view; Pillow draws one in a few milliseconds.

matplotlib would take half a second, which a reader would wait before the view appears.
"""

import functools
import itertools
import math
import textwrap
from pathlib import Path
from typing import NamedTuple

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from mha_utils import theme

WIDTH, MARGIN, LINE = 820, 12, 20
LONGEST = 24
MAP = 330
BOX, BOX_PITCH = (128, 92), (167, 104)


def shortened(word: str) -> str:
    """A word as it stands in a picture: in one line, and not longer than `LONGEST`."""
    line = " ".join(word.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def map_picture(weights: np.ndarray, labels: list[str] | None, row: int, finding: str):
    """The finding as text, below it weights (T, T) with one row framed and T labels or none."""
    left = MARGIN if labels is None else 100
    image, draw, top = _page(finding, MAP + (MARGIN if labels is None else 100))
    if not len(weights):
        return image
    colours = np.array(theme.palette(steps=256), dtype=np.uint8)
    pixels = colours[(np.clip(weights, 0, 1) * 255).round().astype(int)]
    image.paste(Image.fromarray(pixels).resize((MAP, MAP), Image.Resampling.NEAREST), (left, top))
    cell = MAP / len(weights)
    for i, label in enumerate(map(shortened, labels or ())):
        middle = top + (i + 0.5) * cell
        draw.text((left - 6, middle), label, theme.INK, _font(13), anchor="rm")
        _write_below(image, label, (left + (i + 0.5) * cell, top + MAP + 4))
    box = (left, top + row * cell, left + MAP, top + (row + 1) * cell)
    draw.rectangle(box, outline=theme.OKABE_ITO["orange"], width=3)
    return image


def cells_picture(blocks: list, finding: str):
    """The finding as text, below it blocks of coloured cells side by side: [block][row][column]."""
    columns = sum(len(block[0]) for block in blocks)
    cell = min(24, (WIDTH - 2 * MARGIN - 24 * len(blocks)) // columns)
    image, draw, top = _page(finding, len(blocks[0]) * cell + MARGIN)
    x = MARGIN
    for block in blocks:
        for i, row in enumerate(block):
            for j, colour in enumerate(row):
                corner = (x + j * cell, top + i * cell)
                draw.rectangle((*corner, corner[0] + cell - 2, corner[1] + cell - 2), colour)
        x += len(block[0]) * cell + 24
    return image


class Cell(NamedTuple):
    """One number of a tensor: its colour, what is written on it, whether it is marked."""

    colour: str
    text: str = ""
    marked: bool = False


def blocks_picture(parts: dict[str, list], finding: str):
    """The finding, below it named parts of `Cell`s: [line of blocks][block][row][column]."""
    side, gap = 24, 10
    lines = sum(len(line[0]) * side + gap for part in parts.values() for line in part)
    image, draw, top = _page(finding, lines + 34 * len(parts))
    for title, part in parts.items():
        draw.text((MARGIN, top), title, theme.INK, _font(13))
        top += 22
        for line in part:
            x = MARGIN
            for block in line:
                _draw_block(draw, block, x, top, side)
                x += len(block[0]) * side + gap
            top += len(line[0]) * side + gap
        top += 12
    return image


def grids_picture(parts: dict[str, list], rows: list, columns: list, row: int | None, finding: str):
    """The finding, below it named grids of `Cell`s side by side, every row and column labelled."""
    rows, columns = list(map(shortened, rows)), list(map(shortened, columns))
    left, below = _widest(rows) + 8, _widest(columns) + 8
    side = min(40, ((WIDTH - MARGIN) // len(parts) - left - 16) // len(columns))
    image, draw, top = _page(finding, 26 + len(rows) * side + below + 4)
    for n, (title, grid) in enumerate(parts.items()):
        x, y = MARGIN + n * (left + len(columns) * side + 16) + left, top + 26
        draw.text((x, top), title, theme.INK, _font(13))
        _draw_block(draw, grid, x, y, side)
        for i, label in enumerate(rows):
            draw.text((x - 6, y + (i + 0.5) * side), label, theme.INK, _font(13), anchor="rm")
        for j, label in enumerate(columns):
            _write_below(image, label, (x + (j + 0.5) * side, y + len(rows) * side + 4))
        if row is not None:
            box = (x - 2, y + row * side - 2, x + len(columns) * side, y + (row + 1) * side)
            draw.rectangle(box, outline=theme.OKABE_ITO["orange"], width=3)
    return image


def grid_and_table_picture(grid: list, words: list, row: int, table: list, finding: str):
    """The finding, a grid of `Cell`s with one row framed, and a table of texts.

    The table, a header first, stands beside the grid, or below it when it is wide; columns
    that find no room are left out.
    """
    words, table = list(map(shortened, words)), [list(map(_line, row)) for row in table]
    left, side = MARGIN + _widest(words) + 8, min(36, 350 // len(words))
    below, height = _widest(words) + 8, 18 * len(table)
    table, widths = _cut(table)
    corner = (left + len(words) * side + 24, 0)
    if corner[0] + sum(widths) > WIDTH:
        corner = (MARGIN, len(words) * side + below)
    image, draw, top = _page(finding, max(len(words) * side + below, corner[1] + height) + MARGIN)
    _draw_block(draw, grid, left, top, side)
    for i, word in enumerate(words):
        draw.text((left - 6, top + (i + 0.5) * side), word, theme.INK, _font(13), anchor="rm")
        _write_below(image, word, (left + (i + 0.5) * side, top + len(words) * side + 4))
    box = (left - 2, top + row * side - 2, left + len(words) * side, top + (row + 1) * side)
    draw.rectangle(box, outline=theme.OKABE_ITO["orange"], width=3)
    _draw_table(draw, table, widths, corner[0], top + corner[1])
    return image


def _line(text: str) -> str:
    return " ".join(text.split())


def _cut(table: list) -> tuple[list, list]:
    """The columns of a table that fit into the picture, and how wide each is."""
    widths = [_widest(list(column)) + 14 for column in zip(*table)]
    fit = sum(end <= WIDTH - 2 * MARGIN - 20 for end in itertools.accumulate(widths))
    if fit == len(widths):
        return table, widths
    more = [[*row[:fit], "" if i else "…"] for i, row in enumerate(table)]
    return more, [*widths[:fit], 20]


def _draw_table(draw: ImageDraw.ImageDraw, table: list, widths: list, x: int, y: int) -> None:
    for i, row in enumerate(table):
        right = x
        for text, width in zip(row, widths):
            right += width
            colour = theme.INK if i else theme.MUTED
            draw.text((right - 6, y + 18 * i), text, colour, _font(13), anchor="ra")
    draw.line((x, y + 17, x + sum(widths), y + 17), theme.MUTED)


def bars_picture(shares: dict[str, list], below: dict[str, list], finding: str):
    """The finding, below it named bar charts of shares side by side, a text under each bar."""
    tall, gap = 150, 30
    image, draw, top = _page(finding, tall + 66)
    width = (WIDTH - 2 * MARGIN - gap * (len(shares) - 1)) // len(shares)
    for n, (title, bars) in enumerate(shares.items()):
        left, floor, step = MARGIN + n * (width + gap), top + tall + 38, width / len(bars)
        draw.text((left, top), title, theme.INK, _font(13))
        for j, (share, text) in enumerate(zip(bars, below[title])):
            x = left + (j + 0.5) * step
            box = (x - 0.4 * step, floor - share * tall, x + 0.4 * step, floor)
            draw.rectangle(box, theme.weight_colour(share), theme.MUTED)
            size = 12 if step >= 36 else 9
            draw.text((x, box[1] - 3), f"{share:.2f}", theme.INK, _font(size), anchor="mb")
            draw.text((x, floor + 5), text, theme.INK, _font(size), anchor="mt")
    return image


def _widest(labels: list) -> int:
    return math.ceil(max(_font(13).getlength(label) for label in labels))


def _draw_block(draw: ImageDraw.ImageDraw, block: list, x: int, y: int, side: int) -> None:
    for i, row in enumerate(block):
        for j, cell in enumerate(row):
            left, top = x + j * side, y + i * side
            box = (left, top, left + side - 2, top + side - 2)
            draw.rectangle(box, cell.colour, theme.INK if cell.marked else None, width=3)
            middle = (left + side / 2 - 1, top + side / 2 - 1)
            if cell.text and _font(12).getlength(cell.text) <= side - 4:
                draw.text(middle, cell.text, theme.ink_on(cell.colour), _font(12), anchor="mm")


class Box(NamedTuple):
    """One tensor of a larger picture: what it is, where it stands, what it looks like."""

    name: str
    formula: str
    shape: str
    place: tuple[int, int]
    pixels: np.ndarray


def boxes_picture(boxes: dict[str, Box], arrows, chosen: str, finding: str):
    """The finding, below it boxes in columns and rows, with arrows from box to box."""
    image, draw, top = _page(finding, 4 * BOX_PITCH[1] + MARGIN)
    corners = {
        name: (MARGIN + box.place[0] * BOX_PITCH[0], top + box.place[1] * BOX_PITCH[1])
        for name, box in boxes.items()
    }
    for start, end in arrows:
        _draw_arrow(draw, corners[start], corners[end])
    for name, box in boxes.items():
        _draw_box(image, draw, box, corners[name], name == chosen)
    return image


def _draw_box(image: Image.Image, draw: ImageDraw.ImageDraw, box: Box, corner, chosen) -> None:
    x, y = corner
    outline, width = (theme.QUERY, 3) if chosen else (theme.MUTED, 1)
    frame = (x, y, x + BOX[0], y + BOX[1])
    draw.rounded_rectangle(frame, 6, theme.PAPER, outline, width)
    draw.text((x + BOX[0] / 2, y + 12), box.name, theme.INK, _font(13), anchor="mm")
    draw.text((x + BOX[0] / 2, y + 27), box.formula, theme.MUTED, _font(10), anchor="mm")
    draw.text((x + BOX[0] / 2, y + BOX[1] - 11), box.shape, theme.INK, _font(12), anchor="mm")
    rows, columns = box.pixels.shape[:2]
    cell = min(100 / columns, 38 / rows, 12)
    size = (max(round(columns * cell), 1), max(round(rows * cell), 1))
    small = Image.fromarray(box.pixels).resize(size, Image.Resampling.NEAREST)
    image.paste(small, (round(x + (BOX[0] - size[0]) / 2), round(y + 55 - size[1] / 2)))


def _draw_arrow(draw: ImageDraw.ImageDraw, start, end) -> None:
    """Sideways between columns, downwards within one; the boxes are drawn over its ends."""
    (x0, y0), (x1, y1) = ((x + BOX[0] / 2, y + BOX[1] / 2) for x, y in (start, end))
    if x0 == x1:
        path, tip = [(x0, y0), (x1, y1 - BOX[1] / 2)], ((-4, -7), (4, -7))
    else:
        side = 1 if x1 > x0 else -1
        edge, middle = x1 - side * BOX[0] / 2, x1 - side * BOX_PITCH[0] / 2
        path = [(x0, y0), (middle, y0), (middle, y1), (edge, y1)]
        tip = ((-7 * side, -4), (-7 * side, 4))
    draw.line(path, theme.MUTED, 2)
    (x, y) = path[-1]
    draw.polygon([(x, y), *((x + dx, y + dy) for dx, dy in tip)], theme.MUTED)


def _page(finding: str, height: int) -> tuple[Image.Image, ImageDraw.ImageDraw, int]:
    lines = textwrap.wrap(finding, 105)
    top = MARGIN + LINE * len(lines) + 8
    image = Image.new("RGB", (WIDTH, top + height), theme.PAPER)
    draw = ImageDraw.Draw(image)
    draw.multiline_text((MARGIN, MARGIN - 4), "\n".join(lines), theme.INK, _font(14), spacing=5)
    return image, draw, top


def _write_below(image: Image.Image, label: str, corner: tuple[float, float]) -> None:
    tile = Image.new("RGB", (90, 16), theme.PAPER)
    ImageDraw.Draw(tile).text((89, 8), label, theme.INK, _font(13), anchor="rm")
    turned = tile.rotate(90, expand=True)
    image.paste(turned, (round(corner[0]) - 8, round(corner[1])))


@functools.cache
def _font(size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(Path(matplotlib.get_data_path(), "fonts/ttf/DejaVuSans.ttf"), size)
