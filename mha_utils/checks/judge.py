"""One tensor held to the right one: type, shape, device, dtype, tolerance, gradients."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from mha_utils.checks.report import RAISED, WrongError, WrongResultError, hint_for, in_short

CUT = "\n  `torch.tensor(...)`, `.item()` and `.detach()` cut it off"
SPOILED = "\n  It is NaN: a NaN on the way spoils it, also where the value is replaced afterwards"
TOLERANCE = 1e-4  # of the largest reference value; float32 has about 1e-7


@dataclass(frozen=True)
class Attempt:
    """One call of an answer: its arguments, what it gave, and what the exercise expects."""

    exercise: object
    answer: Callable
    case: object
    tensors: list[Tensor]
    call: str
    got: Tensor
    expected: np.ndarray


def require_tensor(got, expected: np.ndarray, call: str) -> None:
    """Raise a WrongError unless `got` is a tensor of the expected shape, boolean where that is."""
    if not isinstance(got, Tensor):
        raise WrongError(f"✗ {call} should return a tensor, got {type(got).__name__}")
    right, shape = tuple(expected.shape), tuple(got.shape)
    if shape != right == ():
        raise WrongResultError(f"✗ {call} should be one number (shape ()), got shape {shape}")
    if shape != right:
        hint = "\n  The same sizes in another order" if sorted(shape) == sorted(right) else ""
        raise WrongResultError(f"✗ {call} should have shape {right}, got {shape}{hint}")
    if expected.dtype == bool and got.dtype != torch.bool:
        raise WrongError(f"✗ {call} should be boolean (torch.bool), got {got.dtype}")


def require_values(attempt: Attempt) -> None:
    """Raise a WrongError unless the numbers are right and the inputs untouched."""
    _require_numbers(attempt.got, attempt.expected, attempt.call)
    arrays = zip(attempt.exercise.inputs, attempt.tensors, attempt.case.arrays)
    for name, tensor, array in arrays:
        if not np.array_equal(tensor.detach().numpy(), array):
            raise WrongError(f"✗ {attempt.call} changes its input {name} in place")


def _require_numbers(got: Tensor, expected: np.ndarray, call: str) -> None:
    got = numbers_of(got, call)
    if close(got, expected.astype(np.float64)):
        return
    at = np.unravel_index(np.argmax(np.nan_to_num(abs(got - expected), nan=np.inf)), got.shape)
    place = [int(i) for i in at]
    if expected.ndim == 0:
        text = f"should be {expected:.4f}, got {got:.4f}"
    elif expected.dtype == bool:
        text = f"is wrong at {place}: it should be {expected[at]} there"
    else:
        text = (
            f"has the right shape and wrong numbers.\n  Furthest off at {place}: "
            f"expected {expected[at]:.4f}, got {got[at]:.4f}"
        )
    raise WrongResultError(f"✗ {call} {text}")


def require_dtype(attempt: Attempt) -> None:
    """Floats come out as they went in: another dtype would stop the next product."""
    tensors, dtype = attempt.tensors, attempt.got.dtype
    right = tensors[0].dtype if tensors else torch.get_default_dtype()
    if dtype not in (right, torch.bool):
        raise WrongError(f"✗ {attempt.call} has right values, but should be {right}, got {dtype}")


def require_gradients(attempt: Attempt) -> None:
    """Raise a WrongError unless the gradient of every input is right."""
    right = f"✗ {attempt.call} has right values, but"
    if not attempt.got.requires_grad:
        raise WrongError(f"{right} no gradient flows back through it{CUT}")
    grad_out = np.random.default_rng(1).normal(size=attempt.expected.shape)
    expected = attempt.exercise.gradients_of(attempt.case, grad_out)
    try:
        grad_out = torch.tensor(grad_out).to(attempt.got)
        grads = torch.autograd.grad(attempt.got, attempt.tensors, grad_out, allow_unused=True)
    except RAISED as error:
        text = f"{right} no gradient can be computed:\n  {in_short(error).partition(':')[0]}"
        raise WrongError(text + hint_for(error, attempt.answer)) from error
    for name, grad, on_paper in zip(attempt.exercise.inputs, grads, expected):
        if grad is None:
            raise WrongError(f"{right} a wrong gradient for {name}: none{CUT}")
        if not close(numbers_of(grad, attempt.call), on_paper):
            hint = SPOILED if grad.isnan().any() else ""
            raise WrongError(f"{right} a wrong gradient for {name}{hint}")


def numbers_of(tensor: Tensor, call: str) -> np.ndarray:
    """The numbers of a tensor in float64.

    Raises:
        WrongError: if it has none that can be read, as sparse and meta tensors.
    """
    try:
        return tensor.detach().double().numpy()
    except RAISED:
        kind = f"{tensor.layout} on {tensor.device.type!r}"
        text = f"✗ {call} should return a plain tensor on the CPU, got {kind}"
        raise WrongError(text) from None


def close(got: np.ndarray, expected: np.ndarray) -> bool:
    """Whether all numbers agree up to rounding, NaN with NaN."""
    finite = np.abs(expected[np.isfinite(expected)])
    tolerance = TOLERANCE * max(1.0, finite.max(initial=0.0))
    return np.allclose(got, expected, rtol=0, atol=tolerance, equal_nan=True)
