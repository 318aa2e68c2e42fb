"""Masks of every kind but causal and padding (`steps.py`): windows, documents, dialects; leaks.

The causal mask and the one for padding, which the chapters build, are in `steps.py`.
Ours: boolean, True = may attend, broadcasting to (B, H, T, S).
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mha_utils.core.guards import (
    checked,
    require_count,
    require_finite,
    require_mask,
    require_rank,
    require_sizes,
)
from mha_utils.core.steps import causal_mask


def sliding_window_mask(
    query_len: int,
    key_len: int | None = None,
    *,
    window: int,
    sinks: int = 0,
    device: torch.device | str | None = None,
) -> Bool[Tensor, "T S"]:
    """True where a query may look: at the last `window` keys up to its own, and at the sinks.

    Args:
        query_len: T.
        key_len: S, at least T; T when left out. The last query is aligned with the last key.
        window: how many keys a query sees, its own among them.
        sinks: how many of the first keys every later query sees as well.
        device: where the mask is made; the default device when left out.

    Returns:
        mask, (T, S), boolean and causal.

    Raises:
        ValueError: if `window` is not a positive integer, `sinks` is not an integer between 0
            and S, or the lengths are not those of a causal mask.

    Source: Jiang et al. (2023), "Mistral 7B", section 2; sinks: Xiao et al. (2023).
    """
    require_sizes(window=window)
    seen = causal_mask(query_len, key_len, device)
    key_len = seen.shape[1]
    require_count("sinks", sinks, key_len)
    too_old = seen.tril(diagonal=key_len - query_len - window)
    too_old[:, :sinks] = False
    return seen & ~too_old


@checked
def document_mask(
    documents: Int[Tensor, "B S"], query_len: int | None = None
) -> Bool[Tensor, "B 1 T S"]:
    """True where query and key belong to the same document of a packed sequence.

    Args:
        documents: a number for each token that says which document it is of, (B, S).
        query_len: T, when only the last T tokens ask; S when left out.

    Returns:
        mask, (B, 1, T, S), not causal: give `is_causal=True` with it.

    Raises:
        ValueError: if `query_len` is not an integer between 0 and S.
    """
    key_len = documents.shape[1]
    query_len = key_len if query_len is None else query_len
    require_count("query_len", query_len, key_len)
    queries = documents[:, key_len - query_len :]
    return (queries.unsqueeze(2) == documents.unsqueeze(1)).unsqueeze(1)


@checked
def to_sdpa(mask: Bool[Tensor, "..."]) -> Bool[Tensor, "..."]:
    """`attn_mask` of `F.scaled_dot_product_attention`: True = take part, as here."""
    return mask


@checked
def to_additive(
    mask: Bool[Tensor, "..."], dtype: torch.dtype = torch.float32
) -> Float[Tensor, "..."]:
    """0 where a query may attend and -inf where not, to be added to the scores.

    Args:
        dtype: a floating dtype, that of the scores.

    Raises:
        ValueError: if `dtype` is not a floating dtype.
    """
    if not dtype.is_floating_point:
        raise ValueError(f"dtype must be a floating dtype, got {dtype}")
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, -torch.inf)


@checked
def to_torch_mha(
    mask: Bool[Tensor, "..."], scores_shape: tuple[int, int, int, int]
) -> Bool[Tensor, "T S"] | Bool[Tensor, "BH T S"]:
    """`attn_mask` of `nn.MultiheadAttention`: True = may *not* attend, nothing broadcasts.

    Args:
        mask: (T, S), or four dimensions that broadcast to `scores_shape`.
        scores_shape: (B, H, T, S).

    Returns:
        (T, S) for a mask of two dimensions, else (B x H, T, S), batch first.

    Raises:
        ValueError: if the mask has another form.
    """
    require_mask(mask, scores_shape)
    batch_size, num_heads, query_len, key_len = scores_shape
    if mask.ndim == 2:
        return ~mask.expand(query_len, key_len)
    return ~mask.expand(scores_shape).reshape(batch_size * num_heads, query_len, key_len)


@checked
def leak_map(function, x: Float[Tensor, "S D"]) -> Float[Tensor, "T S"]:
    """How strongly output i depends on token j: |d out_i / d x_j|.

    Args:
        function: takes x (S, D) and gives out (T, Dv).
        x: token vectors, (S, D).

    Returns:
        (T, S), not negative: the Frobenius norm of each block of the Jacobian. Exactly 0 where
        nothing of token j reaches output i.

    Raises:
        ValueError: if x is not (S, D) or not finite, or function(x) not (T, Dv).
    """
    require_finite(x=x)
    jacobian = torch.autograd.functional.jacobian(function, x)
    require_rank("the Jacobian of function", jacobian, "(T, Dv, S, D)")
    return jacobian.square().sum(dim=(1, 3)).sqrt()
