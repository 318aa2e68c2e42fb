"""`@checked` refuses tensors that do not fit the shapes in a signature; `@in_float32`.

A misfit becomes a clear ValueError.
`@in_float32`: scores, softmax and averages of 16 bits are computed in 32.
"""

import contextlib
import functools
import inspect
import typing
from collections.abc import Callable

import torch
from jaxtyping import AbstractArray, jaxtyped
from torch import Tensor


def checked(function):
    """Check tensor arguments against their jaxtyping annotations before each call.

    A letter means the same size in every argument, and no named size may be 0, except B:
    an empty batch gives an empty result.
    All tensors must sit on one device; all floating ones must share one dtype
    (unless autocast is on, which converts them).
    Nothing is checked while `torch.compile` or `torch.export` traces: what would be silently wrong
    there needs a guard of its own. The result is cached for each kind of arguments (shapes,
    dtypes, devices) that fits. `*args` are not understood; of `A | B` the first is checked.

    Raises:
        ValueError: if an argument does not fit; the text lists every tensor
            argument, with what was expected and what it got.
    """
    signature = inspect.signature(function, eval_str=True)
    annotations = {name: given.annotation for name, given in signature.parameters.items()}
    expected = {
        name: array
        for name, annotation in annotations.items()
        if (array := _array_annotation(annotation)) is not None
    }
    needed = [n for n in expected if type(None) not in typing.get_args(annotations[n])]
    passed = set()

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        if not torch.compiler.is_compiling():
            kinds = (*map(_kind, args), *kwargs, *map(_kind, kwargs.values()))
            if kinds not in passed:
                given = signature.bind(*args, **kwargs).arguments
                _require_tensors(function.__name__, needed, given)
                if _require_fit(function.__name__, expected, given):
                    _remember(passed, kinds)
        return function(*args, **kwargs)

    return wrapper


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


def _require_tensors(caller: str, needed: list, given: dict) -> None:
    for name in given:
        if name in needed and given[name] is None:
            raise ValueError(f"{caller}: {name} must be a torch.Tensor, got None")


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
        return f"its dtype is {dtype_name(value)}, not {annotation.dtype.__name__.lower()}"
    letters = [d.lstrip("#") for d in annotation.dim_str.split() if not d.startswith("*")]
    named = zip(reversed(letters), reversed(value.shape))
    if not misfit and any(size == 0 and letter != "B" for letter, size in named):
        return "a dimension of size 0: there is nothing to attend with or to"
    return misfit.replace("torch.Size", "")


def _mixed(value: Tensor, first: Tensor) -> str:
    if value.device != first.device:
        return f"it is on device {value.device}, the first argument on {first.device}"
    both_float = value.is_floating_point() and first.is_floating_point()
    if both_float and value.dtype != first.dtype and not is_autocast(value):
        return f"its dtype is {dtype_name(value)}, that of the first argument {dtype_name(first)}"
    return ""


def is_autocast(tensor: Tensor) -> bool:
    """Whether autocast is on where the tensor is: it would convert what is mixed."""
    kind = tensor.device.type
    return torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind)


def _report(caller: str, wrong: str, reason: str, expected: dict, given: dict) -> str:
    lines = [f"{caller}: {wrong} does not fit: {reason}"]
    for name, value in given.items():
        kind = expected[name].dtype.__name__
        lines.append(f"  {name}: expected {kind} ({expected[name].dim_str}), got {_got(value)}")
    return "\n".join(lines)


def _got(value) -> str:
    if isinstance(value, Tensor):
        return f"{dtype_name(value)} {tuple(value.shape)}"
    return type(value).__name__


def dtype_name(tensor: Tensor) -> str:
    """The dtype as people write it: float32."""
    return str(tensor.dtype).removeprefix("torch.")


HALF = (torch.bfloat16, torch.float16)


def in_float32(function: Callable) -> Callable:
    """Let `function` compute float16 and bfloat16 in float32, autocast or not.

    Its tensors in half precision arrive in float32, its results are rounded back once, at the
    end. So do PyTorch's kernels inside: scores that were rounded to 8 bits before the softmax
    would be wrong by whole tenths where they are large.
    """

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        tensors = (a for a in (*args, *kwargs.values()) if isinstance(a, Tensor))
        half = next((tensor for tensor in tensors if tensor.dtype in HALF), None)
        if half is None:
            return function(*args, **kwargs)
        with without_autocast(half.device.type):
            kwargs = {name: _changed(value, HALF, torch.float32) for name, value in kwargs.items()}
            results = function(*(_changed(a, HALF, torch.float32) for a in args), **kwargs)
        if isinstance(results, tuple):
            return tuple(_changed(result, (torch.float32,), half.dtype) for result in results)
        return _changed(results, (torch.float32,), half.dtype)

    return wrapper


def without_autocast(device_type: str):
    """A context in which autocast does not narrow products on this kind of device."""
    if torch.amp.is_autocast_available(device_type):
        return torch.autocast(device_type, enabled=False)
    return contextlib.nullcontext()


def _changed(value, old: tuple, new: torch.dtype):
    return value.to(new) if isinstance(value, Tensor) and value.dtype in old else value
