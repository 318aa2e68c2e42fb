"""The task of independent heads in one stack, without a loop (chapter 03)."""

import numpy as np

from mha_utils import reference
from mha_utils.checks.tensors import Tensors


def _stacked_heads(x, w_q, w_k, w_v):
    """(H, T, Dv): the heads before they are put side by side."""
    q, k, v = (np.einsum("td,hde->hte", x.astype(np.float64), w) for w in (w_q, w_k, w_v))
    return reference.attention_batched(q, k, v)[0]


def _side_by_side(heads):
    return np.concatenate(list(heads), axis=-1)


def _stacked_gradients(x, w_q, w_k, w_v, grad_out):
    weights = (w_q, w_k, w_v)
    projected = [np.einsum("td,hde->hte", x.astype(np.float64), w) for w in weights]
    grad_heads = np.stack(np.split(grad_out, len(w_v), axis=-1))
    grads = reference.attention_gradients(*projected, grad_heads)
    grad_x = sum(np.einsum("hte,hde->td", g, w) for g, w in zip(grads, weights))
    return grad_x, *(np.einsum("td,hte->hde", x, g) for g in grads)


check_stacked_heads = Tensors(
    asks=(
        "`answer(x, W_q, W_k, W_v)`: all heads side by side, (T, H x Dv). x is (T, D), W_q "
        "and W_k are (H, D, Dh), W_v is (H, D, Dv)."
    ),
    inputs=("x", "W_q", "W_k", "W_v"),
    solve=lambda *arrays: _side_by_side(_stacked_heads(*arrays)),
    gradients=_stacked_gradients,
    mistakes={
        "heads not put side by side: the (H, T, Dv) numbers cut into T rows as they lie": (
            lambda x, *w: _stacked_heads(x, *w).reshape(len(x), -1)
        ),
        "columns of the heads mixed: column 0 of every head first": lambda x, *w: np.moveaxis(
            _stacked_heads(x, *w), 0, -1
        ).reshape(len(x), -1),
        "every head replaced by their average": lambda x, *w: _side_by_side(
            [_stacked_heads(x, *w).mean(axis=0)] * len(w[0])
        ),
        "heads without the division by sqrt(Dh)": lambda x, w_q, w_k, w_v: _side_by_side(
            _stacked_heads(x, w_q * np.sqrt(w_q.shape[-1]), w_k, w_v)
        ),
        "scores divided by sqrt(D), not by sqrt(Dh)": lambda x, w_q, w_k, w_v: _side_by_side(
            _stacked_heads(x, w_q * np.sqrt(w_q.shape[-1] / x.shape[-1]), w_k, w_v)
        ),
        "scores divided by Dh, not by its square root": lambda x, w_q, w_k, w_v: _side_by_side(
            _stacked_heads(x, w_q / np.sqrt(w_q.shape[-1]), w_k, w_v)
        ),
        "heads on top of each other: (H x T, Dv)": lambda x, *w: np.concatenate(
            list(_stacked_heads(x, *w))
        ),
        "heads not put side by side: (H, T, Dv)": _stacked_heads,
        "heads added up": lambda x, *w: _stacked_heads(x, *w).sum(axis=0),
    },
    shapes=lambda lead, t, s, dh, dv: {
        "x": (t + 1, s + 1),
        "W_q": (dv + 1, s + 1, dh),
        "W_k": (dv + 1, s + 1, dh),
        "W_v": (dv + 1, s + 1, t),
    },
)
