"""What the answers of a learner have to compute, and well-known wrong results.

Every formula stands here in NumPy float64, apart from the code that it judges.
"""

import numpy as np

from mha_utils import reference
from mha_utils.checks.tensors import Tensors


def _softmax(scores, axis=-1):
    powers = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def _dots(q, k):
    return np.einsum("...td,...sd->...ts", q.astype(np.float64), k.astype(np.float64))


def _scores(q, k):
    return _dots(q, k) / np.sqrt(q.shape[-1])


def _scores_gradients(q, k, grad_out):
    grad_out = grad_out / np.sqrt(q.shape[-1])
    return (
        np.einsum("...ts,...sd->...td", grad_out, k),
        np.einsum("...ts,...td->...sd", grad_out, q),
    )


def _weights_gradients(scores, grad_out):
    weights = _softmax(scores.astype(np.float64))
    return (weights * (grad_out - (weights * grad_out).sum(axis=-1, keepdims=True)),)


check_attention_scores = Tensors(
    asks="`answer(q, k)`: scores (*B, T, S) of q (*B, T, Dh) and k (*B, S, Dh).",
    inputs=("q", "k"),
    solve=_scores,
    gradients=_scores_gradients,
    mistakes={
        "scores without the division by sqrt(Dh)": _dots,
        "scores divided by Dh, not by its square root": lambda q, k: _dots(q, k) / q.shape[-1],
        "scores multiplied by sqrt(Dh)": lambda q, k: _dots(q, k) * np.sqrt(q.shape[-1]),
    },
)
check_attention_weights = Tensors(
    asks="`answer(scores)`: weights (*B, T, S), a softmax over the last dimension.",
    inputs=("scores",),
    solve=lambda scores: _softmax(scores.astype(np.float64)),
    gradients=_weights_gradients,
    mistakes={
        "softmax over the queries: columns sum to 1, rows do not": lambda s: _softmax(s, -2),
        "exponentials that are not divided by their sum": lambda s: np.exp(s),
        "scores divided by their sum, without exp": lambda s: s / s.sum(axis=-1, keepdims=True),
        "exponentials divided by the sum of the whole matrix": lambda s: _softmax(s, (-2, -1)),
        "exponentials divided by the sum of all numbers": lambda s: _softmax(s, None),
        "softmax over dimension 1: the last one only without a batch": lambda s: _softmax(s, 1),
        "softmax over dimension 0": lambda s: _softmax(s, 0),
    },
)
check_attention = Tensors(
    asks="`answer(q, k, v)`: the output (*B, T, Dv) of scaled dot-product attention.",
    inputs=("q", "k", "v"),
    solve=lambda q, k, v: reference.attention_batched(q, k, v)[0],
    gradients=lambda q, k, v, grad_out: reference.attention_gradients(q, k, v, grad_out),
    mistakes={
        "attention without the division by sqrt(Dh)": lambda q, k, v: _softmax(_dots(q, k)) @ v,
        "scores divided by Dh, not by its square root": lambda q, k, v: (
            _softmax(_dots(q, k) / q.shape[-1]) @ v
        ),
        "softmax over the queries": lambda q, k, v: _softmax(_scores(q, k), -2) @ v,
        "scores times values: the softmax is missing": lambda q, k, v: _scores(q, k) @ v,
        "scale after the softmax": lambda q, k, v: _softmax(_dots(q, k)) / np.sqrt(q.shape[-1]) @ v,
        "scores divided by sqrt(Dv), the width of the values": lambda q, k, v: (
            _softmax(_dots(q, k) / np.sqrt(v.shape[-1])) @ v
        ),
        "scores divided by sqrt(S), the number of keys": lambda q, k, v: (
            _softmax(_dots(q, k) / np.sqrt(k.shape[-2])) @ v
        ),
        "scores divided by sqrt(T), the number of queries": lambda q, k, v: (
            _softmax(_dots(q, k) / np.sqrt(q.shape[-2])) @ v
        ),
        "softmax over dimension 1: the keys only without a batch": lambda q, k, v: (
            _softmax(_scores(q, k), 1) @ v
        ),
        "scores divided by sqrt(q.shape[1]): the width only without a batch": lambda q, k, v: (
            _softmax(_dots(q, k) / np.sqrt(q.shape[1])) @ v
        ),
        "scores multiplied by sqrt(Dh)": lambda q, k, v: (
            _softmax(_dots(q, k) * np.sqrt(q.shape[-1])) @ v
        ),
        "every value weighted alike": lambda q, k, v: np.ones_like(_dots(q, k)) / k.shape[-2] @ v,
    },
)
