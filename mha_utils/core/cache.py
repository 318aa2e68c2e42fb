"""Keys and values of the tokens so far: what a layer need not compute again for the next one."""

import functools
from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mha_utils.core.guards import (
    checked,
    require_between,
    require_count,
    require_kind,
    require_sizes,
    require_width,
)


class KeyValueCache:
    """The keys and values of one layer, in memory that is taken once; the caller owns it.

    Args:
        batch_size: B.
        num_kv_heads: Hkv of the layer.
        capacity: how many tokens fit.
        head_dim: Dh of the layer.
        device, dtype: of the keys and values.

    Raises:
        ValueError: if a size is not an integer of at least 1.
    """

    def __init__(
        self,
        batch_size: int,
        num_kv_heads: int,
        capacity: int,
        head_dim: int,
        device=None,
        dtype=None,
    ):
        require_sizes(batch_size=batch_size, num_kv_heads=num_kv_heads)
        require_sizes(capacity=capacity, head_dim=head_dim)
        shape = (batch_size, num_kv_heads, capacity, head_dim)
        self.keys = torch.empty(shape, device=device, dtype=dtype)
        self.values = torch.empty_like(self.keys)
        self.length = 0

    @property
    def capacity(self) -> int:
        """How many tokens fit."""
        return self.keys.shape[2]

    def append(
        self, k: Float[Tensor, "B Hkv T Dh"], v: Float[Tensor, "B Hkv T Dh"]
    ) -> tuple[Float[Tensor, "B Hkv S Dh"], Float[Tensor, "B Hkv S Dh"]]:
        """Add the keys and values of T tokens; views of all so far, S = `length` of them.

        Raises:
            ValueError: if they do not fit (shape, dtype, device, more tokens than there is room
                for), or carry a gradient, which a cache would cut. The cache is then as before.
        """
        require_fit(self, k=k, v=v)
        length = self.length + k.shape[2]
        self.keys[:, :, self.length : length] = k
        self.values[:, :, self.length : length] = v
        self.length = length  # last: what could not be written is not there
        return self.keys[:, :, :length], self.values[:, :, :length]

    def rewind(self, length: int = 0) -> None:
        """Forget all tokens but the first `length`.

        Raises:
            ValueError: if `length` is not an integer between 0 and the length now.
        """
        require_count("length", length, self.length)
        self.length = length

    @checked
    def reorder(self, order: Int[Tensor, " B"]) -> None:
        """Let sequence i go on from what sequence `order[i]` has, as beam search does.

        Raises:
            ValueError: if `order` does not name a sequence of the cache for each of its B.
        """
        require_between("order", order, 0, len(self.keys) - 1)
        require_width("order", order, len(self.keys), "batch_size")
        for kept in (self.keys, self.values):
            kept[:, :, : self.length] = kept[order, :, : self.length]

    def __repr__(self) -> str:
        batch_size, num_kv_heads, capacity, head_dim = self.keys.shape
        return (
            f"KeyValueCache({self.length} of {capacity} tokens; batch_size={batch_size}, "
            f"num_kv_heads={num_kv_heads}, head_dim={head_dim}, {self.keys.dtype})"
        )


def keeps_cache(forward: Callable) -> Callable:
    """A `forward` that fails leaves its cache as long as it was: the step may be tried again."""

    @functools.wraps(forward)
    def wrapper(*args, **kwargs):
        cache = kwargs.get("cache")
        if not isinstance(cache, KeyValueCache) or torch.compiler.is_compiling():
            return forward(*args, **kwargs)
        length = cache.length
        try:
            return forward(*args, **kwargs)
        except BaseException:  # an interrupt, too
            cache.length = length
            raise

    return wrapper


def require_fit(cache: KeyValueCache, **tensors: Tensor) -> None:
    """Raise ValueError unless keys and values can go into the cache."""
    batch_size, num_kv_heads, capacity, head_dim = cache.keys.shape
    for name, tensor in tensors.items():
        expected = (batch_size, num_kv_heads, tensors["k"].shape[2], head_dim)
        if tensor.shape != expected:
            raise ValueError(
                f"{name} must be (B, Hkv, T, Dh) = {expected} to go into the cache, "
                f"got {tuple(tensor.shape)}"
            )
        if (tensor.dtype, tensor.device) != (cache.keys.dtype, cache.keys.device):
            raise ValueError(
                f"{name} must be {cache.keys.dtype} on {cache.keys.device} as the cache is, "
                f"got {tensor.dtype} on {tensor.device}"
            )
        if torch.is_grad_enabled() and tensor.requires_grad:
            raise ValueError(f"{name} has a gradient, which a cache would cut: use torch.no_grad()")
    if cache.length + tensors["k"].shape[2] > capacity:
        raise ValueError(
            f"the cache has room for {capacity} tokens: it holds {cache.length}, "
            f"got {tensors['k'].shape[2]} more"
        )


def require_cache(cache: KeyValueCache | None) -> None:
    """Raise ValueError unless it is None or a `KeyValueCache`."""
    if cache is not None:
        require_kind("cache", cache, KeyValueCache)


def require_self_attention(context, values, positions, cache, rotary) -> None:
    """Raise ValueError where positions or a cache meet keys of other tokens, or no rotary."""
    if positions is not None and rotary is None:
        raise ValueError("positions are for a layer with rotary=, this one has none")
    if context is None and values is None:
        return
    for name, part in (("rotary", rotary), ("a cache", cache)):
        if part is not None:
            raise ValueError(f"{name} is for self-attention: expected x alone, got context, too")
