"""Exercises about independent heads: two as one, and one in disguise (chapter 03)."""

import numpy as np

from mha_utils.checks.tensors import Tensors

check_joined_scores = Tensors(
    asks=(
        "`answer(first, second)`: the scores (*B, T, S) of one head whose queries and keys are "
        "those of two heads side by side, from the scaled scores of the two."
    ),
    inputs=("first", "second"),
    shapes={"first": "*B T S", "second": "*B T S"},
    solve=lambda first, second: (first.astype(np.float64) + second) / np.sqrt(2),
    mistakes={
        "the sum: but the new head is twice as wide, and its root is larger": np.add,
        "the average: the width doubles, its root does not": lambda a, b: (a + b) / 2,
        "the product of the scores: a dot product of longer vectors is a sum": np.multiply,
        "the larger score of the two": np.maximum,
        "multiplied by the root of 2 instead of divided": lambda a, b: (a + b) * np.sqrt(2),
        "divided by 2 sqrt(2): each score has been divided by sqrt(Dh) already": lambda a, b: (
            (a + b) / np.sqrt(8)
        ),
        "the maps side by side: one head has one map": lambda a, b: np.concatenate([a, b], -1),
        "two maps on a pile: one head has one map": lambda a, b: np.stack([a, b]),
        "the first head alone": lambda a, b: a,
    },
)


def _invertible(sizes, random) -> dict:
    above = np.triu(random.normal(size=(sizes.Dh, sizes.Dh)), 1)
    return {"A": (above + 2 * np.eye(sizes.Dh)).astype(np.float32)}


check_disguise = Tensors(
    asks="`answer(W_k, A)`: the W_k (D, Dh) that undoes in every score what W_q @ A has changed.",
    inputs=("W_k",),
    shapes={"W_k": "D Dh"},
    constants=_invertible,
    solve=lambda w, a: w.astype(np.float64) @ np.linalg.inv(a).T,
    mistakes={
        "multiplied by A: then A is in every score twice": lambda w, a: w @ a,
        "multiplied by A transposed: that doubles the change, it does not undo it": (
            lambda w, a: w @ a.T
        ),
        "multiplied by the inverse of A: keys enter a score transposed": (
            lambda w, a: w @ np.linalg.inv(a)
        ),
        "W_k as it was: the scores have changed": lambda w, a: w,
    },
)
