"""Tasks about many heads: splitting, merging, projecting."""

import numpy as np

from mha_utils.checks.tensors import Tensors


def _heads_shapes(lead, t, s, dh, dv) -> dict:
    """B = dv, H = s."""
    tokens, heads = (dv, t, s * dh), (dv, s, t, dh)
    stack, square = (s, dv + 1, dh), (s * dh, s * dh)
    return {"x": tokens, "heads": heads, "W_heads": stack, "W_out": square}


def _num_heads(lead, t, s, dh, dv, random) -> dict:
    return {"num_heads": s}


def direct_view(x, num_heads):
    """(B, H, T, Dh) by a view alone: the numbers as they lie."""
    batch_size, seq_len, embed_dim = x.shape
    return x.reshape(batch_size, num_heads, seq_len, embed_dim // num_heads)


def _columns_to_heads(x, num_heads):
    """(B, H, T, Dh) with head = column % H instead of column // Dh."""
    return np.stack([x[..., h::num_heads] for h in range(num_heads)], axis=1)


def split(x, num_heads):
    """(B, T, D) -> (B, H, T, Dh)."""
    return np.stack(np.split(x, num_heads, axis=-1), axis=1)


def merge(heads):
    """(B, H, T, Dh) -> (B, T, D)."""
    return np.concatenate(list(np.moveaxis(heads, 1, 0)), axis=-1)


def _one_head(heads, w, h):
    return heads[:, h] @ split(w[None], heads.shape[1])[0, h].T


check_split = Tensors(
    asks="`answer(x, num_heads)`: x (B, T, D) as (B, T, H, Dh).",
    inputs=("x",),
    constants=_num_heads,
    shapes=_heads_shapes,
    solve=lambda x, num_heads: np.moveaxis(split(x, num_heads), 1, 2),
    mistakes={
        "columns dealt out like cards: head h takes every H-th column": lambda x, num_heads: (
            np.moveaxis(_columns_to_heads(x, num_heads), 1, 2)
        ),
        "the direct view(B, H, T, Dh), transposed: rows of a head come from one token": (
            lambda x, num_heads: np.moveaxis(direct_view(x, num_heads), 1, 2)
        ),
    },
)
check_split_heads = Tensors(
    asks="`answer(x, num_heads)`: x (B, T, D) as (B, H, T, Dh).",
    inputs=("x",),
    constants=_num_heads,
    shapes=_heads_shapes,
    solve=split,
    mistakes={
        "the direct view(B, H, T, Dh): rows of a head come from one token (chapter 04)": (
            direct_view
        ),
        "not transposed: (B, T, H, Dh)": lambda x, num_heads: np.moveaxis(
            split(x, num_heads), 1, 2
        ),
        "columns dealt out like cards: head h takes every H-th column": _columns_to_heads,
    },
)
check_one_projection = Tensors(
    asks="`answer(W_heads)`: the matrices (H, D, Dh) side by side, (D, H x Dh).",
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
        "the matrices on top of each other: (H x D, Dh)": lambda stack: np.concatenate(list(stack)),
        "the last head on the left": lambda stack: np.concatenate(list(stack[::-1]), axis=-1),
    },
)
check_merge_heads = Tensors(
    asks="`answer(heads)`: heads (B, H, T, Dh) side by side, (B, T, D).",
    inputs=("heads",),
    shapes=_heads_shapes,
    solve=merge,
    mistakes={
        "merge without transposing back: rows mix tokens (chapter 09)": lambda heads: heads.reshape(
            len(heads), heads.shape[2], -1
        ),
        "the sequences of the batch side by side, not the heads": lambda heads: np.concatenate(
            list(heads), axis=-1
        ),
        "heads added up": lambda heads: heads.sum(axis=1),
        "not joined: (B, T, H, Dh)": lambda heads: np.moveaxis(heads, 1, 2),
        "column 0 of every head first": lambda heads: np.moveaxis(heads, 1, -1).reshape(
            len(heads), heads.shape[2], -1
        ),
    },
)
check_project_heads = Tensors(
    asks="`answer(heads, W_out)`: merged heads through a linear layer, W_out (D, D).",
    inputs=("heads", "W_out"),
    shapes=_heads_shapes,
    solve=lambda heads, w: merge(heads).astype(np.float64) @ w.astype(np.float64).T,
    gradients=lambda heads, w, grad_out: (
        split(grad_out @ w, heads.shape[1]),
        np.einsum("bto,bti->oi", grad_out, merge(heads)),
    ),
    mistakes={
        "W_out not transposed: rows of the matrix instead of columns": lambda heads, w: (
            merge(heads) @ w
        ),
        "heads merged without transposing back (chapter 09)": lambda heads, w: (
            heads.reshape(len(heads), heads.shape[2], -1) @ w.T
        ),
        "the heads in reverse order": lambda heads, w: merge(heads[:, ::-1]) @ w.T,
        "the last head alone: add the heads up": lambda heads, w: _one_head(heads, w, -1),
        "the first head alone: is the `return` inside the loop?": lambda heads, w: _one_head(
            heads, w, 0
        ),
        "the average of the heads' contributions, not their sum": lambda heads, w: (
            merge(heads) @ w.T / heads.shape[1]
        ),
        "the same columns of W_out for every head: the first ones": lambda heads, w: (
            heads.sum(axis=1) @ w[:, : heads.shape[-1]].T
        ),
    },
)
