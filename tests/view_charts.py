"""What the views that draw maps of pixels, bars and curves must show, from their traits."""

import math

import numpy as np
import torch
from view_grids import clamp, numbers
from view_pictures import (
    HATCH,
    MARK,
    Cell,
    Grid,
    check_axis,
    check_bars,
    check_grid,
    check_image,
    of,
    require_colour,
    require_number,
    rgb,
    shade,
    ticks,
)

from mha_utils import attention_scores, attention_weights, causal_mask, split_heads, theme
from mha_utils.costs import IMPLEMENTATIONS, Workload, cost_of
from mha_utils.widgets.memory_ribbon import lay_out, origin


def curves(picture: dict) -> dict:
    """The lines of a chart with a point for each step: colour -> its points."""
    return {n["stroke"]: n["path"] for n in of(picture, "stroke") if len(n["path"]) > 2}


def head_explorer(view, seen) -> None:
    words = [w for w in view.sentence.lower().split() if w in view.words]
    words = (words if view.editable else view.words)[: view.length]
    heads, count, width = view.shape
    ids = [view.words.index(word) for word in words] if view.editable else list(range(len(words)))
    q, k = (
        numbers(x, heads, count, width).transpose(0, 1).flatten(1)[ids] for x in (view.q, view.k)
    )
    parts = (split_heads(x[None], view.num_heads)[0] for x in (q, k))
    length, (q, k) = len(words), parts
    mask = causal_mask(length) if view.causal else None
    weights = attention_weights(attention_scores(q, k) / view.temperature, mask)
    row, column = clamp(view.row, length - 1), clamp(view.column, length - 1)
    head = clamp(view.head, view.num_heads - 1)
    *small, large, bars = seen["pictures"]
    for picture, each in zip(small, weights):
        check_image(of(picture, "image")[0], each)
    (image,) = of(large, "image")
    check_image(image, weights[head])
    left, side = image["x"], image["w"] / length
    assert image["y"] == left and image["h"] == image["w"] and left + image["w"] <= large["width"]
    query, cell = of(large, "frame")
    assert (query["x"], query["w"]) == (left, image["w"]) and query["stroke"] == MARK.lower()
    assert abs(query["y"] - left - row * side) < 1e-6 and abs(query["h"] - side) < 1e-6
    assert (query["line"] > 3) == view.locked
    assert abs(cell["x"] - left - column * side - 2) < 1e-6
    assert abs(cell["y"] - left - row * side - 2) < 1e-6
    hatched = [n["path"] for n in of(large, "fill") if n["fill"] == HATCH]
    assert len(hatched) == view.causal
    future = {(i + 1, i, length - 1 - i) for i in range(length - 1)} if view.causal else set()
    where = np.array(hatched[0]) if hatched and hatched[0] else np.zeros((0, 4))
    places = (where[:, :3] - [left, left, 0]) / side
    assert {tuple(np.round(place).astype(int)) for place in places} == future
    np.testing.assert_allclose(places, places.round(), atol=1e-6)
    check_bars(bars, weights[head, row], tuple(range(row + 1, length)) if view.causal else ())
    for j, bar in enumerate(of(bars, "rect")):
        assert (bar["fill"] == HATCH) == (view.causal and j > row)
    chosen = [rgb(frame["stroke"]) == rgb(MARK) for frame in of(bars, "frame")]
    assert chosen == [j == column for j in range(length)]
    if length <= 20:
        rows = [t for t in of(large, "text") if not t["turned"]]
        assert [t["text"] for t in rows] == [t["text"] for t in of(large, "text") if t["turned"]]
        assert [t["text"] for t in rows] == words
        for i, text in enumerate(rows):
            assert abs(text["y"] - left - (i + 0.5) * side) < 1
        for i, text in enumerate(t for t in of(large, "text") if t["turned"]):
            assert abs(text["x"] - left - (i + 0.5) * side) < 1
    table = {line[0]: line[-1] for line in seen["tables"][0]}
    require_number(table["sum = q · k"], (q[head, row] @ k[head, column]).item())
    score = attention_scores(q, k)[head, row, column].item()
    require_number(table[f"÷ √{q.shape[-1]} = score"], score)
    require_number(table["softmax of the row = weight"], weights[head, row, column].item())
    if view.temperature != 1:
        require_number(table["÷ temperature"], score / view.temperature)
    assert ("in the future: masked" in table) == (view.causal and column > row)
    for d in range(min(q.shape[-1], 6)):
        require_number(table[f"q[{d}] × k[{d}]"], (q[head, row, d] * k[head, column, d]).item())


def head_budget(view, seen) -> None:
    models = {(h, w): rest for h, w, *rest in view.cells}
    widths = view.widths[::-1]

    def cell(h: int, w: int) -> Cell:
        if (h, w) not in models:
            return Cell(HATCH)
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
        points = [
            (i, models[h, at(h)]) for i, h in enumerate(view.heads) if (h, at(h)) in models
        ]
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
            values, places = [*values, math.log10(getattr(at[name, view.seq_len], field))], [
                *places,
                dot[1],
            ]
            across, at_x = [*across, math.log2(view.seq_len)], [*at_x, dot[0]]
        for text in of(picture, "text"):
            number, _, unit = text["text"].partition(" ")
            if text["align"] == "right" and unit:
                values.append(math.log10(float(number) * prefix.get(unit[0], 1)))
                places.append(text["y"])
        assert min(places) >= 0 and max(places) <= picture["height"]
        check_axis(values, places)
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


