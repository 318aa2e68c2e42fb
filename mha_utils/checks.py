"""Checks that a learner calls on their own function: `check_attention(my_attention)`.

Every check tries fresh sizes, smallest first, and compares values *and gradients* with the
NumPy reference. It returns a `Report` that prints as text and counts as True when passed.
A wrong answer is also compared with well-known mistakes, so the report can name them.
"""

import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from mha_utils import tasks

SIZES = (
    # leading dimensions, T, S, Dh, Dv
    ((), 1, 1, 1, 1),
    ((), 2, 4, 3, 5),
    ((), 3, 5, 4, 2),
    ((2,), 5, 3, 2, 3),
    ((2, 3), 7, 7, 5, 4),
)
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


class _Wrong(Exception):
    """Carries the message of a failed check."""


def check_attention_scores(answer: Callable, seed: int = 0) -> Report:
    """Check `answer(q, k)`: scores (*B, T, S) of q (*B, T, Dh) and k (*B, S, Dh)."""
    return _check(answer, tasks.SCORES, seed)


def check_attention_weights(answer: Callable, seed: int = 0) -> Report:
    """Check `answer(scores)`: weights (*B, T, S), a softmax over the last dimension."""
    return _check(answer, tasks.WEIGHTS, seed)


def check_attention(answer: Callable, seed: int = 0) -> Report:
    """Check `answer(q, k, v)`: the output (*B, T, Dv) of scaled dot-product attention."""
    return _check(answer, tasks.ATTENTION, seed)


def check_head_dim(answer: Callable) -> Report:
    """Check `answer(embed_dim, num_heads)`: the width Dh of one head."""
    cases = ((12, 3), (8, 8), (5, 1), (512, 8), (768, 12))
    return _check_integers(answer, cases, lambda embed_dim, num_heads: embed_dim // num_heads)


def check_count(answer: Callable) -> Report:
    """Check `answer(B, T, D)`: how many numbers a tensor (B, H, T, Dh) holds."""
    cases = ((1, 1, 1), (2, 3, 4), (3, 5, 12), (32, 128, 512))
    return _check_integers(answer, cases, lambda b, t, d: b * t * d)


def check_parameter_count(answer: Callable) -> Report:
    """Check `answer(embed_dim, num_heads, head_dim)`: numbers in W_q, W_k, W_v of all heads."""
    cases = ((1, 1, 1), (6, 2, 4), (512, 8, 64), (768, 12, 64))
    return _check_integers(answer, cases, lambda d, h, dh: 3 * h * d * dh)


def check_stacked_heads(answer: Callable, seed: int = 0) -> Report:
    """Check `answer(x, W_q, W_k, W_v)`: all heads side by side, (T, H x Dv).

    x is (T, D), W_q and W_k are (H, D, Dh), W_v is (H, D, Dv).
    """
    return _check(answer, tasks.STACKED, seed)


def _check_integers(answer: Callable, cases: tuple, solve: Callable) -> Report:
    try:
        for case in cases:
            call = f"{_name(answer)}{case}"
            came, expected = _call(answer, case, call), solve(*case)
            if type(came) is not int:
                raise _Wrong(f"✗ {call} should be a whole number (int), got {came!r}")
            if came != expected:
                raise _Wrong(f"✗ {call} should be {expected}, got {came}")
    except _Wrong as wrong:
        return Report(False, str(wrong))
    return Report(True, f"✓ {_name(answer)}: right in all {len(cases)} cases")


def _check(answer: Callable, task: tasks.Task, seed: int) -> Report:
    random = np.random.default_rng(seed)
    cases = [_draw(task, sizes, random) for sizes in SIZES]
    try:
        for require in (_require_right_values, _require_right_gradients):
            for arrays in cases:
                for tensors in _layouts(arrays):
                    require(answer, task, arrays, tensors)
    except _Wrong as wrong:
        return Report(False, str(wrong))
    return Report(True, f"✓ {_name(answer)}: values and gradients right for {len(SIZES)} sizes")


def _require_right_values(answer: Callable, task: tasks.Task, arrays, tensors) -> None:
    call = _describe_call(answer, task, tensors)
    came, expected = _call(answer, tensors, call), task.solve(*arrays)
    _require_tensor(came, expected, call)
    _require_values(came, expected, task, arrays, call)
    for name, tensor, array in zip(task.inputs, tensors, arrays):
        if not np.array_equal(tensor.detach().numpy(), array):
            raise _Wrong(f"✗ {call} changes its input {name} in place")


def _require_right_gradients(answer: Callable, task: tasks.Task, arrays, tensors) -> None:
    call = _describe_call(answer, task, tensors)
    came = _call(answer, tensors, call)
    if not came.requires_grad:
        raise _Wrong(f"✗ {call} has right values, but no gradient flows back through it")
    grad_out = np.random.default_rng(1).normal(size=tuple(came.shape))
    grads = torch.autograd.grad(came, tensors, torch.tensor(grad_out).to(came), allow_unused=True)
    for name, grad, right in zip(task.inputs, grads, task.gradients(*arrays, grad_out)):
        if grad is None or not _close(grad.double().numpy(), right):
            raise _Wrong(f"✗ {call} has right values, but a wrong gradient for {name}")


def _describe_call(answer: Callable, task: tasks.Task, tensors) -> str:
    shapes = ", ".join(f"{name}{tuple(x.shape)}" for name, x in zip(task.inputs, tensors))
    return f"{_name(answer)}({shapes})"


def _draw(task: tasks.Task, sizes: tuple, random) -> list[np.ndarray]:
    shapes = task.shapes(*sizes)
    return [random.normal(size=shapes[n]).astype(np.float32) for n in task.inputs]


def _layouts(arrays: list[np.ndarray]) -> Iterator[list[Tensor]]:
    """The same numbers twice: contiguous, and as a transposed view of other memory."""
    yield [torch.tensor(a, requires_grad=True) for a in arrays]
    turned = [torch.tensor(a).transpose(-2, -1).contiguous() for a in arrays]
    yield [t.transpose(-2, -1).requires_grad_() for t in turned]


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


def _require_values(came: Tensor, expected, task: tasks.Task, arrays, call: str) -> None:
    came = came.detach().double().numpy()
    if _close(came, expected):
        return
    at = np.unravel_index(np.argmax(np.nan_to_num(abs(came - expected), nan=np.inf)), came.shape)
    message = (
        f"✗ {call} has the right shape and wrong numbers.\n"
        f"  Furthest off at {[int(i) for i in at]}: "
        f"expected {expected[at]:.4f}, got {came[at]:.4f}"
    )
    mistake = _named_mistake(came, task, arrays)
    raise _Wrong(message + (f"\n  Your result equals: {mistake}" if mistake else ""))


def _named_mistake(came, task: tasks.Task, arrays) -> str | None:
    for name, wrong in task.mistakes.items():
        result = wrong(*arrays)
        if result.shape == came.shape and _close(came, result):
            return name
    return None


def _close(came: np.ndarray, expected: np.ndarray) -> bool:
    return bool(np.abs(came - expected).max() <= TOLERANCE * max(1.0, np.abs(expected).max()))


def _name(answer: Callable) -> str:
    return getattr(answer, "__name__", type(answer).__name__)
