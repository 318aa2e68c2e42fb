"""What the views that draw maps of pixels or squares must show, worked out from their traits."""

import itertools
import math

import numpy as np
import pytest
from view_grids import clamp, numbers
from view_pictures import (
    HATCH,
    MARK,
    check_bars,
    check_image,
    of,
    require_colour,
    require_number,
    rgb,
    shade,
)

from mha_utils import attention_scores, attention_weights, causal_mask, split_heads, theme
from mha_utils.widgets.memory_ribbon import STEPS, lay_out, origin

CHOSEN = ("sequence", "token", "head", "column")


def check_comparison(view, weights, pictures) -> None:
    """The weights of the other head, and in signed colours the difference to them."""
    head, other = (clamp(place, view.num_heads - 1) for place in (view.head, view.other))
    check_image(of(pictures[0], "image")[0], weights[other])
    (image,) = of(pictures[1], "image")
    above = (weights[head] - weights[other]).double().ravel()
    colours = [shade((round(128 * float(a)) / 128 + 1) / 2, theme.SIGNED) for a in above]
    assert np.abs(np.subtract(image["pixels"], colours)).max() <= 2.5


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
    if view.other is None:  # the bars stand where the other head is compared
        *small, large, bars = seen["pictures"]
        check_query(view, seen, bars, words, (q, k, weights))
    else:
        *small, large, other, less = seen["pictures"]
        check_comparison(view, weights, (other, less))
    for picture, each in zip(small, weights):
        check_image(of(picture, "image")[0], each)
    (image,) = of(large, "image")
    check_image(image, weights[head])
    left, side = image["x"], image["w"] / length
    assert (image["y"], image["h"]) == (left, image["w"])
    assert left + image["w"] <= large["width"]
    query, cell, *inner = of(large, "frame")  # ink and paper: seen on every colour
    assert len(inner) == (side - 4 >= 8)
    assert (query["x"], query["w"], query["stroke"]) == (left, image["w"], MARK.lower())
    assert abs(query["y"] - left - row * side) + abs(query["h"] - side) < 1e-6
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
    if length <= 20:
        rows = [t for t in of(large, "text") if not t["turned"]]
        assert [t["text"] for t in rows] == [t["text"] for t in of(large, "text") if t["turned"]]
        assert [t["text"] for t in rows] == words
        for i, text in enumerate(rows):
            assert abs(text["y"] - left - (i + 0.5) * side) < 1
        for i, text in enumerate(t for t in of(large, "text") if t["turned"]):
            assert abs(text["x"] - left - (i + 0.5) * side) < 1


def check_query(view, seen, bars: dict, words: list, parts: tuple) -> None:
    """The bars of the chosen query, and the sums of the chosen cell."""
    q, k, weights = parts
    length = len(words)
    row, column = clamp(view.row, length - 1), clamp(view.column, length - 1)
    head = clamp(view.head, view.num_heads - 1)
    check_bars(bars, weights[head, row], tuple(range(row + 1, length)) if view.causal else ())
    for j, bar in enumerate(of(bars, "rect")):
        assert (bar["fill"] == HATCH) == (view.causal and j > row)
    check_bar_texts(bars, words, weights[head, row].tolist(), view.causal * (row + 1))
    chosen = [rgb(frame["stroke"]) == rgb(MARK) for frame in of(bars, "frame")]
    assert chosen == [j == column for j in range(length)]
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


