"""One mask, every dialect. Ours: boolean, True = may attend, broadcasting to (B, H, T, S)."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from mha_utils.core.contracts import checked, require_mask


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
