"""Guards, `require_...`: refuse wrong sizes, widths, masks, values, dtypes and kinds by name."""

import math

import torch
from torch import Tensor, nn

from mha_utils.core.signatures import checked, dtype_name, is_autocast

__all__ = ["checked"]


def require_sizes(**sizes: int) -> None:
    """Raise ValueError unless every size is an integer of at least 1."""
    for name, size in sizes.items():
        if not _is_integer(size, 1):
            raise ValueError(f"{name} must be an integer of at least 1, got {size!r}")


def require_seed(seed: int) -> None:
    """Raise ValueError unless a generator can be seeded with `seed`."""
    if not _is_integer(seed, 0, 2**63 - 1):
        raise ValueError(f"seed must be an integer of at least 0, got {seed!r}")


def require_divisible(embed_dim: int, num_heads: int) -> None:
    """Raise ValueError unless `num_heads` heads share `embed_dim` columns evenly."""
    require_sizes(embed_dim=embed_dim, num_heads=num_heads)
    if embed_dim % num_heads:
        raise ValueError(
            f"embed_dim must be divisible by num_heads, got embed_dim={embed_dim} and "
            f"num_heads={num_heads} (remainder {embed_dim % num_heads})"
        )


def require_groups(num_heads: int, num_kv_heads: int) -> None:
    """Raise ValueError unless `num_kv_heads` heads can each serve as many of `num_heads`."""
    require_sizes(num_heads=num_heads, num_kv_heads=num_kv_heads)
    if num_heads % num_kv_heads:
        raise ValueError(
            f"num_heads must be divisible by num_kv_heads, got num_heads={num_heads} and "
            f"num_kv_heads={num_kv_heads} (remainder {num_heads % num_kv_heads})"
        )


def require_heads(embed_dim: int, num_heads: int, num_kv_heads: int, head_dim: int | None) -> None:
    """Raise ValueError unless a layer can have these heads; H x Dh is D if nobody says Dh."""
    require_groups(num_heads, num_kv_heads)
    if head_dim is None:
        require_divisible(embed_dim, num_heads)
    else:
        require_sizes(embed_dim=embed_dim, head_dim=head_dim)


def require_finite(**tensors) -> None:
    """Raise ValueError unless these tensors hold neither NaN nor infinity."""
    for name, tensor in tensors.items():
        if wrong := int((~tensor.isfinite()).sum()):
            raise ValueError(f"{name} must be finite, got {wrong} NaN or infinite numbers")


def require_probability(**probabilities: float) -> None:
    """Raise ValueError unless every value is a number in [0, 1]; NaN is none."""
    for name, p in probabilities.items():
        if not _is_number(p) or not 0 <= p <= 1:  # NaN is not
            raise ValueError(f"{name} must be a probability between 0 and 1, got {p!r}")


def require_positive(**numbers: float) -> None:
    """Raise ValueError unless every value is a finite number above 0."""
    for name, number in numbers.items():
        if not _is_number(number) or not 0 < number < math.inf:
            raise ValueError(f"{name} must be a finite number above 0, got {number!r}")


def require_choice(name: str, value, choices: tuple) -> None:
    """Raise ValueError unless `value` is one of these."""
    if value not in choices:
        known = " or ".join(map(repr, choices))
        raise ValueError(f"{name} must be {known}, got {value!r}")


def require_width(name: str, tensor: Tensor, width: int, meaning: str) -> None:
    """Raise ValueError unless the last dimension of `tensor` is `width`."""
    if tensor.shape[-1] != width:
        raise ValueError(
            f"{name} must have {meaning} = {width} numbers in its last dimension, "
            f"got shape {tuple(tensor.shape)}"
        )


def require_input(name: str, tensor: Tensor, layer: nn.Module, meaning: str) -> None:
    """Raise ValueError unless `layer` takes vectors of this width and dtype.

    What the layer does not say is not checked: an adapter around it may have no `weight`, and a
    weight that is sharded, or computed whenever it is asked for, is left alone.
    """
    width = getattr(layer, "in_features", None)
    if width is not None and tensor.shape[-1] != width:
        require_width(name, tensor, width, meaning)
    weight = getattr(layer, "_parameters", {}).get("weight")
    if type(weight) is nn.Parameter and weight.dtype is not tensor.dtype:
        require_dtype(name, tensor, weight)


def require_dtype(name: str, tensor: Tensor, weight) -> None:
    """Raise ValueError if `weight` is floating and of another dtype, unless autocast is on."""
    if weight.is_floating_point() and tensor.dtype != weight.dtype and not is_autocast(tensor):
        raise ValueError(
            f"{name} must have the dtype of the module, {dtype_name(weight)}, "
            f"got {dtype_name(tensor)}"
        )


