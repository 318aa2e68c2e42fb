"""Hold callers to what a signature says: wrong input becomes a ValueError that names it."""

import functools
import inspect
import typing

import torch
from jaxtyping import AbstractArray, jaxtyped
from torch import Tensor, nn


def checked(function):
    """Check tensor arguments against their jaxtyping annotations before each call.

    A letter means the same size in every argument, and no named size may be 0, except B:
    an empty batch gives an empty result.
    All tensors must sit on one device; all floating ones must share one dtype
    (unless autocast is on, which converts them).
    Nothing is checked while `torch.compile` or `torch.export` traces, and kinds of arguments
    (shapes, dtypes, devices) that have passed once pass again without a look.

    Raises:
        ValueError: if an argument does not fit; the text lists every tensor
            argument, what was expected and what came.
    """
    signature = inspect.signature(function, eval_str=True)
    expected = {
        name: annotation
        for name, parameter in signature.parameters.items()
        if (annotation := _array_annotation(parameter.annotation)) is not None
    }

    passed = set()

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        if not torch.compiler.is_compiling():
            kinds = (*map(_kind, args), *kwargs, *map(_kind, kwargs.values()))
            if kinds not in passed:
                given = signature.bind(*args, **kwargs).arguments
                if _require_fit(function.__name__, expected, given):
                    _remember(passed, kinds)
        return function(*args, **kwargs)

    return wrapper


def require_sizes(**sizes: int) -> None:
    """Raise ValueError unless every size is an integer of at least 1."""
    for name, size in sizes.items():
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise ValueError(f"{name} must be an integer of at least 1, got {size!r}")


def require_seed(seed: int) -> None:
    """Raise ValueError unless a generator can be seeded with `seed`."""
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63:
        raise ValueError(f"seed must be an integer of at least 0, got {seed!r}")


def require_divisible(embed_dim: int, num_heads: int) -> None:
    """Raise ValueError unless `num_heads` heads share `embed_dim` columns evenly."""
    require_sizes(embed_dim=embed_dim, num_heads=num_heads)
    if embed_dim % num_heads:
        raise ValueError(
            f"embed_dim must be divisible by num_heads, got embed_dim={embed_dim} and "
            f"num_heads={num_heads} (remainder {embed_dim % num_heads})"
        )


def require_finite(**tensors) -> None:
    """Raise ValueError unless these tensors hold neither NaN nor infinity."""
    for name, tensor in tensors.items():
        if wrong := int((~tensor.isfinite()).sum()):
            raise ValueError(f"{name} must be finite, got {wrong} NaN or infinite numbers")


def require_probability(**probabilities: float) -> None:
    """Raise ValueError unless every value is a number in [0, 1]; NaN is none."""
    for name, p in probabilities.items():
        is_number = isinstance(p, int | float) and not isinstance(p, bool)
        if not is_number or not 0 <= p <= 1:  # NaN is not
            raise ValueError(f"{name} must be a probability between 0 and 1, got {p!r}")


def require_width(name: str, tensor: Tensor, width: int, meaning: str) -> None:
    """Raise ValueError unless the last dimension of `tensor` is `width`."""
    if tensor.shape[-1] != width:
        raise ValueError(
            f"{name} must have {meaning} = {width} numbers in its last dimension, "
            f"got shape {tuple(tensor.shape)}"
        )


def require_input(name: str, tensor: Tensor, layer: nn.Module, meaning: str) -> None:
    """Raise ValueError unless `layer` takes vectors of this width and dtype.

    What the layer does not tell is not checked: an adapter around it may have no `weight`.
    """
    if hasattr(layer, "in_features"):
        require_width(name, tensor, layer.in_features, meaning)
    require_dtype(name, tensor, getattr(layer, "weight", None))


