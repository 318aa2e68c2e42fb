"""The exercise of multi-head attention with shared heads (chapter 10)."""

import numpy as np

from mha_utils.checks.tensors import Tensors
from mha_utils.museum import bug
from mha_utils.reference import heads as reference_heads

NAMES = ("q", "k", "v", "out")


def _parameters(weights) -> dict:
    return {name: (w.astype(np.float64), None) for name, w in zip(NAMES, weights)}


def _as_many(weight, num_heads, num_kv_heads, order):
    """The rows of shared heads (Hkv x Dh, D) written out for every head of queries (H x Dh, D)."""
    head_dim, group = len(weight) // num_kv_heads, num_heads // num_kv_heads
    return order(weight.reshape(num_kv_heads, head_dim, -1), group).reshape(-1, weight.shape[1])


def _side_by_side(heads, group):
    return np.repeat(heads, group, axis=0)


def _in_turn(heads, group):
    return np.tile(heads, (group, 1, 1))


def _grouped(x, w_q, w_k, w_v, w_out, num_heads, num_kv_heads, order=_side_by_side):
    w_k, w_v = (_as_many(w, num_heads, num_kv_heads, order) for w in (w_k, w_v))
    parameters = _parameters((w_q, w_k, w_v, w_out))
    return reference_heads.multi_head_batched(x, x, parameters, num_heads)


def _grouped_gradients(x, w_q, w_k, w_v, w_out, num_heads, num_kv_heads, grad_out):
    wide = [_as_many(w, num_heads, num_kv_heads, _side_by_side) for w in (w_k, w_v)]
    inputs = (x, x, _parameters((w_q, *wide, w_out)), num_heads, grad_out)
    grads = reference_heads.multi_head_gradients(*inputs)

    def added(name, weight):  # what the copies of a shared head get goes to the one
        shape = num_kv_heads, -1, len(weight) // num_kv_heads, weight.shape[1]
        return grads[name].reshape(shape).sum(axis=1).reshape(weight.shape)

    shared = added("k.weight", w_k), added("v.weight", w_v)
    return grads["x"] + grads["context"], grads["q.weight"], *shared, grads["out.weight"]


def _first_of(weight, num_kv_heads):
    """The first shared head in the place of all of them."""
    return np.concatenate([weight[: len(weight) // num_kv_heads]] * num_kv_heads)


check_grouped_heads = Tensors(
    asks=(
        "`answer(x, W_q, W_k, W_v, W_out, num_heads, num_kv_heads)`: self-attention whose heads "
        "of queries share heads of keys and values."
    ),
    inputs=("x", "W_q", "W_k", "W_v", "W_out"),
    constants=lambda sizes, random: {"num_heads": sizes.B * sizes.H, "num_kv_heads": sizes.H},
    spread=0.7,
    shapes={"x": "B T D", "W_q": "BHDh D", "W_k": "HDh D", "W_v": "HDh D", "W_out": "D BHDh"},
    solve=_grouped,
    gradients=_grouped_gradients,
    mistakes={
        bug("groups repeated instead of interleaved").label: lambda *a: _grouped(*a, _in_turn),
        "every head uses the first head of keys and values": lambda x, q, k, v, out, h, kv: (
            _grouped(x, q, _first_of(k, kv), _first_of(v, kv), out, h, kv)
        ),
        "divided by the root of the width of all heads, not of one": lambda x, q, *a: _grouped(
            x, q / a[-2] ** 0.5, *a
        ),
        "not divided by √Dh": lambda x, q, *a: _grouped(x, q * (len(q) / a[-2]) ** 0.5, *a),
        "the values made with W_k": lambda x, q, k, v, *a: _grouped(x, q, k, k, *a),
        "the keys made with W_v": lambda x, q, k, v, *a: _grouped(x, q, v, v, *a),
    },
)
