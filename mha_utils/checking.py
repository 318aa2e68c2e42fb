"""How a learner's answer is tried and judged; `checks.py` lists what can be checked.

Every check tries fresh sizes, smallest first, and compares values *and gradients* with the
NumPy reference. A wrong answer is also compared with well-known mistakes, so that the report
can name them.
"""

import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from mha_utils.tasks import Task

SIZES = (
    # leading dimensions, T, S, Dh, Dv
    ((), 1, 1, 1, 1),
    ((), 2, 4, 3, 5),
    ((), 3, 5, 4, 2),
    ((2,), 5, 3, 2, 3),
    ((2, 3), 7, 7, 5, 4),
)
KINDS = {int: "a whole number (int)", float: "a number (float)", tuple: "a tuple"}
TOLERANCE = 1e-4  # of the largest reference value; float32 has about 1e-7


@dataclass(frozen=True)
class Report:
    """What a check found. Prints as its message; `bool(report)` is True when all is right."""

    passed: bool
    message: str

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        return self.message


@dataclass(frozen=True)
class Case:
    """One set of arguments: float arrays that gradients flow to, and everything else."""

    arrays: list[np.ndarray]
    constants: dict

    @property
    def plain(self) -> list:
        return [*self.arrays, *self.constants.values()]


class _Wrong(Exception):
    """Carries the message of a failed check."""


class _WrongNumbers(_Wrong):
    """The shape is right: perhaps a well-known mistake."""


def check_values(answer: Callable, cases: tuple, solve: Callable) -> Report:
    """Hold `answer` to numbers, tuples or texts: the same type and value as `solve` gives."""
    try:
        for case in cases:
            call = f"{_name(answer)}({', '.join(map(str, case))})"
            came, expected = _call(answer, case, call), solve(*case)
            if type(came) is not type(expected):
                raise _Wrong(f"✗ {call} should be {KINDS[type(expected)]}, got {came!r}")
            is_float = isinstance(expected, float)
            near = abs(came - expected) <= 1e-6 * abs(expected) if is_float else False
            if came != expected and not near:
                raise _Wrong(f"✗ {call} should be {expected}, got {came}")
    except _Wrong as wrong:
        return Report(False, str(wrong))
    return Report(True, f"✓ {_name(answer)}: right in all {len(cases)} cases")


def check_mask_on_every_device(answer: Callable) -> Report:
    """Hold `answer(scores)` to a causal mask on the device of the scores.

    "meta" is a device without numbers that every machine has; it takes no others' tensors.
    """
    for shape in ((4, 4), (1, 1), (2, 3, 5, 5)):
        expected = np.tril(np.ones(shape[-2:], dtype=bool))
        for device in ("cpu", "meta"):
            call = f"{_name(answer)}(scores{shape} on {device!r})"
            try:
                came = _call(answer, [torch.zeros(shape, device=device)], call)
                _require_tensor(came, expected, call)
                _require_mask(came, expected, device, call)
            except _Wrong as wrong:
                return Report(False, str(wrong))
    return Report(True, f"✓ {_name(answer)}: right on every device")


def _require_mask(came: Tensor, expected: np.ndarray, device: str, call: str) -> None:
    if came.device.type != device:
        raise _Wrong(f"✗ {call} is on {came.device.type!r}: make it with device=scores.device")
    if device != "cpu" or np.array_equal(came.numpy(), expected):
        return
    inverted = np.array_equal(came.numpy(), ~expected)
    hint = "\n  Your mask is the other way round: True = may attend" if inverted else ""
    raise _Wrong(f"✗ {call} is not True on and below the diagonal and False above{hint}")


def check_task(answer: Callable, task: Task, seed: int) -> Report:
    """Hold `answer` to a task: values and gradients, contiguous and transposed inputs."""
    random = np.random.default_rng(seed)
    cases = [_draw(task, sizes, random) for sizes in SIZES]
    steps = (_require_right_values, _require_right_gradients)[: 2 if task.inputs else 1]
    try:
        for require in steps:
            for case in cases:
                for tensors in _layouts(case.arrays):
                    require(answer, task, case, tensors)
    except _WrongNumbers as wrong:
        return Report(False, str(wrong) + _named_mistake(answer, task, cases))
    except _Wrong as wrong:
        return Report(False, str(wrong))
    what = "values and gradients" if task.inputs else "values"
    return Report(True, f"✓ {_name(answer)}: {what} right for {len(SIZES)} sizes")


def _require_right_values(answer: Callable, task: Task, case: Case, tensors) -> None:
    call = _describe_call(answer, task, case)
    came, expected = _call(answer, _arguments(tensors, case), call), task.solve(*case.plain)
    _require_tensor(came, np.asarray(expected), call)
    _require_values(came, np.asarray(expected, dtype=np.float64), call)
    for name, tensor, array in zip(task.inputs, tensors, case.arrays):
        if not np.array_equal(tensor.detach().numpy(), array):
            raise _Wrong(f"✗ {call} changes its input {name} in place")


