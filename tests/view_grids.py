"""What the views that draw grids must show, worked out from their traits with torch."""

import math

import numpy as np
import torch
from view_pictures import (
    HATCH,
    PAPER,
    WARNING,
    Cell,
    Grid,
    check_grid,
    rgb,
    shade,
)

from mha_utils import attention, leak_map


def numbers(sent: bytes, *shape: int) -> torch.Tensor:
    return torch.tensor(np.frombuffer(sent, np.float32)).double().view(*shape)


def clamp(number: int, most: int, least: int = 0) -> int:
    return max(least, min(number, most))


def weight_cell(weight: float, most: float = 1, **more) -> Cell:
    return Cell(shade(min(float(weight) / most, 1)), float(weight), **more)


def bug_hunt(view, seen) -> None:
    order = next(order for number, _, order in view.levels if number == view.level)
    piece, picture = order[clamp(view.suspect, len(order), 1) - 1], view.picture
    place, size = len(view.probes) + picture, len(view.tokens)
    maps = numbers(view.maps, -1, size, size)
    right, mine = (maps[view.answers[n][place]] for n in (-1, piece))
    is_open = view.pictures[picture][1] or [piece, place] in view.asked
    is_open = is_open or [piece, piece] in view.accused

    def cell(number: float, goal: float) -> Cell:
        if number == 0:
            return Cell(PAPER)
        if goal == 0 or math.isnan(number):
            return Cell(rgb(WARNING), number, True)
        return weight_cell(number, right.max().item())

    def cells(sizes):
        rows = zip(sizes.tolist(), right.tolist())
        return [[cell(*pair) for pair in zip(*row)] for row in rows]

    hidden = [[Cell(PAPER, "?")] * size] * size
    for drawn, table in zip(seen["pictures"], (cells(right), cells(mine) if is_open else hidden)):
        check_grid(drawn, Grid(view.tokens, view.tokens, table))


def dropout_draws(view, seen) -> None:
    rows, columns, draws = view.shape
    weights = numbers(view.weights, rows, columns)
    kept = numbers(view.uniform, draws, rows, columns)[: clamp(view.draw, draws, 1)] >= view.p
    made = kept * weights / (1 - view.p) if view.training else weights.expand(1, -1, -1)
    words = view.tokens if rows == columns else [f"query {i}" for i in range(rows)]

    def cell(number: float, before: float) -> Cell:
        if number == 0 and before > 0:
            return Cell(PAPER, "×")
        return weight_cell(number, framed=number > 1)

    for drawn, table in zip(seen["pictures"], (weights, made[-1], made.mean(dim=0)), strict=True):
        pairs = [zip(*row) for row in zip(table.tolist(), weights.tolist())]
        cells = [[cell(*pair) for pair in row] for row in pairs]
        check_grid(drawn, Grid(words, view.tokens, cells, ends=table.sum(dim=1).tolist()))


def mask_painter(view, seen) -> None:
    length = view.shape[0]
    q, k, v = (numbers(sent, length, -1) for sent in (view.q, view.k, view.v))
    widths, mask = [q.shape[1], k.shape[1], v.shape[1]], view.mask
    weights = attention(q, k, v, mask)[1]
    together = torch.cat([q, k, v], dim=1)
    leaks = leak_map(lambda x: attention(*x.split(widths, dim=1), mask)[0], together)
    row, column, most = clamp(view.row, length - 1), clamp(view.column, length - 1), leaks.max()

    def painted(i: int, j: int) -> Cell:
        framed = (i, j) == (row, column)
        return weight_cell(weights[i, j], framed=framed) if mask[i, j] else Cell(HATCH, "", framed)

    def leaked(i: int, j: int) -> Cell:
        if leaks[i, j] == 0:
            return Cell(PAPER)
        return Cell(rgb(WARNING), leaks[i, j].item()) if j > i else weight_cell(leaks[i, j], most)

    for drawn, cell in zip(seen["pictures"], (painted, leaked), strict=True):
        cells = [[cell(i, j) for j in range(length)] for i in range(length)]
        check_grid(drawn, Grid(view.tokens, view.tokens, cells, row=row))
    assert seen["chosen"] == [row] * 3
    assert seen["forbidden"] == [not may for may in mask.flatten().tolist()] * 3
    for table, (yes, no) in zip(seen["tables"], (("1", "0"), ("0", "1"), ("0", "−∞")), strict=True):
        assert table == [[yes if may else no for may in line] for line in mask.tolist()]
