"""An exercise about attention in tiles (chapter 11)."""

import numpy as np

from mha_utils.checks.exercises.one_head import softmax
from mha_utils.checks.tensors import SHAPES, Tensors


def _draw_log_totals(sizes, random) -> dict:
    """log of the total of exp over all keys of a query, of which the tile holds a part."""
    return {"log_total": (2 + random.random(sizes.shape("*B T"))).astype(np.float32)}


def _shares(scores, log_total):
    return np.exp(scores - log_total[..., None])


def _grad_weights(v, grad_out):
    """How much the loss would change with each weight of the tile."""
    return grad_out @ np.swapaxes(v, -1, -2)


def _average(out, grad_out):
    return (grad_out * out).sum(axis=-1, keepdims=True)


def _way_back(scores, v, out, grad_out, log_total):
    return _shares(scores, log_total) * (_grad_weights(v, grad_out) - _average(out, grad_out))


check_way_back = Tensors(
    asks="`answer(scores, v, out, grad_out, log_total)`: the gradient of a tile of scores.",
    inputs=("scores", "v", "out", "grad_out"),
    shapes=SHAPES | {"out": "*B T Dv", "grad_out": "*B T Dv"},
    constants=_draw_log_totals,
    solve=_way_back,
    mistakes={
        "a softmax of the tile alone: log_total knows the keys of all tiles": (
            lambda s, v, out, g, log_total: softmax(s) * (_grad_weights(v, g) - _average(out, g))
        ),
        "the gradient of each weight alone: a weight that grows takes from all others": (
            lambda s, v, out, g, log_total: _shares(s, log_total) * _grad_weights(v, g)
        ),
        "the average over this tile: `grad_out` times `out` has that over all tiles": (
            lambda s, v, out, g, log_total: (
                _shares(s, log_total)
                * (
                    _grad_weights(v, g)
                    - (_shares(s, log_total) * _grad_weights(v, g)).sum(axis=-1, keepdims=True)
                )
            )
        ),
        "the gradient of the weights, not yet of the scores: times the weights": (
            lambda s, v, out, g, log_total: _grad_weights(v, g) - _average(out, g)
        ),
        "log_total is a logarithm: exp(scores - log_total), and no division by it": (
            lambda s, v, out, g, log_total: (
                np.exp(s) / log_total[..., None] * (_grad_weights(v, g) - _average(out, g))
            )
        ),
        "log_total is not used: exp(scores) are votes and not yet shares": (
            lambda s, v, out, g, log_total: np.exp(s) * (_grad_weights(v, g) - _average(out, g))
        ),
        "the average added: a gradient counts by what it is above the average": (
            lambda s, v, out, g, log_total: (
                _shares(s, log_total) * (_grad_weights(v, g) + _average(out, g))
            )
        ),
    },
)