def check_bar_texts(bars: dict, words: list, shares: list, most: int) -> None:
    """A number above each bar that is not forbidden, its word below, where there is room."""
    title, *texts = of(bars, "text")
    assert title["text"].endswith("shares out its attention")
    if len(words) > 20:
        assert texts == []
        return
    numbers_ = [t for t in texts if not t["turned"]]
    below = [t for t in texts if t["turned"]]
    assert [t["text"] for t in below] == words
    rects = of(bars, "rect")
    for text, rect in zip(below, rects, strict=True):
        assert abs(text["x"] - rect["x"] - rect["w"] / 2 - 4) < 1
        assert text["y"] > rect["y"] + rect["h"]
    for text, share, rect in zip(numbers_, shares[: most or None], rects, strict=False):
        require_number(text["text"], share)
        assert abs(text["x"] - rect["x"] - rect["w"] / 2) < 1
        assert 0 < rect["y"] - text["y"] < 9
    assert len(numbers_) == (most or len(words)) * (rects[0]["w"] > 0.8 * 26)


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
    starts = [place for place, n in enumerate(order) if rects[n]["x"] == rects[order[0]]["x"]]
    labels = [t for t in of(ribbon, "text") if t["align"] == "right"]
    assert [t["text"] for t in labels] == [str(place) for place in starts]
    for label, place in zip(labels, starts):
        assert label["y"] == rects[order[place]]["y"] + 12
        assert 0 < rects[order[place]]["x"] - label["x"] < 10
    rects, (rows, columns) = of(blocks, "rect"), tensor.shape[-2:]
    values = np.array(tensor.values()).reshape(-1, rows, columns)
    for block in values:
        corner = rects[block[0, 0]]
        for i, j in np.ndindex(rows, columns):
            rect = rects[block[i, j]]
            assert (rect["x"] - corner["x"], rect["y"] - corner["y"]) == (24 * j, 24 * i)
    named = [t for t in of(blocks, "text") if t["align"] == "left"]
    assert [t["text"] for t in named] == block_names(view.step, tensor.shape)
    for label, block in zip(named, values, strict=True):
        corner = rects[block[0, 0]]
        assert (label["x"], label["y"]) == (corner["x"], corner["y"] - 10)
    numbered = [t for t in of(blocks, "text") if t["align"] == "right"]
    assert [t["text"] for t in numbered] == [str(i) for i in range(rows)] * tensor.shape[0]
    for n, label in enumerate(numbered):
        block = values[n // rows * (len(values) // tensor.shape[0])]
        assert label["y"] == rects[block[n % rows, 0]]["y"] + 12
    corners = {(rects[b[0, 0]]["x"] // 24, rects[b[0, 0]]["y"]) for b in values}
    assert len(corners) == len(values)


def block_names(step: str, shape: tuple) -> list[str]:
    what = {"B T D": "", "B T H Dh": "token", "B H T Dh": "head"}[STEPS[step].letters]
    if not what:
        return [f"[{b}] sequence {b}" for b in range(shape[0])]
    return [f"[{b}, {i}] {what} {i}" for b in range(shape[0]) for i in range(shape[1])]


def shape_letters(view, seen) -> None:
    """Of each sequence x in one colour, a line as wide as x for each head, q in their colours."""
    (picture,) = seen["pictures"]
    rects, texts = of(picture, "rect"), of(picture, "text")
    B, T, D, H = view.batch_size, view.seq_len, view.embed_dim, view.num_heads
    each = 2 * T * D + H
    assert len(rects) == B * each
    side = rects[0]["w"] + 1.5
    starts = [rects[b * each]["x"] for b in range(B)]
    assert all(b - a > D * side for a, b in itertools.pairwise(starts))
    for b, start in enumerate(starts):
        x, lines, q = np.split(np.array(rects[b * each : (b + 1) * each]), [T * D, T * D + H])
        require_cells(x, (start, rects[0]["y"], side), T, ["#a8a8a8"] * D)
        heads = [theme.HEADS[d // (D // H) % len(theme.HEADS)] for d in range(D)]
        require_cells(q, (start, q[0]["y"], side), T, heads)
        assert x[-1]["y"] + side < lines[0]["y"]
        for h, line in enumerate(lines):  # every head reads all of x
            assert (line["x"], line["w"]) == (start, pytest.approx(D * side - 1.5))
            assert line["y"] + line["h"] < (lines[h + 1] if h + 1 < H else q[0])["y"]
            require_colour(line["fill"], theme.HEADS[h % len(theme.HEADS)])
    assert rects[-1]["x"] + side <= picture["width"] + 2
    titles = [t for t in texts if t["y"] < rects[0]["y"]]
    assert [t["text"] for t in titles] == [f"sequence {b}" for b in range(B)]
    for title, start in zip(titles, starts):
        assert abs(title["x"] - start - D * side / 2) < 1
    names = [t for t in texts if t["y"] > rects[-1]["y"] + side]
    assert [t["text"] for t in names] == [str(h) for h in range(H)] * B
    assert [t["text"] for t in texts if t["x"] < starts[0]] == ["x", "q"]


def require_cells(rects, place: tuple[float, float, float], rows: int, colours: list[str]) -> None:
    """Column after column from left and top, `side` apart, in the colours of their columns."""
    left, top, side = place
    for n, rect in enumerate(rects):
        column, row = divmod(n, rows)
        assert abs(rect["x"] - left - column * side) < 1e-6
        assert abs(rect["y"] - top - row * side) < 1e-6
        require_colour(rect["fill"], colours[column])