def require_kind(name: str, value, kind: type) -> None:
    """Raise ValueError unless `value` is of this class."""
    if not isinstance(value, kind):
        raise ValueError(f"{name} must be a {kind.__name__}, got {value!r}")


def require_bools(**flags: bool) -> None:
    """Raise ValueError unless every flag is True or False."""
    for name, flag in flags.items():
        if not isinstance(flag, bool):
            raise ValueError(f"{name} must be True or False, got {flag!r}")


def require_count(name: str, value: int, most: int) -> None:
    """Raise ValueError unless `value` is an integer between 0 and `most`."""
    if not _is_integer(value, 0, most):
        raise ValueError(f"{name} must be an integer between 0 and {most}, got {value!r}")


def require_between(name: str, values: Tensor, low: int, high: int) -> None:
    """Raise ValueError unless every number of `values` is in [low, high].

    Only on a CPU, and not while a program is compiled: a GPU would have to be waited for.
    """
    if values.device.type != "cpu" or torch.compiler.is_compiling():
        return
    outside = values[(values < low) | (values > high)]
    if len(outside):
        raise ValueError(f"{name} must be between {low} and {high}, got {outside.tolist()}")


def require_no_fewer_keys(query_len: int, key_len: int) -> None:
    """Raise ValueError unless both are sizes and there are at least as many keys as queries."""
    require_sizes(query_len=query_len, key_len=key_len)
    if key_len < query_len:
        raise ValueError(f"key_len must be at least query_len={query_len}, got {key_len}")


def require_rank(name: str, tensor: Tensor, dimensions: str) -> None:
    """Raise ValueError unless `tensor` has as many dimensions as `dimensions` lists."""
    if tensor.ndim != len(dimensions.split()):
        raise ValueError(f"{name} must be {dimensions}, got shape {tuple(tensor.shape)}")


def require_mask(
    mask: Tensor | None, full_shape: tuple[int, int, int, int], name: str = "mask"
) -> None:
    """Raise ValueError unless the mask is (T, S) or broadcasts from four dimensions.

    Three dimensions are refused: (B, T, S) would be read as (H, T, S) when B = H. Two are always
    (T, S): a mask (B, S) of padding needs the form (B, 1, 1, S) that `padding_mask` gives. Where
    B = T, nothing but its author can tell the two apart.
    """
    if mask is None:
        return
    fits = mask.ndim in (2, 4) and all(
        m in (1, size) for m, size in zip(reversed(mask.shape), reversed(full_shape))
    )
    if not fits:
        raise ValueError(
            f"{name} must be (T, S) = {full_shape[2:]} or broadcast to (B, H, T, S) = {full_shape} "
            f"from four dimensions, as padding (B, 1, 1, S) does, got {tuple(mask.shape)}"
        )


def require_same_tokens(x: Tensor, context: Tensor, values: Tensor) -> None:
    """Raise ValueError unless x and context share B, context and values B and S: compiled, too."""
    if x.shape[0] != context.shape[0] or context.shape[:2] != values.shape[:2]:
        raise ValueError(
            f"x (B, T, .), context (B, S, .) and values (B, S, .) must share B and S, got "
            f"{tuple(x.shape)}, {tuple(context.shape)} and {tuple(values.shape)}"
        )


def require_whole_heads(head_dim: int, q: Tensor, k: Tensor, v: Tensor) -> None:
    """Raise ValueError unless projections give whole heads, q a multiple of those of k and v."""
    widths = q.shape[-1], k.shape[-1], v.shape[-1]
    if any(not w or w % head_dim or widths[0] % w for w in widths):
        raise ValueError(
            f"q, k and v must be whole heads of width {head_dim}, and q a multiple of k and of v, "
            f"got widths {widths}"
        )


def require_enough_keys(is_causal: bool, query_len: int, key_len: int) -> None:
    """Raise ValueError if causal attention has fewer keys than queries."""
    if is_causal and key_len < query_len:
        raise ValueError(f"key_len must be at least query_len={query_len}, got {key_len}")


def _is_number(value) -> bool:
    numbers = (int, float)  # torch.compile of PyTorch 2.9 cannot take int | float here
    return isinstance(value, numbers) and not isinstance(value, bool)


def _is_integer(value, low: int, high: float = math.inf) -> bool:
    if isinstance(value, torch.SymInt):  # torch.export has yet to say what it is
        return True
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
