"""How a learner's answer is tried and judged; `checks.py` lists what can be checked.

Every check tries fresh sizes, small ones first, and compares values *and gradients* with the
NumPy reference. A wrong answer is also compared with well-known mistakes, so that the report
can name them.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from mha_utils.checks.cases import SIZES, Case, arguments, describe_call, draw, layouts
from mha_utils.checks.exercises.one_head import Task
from mha_utils.checks.report import (
    RAISED,
    Report,
    WrongError,
    WrongResultError,
    call_answer,
    hint_for,
    in_short,
    name_of,
)

CUT = "\n  `torch.tensor(...)`, `.item()` and `.detach()` cut it off"
SPOILED = "\n  It is NaN: a NaN on the way spoils it, also where the value is replaced afterwards"
TOLERANCE = 1e-4  # of the largest reference value; float32 has about 1e-7


def check_task(answer: Callable, task: Task, seed: int) -> Report:
    """Hold `answer` to a task: values and gradients, contiguous and transposed inputs."""
    random = np.random.default_rng(seed)
    cases = [draw(task, sizes, random) for sizes in SIZES]
    steps = [_require_right_values, _require_right_dtype]
    steps += [_require_right_gradients] if task.inputs else []
    try:
        for require in steps:
            for case in [*cases[1:], cases[0]]:  # sizes of 1 last: they say least
                for tensors in layouts(case.arrays):
                    require(answer, task, case, tensors)
    except WrongResultError as wrong:
        return Report(False, str(wrong) + _named_mistake(answer, task, cases))
    except WrongError as wrong:
        return Report(False, str(wrong))
    what = "values and gradients" if task.inputs else "values"
    return Report(True, f"✓ {name_of(answer)}: {what} right for {len(SIZES)} sizes")


def _require_right_values(answer: Callable, task: Task, case: Case, tensors) -> None:
    call = describe_call(answer, task, case)
    came, expected = call_answer(answer, arguments(tensors, case), call), task.solve(*case.plain)
    require_tensor(came, np.asarray(expected), call)
    _require_values(came, np.asarray(expected), call)
    for name, tensor, array in zip(task.inputs, tensors, case.arrays):
        if not np.array_equal(tensor.detach().numpy(), array):
            raise WrongError(f"✗ {call} changes its input {name} in place")


def _require_right_dtype(answer: Callable, task: Task, case: Case, tensors) -> None:
    """Floats come out as they went in: another dtype would stop the next product."""
    call = describe_call(answer, task, case)
    came = call_answer(answer, arguments(tensors, case), call)
    require_tensor(came, np.asarray(task.solve(*case.plain)), call)
    wanted = tensors[0].dtype if tensors else torch.get_default_dtype()
    if came.dtype not in (wanted, torch.bool):
        raise WrongError(f"✗ {call} has right values, but should be {wanted}, got {came.dtype}")


def _require_right_gradients(answer: Callable, task: Task, case: Case, tensors) -> None:
    call = describe_call(answer, task, case)
    came = call_answer(answer, arguments(tensors, case), call)
    require_tensor(came, np.asarray(task.solve(*case.plain)), call)
    if not came.requires_grad:
        raise WrongError(f"✗ {call} has right values, but no gradient flows back through it{CUT}")
    grad_out = np.random.default_rng(1).normal(size=tuple(came.shape))
    grads = _gradients(came, tensors, torch.tensor(grad_out).to(came), answer, call)
    right = task.gradients_of(case.arrays, list(case.constants.values()), grad_out)
    for name, grad, expected in zip(task.inputs, grads, right):
        if grad is None or not close(numbers_of(grad, call), expected):
            what = f"✗ {call} has right values, but a wrong gradient for {name}"
            raise WrongError(what + _gradient_hint(grad))


def _gradient_hint(grad: Tensor | None) -> str:
    if grad is None:
        return f": none{CUT}"
    return SPOILED if grad.isnan().any() else ""


def _gradients(came: Tensor, tensors, grad_out: Tensor, answer: Callable, call: str):
    try:
        return torch.autograd.grad(came, tensors, grad_out, allow_unused=True)
    except RAISED as error:
        reason = in_short(error).partition(":")[0]
        text = f"✗ {call} has right values, but no gradient can be computed:\n  {reason}"
        raise WrongError(text + hint_for(error, answer)) from error


def require_tensor(came, expected: np.ndarray, call: str) -> None:
    """Hold what came to a tensor of the shape of `expected`, boolean where that is.

    Raises:
        WrongError: if it is something else.
    """
    if not isinstance(came, Tensor):
        raise WrongError(f"✗ {call} should return a tensor, got {type(came).__name__}")
    wanted, shape = tuple(expected.shape), tuple(came.shape)
    if shape != wanted == ():
        raise WrongResultError(f"✗ {call} should be one number (shape ()), got shape {shape}")
    if shape != wanted:
        hint = "\n  The same sizes in another order" if sorted(shape) == sorted(wanted) else ""
        raise WrongResultError(f"✗ {call} should have shape {wanted}, got {shape}{hint}")
    if expected.dtype == bool and came.dtype != torch.bool:
        raise WrongError(f"✗ {call} should be boolean (torch.bool), got {came.dtype}")


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


def _require_values(came: Tensor, expected: np.ndarray, call: str) -> None:
    came = numbers_of(came, call)
    if close(came, expected.astype(np.float64)):
        return
    at = np.unravel_index(np.argmax(np.nan_to_num(abs(came - expected), nan=np.inf)), came.shape)
    if expected.ndim == 0:
        text = f"should be {expected:.4f}, got {came:.4f}"
    elif expected.dtype == bool:
        text = f"is wrong at {_place(at)}: it should be {expected[at]} there"
    else:
        text = (
            f"has the right shape and wrong numbers.\n  Furthest off at {_place(at)}: "
            f"expected {expected[at]:.4f}, got {came[at]:.4f}"
        )
    raise WrongResultError(f"✗ {call} {text}")


def _place(at: tuple) -> list[int]:
    return [int(i) for i in at]


def _named_mistake(answer: Callable, task: Task, cases: list[Case]) -> str:
    """The first well-known mistake that gives what `answer` gives, in every case."""
    results, again = ([_result(answer, case) for case in cases] for _ in range(2))
    if any(not np.array_equal(a, b, equal_nan=True) for a, b in zip(results, again)):
        return "\n  It changes from call to call: draw no random numbers of your own"
    for name, mistake in task.mistakes.items():
        with np.errstate(all="ignore"):
            wrong = [np.asarray(mistake(*case.plain), dtype=np.float64) for case in cases]
        if all(r.shape == w.shape and close(r, w) for r, w in zip(results, wrong)):
            return f"\n  Your result equals: {name}"
    return ""


def _result(answer: Callable, case: Case) -> np.ndarray:
    try:
        tensors = next(layouts(case.arrays))
        return answer(*arguments(tensors, case)).detach().double().numpy()
    except RAISED:
        return np.empty(0)  # equals no mistake


def close(came: np.ndarray, expected: np.ndarray) -> bool:
    """Whether all numbers agree up to rounding, NaN with NaN."""
    tolerance = TOLERANCE * max(1.0, np.nanmax(np.abs(expected), initial=0.0))
    return np.allclose(came, expected, rtol=0, atol=tolerance, equal_nan=True)