def _require_right_gradients(answer: Callable, task: Task, case: Case, tensors) -> None:
    call = _describe_call(answer, task, case)
    came = _call(answer, _arguments(tensors, case), call)
    if not came.requires_grad:
        raise _Wrong(f"✗ {call} has right values, but no gradient flows back through it")
    grad_out = np.random.default_rng(1).normal(size=tuple(came.shape))
    grads = torch.autograd.grad(came, tensors, torch.tensor(grad_out).to(came), allow_unused=True)
    right = task.gradients_of(case.arrays, list(case.constants.values()), grad_out)
    for name, grad, expected in zip(task.inputs, grads, right):
        if grad is None or not close(grad.double().numpy(), expected):
            raise _Wrong(f"✗ {call} has right values, but a wrong gradient for {name}")


def _describe_call(answer: Callable, task: Task, case: Case) -> str:
    named = dict(zip(task.inputs, case.arrays)) | case.constants
    parts = [
        f"{name}{tuple(value.shape)}" if isinstance(value, np.ndarray) else f"{name}={value}"
        for name, value in named.items()
    ]
    return f"{_name(answer)}({', '.join(parts)})"


def _draw(task: Task, sizes: tuple, random) -> Case:
    shapes = task.shapes(*sizes)
    drawn = [task.spread * random.normal(size=shapes[n]) for n in task.inputs]
    return Case([a.astype(np.float32) for a in drawn], task.constants(*sizes, random))


def _layouts(arrays: list[np.ndarray]) -> Iterator[list[Tensor]]:
    """The same numbers twice: contiguous, and as a transposed view of other memory."""
    yield [torch.tensor(a, requires_grad=True) for a in arrays]
    turned = [torch.tensor(a).transpose(-2, -1).contiguous() for a in arrays]
    yield [t.transpose(-2, -1).requires_grad_() for t in turned]


def _arguments(tensors: list[Tensor], case: Case) -> list:
    is_array = [isinstance(value, np.ndarray) for value in case.constants.values()]
    constants = zip(is_array, case.constants.values())
    return [*tensors, *(torch.tensor(c) if array else c for array, c in constants)]


def _call(answer: Callable, arguments, call: str):
    try:
        came = answer(*arguments)
    except NotImplementedError:
        came = None
    except Exception as error:
        line = _line_of(error, answer)
        turned = "\n  `.T` turns all dimensions around; `.transpose(-2, -1)` only the last two"
        hint = turned if ".T" in line else ""
        raise _Wrong(f"✗ {call} raised {type(error).__name__}{line}: {error}{hint}") from error
    if came is None or came is Ellipsis:
        raise _Wrong(
            f"○ {_name(answer)}: not solved yet (it returned {came!r}; is there a `return`?)"
        )
    return came


def _line_of(error: Exception, answer: Callable) -> str:
    own = getattr(getattr(answer, "__code__", None), "co_filename", None)
    lines = [f.line for f in traceback.extract_tb(error.__traceback__) if f.filename == own]
    return f" in your line `{lines[-1]}`" if lines else ""


def _require_tensor(came, expected: np.ndarray, call: str) -> None:
    if not isinstance(came, Tensor):
        raise _Wrong(f"✗ {call} should return a tensor, got {type(came).__name__}")
    if tuple(came.shape) != expected.shape:
        wanted = tuple(expected.shape)
        raise _Wrong(f"✗ {call} should have shape {wanted}, got {tuple(came.shape)}")
    if expected.dtype == bool and came.dtype != torch.bool:
        raise _Wrong(f"✗ {call} should be boolean (torch.bool), got {came.dtype}")


def _require_values(came: Tensor, expected: np.ndarray, call: str) -> None:
    came = came.detach().double().numpy()
    if close(came, expected):
        return
    at = np.unravel_index(np.argmax(np.nan_to_num(abs(came - expected), nan=np.inf)), came.shape)
    raise _WrongNumbers(
        f"✗ {call} has the right shape and wrong numbers.\n"
        f"  Furthest off at {[int(i) for i in at]}: "
        f"expected {expected[at]:.4f}, got {came[at]:.4f}"
    )


def _named_mistake(answer: Callable, task: Task, cases: list[Case]) -> str:
    """The first well-known mistake that gives what `answer` gives, in every case."""
    results = [_result(answer, case) for case in cases]
    for name, mistake in task.mistakes.items():
        with np.errstate(all="ignore"):
            wrong = [np.asarray(mistake(*case.plain), dtype=np.float64) for case in cases]
        if all(r.shape == w.shape and close(r, w) for r, w in zip(results, wrong)):
            return f"\n  Your result equals: {name}"
    return ""


def _result(answer: Callable, case: Case) -> np.ndarray:
    try:
        tensors = next(_layouts(case.arrays))
        return answer(*_arguments(tensors, case)).detach().double().numpy()
    except Exception:
        return np.empty(0)  # equals no mistake


def close(came: np.ndarray, expected: np.ndarray) -> bool:
    """Whether all numbers agree up to rounding, NaN with NaN."""
    tolerance = TOLERANCE * max(1.0, np.nanmax(np.abs(expected), initial=0.0))
    return np.allclose(came, expected, rtol=0, atol=tolerance, equal_nan=True)


def _name(answer: Callable) -> str:
    return getattr(answer, "__name__", type(answer).__name__)
