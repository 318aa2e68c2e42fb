"""Half precision: stored in 16 bits, computed in 32."""

import contextlib
import functools
from collections.abc import Callable

import torch
from torch import Tensor

HALF = (torch.bfloat16, torch.float16)


def in_float32(function: Callable) -> Callable:
    """Let `function` compute float16 and bfloat16 in float32, autocast or not.

    Its tensors in half precision arrive in float32, its results are rounded back once, at the
    end. So do PyTorch's kernels inside: scores that were rounded to 8 bits before the softmax
    would be wrong by whole tenths where they are large.
    """

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        dtypes = [a.dtype for a in (*args, *kwargs.values()) if isinstance(a, Tensor)]
        narrow = next((dtype for dtype in dtypes if dtype in HALF), None)
        if narrow is None:
            return function(*args, **kwargs)
        with without_autocast(next(a.device.type for a in args if isinstance(a, Tensor))):
            kwargs = {name: _changed(value, HALF, torch.float32) for name, value in kwargs.items()}
            results = function(*(_changed(a, HALF, torch.float32) for a in args), **kwargs)
        if isinstance(results, tuple):
            return tuple(_changed(result, (torch.float32,), narrow) for result in results)
        return _changed(results, (torch.float32,), narrow)

    return wrapper


def without_autocast(device_type: str):
    """A context in which autocast does not narrow products on this kind of device."""
    if torch.amp.is_autocast_available(device_type):
        return torch.autocast(device_type, enabled=False)
    return contextlib.nullcontext()


def _changed(value, old: tuple, new: torch.dtype):
    return value.to(new) if isinstance(value, Tensor) and value.dtype in old else value