def memory_ribbon(view, seen) -> None:
    sizes = view.batch_size, view.seq_len, view.num_heads, view.head_dim
    tensor = lay_out(view.step, *sizes)
    ribbon, blocks = seen["pictures"]
    for picture in (ribbon, blocks):
        rects = of(picture, "rect")
        assert len(rects) == len(tensor.storage)
        for number, rect in enumerate(rects):
            _, token, head, _ = origin(number, *sizes)
            require_colour(rect["fill"], theme.HEADS[head], number)
            centre = rect["x"] + 11, rect["y"] + 12
            texts = [
                t["text"]
                for t in of(picture, "text")
                if math.dist((t["x"], t["y"]), centre) < 2 and t["align"] == "center"
            ]
            assert texts == [str(token)]
        chosen = [clamp(getattr(view, n), s - 1) for n, s in zip(CHOSEN, sizes)]
        rect = rects[int(np.ravel_multi_index(chosen, sizes))]
        outer, inner = of(picture, "frame")
        assert (outer["x"], outer["y"]) == (rect["x"] + 0.5, rect["y"] + 0.5)
        assert (inner["x"], inner["y"]) == (rect["x"] + 2.5, rect["y"] + 2.5)
    rects = of(ribbon, "rect")
    order = sorted(range(len(rects)), key=lambda n: (rects[n]["y"], rects[n]["x"]))
    assert order == list(tensor.storage)
    rects, (rows, columns) = of(blocks, "rect"), tensor.shape[-2:]
    values = np.array(tensor.values()).reshape(-1, rows, columns)
    for block in values:
        corner = rects[block[0, 0]]
        for i, j in np.ndindex(rows, columns):
            rect = rects[block[i, j]]
            assert (rect["x"] - corner["x"], rect["y"] - corner["y"]) == (24 * j, 24 * i)
    corners = {(rects[b[0, 0]]["x"] // 24, rects[b[0, 0]]["y"]) for b in values}
    assert len(corners) == len(values)


CHOSEN = ("sequence", "token", "head", "column")


def shape_letters(view, seen) -> None:
    (picture,) = seen["pictures"]
    rects = of(picture, "rect")
    B, T, D, H = view.batch_size, view.seq_len, view.embed_dim, view.num_heads
    assert len(rects) == B * T * D
    side = rects[0]["w"] + 1.5
    starts = [rects[b * T * D]["x"] for b in range(B)]
    assert all(b - a > D * side for a, b in zip(starts, starts[1:]))
    for n, rect in enumerate(rects):
        b, d, t = np.unravel_index(n, (B, D, T))
        assert abs(rect["x"] - starts[b] - d * side) < 1e-6
        assert abs(rect["y"] - rects[0]["y"] - t * side) < 1e-6
        require_colour(rect["fill"], theme.HEADS[d // (D // H) % len(theme.HEADS)])
    assert rects[-1]["x"] + side <= picture["width"] + 2
    names = [t for t in of(picture, "text") if t["y"] > rects[-1]["y"]]
    assert [t["text"] for t in names] == [str(h) for h in range(H)] * B
    for n, text in enumerate(names):
        b, h = divmod(n, H)
        assert abs(text["x"] - starts[b] - (h + 0.5) * D / H * side) < 1


def softmax_scale(view, seen) -> None:
    q, k = numbers(view.q, -1, 512), numbers(view.k, -1, 512)
    widths, query = [2**n for n in range(10)], clamp(view.query, len(q) - 1)
    *bars, chart = seen["pictures"]
    values, places = ticks(chart, "right", {"0": 0, "0.25": 0.25})
    places = [place - 4 for place in places]  # their baseline is below the middle
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
    for image, each in zip(images, weights, strict=True):
        check_image(image, each)
    expected = set()
    for image in images:
        side = image["w"] / length
        for r, (_, places) in enumerate(view.sources):
            colour = theme.HEADS[(3, 5, 4, 2)[r % 4]].lower()
            for i, j in enumerate(places[view.example]):
                if view.marks and j >= 0:
                    centre = image["x"] + (j + 0.5) * side, image["y"] + (i + 0.5) * side
                    expected.add((round(centre[0]), round(centre[1]), colour))
    found = {
        (round(f["x"] + f["w"] / 2), round(f["y"] + f["h"] / 2), f["stroke"]) for f in frames
    }
    assert found == expected
    assert all(0.4 * side < f["w"] == f["h"] < side for f in frames)
    values, places = ticks(chart, "right", {"0": 0, "0.5": 0.5, "1": 1})
    strokes = [n for n in of(chart, "stroke")]
    across, at_x = [], []
    for stroke, (_, scores) in zip(strokes, view.curves, strict=True):
        values, places = values + scores, places + [y for _, y in stroke["path"]]
        across, at_x = across + view.steps, at_x + [x for x, _ in stroke["path"]]
    now = of(chart, "rect")[-1]
    check_axis(values, places)
    check_axis([*across, view.steps[view.frame]], [*at_x, now["x"] + now["w"] / 2])
