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

from mha_utils.attention import causal_mask
from mha_utils.contracts import checked, require_enough_keys, require_mask, require_probability
from mha_utils.masks import to_additive

QUERY_BLOCK = 128  # queries that are computed at once where they are taken in blocks
CPU = getattr(torch.cpu, "get_capabilities", dict)()  # torch before 2.10 does not say
COMPUTES = {  # what this processor multiplies itself; the rest is converted number by number
    torch.bfloat16: any(CPU.get(name) for name in ("amx_bf16", "avx512_bf16", "bf16")),
    torch.float16: any(CPU.get(name) for name in ("amx_fp16", "avx512_fp16", "fp16_arith")),
}
HAS_BFLOAT16_WITHOUT_TILES = bool(CPU.get("avx512_bf16") and not CPU.get("amx_bf16"))


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
    require_enough_keys(is_causal, query_len, key_len)
    require_probability(dropout=dropout)
    if query_len == 1:  # it is the last, and sees every key
        is_causal = False
    has_two_masks = is_causal and (mask is not None or query_len != key_len)
    if prefers_products(q, k, dropout):
        q, k, v = (t.contiguous() for t in (q, k, v))
        return in_blocks(by_products, q, k, v, mask, is_causal, dropout)
    if not has_two_masks:
        return by_kernel(q, k, v, mask, dropout, is_causal)
    if torch.compiler.is_compiling():  # a loop would be compiled anew for every length
        return by_kernel(q, k, v, joined_mask(q, k, mask, is_causal), dropout)
    return in_blocks(by_kernel, q, k, v, mask, is_causal, dropout)


def by_kernel(q, k, v, mask=None, dropout=0.0, is_causal=False):
    """PyTorch's fused kernel, which never makes the (T, S) weights."""
    options = {"dropout_p": dropout, "is_causal": is_causal}
    if mask is None:
        return F.scaled_dot_product_attention(q, k, v, **options)
    mask, empty = without_empty_rows(mask)
    return F.scaled_dot_product_attention(q, k, v, mask, **options).masked_fill(empty, 0.0)


def by_products(q, k, v, mask=None, dropout=0.0):
    """Two batched products around a softmax, which overwrites the scores where it may."""
    scores = (q * q.shape[-1] ** -0.5) @ k.mT
    if mask is not None:
        mask, empty = without_empty_rows(mask)
        scores += to_additive(mask, scores.dtype)
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
    words = torch.randint(-(2**63), 2**63 - 1, (weights.numel() // 4 + 1,))
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


def is_emulated(x: Tensor) -> bool:
    """Whether x is on a processor that has no product for its dtype: float32 is faster there."""
    return x.device.type == "cpu" and not COMPUTES.get(x.dtype, True)


def prefers_products(q: Tensor, k: Tensor, dropout: float) -> bool:
    """Where blocks of plain products are faster than the fused kernel; measured, not deduced.

    On a CPU with live dropout, where the kernel falls back to a slow path; and in bfloat16 on
    a CPU that has its products but no tiles, as long as what training keeps stays in the cache.
    """
    if q.device.type != "cpu" or dropout == 1 or torch.compiler.is_compiling():
        return False
    fits = not q.requires_grad or k.shape[-2] <= 1024
    return dropout > 0 or (q.dtype == torch.bfloat16 and HAS_BFLOAT16_WITHOUT_TILES and fits)
