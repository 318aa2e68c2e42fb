"""What the dials of rotary positions must show, worked out from their traits with torch."""

import math

import numpy as np
import torch
from view_grids import numbers
from view_pictures import check_axis, of, require_number

from mha_utils import Rotary, theme

COLOURS = [colour.lower() for colour in (theme.QUERY, theme.KEY)]


def position_dials(view, seen) -> None:
    line, dials, chart = seen["pictures"]
    check_line(line, view.key_place, view.distance)
    check_dials(dials, view)
    check_scores(chart, view)


def check_line(line: dict, key_place: int, distance: int) -> None:
    """Both marks stand where the line's own numbers say."""
    texts = {t["text"]: t for t in of(line, "text")}
    query, key = (next(f for f in of(line, "fill") if f["fill"] == c) for c in COLOURS)
    named = {place: texts[str(place)]["x"] for place in range(0, 63, 10)}
    places = [query["path"][0][0] + 5, key["path"][0][0]]
    check_axis([*named, key_place + distance, key_place], [*named.values(), *places])
    assert f"{distance} apart" in texts
    assert ("k q" in texts) == (distance == 0)


def turned(view, side: str, place: int) -> torch.Tensor:
    """(Dh / 2, 2): the hands, as the module itself turns them."""
    vector = numbers(getattr(view, side), -1)
    made = Rotary(len(vector), view.base)(vector[None, None, None], start=place)
    return made.view(2, -1).T


def check_dials(dials: dict, view) -> None:
    hands = turned(view, "q", view.query_place), turned(view, "k", view.key_place)
    texts = [t["text"] for t in of(dials, "text")]
    pairs = len(hands[0])
    for n, product in enumerate((hands[0] * hands[1]).sum(dim=-1).tolist()):
        rate, number = texts[2 * n : 2 * n + 2]
        require_number(rate.removesuffix(" a place"), view.base ** (-n / pairs))
        require_number(number, product)
    strokes, scales = of(dials, "stroke"), []
    for side, colour in zip(hands, COLOURS):
        drawn = [s["path"] for s in strokes if s["stroke"] == colour]
        for (start, tip), hand in zip(drawn, side.tolist(), strict=True):
            arrow = np.subtract(tip, start) * (1, -1)  # up is up
            scales.append(math.hypot(*arrow) / math.hypot(*hand))
            np.testing.assert_allclose(arrow, scales[0] * np.array(hand), atol=0.1)
    assert max(max(math.hypot(*hand) for hand in side) for side in hands) * scales[0] < 48


def check_scores(chart: dict, view) -> None:
    """The line is the score of the turned vectors, at every distance."""
    key = turned(view, "k", 0)
    scores = [
        ((turned(view, "q", far) * key).sum() / (2 * len(key)) ** 0.5).item() for far in range(32)
    ]
    (path,) = (s["path"] for s in of(chart, "stroke"))
    named = [t for t in of(chart, "text") if t["align"] == "right"]
    assert len(named) >= 2
    for text in named:
        nearest = min([*scores, 0], key=lambda s: abs(s - float(text["text"].replace("−", "-"))))
        require_number(text["text"], nearest)
    check_axis(scores, [y for _, y in path])
    across = [t for t in of(chart, "text") if t["text"] in ("0", "10", "20", "30")]
    across = {int(t["text"]): t["x"] for t in across if t["align"] == "center"}
    check_axis([*across, *range(32)], [*across.values(), *(x for x, _ in path)])
    (mark,) = of(chart, "fill")
    assert np.allclose(np.add(mark["path"][0][:2], 5), path[view.distance], atol=0.1)
