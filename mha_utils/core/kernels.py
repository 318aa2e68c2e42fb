"""Ways to attend without weights to show: one fused call, or blocks of queries.

q is (B, H, T, Dh), k and v are (B, H, S, Dh); a mask is boolean, True = may attend, and has two
or four dimensions that broadcast to (B, H, T, S). A query that may attend to nothing gets zeros,
with a zero gradient.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from mha_utils.core.contracts import (
    checked,
    require_bools,
    require_enough_keys,
    require_mask,
    require_probability,
)
from mha_utils.core.precision import in_float32
from mha_utils.core.steps import causal_mask

QUERY_BLOCK = 128  # queries that are computed at once where they are taken in blocks


@checked
def attend(
    q: Float[Tensor, "B H T Dh"],
    k: Float[Tensor, "B H S Dh"],
    v: Float[Tensor, "B H S Dh"],
    mask: Bool[Tensor, "..."] | None = None,
    is_causal: bool = False,
    dropout: float = 0.0,
) -> Float[Tensor, "B H T Dh"]:
    """softmax(q kᵀ / sqrt(Dh)) v for every head, in the way that is fastest here.

    No way is less accurate than PyTorch's kernel, and none depends on the kind of processor.

    Args:
        q: queries, (B, H, T, Dh).
        k, v: keys and values, (B, H, S, Dh).
        mask: True = may attend; (T, S), or four dimensions that broadcast to (B, H, T, S).
        is_causal: a query sees no key after its own; the last query meets the last key.
        dropout: probability to drop a weight.

    Raises:
        ValueError: if something does not fit, `dropout` is not a probability, or `is_causal`
            is asked for with fewer keys than queries.
    """
    query_len, key_len = q.shape[-2], k.shape[-2]
    require_mask(mask, (*q.shape[:-1], key_len))
    require_bools(is_causal=is_causal)
    require_enough_keys(is_causal, query_len, key_len)
    require_probability(dropout=dropout)
    if query_len == 1:  # it is the last, and sees every key
        is_causal = False
    if 0 < dropout < 1 and takes_blocks(q):
        q, k, v = (t.contiguous() for t in (q, k, v))
        return in_blocks(by_products, q, k, v, mask, is_causal, dropout)
    if not is_causal or (mask is None and query_len == key_len):
        return by_kernel(q, k, v, mask, dropout, is_causal)
    if takes_blocks(q):
        return in_blocks(by_kernel, q, k, v, mask, is_causal, dropout)
    return by_kernel(q, k, v, joined_mask(q, k, mask, is_causal), dropout)


def by_kernel(q, k, v, mask=None, dropout=0.0, is_causal=False):
    """PyTorch's fused kernel, which never makes the (T, S) weights."""
    options = {"dropout_p": dropout, "is_causal": is_causal}
    if mask is None:
        return F.scaled_dot_product_attention(q, k, v, **options)
    mask, empty = without_empty_rows(mask)
    return F.scaled_dot_product_attention(q, k, v, mask, **options).masked_fill(empty, 0.0)


@in_float32
def by_products(q, k, v, mask=None, dropout=0.0):
    """Two batched products around a softmax, which overwrites the scores where it may."""
    scores = (q * q.shape[-1] ** -0.5) @ k.mT
    if mask is not None:
        mask, empty = without_empty_rows(mask)
        scores = scores.masked_fill_(~mask, -torch.inf)
    weights = torch.softmax(scores, dim=-1, out=None if scores.requires_grad else scores)
    heads = dropped(weights, dropout) @ v
    return heads if mask is None else heads.masked_fill(empty, 0.0)


def in_blocks(way: Callable, q, k, v, mask, is_causal, dropout):
    """`way` for a block of queries at a time; if causal, with no key after the last of them."""
    query_len, key_len = q.shape[-2], k.shape[-2]
    heads = []
    for start in range(0, query_len, QUERY_BLOCK):
        stop = min(start + QUERY_BLOCK, query_len)
        seen = key_len - query_len + stop if is_causal else key_len
        block, keys, values = q[:, :, start:stop], k[:, :, :seen], v[:, :, :seen]
        allowed = None if mask is None else part_of(mask, start, stop, seen)
        allowed = joined_mask(block, keys, allowed, is_causal)
        heads.append(way(block, keys, values, allowed, dropout).transpose(1, 2))
    return torch.cat(heads, dim=1).transpose(1, 2)  # stored as (B, T, H, Dh): merging is free


def dropped(weights: Tensor, p: float) -> Tensor:
    """Dropout from 16 random bits for each weight: p is rounded down to a multiple of 1/65536."""
    if p == 0:
        return weights
    limit = int(p * 65536)
    words = torch.randint(-(2**63), 2**63 - 1, (weights.numel() // 4 + 1,), device=weights.device)
    bits = words.view(torch.int16)[: weights.numel()].view(weights.shape)
    return weights.masked_fill(bits < limit - 32768, 0.0) * (65536 / (65536 - limit))


def joined_mask(q: Tensor, k: Tensor, mask: Tensor | None, is_causal: bool) -> Tensor | None:
    """The mask, the causal mask, both of them, or None."""
    if not is_causal:
        return mask
    causal = causal_mask(q.shape[-2], k.shape[-2], q.device)
    return causal if mask is None else mask & causal


def without_empty_rows(mask: Tensor) -> tuple[Tensor, Tensor]:
    """A mask in which every query may attend to something, and where that is not so, (..., T, 1).

    The kernels give zeros or NaN for an empty row, and NaN in gradients; none gets to see one.
    """
    empty = ~mask.any(dim=-1, keepdim=True)
    return mask | empty, empty


def part_of(mask: Tensor, start: int, stop: int, seen: int) -> Tensor:
    """Rows start to stop and the first `seen` columns; a size of 1 stays, it broadcasts."""
    mask = mask[..., start:stop, :] if mask.shape[-2] > 1 else mask
    return mask[..., :seen] if mask.shape[-1] > 1 else mask


def takes_blocks(q: Tensor) -> bool:
    """Whether a loop over blocks pays: on a CPU, where it saves work and memory.

    On a GPU it would be many small launches, and `torch.compile` would compile it anew for
    every length.
    """
    return q.device.type == "cpu" and not torch.compiler.is_compiling()