def require_dtype(name: str, tensor: Tensor, weight) -> None:
    """Raise ValueError if `weight` is floating and of another dtype, unless autocast is on."""
    is_floating = isinstance(weight, Tensor) and weight.is_floating_point()
    if is_floating and tensor.dtype != weight.dtype and not _is_autocast(tensor):
        raise ValueError(
            f"{name} must have the dtype of the module, {_dtype(weight)}, got {_dtype(tensor)}"
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


def require_between(name: str, values: Tensor, low: int, high: int) -> None:
    """Raise ValueError unless every number of `values` is in [low, high]."""
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


def require_mask(mask: Tensor | None, full_shape: tuple[int, int, int, int]) -> None:
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
            f"mask must be (T, S) = {full_shape[2:]} or broadcast to (B, H, T, S) = {full_shape} "
            f"from four dimensions, as padding (B, 1, 1, S) does, got {tuple(mask.shape)}"
        )


def require_enough_keys(is_causal: bool, query_len: int, key_len: int) -> None:
    """Raise ValueError if causal attention has fewer keys than queries."""
    if is_causal and key_len < query_len:
        raise ValueError(f"key_len must be at least query_len={query_len}, got {key_len}")


def _array_annotation(annotation):
    options = typing.get_args(annotation) or (annotation,)
    return next((o for o in options if inspect.isclass(o) and issubclass(o, AbstractArray)), None)


def _kind(argument):
    """All that the check of an argument depends on."""
    if isinstance(argument, Tensor):
        return argument.shape, argument.dtype, argument.device
    return type(argument)


def _remember(passed: set, kinds: tuple) -> None:
    if len(passed) >= 1000:
        passed.clear()
    passed.add(kinds)


def _require_fit(caller: str, expected: dict, given: dict) -> bool:
    """Whether the same kinds of arguments would pass without autocast, too."""
    given = {name: given[name] for name in expected if given.get(name) is not None}
    with jaxtyped("context"):  # inside, a letter has to mean one size
        misfits = {n: expected[n].__instancecheck_str__(value) for n, value in given.items()}
    for name, value in given.items():
        reason = _explain(misfits[name], expected[name], value)
        if reason:
            raise ValueError(_report(caller, name, reason, expected, given))
    for name, value in given.items():
        reason = _mixed(value, next(iter(given.values())))
        if reason:
            raise ValueError(_report(caller, name, reason, expected, given))
    return len({value.dtype for value in given.values() if value.is_floating_point()}) <= 1


def _explain(misfit: str, annotation, value) -> str:
    if not isinstance(value, Tensor):
        return f"a {type(value).__name__} is not a torch.Tensor"
    if "has dtype" in misfit:
        return f"its dtype is {_dtype(value)}, not {annotation.dtype.__name__.lower()}"
    letters = [d.lstrip("#") for d in annotation.dim_str.split() if not d.startswith("*")]
    named = zip(reversed(letters), reversed(value.shape))
    if not misfit and any(size == 0 and letter != "B" for letter, size in named):
        return "a dimension of size 0: there is nothing to attend with or to"
    return misfit.replace("torch.Size", "")


def _mixed(value: Tensor, first: Tensor) -> str:
    if value.device != first.device:
        return f"it is on device {value.device}, the first argument on {first.device}"
    both_float = value.is_floating_point() and first.is_floating_point()
    if both_float and value.dtype != first.dtype and not _is_autocast(value):
        return f"its dtype is {_dtype(value)}, that of the first argument {_dtype(first)}"
    return ""


def _is_autocast(tensor: Tensor) -> bool:
    """Whether autocast is on where the tensor is: it would convert what is mixed."""
    kind = tensor.device.type
    return torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind)


def _report(caller: str, wrong: str, reason: str, expected: dict, given: dict) -> str:
    lines = [f"{caller}: {wrong} does not fit: {reason}"]
    for name, value in given.items():
        kind = expected[name].dtype.__name__
        lines.append(f"  {name}: expected {kind} ({expected[name].dim_str}), got {_came(value)}")
    return "\n".join(lines)


def _came(value) -> str:
    if isinstance(value, Tensor):
        return f"{_dtype(value)} {tuple(value.shape)}"
    return type(value).__name__


def _dtype(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
