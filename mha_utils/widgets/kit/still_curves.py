"""A still picture of curves on two logarithmic scales, drawn with Pillow as in `still.py`."""

import math
import re
from collections.abc import Callable

from PIL import Image, ImageDraw

from mha_utils import theme
from mha_utils.widgets.kit.still import MARGIN, WIDTH, _font, _page

TALL = 190
Curves = dict[str, dict[float, float]]  # name: x -> y


def curves_picture(
    panels: dict[str, Curves], mark: float, colours: dict, finding: str, write: Callable
) -> Image.Image:
    """The finding, below it named panels side by side, the state at `mark` as dots.

    `colours` gives each curve's colour; `write(title, y)` is the text of a number.
    """
    image, draw, top = _page(finding, TALL + 84)
    width = (WIDTH - 2 * MARGIN) // len(panels)
    for n, (title, curves) in enumerate(panels.items()):
        left = MARGIN + n * width
        draw.text((left, top), title, theme.INK, _font(13))
        _draw_panel(draw, curves, mark, colours, (left + 62, top + 28, left + width - 14))
        for line, (name, points) in enumerate(curves.items()):
            text = f"{name}: {write(title, points[mark]) if mark in points else 'none'}"
            place = (left, top + TALL + 36 + 15 * line)
            draw.text(place, text, colours[name], _font(11))
        _write_scale(draw, curves, title, write, (left + 58, top + 28))
    return image


def _draw_panel(draw: ImageDraw.ImageDraw, curves: Curves, mark: float, colours, box) -> None:
    left, top, right = box
    places = {
        name: {x: (_across(x, curves, left, right), _up(y, curves, top)) for x, y in points.items()}
        for name, points in curves.items()
    }
    draw.rectangle((left, top, right, top + TALL), outline=theme.MUTED)
    for name, points in places.items():
        draw.line(list(points.values()), colours[name], width=3)
        if mark in points:
            x, y = points[mark]
            draw.ellipse((x - 5, y - 5, x + 5, y + 5), colours[name])


def _write_scale(draw, curves: Curves, title: str, write: Callable, corner: tuple) -> None:
    for power in range(*_powers(curves), 3):
        y = _up(10**power, curves, corner[1])
        text = re.sub(r"\.0+ ", " ", write(title, 10**power))
        draw.text((corner[0], y), text, theme.INK, _font(11), anchor="rm")


def _powers(curves: Curves) -> tuple[int, int]:
    values = [y for points in curves.values() for y in points.values()]
    return math.floor(math.log10(min(values))), math.ceil(math.log10(max(values))) + 1


def _up(y: float, curves: Curves, top: int) -> float:
    low, high = _powers(curves)
    return top + TALL - TALL * (math.log10(y) - low) / (high - 1 - low)


def _across(x: float, curves: Curves, left: int, right: int) -> float:
    places = [math.log(x) for points in curves.values() for x in points]
    share = (math.log(x) - min(places)) / (max(places) - min(places))
    return left + share * (right - left)
