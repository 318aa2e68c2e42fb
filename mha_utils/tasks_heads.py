"""Tasks about many heads: splitting, merging, projecting, the whole module."""

import numpy as np

from mha_utils import reference, reference_heads
from mha_utils.tasks import Task


def _heads_shapes(lead, t, s, dh, dv) -> dict:
    """B = dv, H = s."""
    tokens, heads = (dv, t, s * dh), (dv, s, t, dh)
    stack, square = (s, dv + 1, dh), (s * dh, s * dh)
    return {"x": tokens, "heads": heads, "W_heads": stack, "W_out": square}


def _num_heads(lead, t, s, dh, dv, random) -> dict:
    return {"num_heads": s}


def _direct_view(x, num_heads):
    batch_size, seq_len, embed_dim = x.shape
    return x.reshape(batch_size, num_heads, seq_len, embed_dim // num_heads)


def _columns_to_heads(x, num_heads):
    """(B, H, T, Dh) with head = column % H instead of column // Dh."""
    return np.stack([x[..., h::num_heads] for h in range(num_heads)], axis=1)


def _split(x, num_heads):
    return np.stack(np.split(x, num_heads, axis=-1), axis=1)


def _merge(heads):
    return np.concatenate(list(np.moveaxis(heads, 1, 0)), axis=-1)


SPLIT = Task(
    inputs=("x",),
    constants=_num_heads,
    shapes=_heads_shapes,
    solve=lambda x, num_heads: np.moveaxis(_split(x, num_heads), 1, 2),
    mistakes={
        "columns dealt out like cards: head h takes every H-th column": lambda x, num_heads: (
            np.moveaxis(_columns_to_heads(x, num_heads), 1, 2)
        ),
    },
)
SPLIT_HEADS = Task(
    inputs=("x",),
    constants=_num_heads,
    shapes=_heads_shapes,
    solve=_split,
    mistakes={
        "the direct view(B, H, T, Dh): rows of a head come from one token (chapter 04)": (
            _direct_view
        ),
        "columns dealt out like cards: head h takes every H-th column": _columns_to_heads,
    },
)
ONE_PROJECTION = Task(
    inputs=("W_heads",),
    shapes=_heads_shapes,
    solve=lambda stack: np.concatenate(list(stack), axis=-1),
    mistakes={
        "the (H, D, Dh) numbers cut into D rows as they lie": lambda stack: stack.reshape(
            stack.shape[1], -1
        ),
        "column 0 of every head first": lambda stack: np.moveaxis(stack, 0, -1).reshape(
            stack.shape[1], -1
        ),
    },
)
MERGE_HEADS = Task(
    inputs=("heads",),
    shapes=_heads_shapes,
    solve=_merge,
    mistakes={
        "merge without transposing back: rows mix tokens (chapter 09)": lambda heads: heads.reshape(
            len(heads), heads.shape[2], -1
        ),
        "column 0 of every head first": lambda heads: np.moveaxis(heads, 1, -1).reshape(
            len(heads), heads.shape[2], -1
        ),
    },
)
PROJECT_HEADS = Task(
    inputs=("heads", "W_out"),
    shapes=_heads_shapes,
    solve=lambda heads, w: _merge(heads).astype(np.float64) @ w.astype(np.float64).T,
    gradients=lambda heads, w, grad_out: (
        _split(grad_out @ w, heads.shape[1]),
        np.einsum("bto,bti->oi", grad_out, _merge(heads)),
    ),
    mistakes={
        "W_out not transposed: rows of the matrix instead of columns": lambda heads, w: (
            _merge(heads) @ w
        ),
        "heads merged without transposing back (chapter 09)": lambda heads, w: (
            heads.reshape(len(heads), heads.shape[2], -1) @ w.T
        ),
        "the heads in reverse order": lambda heads, w: _merge(heads[:, ::-1]) @ w.T,
    },
)


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


def _multi_head_with(x, *arguments, split=_split, merge=_merge):
    """The module with another split or merge."""
    w_q, w_k, w_v, w_out, num_heads, mask = arguments
    q, k, v = (split(x.astype(np.float64) @ w.T, num_heads) for w in (w_q, w_k, w_v))
    return merge(reference.attention_batched(q, k, v, mask)[0]) @ w_out.T


def _without(x, *arguments, out_proj=True):
    *weights, num_heads, mask = arguments
    weights[3] = weights[3] if out_proj else np.eye(x.shape[-1])
    return _multi_head(x, *weights, num_heads, mask)


MULTI_HEAD = Task(
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
            *a, split=_direct_view
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
        "one head of width D": lambda *a: _multi_head(*a[:-2], 1, a[-1]),
    },
)
