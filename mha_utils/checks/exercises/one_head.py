"""What the answers of a learner have to compute, and well-known wrong results.

Every formula stands here in NumPy float64, apart from the code that it judges.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mha_utils import reference


@dataclass(frozen=True)
class Task:
    """What an answer has to compute: inputs, the right result and well-known wrong ones.

    `inputs` name float arrays, `shapes` gives their sizes and `spread` their standard deviation;
    `constants` draws the arguments after them, which need no gradient. `solve`, `gradients` and
    the mistakes take inputs, then constants; `gradients` also the gradient of the output. Without
    `gradients`, central differences stand in.
    """

    inputs: tuple[str, ...]
    solve: Callable
    mistakes: dict[str, Callable]
    gradients: Callable | None = None
    constants: Callable = lambda lead, t, s, dh, dv, random: {}
    spread: float = 1.0
    shapes: Callable = lambda lead, t, s, dh, dv: {
        "q": (*lead, t, dh),
        "k": (*lead, s, dh),
        "v": (*lead, s, dv),
        "scores": (*lead, t, s),
        "weights": (*lead, t, s),
    }

    def gradients_of(self, arrays: list, constants: list, grad_out) -> tuple[np.ndarray, ...]:
        """The gradients of sum(result x grad_out) by every input."""
        if self.gradients is not None:
            return self.gradients(*arrays, *constants, grad_out)
        arrays = [a.astype(np.float64) for a in arrays]
        return tuple(
            _central_differences(
                lambda changed, i=i: (
                    self.solve(*arrays[:i], changed, *arrays[i + 1 :], *constants) * grad_out
                ).sum(),
                array,
            )
            for i, array in enumerate(arrays)
        )


def _central_differences(function: Callable, array: np.ndarray, step: float = 1e-6) -> np.ndarray:
    gradient = np.zeros_like(array)
    for at in np.ndindex(array.shape):
        moved = array.copy()
        moved[at] += step
        higher = function(moved)
        moved[at] -= 2 * step
        gradient[at] = (higher - function(moved)) / (2 * step)
    return gradient


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


SCORES = Task(
    inputs=("q", "k"),
    solve=_scores,
    gradients=_scores_gradients,
    mistakes={
        "scores without the division by sqrt(Dh)": _dots,
        "scores divided by Dh, not by its square root": lambda q, k: _dots(q, k) / q.shape[-1],
        "scores multiplied by sqrt(Dh)": lambda q, k: _dots(q, k) * np.sqrt(q.shape[-1]),
    },
)
WEIGHTS = Task(
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
ATTENTION = Task(
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
