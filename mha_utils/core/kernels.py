"""Ways to attend without weights to show: one fused call, or blocks of queries.

q is (B, H, T, Dh), k and v are (B, Hkv, S, .); a mask is boolean, True = may attend, and has two
or four dimensions that broadcast to (B, H, T, S). A query that may attend to nothing gets zeros,
with a zero gradient.
"""

import contextlib
from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.attention.bias import causal_lower_right

from mha_utils.core.guards import (
    checked,
    require_bools,
    require_enough_keys,
    require_groups,
    require_mask,
    require_positive,
    require_probability,
)
from mha_utils.core.signatures import in_float32
from mha_utils.core.steps import causal_mask, share_heads

QUERY_BLOCK = 128  # queries that are computed at once where they are taken in blocks


@checked
def attend(
    q: Float[Tensor, "B H T Dh"],
    k: Float[Tensor, "B Hkv S Dh"],
    v: Float[Tensor, "B Hkv S Dv"],
    mask: Bool[Tensor, "..."] | None = None,
    is_causal: bool = False,
    dropout: float = 0.0,
    *,
    bias: Float[Tensor, "..."] | None = None,
    scale: float | None = None,
) -> Float[Tensor, "B H T Dv"]:
    """softmax(scale q kᵀ + bias) v for every head, in the way that is fastest here.

    No way is less accurate than PyTorch's kernel, and none depends on the kind of processor.

    Args:
        q: queries, (B, H, T, Dh).
        k, v: keys (B, Hkv, S, Dh) and values (B, Hkv, S, Dv); each of their heads serves
            H / Hkv neighbouring heads of queries.
        mask: True = may attend; (T, S), or four dimensions that broadcast to (B, H, T, S).
        is_causal: a query sees no key after its own; the last query meets the last key.
        dropout: probability to drop a weight.
        bias: finite numbers that are added to the scores, of the forms that a mask may have.
        scale: of the scores; 1 / sqrt(Dh) when left out.

    Raises:
        ValueError: if something does not fit, `dropout` is not a probability, `scale` is not
            a positive number, or `is_causal` is asked for with fewer keys than queries.
    """
    require_mask(mask, (*q.shape[:-1], k.shape[-2]))
    require_mask(bias, (*q.shape[:-1], k.shape[-2]), "bias")
    require_groups(q.shape[1], k.shape[1])
    require_bools(is_causal=is_causal)
    require_enough_keys(is_causal, q.shape[-2], k.shape[-2])
    require_probability(dropout=dropout)
    require_positive(scale=1 if scale is None else scale)
    return attend_unchecked(q, k, v, mask, is_causal, dropout, bias=bias, scale=scale)


def attend_unchecked(q, k, v, mask, is_causal, dropout, *, bias=None, scale=None):
    """`attend` for what is known to fit: a token that is written would wait for the checks."""
    if q.shape[-2] == 1:  # it is the last, and sees every key
        is_causal = False
    drops, joins = 0 < dropout < 1, is_causal and mask is not None
    if not (drops or joins) or bias is not None or scale is not None or not takes_blocks(q):
        return by_kernel(q, k, v, mask, dropout, is_causal, bias, scale)
    if drops:
        q, k, v = (t.contiguous() for t in (q, k, v))
    way = by_products if drops else by_kernel
    return in_blocks(way, q, k, v, mask, is_causal, dropout)


def by_kernel(q, k, v, mask=None, dropout=0.0, is_causal=False, bias=None, scale=None):
    """PyTorch's fused kernel, which never makes the (T, S) weights."""
    if not serves_groups(q, mask, bias):
        k, v = share_heads(k, q.shape[1]), share_heads(v, q.shape[1])
    options = {"dropout_p": dropout, "scale": scale, "enable_gqa": q.shape[1] != k.shape[1]}
    if is_causal and mask is None and bias is None:
        return by_causal_kernel(q, k, v, options)
    mask = joined_mask(q, k, mask, is_causal)
    if mask is None:
        return F.scaled_dot_product_attention(q, k, v, bias, **options)
    mask, empty = without_empty_rows(mask)
    added = mask if bias is None else bias.masked_fill(~mask, -torch.inf)
    return F.scaled_dot_product_attention(q, k, v, added, **options).masked_fill(empty, 0.0)


def serves_groups(q: Tensor, mask: Tensor | None, bias: Tensor | None) -> bool:
    """Whether the kernel reads shared heads of keys itself, without making the weights.

    On a GPU flash alone does, which knows half precision and no mask.
    """
    if q.device.type != "cuda":
        return True
    return q.dtype in (torch.float16, torch.bfloat16) and mask is None and bias is None


def by_causal_kernel(q, k, v, options):
    """Without a mask where that can be: T = S, or on a GPU, where flash kernels know rectangles."""
    query_len, key_len = q.shape[-2], k.shape[-2]
    if query_len == key_len:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, **options)
    mask = causal_mask(query_len, key_len, q.device)
    if q.device.type == "cuda" and not torch.compiler.is_compiling():
        with contextlib.suppress(RuntimeError):  # no such object under a mode that counts or fakes
            mask = causal_lower_right(query_len, key_len)
    return F.scaled_dot_product_attention(q, k, v, mask, **options)


@in_float32
def by_products(q, k, v, mask=None, dropout=0.0):
    """Two batched products around a softmax."""
    k, v = share_heads(k, q.shape[1]), share_heads(v, q.shape[1])
    scores = (q * q.shape[-1] ** -0.5) @ k.mT
    if mask is not None:
        mask, empty = without_empty_rows(mask)
        scores = scores.masked_fill_(~mask, -torch.inf)
    heads = dropped(scores.softmax(dim=-1), dropout) @ v
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
