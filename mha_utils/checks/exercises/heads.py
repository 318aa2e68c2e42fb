"""Exercises about many heads: splitting, merging, projecting (chapters 04, 05, 09 and 90)."""

import numpy as np

from mha_utils.checks.museum_mistakes import museum_mistake, museum_mistakes, with_weights
from mha_utils.checks.tensors import Tensors

SPLITS = ("direct view to heads", "columns dealt out like cards")
MERGES = ("merge without transpose", "merge with the heads as the fast dimension")


def split(q, num_heads):
    """(B, T, D) -> (B, H, T, Dh)."""
    return np.stack(np.split(q, num_heads, axis=-1), axis=1)


def side_by_side(heads):
    """(H, T, Dh) -> (T, H x Dh)."""
    return np.concatenate(list(heads), axis=-1)


def merge(heads):
    """(B, H, T, Dh) -> (B, T, D)."""
    return side_by_side(np.moveaxis(heads, 1, 0))


def unscrambled(merged, num_heads):
    """(B, T, D), heads joined without the transpose, as it should have been."""
    batch_size, seq_len, width = merged.shape
    return merge(merged.reshape(batch_size, num_heads, seq_len, width // num_heads))


def scrambled(merged, num_heads):
    """The slip once more: the heads of (B, T, D) joined without the transpose."""
    return split(merged, num_heads).reshape(merged.shape)


def num_heads(sizes, random) -> dict:
    return {"num_heads": sizes.H}


def _split_by(layer, q, num_heads):
    return layer(q.shape[-1], num_heads).split(q)


def _merge_by(layer, heads):
    return layer(heads.shape[1] * heads.shape[-1], heads.shape[1]).merge(heads)


def merge_stack_by(layer, stack):
    """What `_merge_by` does to heads, without a batch: (H, T, Dh) -> (T, H x Dh)."""
    return _merge_by(layer, stack[None])[0]


def _project_by(layer, heads, w_out):
    made = with_weights(layer, heads.shape[1], out_proj=w_out)
    return made.project_out(made.merge(heads))


def _project_one(heads, w_out, h):
    return heads[:, h] @ split(w_out[None], heads.shape[1])[0, h].T


check_split = Tensors(
    asks="`answer(q, num_heads)`: q (B, T, D) as (B, T, H, Dh).",
    inputs=("q",),
    shapes={"q": "B T HDh"},
    constants=num_heads,
    solve=lambda q, num_heads: np.moveaxis(split(q, num_heads), 1, 2),
    mistakes=museum_mistakes(lambda *arguments: _split_by(*arguments).transpose(1, 2), *SPLITS),
)
check_split_heads = Tensors(
    asks="`answer(q, num_heads)`: q (B, T, D) as (B, H, T, Dh).",
    inputs=("q",),
    shapes={"q": "B T HDh"},
    constants=num_heads,
    solve=split,
    mistakes={
        **museum_mistakes(_split_by, *SPLITS),
        "not transposed: (B, T, H, Dh)": check_split.solve,
    },
)
check_one_projection = Tensors(
    asks="`answer(W_heads)`: the matrices (H, D, Dh) side by side, (D, H x Dh).",
    inputs=("W_heads",),
    solve=side_by_side,
    mistakes={
        "the (H, D, Dh) numbers cut into D rows as they lie": museum_mistake(
            merge_stack_by, MERGES[0]
        ),
        "column 0 of every head first": museum_mistake(merge_stack_by, MERGES[1]),
        "the matrices on top of each other: (H x D, Dh)": np.concatenate,
        "the last head on the left": lambda stack: side_by_side(stack[::-1]),
    },
)
check_merge_heads = Tensors(
    asks="`answer(heads)`: heads (B, H, T, Dh) side by side, (B, T, D).",
    inputs=("heads",),
    solve=merge,
    mistakes={
        **museum_mistakes(_merge_by, *MERGES, "heads added up, not put side by side"),
        "the sequences of the batch side by side, not the heads": side_by_side,
        "heads added up: (B, T, Dh)": lambda heads: heads.sum(axis=1),
        "not joined: (B, T, H, Dh)": lambda heads: np.moveaxis(heads, 1, 2),
    },
)
check_unscramble = Tensors(
    asks="`answer(merged, num_heads)`: (B, T, D), joined without the transpose, put in order.",
    inputs=("merged",),
    shapes={"merged": "B T HDh"},
    constants=num_heads,
    solve=unscrambled,
    mistakes={
        "every number where it was: a view there and back moves nothing": lambda merged, h: merged,
        "the slip a second time, on top of the first": scrambled,
        "in order, but the last head first": lambda merged, h: merge(
            merged.reshape(len(merged), h, merged.shape[1], -1)[:, ::-1]
        ),
    },
)
check_project_heads = Tensors(
    asks="`answer(heads, W_out)`: merged heads through a linear layer, W_out (D, D).",
    inputs=("heads", "W_out"),
    solve=lambda heads, w: merge(heads).astype(np.float64) @ w.astype(np.float64).T,
    gradients=lambda heads, w, grad_out: (
        split(grad_out @ w, heads.shape[1]),
        np.einsum("bto,bti->oi", grad_out, merge(heads)),
    ),
    mistakes={
        **museum_mistakes(_project_by, "output weight not transposed", *MERGES),
        "the heads in reverse order": lambda heads, w: merge(heads[:, ::-1]) @ w.T,
        "the last head alone: add the heads up": lambda heads, w: _project_one(heads, w, -1),
        "the first head alone: is the `return` inside the loop?": lambda heads, w: _project_one(
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
