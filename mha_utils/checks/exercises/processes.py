"""Exercises about several processes (chapter 17)."""

import numpy as np

from mha_utils.checks.numbers import Numbers
from mha_utils.checks.tensors import Tensors

check_partner = Numbers(
    asks="`answer(rank, size)`: of 2 x size chunks, rank has chunk `rank`; which second one?",
    tried=((0, 4), (1, 4), (3, 4), (2, 8), (0, 1)),
    solve=lambda rank, size: 2 * size - 1 - rank,
    mistakes={
        "dealt out like cards: the last process still has the most to do": (
            lambda rank, size: rank + size
        ),
        "one too far: with size 4 there are chunks 0 to 7, and no chunk 8": (
            lambda rank, size: 2 * size - rank
        ),
        "another process has this one already, the second half is free": (
            lambda rank, size: size - 1 - rank
        ),
        "neighbours: the first process has next to nothing to do": (lambda rank, size: rank + 1),
        "pairs in order: process 0 is done long before the last": (lambda rank, size: 2 * rank + 1),
        "the same chunk for everybody": lambda rank, size: 2 * size - 1,
    },
)


def _shares(lses, axis=0):
    votes = np.exp(lses - lses.max(axis=axis, keepdims=True))
    return votes / votes.sum(axis=axis, keepdims=True)


def _weighed(outs, shares):
    return (shares[..., None] * outs).sum(axis=0)


check_merge_polls = Tensors(
    asks="`answer(outs, lses)`: n results (n, T, Dv) with their lse (n, T) as one result (T, Dv).",
    inputs=("outs", "lses"),
    shapes={"outs": "H T Dv", "lses": "H T"},
    solve=lambda outs, lses: _weighed(outs, _shares(lses)),
    mistakes={
        "the plain mean: a poll of few votes counts as much as one of many": (
            lambda outs, lses: outs.mean(axis=0)
        ),
        "the plain sum": lambda outs, lses: outs.sum(axis=0),
        "shares over the tokens, not over the polls": (
            lambda outs, lses: _weighed(outs, _shares(lses, axis=1))
        ),
        "votes that are not divided by their total": (
            lambda outs, lses: _weighed(outs, np.exp(lses))
        ),
        "the logarithms as votes: e^lse is missing": (
            lambda outs, lses: _weighed(outs, lses / lses.sum(axis=0, keepdims=True))
        ),
        "the logarithms as votes, and not divided": lambda outs, lses: _weighed(outs, lses),
        "the loudest poll alone": lambda outs, lses: _weighed(
            outs, np.arange(len(lses))[:, None] == lses.argmax(axis=0)
        ),
    },
)


def _dealt(tiles, heads_first=True, order=(2, 0, 1, 3, 4)):
    """(P, t, P h, Dh) as (P, t, P, h, Dh), or with the heads dealt out one by one; then traded."""
    size, tokens, heads, width = tiles.shape
    cut = (size, heads // size) if heads_first else (heads // size, size)
    parts = tiles.reshape(size, tokens, *cut, width)
    parts = parts if heads_first else parts.swapaxes(2, 3)
    return parts.transpose(order).reshape(size, size * tokens, heads // size, width)


def _traded_back(tiles, grad_out):
    return (grad_out.swapaxes(0, 1).reshape(tiles.shape),)


check_trade = Tensors(
    asks="`answer(tiles)`: (P, T / P, H, Dh), first dimension: whose; as (P, T, H / P, Dh).",
    inputs=("tiles",),
    shapes={"tiles": "S T SD Dh"},
    solve=_dealt,
    gradients=_traded_back,
    mistakes={
        "only another shape: nobody has given a tile away": lambda tiles: tiles.reshape(
            _dealt(tiles).shape
        ),
        "heads dealt out one by one: process 0 gets the first H / P neighbours": (
            lambda tiles: _dealt(tiles, heads_first=False)
        ),
        "tokens out of order: all of process 0 come first": (
            lambda tiles: _dealt(tiles, order=(2, 1, 0, 3, 4))
        ),
        "every process keeps its tokens: cut by heads, whose is whose": (
            lambda tiles: _dealt(tiles, order=(0, 2, 1, 3, 4))
        ),
        "nothing is moved": lambda tiles: tiles,
    },
)
