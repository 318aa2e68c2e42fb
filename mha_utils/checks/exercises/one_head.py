"""Exercises about one head: scores, weights, attention (chapter 01)."""

import math

import numpy as np

from mha_utils import reference
from mha_utils.checks.museum_mistakes import museum_mistakes
from mha_utils.checks.numbers import Numbers
from mha_utils.checks.tensors import Tensors


def softmax(scores, axis=-1):
    powers = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def softmax_gradients(scores, grad_out):
    weights = softmax(scores.astype(np.float64))
    return (weights * (grad_out - (weights * grad_out).sum(axis=-1, keepdims=True)),)


def _scores(q, k, divisor=None):
    return q.astype(np.float64) @ np.swapaxes(k, -2, -1) / np.sqrt(divisor or q.shape[-1])


def _attention(q, k, v, divisor=None, axis=-1):
    """With another divisor of the scores, or a softmax over another axis."""
    return softmax(_scores(q, k, divisor), axis) @ v


def _without_exp(q, k, v):
    scores = _scores(q, k)
    return scores / scores.sum(axis=-1, keepdims=True) @ v


def _attend(layer, q, k, v):
    one_head = layer(q.shape[-1], 1)
    weights = one_head.softmax(one_head.score(q, k))
    return one_head.gather(weights, weights, v)


check_attention = Tensors(
    asks="`answer(q, k, v)`: the output (*B, T, Dv) of scaled dot-product attention.",
    inputs=("q", "k", "v"),
    solve=lambda q, k, v: reference.attention_batched(q, k, v)[0],
    gradients=reference.attention_gradients,
    mistakes={
        **museum_mistakes(
            _attend,
            *("no scale", "scale by Dh", "scale multiplied instead of divided"),
            *("softmax over the queries", "no softmax", "scale after the softmax"),
        ),
        "scores divided by sqrt(Dv), the width of the values": lambda q, k, v: _attention(
            q, k, v, v.shape[-1]
        ),
        "scores divided by sqrt(S), the number of keys": lambda q, k, v: _attention(
            q, k, v, k.shape[-2]
        ),
        "scores divided by sqrt(T), the number of queries": lambda q, k, v: _attention(
            q, k, v, q.shape[-2]
        ),
        "scores divided by sqrt(q.shape[1]): the width only without a batch": lambda q, k, v: (
            _attention(q, k, v, q.shape[1])
        ),
        "softmax over dimension 1: the keys only without a batch": lambda q, k, v: _attention(
            q, k, v, axis=1
        ),
        "every value weighted alike": lambda q, k, v: _attention(0 * q, k, v),
        "scores divided by their sum, without exp": _without_exp,
        "exponentials divided by the sum of all numbers": lambda q, k, v: (
            softmax(_scores(q, k), None) @ v
        ),
    },
)
check_equal_keys = Tensors(
    asks="`answer(v)`: what a query gets, (*B, Dv), when all keys are equal; v is (*B, S, Dv).",
    inputs=("v",),
    solve=lambda v: v.astype(np.float64).mean(axis=-2),
    mistakes={
        "the sum of the values: shares sum to 1, so it must be an average": lambda v: v.sum(-2),
        "the average over the features of each value, not over the keys": lambda v: v.mean(-1),
        "the average over the features of each value, kept as a column": lambda v: v.mean(
            axis=-1, keepdims=True
        ),
        "the average over dimension 0: the keys only without a batch": lambda v: v.mean(axis=0),
        "the first value alone: equal keys get equal shares": lambda v: v[..., 0, :],
        "the values themselves: a query gets one row, their average": lambda v: v,
        "the largest numbers: no key is better than another": lambda v: v.max(axis=-2),
        "the median, not the average": lambda v: np.sort(v, axis=-2)[
            ..., (v.shape[-2] - 1) // 2, :
        ],
    },
)
check_score_needed = Numbers(
    asks="`answer(num_tokens, share)`: the score that gets this share if all others score 0.",
    tried=((10, 0.9), (1000, 0.9), (3, 0.75), (50_000, 0.6)),
    solve=lambda n, share: math.log(share * (n - 1) / (1 - share)),
    mistakes={
        "all others counted as one: there are num_tokens - 1 of them": lambda n, share: math.log(
            share / (1 - share)
        ),
        "the word itself counted among the others": lambda n, share: math.log(
            share * n / (1 - share)
        ),
        "the tickets of the others, without the share: solve share = tickets / all tickets": (
            lambda n, share: math.log(n - 1)
        ),
        "not divided by 1 - share, the part that the others get": lambda n, share: math.log(
            share * (n - 1)
        ),
        "how many tickets, not the score: the logarithm is missing": lambda n, share: (
            share * (n - 1) / (1 - share)
        ),
        "the logarithm to base 10: the tickets are powers of e": lambda n, share: math.log10(
            share * (n - 1) / (1 - share)
        ),
        "the logarithm to base 2: the tickets are powers of e": lambda n, share: math.log2(
            share * (n - 1) / (1 - share)
        ),
        "share and 1 - share exchanged": lambda n, share: math.log((1 - share) * (n - 1) / share),
        "the sign turned around": lambda n, share: -math.log(share * (n - 1) / (1 - share)),
    },
)
