"""What the views that draw curves must show, worked out from their traits."""

import math

import numpy as np
import torch
from view_grids import clamp, numbers
from view_pictures import (
    PAPER,
    Cell,
    Grid,
    check_axis,
    check_bars,
    check_grid,
    check_image,
    of,
    require_number,
    shade,
    ticks,
)

from mha_utils import theme
from mha_utils.core.costs import IMPLEMENTATIONS, Workload, cost_of


def curves(picture: dict) -> dict:
    """The lines of a chart with a point for each step: colour -> its points."""
    return {n["stroke"]: n["path"] for n in of(picture, "stroke") if len(n["path"]) > 2}


def head_budget(view, seen) -> None:
    models = {(h, w): rest for h, w, *rest in view.cells}
    widths = view.widths[::-1]

    def cell(h: int, w: int) -> Cell:
        if (h, w) not in models:
            return Cell(PAPER)
        mean = models[h, w][0]
        return Cell(shade(mean), mean, h * w == view.budget)

    cells = [[cell(h, w) for h in view.heads] for w in widths]
    chosen = widths.index(view.head_dim), view.heads.index(view.num_heads)
    rows, columns = [f"Dh = {w}" for w in widths], [f"H = {h}" for h in view.heads]
    map_, chart = seen["pictures"]
    check_grid(map_, Grid(rows, columns, cells, cell=chosen))
    values, places = ticks(chart, "right", {"0": 0, "0.25": 0.25, "0.5": 0.5, "0.75": 0.75, "1": 1})
    assert len(values) == 5
    limits = []
    series = {theme.HEADS[2]: lambda h: view.budget / h, theme.HEADS[0]: lambda h: view.head_dim}
    for stroke in of(chart, "stroke"):
        at = series[next(c for c in series if c.lower() == stroke["stroke"])]
        points = [(i, models[h, at(h)]) for i, h in enumerate(view.heads) if (h, at(h)) in models]
        assert len(stroke["path"]) == len(points)
        values += [model[0] for _, model in points]
        places += [y for _, y in stroke["path"]]
        across, at_x = ticks(chart, "center", {str(h): i for i, h in enumerate(view.heads)})
        check_axis(across + [i for i, _ in points], at_x + [x for x, _ in stroke["path"]])
        spans = [r for r in of(chart, "rect") if r["w"] == 3 and r["fill"] == stroke["stroke"]]
        for span, (_, (_, low, high, *_)) in zip(spans, points, strict=True):
            values += [high, low]
            places += [span["y"], span["y"] + span["h"]]
        bounds = [m[4] for _, m in points if m[4] is not None]
        drawn = [r["y"] + 1 for r in of(chart, "rect") if r["h"] == 2]
        at = len(limits)
        limits += drawn[at : at + len(bounds)]
        values, places = values + bounds, places + drawn[at : at + len(bounds)]
    assert len(of(chart, "stroke")) == 2
    check_axis(values, places)


def staircase(heads: int, width: int, vectors: int) -> float:
    return min(1, heads * min(8, width) / 8 / vectors)


def training_staircase(view, seen) -> None:
    stairs, chart = seen["pictures"]
    width, vectors = view.head_dim, view.num_lookups
    crosses = [(h, r2) for h, w, r2 in view.recorded if (w, vectors) == (width, 4)]
    landed = crosses + [(run[0], max(run[-1], 0)) for run in view.runs]
    line, *marks = of(stairs, "stroke")
    middles = [np.mean(mark["path"], axis=0) for mark in marks]
    points = [*map(tuple, line["path"]), *map(tuple, middles)]
    every = range(1, 13)
    ends = [(h + side, staircase(h, width, vectors)) for h in every for side in (-0.5, 0.5)]
    across, at_x = ticks(stairs, "center", {str(h): h for h in every})
    values, places = ticks(
        stairs, "right", {"0": 0, "0.25": 0.25, "0.5": 0.5, "0.75": 0.75, "1": 1}
    )
    for (heads, r2), (x, y) in zip(ends + landed, points, strict=True):
        across, at_x = [*across, heads], [*at_x, x]
        values, places = [*values, r2], [*places, y]
    check_axis(across, at_x)
    check_axis(values, places)
    colours = [circle["fill"] for circle in of(stairs, "fill")]
    full = [colour == theme.HEADS[0].lower() for colour in colours]
    assert full == [run[1:3] == [width, vectors] for run in view.runs]
    rings = [mark["stroke"] == theme.OKABE_ITO["orange"].lower() for mark in marks[len(crosses) :]]
    assert rings == [False] * (len(rings) - 1) + [True] * bool(rings)
    training_curves(view, chart)
    rows = [
        [str(n), f"{h} × {w}", str(m), str(steps), f"{r2:.3f}", f"{staircase(h, w, m):.3f}"]
        for n, (h, w, m, steps, r2) in enumerate(view.runs, start=1)
    ]
    assert [table[1:] for table in seen["tables"]] == [rows[-8:]]


