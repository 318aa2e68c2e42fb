"""The task of the whole multi-head attention (chapter 10)."""

import functools

import numpy as np

from mha_utils import reference
from mha_utils.checks.exercises.heads import direct_view, merge, split
from mha_utils.checks.tensors import Tensors
from mha_utils.reference import heads as reference_heads


def _module_shapes(lead, t, s, dh, dv) -> dict:
    """B = dv, H = s."""
    weight = (s * dh, s * dh)
    return {"x": (dv, t, s * dh)} | dict.fromkeys(("W_q", "W_k", "W_v", "W_out"), weight)


def _heads_and_mask(lead, t, s, dh, dv, random) -> dict:
    mask = random.random((dv, 1, t, t)) < 0.7
    mask[..., np.arange(t), np.arange(t)] = True
    return {"num_heads": s, "mask": mask}


def _parameters(weights) -> dict:
    return {name: (w.astype(np.float64), None) for name, w in zip(("q", "k", "v", "out"), weights)}


def _multi_head(x, *arguments, scale=1.0):
    *weights, num_heads, mask = arguments
    weights[0] = weights[0] * scale
    return reference_heads.multi_head_batched(x, x, _parameters(weights), num_heads, mask)


def _multi_head_gradients(x, *arguments):
    *weights, num_heads, mask, grad_out = arguments
    parameters = _parameters(weights)
    grads = reference_heads.multi_head_gradients(x, x, parameters, num_heads, grad_out, mask)
    names = ("q.weight", "k.weight", "v.weight", "out.weight")
    return grads["x"] + grads["context"], *(grads[name] for name in names)


def _attend(q, k, v, mask, axis=-1, scale=0.5):
    """As learners write it: a softmax over nothing but forbidden places is NaN."""
    scores = q @ np.swapaxes(k, -2, -1) / q.shape[-1] ** scale
    scores = np.where(mask, scores, -np.inf)
    powers = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True) @ v


def _attend_and_mask(q, k, v, mask):
    return (reference.attention_batched(q, k, v)[1] * mask) @ v


def _multi_head_with(x, *arguments, split=split, merge=merge, attend=_attend):
    """The module with another split, merge or attention."""
    w_q, w_k, w_v, w_out, num_heads, mask = arguments
    q, k, v = (split(x.astype(np.float64) @ w.T, num_heads) for w in (w_q, w_k, w_v))
    return merge(attend(q, k, v, mask)) @ w_out.T


def _without(x, *arguments, out_proj=True):
    *weights, num_heads, mask = arguments
    weights[3] = weights[3] if out_proj else np.eye(x.shape[-1])
    return _multi_head(x, *weights, num_heads, mask)


check_multi_head = Tensors(
    asks=(
        "`answer(x, W_q, W_k, W_v, W_out, num_heads, mask)`: all of multi-head "
        "self-attention. x is (B, T, D), every W (D, D) as in nn.Linear, mask (B, 1, T, T) "
        "with True = may attend."
    ),
    inputs=("x", "W_q", "W_k", "W_v", "W_out"),
    constants=_heads_and_mask,
    spread=0.7,
    shapes=_module_shapes,
    solve=_multi_head,
    gradients=_multi_head_gradients,
    mistakes={
        "merge without transposing back (chapter 09)": lambda *a: _multi_head_with(
            *a, merge=lambda heads: heads.reshape(len(heads), heads.shape[2], -1)
        ),
        "the direct view(B, H, T, Dh) (chapter 04)": lambda *a: _multi_head_with(
            *a, split=direct_view
        ),
        "scores divided by sqrt(D), not by sqrt(Dh)": lambda x, *a: _multi_head(
            x, *a, scale=a[-2] ** -0.5
        ),
        "scores not divided by sqrt(Dh)": lambda x, *a: _multi_head(
            x, *a, scale=(x.shape[-1] / a[-2]) ** 0.5
        ),
        "the output projection is missing": lambda *a: _without(*a, out_proj=False),
        "the mask is not used": lambda *a: _multi_head(*a[:-1], True),
        "the mask upside down: True read as forbidden": lambda *a: _multi_head(*a[:-1], ~a[-1]),
        "x @ W instead of x @ W.T: nn.Linear stores (outputs, inputs)": lambda x, *a: _multi_head(
            x, *(w.T for w in a[:4]), *a[4:]
        ),
        "the mask upside down: every full row is NaN": lambda *a: _multi_head_with(*a[:-1], ~a[-1]),
        "scores divided by Dh, not by its square root": lambda *a: _multi_head_with(
            *a, attend=functools.partial(_attend, scale=1.0)
        ),
        "softmax over the queries": lambda *a: _multi_head_with(
            *a, attend=functools.partial(_attend, axis=-2)
        ),
        "softmax over the heads": lambda *a: _multi_head_with(
            *a, attend=functools.partial(_attend, axis=1)
        ),
        "the mask applied after the softmax: rows do not sum to 1": lambda *a: _multi_head_with(
            *a, attend=_attend_and_mask
        ),
        "the values made with W_k": lambda x, w_q, w_k, w_v, *a: _multi_head(x, w_q, w_k, w_k, *a),
        "the keys made with W_q": lambda x, w_q, w_k, *a: _multi_head(x, w_q, w_q, *a),
        "W_out without .T: nn.Linear stores (outputs, inputs)": lambda x, *a: _multi_head(
            x, *a[:3], a[3].T, *a[4:]
        ),
        "one head of width D": lambda *a: _multi_head(*a[:-2], 1, a[-1]),
    },
)
