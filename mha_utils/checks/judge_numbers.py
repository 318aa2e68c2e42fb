"""How answers that return a number or a tuple of numbers are tried and judged."""

import copy
from collections.abc import Callable

import numpy as np

from mha_utils.checks.exercises.numbers import Numbers
from mha_utils.checks.report import (
    RAISED,
    Report,
    WrongError,
    WrongResultError,
    call_answer,
    name_of,
    shown,
)

KINDS = {int: "a whole number (int)", float: "a number (float)", tuple: "a tuple"}
TOLERANCE = 1e-6  # relative
LARGEST = 1e300  # no result comes near it


def check_numbers(answer: Callable, task: Numbers) -> Report:
    """Hold `answer` to a task: in every case the same type and value as `task.solve` gives."""
    try:
        for case in task.cases:
            _require_right(answer, case, task.solve(*case))
    except WrongResultError as wrong:
        return Report(False, str(wrong) + _named_mistake(answer, task))
    except WrongError as wrong:
        return Report(False, str(wrong))
    return Report(True, f"✓ {name_of(answer)}: right in all {len(task.cases)} cases")


def _require_right(answer: Callable, case: tuple, expected) -> None:
    call = f"{name_of(answer)}({', '.join(map(str, case))})"
    came = call_answer(answer, copy.deepcopy(case), call)
    if not isinstance(came, type(expected)) or isinstance(came, bool):
        raise WrongResultError(f"✗ {call} should be {KINDS[type(expected)]}, got {shown(came)}")
    is_right = _near if isinstance(expected, float) else _equal
    if not is_right(came, expected):
        raise WrongResultError(f"✗ {call} should be {_shown(expected)}, got {_shown(came)}")


def _named_mistake(answer: Callable, task: Numbers) -> str:
    """The first well-known mistake that gives what `answer` gives, in every case."""
    results = [_result(answer, case) for case in task.cases]
    for name, mistake in task.mistakes.items():
        if all(_near(r, mistake(*case)) for r, case in zip(results, task.cases)):
            return f"\n  Your result equals: {name}"
    return _common_factor(results, [task.solve(*case) for case in task.cases])


def _common_factor(results: list, right: list) -> str:
    """Whether all results are wrong by the same factor."""
    if any(not isinstance(n, int | float) for n in [*results, *right]):
        return ""
    if any(not -LARGEST < n < LARGEST for n in results):
        return ""
    factor = results[-1] / right[-1]
    same = all(_near(r, factor * n) for r, n in zip(results, right))
    if not same or _near(factor, 1.0) or not factor:
        return ""
    return f"\n  In every case it is {factor:.4g} times the right result"


def _result(answer: Callable, case: tuple):
    try:
        return answer(*copy.deepcopy(case))
    except RAISED:
        return None  # equals no mistake


def _equal(came, expected) -> bool:
    try:
        return bool(came == expected)
    except (TypeError, ValueError, RuntimeError):  # a tuple of tensors
        return False


def _near(came, expected) -> bool:
    try:
        came, expected = np.asarray(came, dtype=float), np.asarray(expected, dtype=float)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        return False
    return came.shape == expected.shape and np.allclose(came, expected, rtol=TOLERANCE, atol=0)


def _shown(value) -> str:
    return f"{value:.6g}" if isinstance(value, float) else shown(value)