def training_curves(view, chart) -> None:
    values, places = ticks(chart, "right", {"0": 0, "0.5": 0.5, "1": 1})
    lines = [note for note in of(chart, "stroke") if len(note["path"]) == len(view.curve) > 0]
    assert len(of(chart, "stroke")) == (4 if view.curve else 0)
    if not view.curve:
        return
    loss, r2 = (line["path"] for line in lines)
    steps, losses, scores = zip(*view.curve)
    check_axis([*steps, *steps], [x for x, _ in loss + r2])
    assert lines[0]["dash"] != lines[1]["dash"] == []
    most = next(note for note in of(chart, "rect") if note["h"] == 1.5)
    values += [*losses, *(max(score, 0) for score in scores), staircase(*view.runs[-1][:3])]
    check_axis(values, places + [y for _, y in loss + r2] + [most["y"] + 0.75])


def layer_cost(view, seen) -> None:
    lengths = [64 * 2**n for n in range(9)]
    size = 2 if view.is_half else 4
    at = {
        (name, t): cost_of(
            name,
            Workload(view.batch_size, t, view.embed_dim, view.num_heads, view.is_causal, size),
        )
        for name in IMPLEMENTATIONS
        for t in lengths
    }
    colours = dict(zip(("loop over heads", "explicit", "fused"), (3, 0, 2)))
    prefix = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
    fields = ("flops", "moved_bytes", "map_bytes")
    for picture, field in zip(seen["pictures"], fields, strict=True):
        lines = curves(picture)
        values, places, across, at_x = [], [], [], []
        for name in IMPLEMENTATIONS:
            numbers_ = [getattr(at[name, t], field) for t in lengths]
            if not numbers_[0]:
                continue
            path = lines[theme.HEADS[colours[name]].lower()]
            values += [math.log10(n) for n in numbers_]
            places += [y for _, y in path]
            across += [math.log2(t) for t in lengths]
            at_x += [x for x, _ in path]
            dot = next(
                n["path"][0]
                for n in of(picture, "fill")
                if n["fill"] == theme.HEADS[colours[name]].lower()
            )
            values, places = (
                [*values, math.log10(getattr(at[name, view.seq_len], field))],
                [
                    *places,
                    dot[1],
                ],
            )
            across, at_x = [*across, math.log2(view.seq_len)], [*at_x, dot[0]]
        for text in of(picture, "text"):
            number, _, unit = text["text"].partition(" ")
            if text["align"] == "right" and unit:
                values.append(math.log10(float(number) * prefix.get(unit[0], 1)))
                places.append(text["y"])
        assert 0 <= min(places) < max(places) <= picture["height"]
        check_axis(values, places)
        (now,) = [f for f in of(picture, "frame") if f["w"] == 1]
        across, at_x = [*across, math.log2(view.seq_len)], [*at_x, now["x"] + 0.5]
        named, where = ticks(picture, "center", {"64": 6, "512": 9, "4k": 12, "16k": 14})
        assert len(named) == 4
        check_axis(across + named, at_x + where)
    for name, *row in seen["tables"][0][1:]:
        for text, field in zip(row, fields, strict=True):
            number = getattr(at[name, view.seq_len], field)
            if not number:
                assert text == "none"
                continue
            said, unit = text.split()
            assert abs(float(said) * prefix.get(unit[0], 1) / number - 1) < 0.006


