"""Still pictures that stand in for a live view; Pillow draws one in a few milliseconds.

matplotlib would take half a second, which a reader would wait before the view appears.
"""

import functools
import textwrap
from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from mha_utils import theme

WIDTH, MARGIN, LINE = 820, 12, 20
MAP = 330


def map_picture(weights: np.ndarray, labels: list[str] | None, row: int, finding: str):
    """The finding as text, below it weights (T, T) with one row framed and T labels or none."""
    left = MARGIN if labels is None else 100
    image, draw, top = _page(finding, MAP + (MARGIN if labels is None else 100))
    colours = np.array(theme.palette(steps=256), dtype=np.uint8)
    pixels = colours[(np.clip(weights, 0, 1) * 255).round().astype(int)]
    image.paste(Image.fromarray(pixels).resize((MAP, MAP), Image.Resampling.NEAREST), (left, top))
    cell = MAP / len(weights)
    for i, label in enumerate(labels or ()):
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
