"""Exercises about the softmax (chapter 07): scores to weights, at once and in parts."""

import numpy as np

from mha_utils.checks.exercises.one_head import softmax, softmax_gradients
from mha_utils.checks.museum_mistakes import museum_mistakes
from mha_utils.checks.tensors import Tensors


def _without_the_largest(scores, axis):
    powers = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


check_stable_softmax = Tensors(
    asks="`answer(scores)`: a softmax over the last dimension for scores of several hundred.",
    inputs=("scores",),
    spread=200.0,
    solve=lambda scores: softmax(scores.astype(np.float64)),
    gradients=softmax_gradients,
    mistakes={
        **museum_mistakes(
            lambda layer, scores: layer(1, 1).softmax(scores),
            "softmax without taking off the largest",
            "softmax over the queries",
        ),
        "scores divided by their largest: that changes the shares": lambda scores: softmax(
            scores / scores.max(axis=-1, keepdims=True)
        ),
        "the largest of all scores subtracted: each row has its own": lambda scores: (
            _without_the_largest(scores, None)
        ),
        "the largest of each column subtracted: rows must sum to 1": lambda scores: (
            _without_the_largest(scores, -2)
        ),
        "scores cut off at a limit: that changes the shares": lambda scores: softmax(
            np.minimum(scores, 80.0)
        ),
    },
)


def _draw_reports(sizes, random) -> dict:
    """What S machines have seen: scores near 300, and totals that differ."""
    largest = 300 + random.normal(size=(sizes.T, sizes.S))
    total = 1 + 5 * random.random(size=(sizes.T, sizes.S))
    return {"largest": largest.astype(np.float32), "total": total.astype(np.float32)}


def _averaged(average, counts):
    return (counts[..., None] * average).sum(axis=-2) / counts.sum(axis=-1)[..., None]


def _above(largest):
    """How far the largest of all is above the largest of each machine."""
    return largest.max(axis=-1, keepdims=True) - largest


check_merged_poll = Tensors(
    asks="`answer(average, largest, total)`: attention over the keys of all machines, (T, Dv).",
    inputs=("average",),
    shapes={"average": "T S Dv"},
    constants=_draw_reports,
    solve=lambda a, largest, total: _averaged(a, total * np.exp(-_above(largest))),
    mistakes={
        "the plain mean: a machine that has seen larger scores counts more": (
            lambda a, largest, total: a.mean(axis=-2)
        ),
        "weighted by total alone: each is measured against the largest of its own machine": (
            lambda a, largest, total: _averaged(a, total)
        ),
        "total is not used: it says how many votes stand behind the largest": (
            lambda a, largest, total: _averaged(a, np.exp(-_above(largest)))
        ),
        "exp(new - old): old votes grow instead of shrinking": (
            lambda a, largest, total: _averaged(a, total * np.exp(_above(largest)))
        ),
        "exp of the largest itself, which overflows: subtract the largest of all first": (
            lambda a, largest, total: np.full_like(a[:, 0], np.nan)
        ),
        "a sum and not an average: divide by the sum of all corrected totals": (
            lambda a, largest, total: ((total * np.exp(-_above(largest)))[..., None] * a).sum(
                axis=-2
            )
        ),
        "divided by the totals before the correction": lambda a, largest, total: (
            ((total * np.exp(-_above(largest)))[..., None] * a).sum(axis=-2)
            / total.sum(axis=-1, keepdims=True)
        ),
        "measured against one largest for all queries: each query has its own": (
            lambda a, largest, total: _averaged(
                a, total * np.exp(largest - largest.max(axis=0, keepdims=True))
            )
        ),
    },
)