def softmax_scale(view, seen) -> None:
    q, k = numbers(view.q, -1, 512), numbers(view.k, -1, 512)
    widths, query = [2**n for n in range(10)], clamp(view.query, len(q) - 1)
    *bars, chart = seen["pictures"]
    values, places = ticks(chart, "right", {"0": 0, "0.25": 0.25})
    places = [place - 4 for place in places]  # their baseline is below the middle
    assert len(places) == 2
    assert places[0] - places[1] > 60
    scales = (lambda w: view.temperature, lambda w: w**0.5)
    for picture, scale, side in zip(bars, scales, (0, 1), strict=True):
        scores = [q[:, :w] @ k[:, :w].T / scale(w) for w in widths]
        weights = [s.softmax(dim=-1) for s in scores]
        now = widths.index(view.head_dim)
        check_bars(picture, weights[now][query])
        slopes = [(w * (1 - w)).amax(dim=-1).mean().item() for w in weights]
        colour = theme.HEADS[0] if side else theme.OKABE_ITO["vermilion"]
        path = curves(chart)[colour.lower()]
        values, places = values + slopes, places + [y for _, y in path]
        across, at_x = ticks(chart, "center", {str(w): n for n, w in enumerate(widths)})
        assert len(across) == 10
        check_axis(across + list(range(10)), at_x + [x for x, _ in path])
        (mark,) = [f for f in of(chart, "frame") if f["w"] == 0]
        assert np.allclose((mark["y"] + mark["h"], mark["y"]), places[:2])
        check_axis([*across, now], [*at_x, mark["x"]])
        chosen, share = scores[now][query], weights[now][query]
        expected = (chosen.std(), share.max(), torch.special.entr(share).sum(), slopes_of(share))
        for line, number in zip(seen["tables"][0][1:], expected, strict=True):
            require_number(line[1 + side], number.item())
        below = [t for t in of(picture, "text") if t["align"] == "center"]
        for text, number in zip(below[1::2], chosen.tolist(), strict=True):
            require_number(text["text"], number)
        for text, number in zip(below[::2], share.tolist(), strict=True):
            require_number(text["text"], number)
    check_axis(values, places)


def slopes_of(share: torch.Tensor) -> torch.Tensor:
    return (share * (1 - share)).max()


def training_film(view, seen) -> None:
    steps, examples, heads, length = view.shape
    maps = np.frombuffer(view.maps, np.uint8).reshape(steps, examples, heads, length, length)
    weights = maps[clamp(view.frame, steps - 1), clamp(view.example, examples - 1)] / 255
    maps_, chart = seen["pictures"]
    images, frames = of(maps_, "image"), of(maps_, "frame")
    words, texts = view.labels[view.example], of(maps_, "text")
    for h, (image, each) in enumerate(zip(images, weights, strict=True)):
        check_image(image, each)
        title, *marked = texts[h * (2 * length + 1) :][: 2 * length + 1]
        assert (title["text"], title["x"]) == (view.heads[h], image["x"])
        assert title["y"] < image["y"]
        assert [t["text"] for t in marked] == [word for word in words for _ in "ij"]
        for n, text in enumerate(marked):
            axis, far = ("x", image["x"]) if n % 2 else ("y", image["y"])
            assert text["turned"] == -(n % 2)  # from below to above
            assert abs(text[axis] - far - (n // 2 + 0.5) * image["w"] / length) < 1
        assert image["x"] + image["w"] <= maps_["width"]
        assert image["y"] + image["h"] <= maps_["height"]
    expected = set()
    for image in images:
        side = image["w"] / length
        for r, (_, places) in enumerate(view.sources):
            colour = theme.HEADS[(3, 5, 4, 2)[r % 4]].lower()
            for i, j in enumerate(places[view.example]):
                if view.marks and j >= 0:
                    centre = image["x"] + (j + 0.5) * side, image["y"] + (i + 0.5) * side
                    expected.add((round(centre[0]), round(centre[1]), colour))
    found = {(round(f["x"] + f["w"] / 2), round(f["y"] + f["h"] / 2), f["stroke"]) for f in frames}
    assert found == expected
    assert all(0.4 * side < f["w"] == f["h"] < side for f in frames)
    values, places = ticks(chart, "right", {"0": 0, "0.5": 0.5, "1": 1})
    assert len(values) == 3
    strokes = of(chart, "stroke")
    across, at_x = [], []
    for stroke, (_, scores) in zip(strokes, view.curves, strict=True):
        values, places = values + scores, places + [y for _, y in stroke["path"]]
        across, at_x = across + view.steps, at_x + [x for x, _ in stroke["path"]]
    now = of(chart, "rect")[-1]
    check_axis(values, places)
    check_axis([*across, view.steps[view.frame]], [*at_x, now["x"] + now["w"] / 2])
