"""The steps of attention, each a pure function of tensors.

Letters: B sequences (any leading dimensions), T query positions, S key positions,
H heads, Dh width of a head, Dv width of a value, D = H x Dh.
A mask is boolean and **True means: may attend**.
Source: Vaswani et al., "Attention Is All You Need" (2017), section 3.2.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mha_utils.core.guards import (
    checked,
    require_between,
    require_divisible,
    require_groups,
    require_no_fewer_keys,
    require_probability,
    require_sizes,
)
from mha_utils.core.signatures import in_float32


@checked
def attention_scores(
    q: Float[Tensor, "*B T Dh"], k: Float[Tensor, "*B S Dh"]
) -> Float[Tensor, "*B T S"]:
    """Similarity of every query with every key: dot product / sqrt(Dh).

    Args:
        q: queries, (*B, T, Dh).
        k: keys, (*B, S, Dh).

    Returns:
        scores, (*B, T, S): entry i, j belongs to query i and key j; no unit, any sign. In half
        precision large ones lose what tells them apart: `attention` computes them in float32.

    Raises:
        ValueError: if widths, leading dimensions, dtypes or devices differ, or T, S or Dh is 0.
    """
    return (q / q.shape[-1] ** 0.5) @ k.transpose(-2, -1)


@checked
def attention_weights(
    scores: Float[Tensor, "*B T S"], mask: Bool[Tensor, "*#B #T #S"] | None = None
) -> Float[Tensor, "*B T S"]:
    """Softmax over the keys: every row becomes shares that sum to 1.

    Args:
        scores: (*B, T, S).
        mask: True = may attend, broadcast over (*B, T, S); None lets everyone attend.

    Returns:
        weights, (*B, T, S), between 0 and 1. A row that may attend to nothing is all
        zeros, with a zero gradient. Scores of -inf do not count as a mask: use one.

    Raises:
        ValueError: if the mask is not boolean or does not broadcast to the scores.
    """
    if mask is None:
        return scores.softmax(dim=-1)
    empty = ~mask.any(dim=-1, keepdim=True)  # a row of -inf alone would become NaN
    masked = scores.masked_fill(~(mask | empty), -torch.inf)
    return masked.softmax(dim=-1).masked_fill(empty, 0.0)


@checked
@in_float32
def attention(
    q: Float[Tensor, "*B T Dh"],
    k: Float[Tensor, "*B S Dh"],
    v: Float[Tensor, "*B S Dv"],
    mask: Bool[Tensor, "*#B #T #S"] | None = None,
) -> tuple[Float[Tensor, "*B T Dv"], Float[Tensor, "*B T S"]]:
    """Scaled dot-product attention: for every query, a weighted average of the values.

    Args:
        q: queries, (*B, T, Dh).
        k: keys, (*B, S, Dh).
        v: values, (*B, S, Dv); Dv may differ from Dh.
        mask: True = may attend, broadcast over (*B, T, S).

    Returns:
        (out, weights): (*B, T, Dv) and (*B, T, S), in the dtype of q. Half precision is
        computed in float32.

    Raises:
        ValueError: if sizes, dtypes or devices do not fit together, or one is 0.
    """
    weights = attention_weights(attention_scores(q, k), mask)
    return weights @ v, weights


def causal_mask(
    query_len: int, key_len: int | None = None, device: torch.device | str | None = None
) -> Bool[Tensor, "T S"]:
    """True where a query may look: at itself and at everything before it.

    With more keys than queries (a cache), the last query is aligned with the last key.

    Args:
        query_len: T.
        key_len: S, at least T; T when left out.
        device: where the mask is made; the default device when left out.

    Returns:
        mask, (T, S), boolean.

    Raises:
        ValueError: if a length is not a positive integer, or S < T.
    """
    key_len = query_len if key_len is None else key_len
    require_no_fewer_keys(query_len, key_len)
    everywhere = torch.ones(query_len, key_len, dtype=torch.bool, device=device)
    return everywhere.tril(diagonal=key_len - query_len)


@checked
def padding_mask(lengths: Int[Tensor, " B"], key_len: int) -> Bool[Tensor, "B 1 1 S"]:
    """True for the first `lengths` tokens of each sequence, False for the padding after them.

    Args:
        lengths: (B,), how many of the S keys of each sequence are real; 0 to S.
        key_len: S.

    Returns:
        mask, (B, 1, 1, S): the same for every head and every query of a sequence.

    Raises:
        ValueError: if a length is below 0 or above S.
    """
    require_sizes(key_len=key_len)
    require_between("lengths", lengths, 0, key_len)
    positions = torch.arange(key_len, device=lengths.device)
    return (positions < lengths[:, None])[:, None, None, :]


@checked
def split_heads(q: Float[Tensor, "B T D"], num_heads: int) -> Float[Tensor, "B H T Dh"]:
    """Cut the D columns of q (or of k or v) into H neighbouring groups, one for each head.

    Args:
        q: what a projection gives, (B, T, D).
        num_heads: H; must divide D.

    Returns:
        a view, (B, H, T, Dh): head h holds columns h x Dh to (h + 1) x Dh. No number moves.

    Raises:
        ValueError: if D is not divisible by H.
    """
    batch_size, seq_len, embed_dim = q.shape
    require_divisible(embed_dim, num_heads)
    return q.view(batch_size, seq_len, num_heads, embed_dim // num_heads).transpose(1, 2)


@checked
def share_heads(heads: Float[Tensor, "B Hkv S Dh"], num_heads: int) -> Float[Tensor, "B H S Dh"]:
    """Let each head of keys or values serve H / Hkv neighbouring heads of queries.

    Args:
        heads: (B, Hkv, S, Dh).
        num_heads: H, a multiple of Hkv.

    Raises:
        ValueError: if Hkv does not divide H.
    """
    require_groups(num_heads, heads.shape[1])
    if heads.shape[1] == num_heads:
        return heads
    return heads.repeat_interleave(num_heads // heads.shape[1], dim=1)


@checked
def merge_heads(heads: Float[Tensor, "B H T Dh"]) -> Float[Tensor, "B T H*Dh"]:
    """Put the heads of every token back side by side; undoes `split_heads`."""
    batch_size, num_heads, seq_len, head_dim = heads.shape
    return heads.transpose(1, 2).reshape(batch_size, seq_len, num_heads * head_dim)


@checked
def drop_weights(
    weights: Float[Tensor, "*B T S"], p: float, generator: torch.Generator | None = None
) -> Float[Tensor, "*B T S"]:
    """Set each weight to 0 with probability p and divide the others by 1 - p.

    Args:
        weights: (*B, T, S).
        p: probability to drop a weight, 0 to 1. With p = 1 everything is dropped.
        generator: where the randomness comes from; torch's global one when left out.

    Raises:
        ValueError: if p is not a probability (NaN is none).
    """
    require_probability(p=p)
    if p == 1:
        return torch.zeros_like(weights)
    made = {"dtype": torch.float32, "device": weights.device}
    draw = torch.rand(weights.shape, generator=generator, **made)
    return weights * (draw >= p) / (1 - p)
