"""Exercises whose answer is a number, or a tuple of numbers."""

import copy
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mha_utils.checks.exercise import Exercise
from mha_utils.checks.report import RAISED, WrongResultError, call_answer, name_of, shown

KINDS = {int: "a whole number (int)", float: "a number (float)", tuple: "a tuple"}
TOLERANCE = 1e-6  # relative
LARGEST = 1e300  # no result comes near it


@dataclass(frozen=True, kw_only=True)
class Numbers(Exercise):
    """In every case the answer has to give the type and the value that `solve` gives."""

    tried: tuple[tuple, ...]

    def cases(self, seed: int) -> list:
        return list(self.tried)

    def compare(self, answer: Callable, cases: list[tuple]) -> str:
        for case in cases:
            expected, call = self.solve(*case), f"{name_of(answer)}({', '.join(map(str, case))})"
            got = call_answer(answer, copy.deepcopy(case), call)
            should_be = f"✗ {call} should be"
            is_whole = type(got) is int and isinstance(expected, float) and _near(got, expected)
            if not (isinstance(got, type(expected)) or is_whole) or isinstance(got, bool):
                raise WrongResultError(f"{should_be} {KINDS[type(expected)]}, got {shown(got)}")
            is_right = _near if isinstance(expected, float) else _equal
            if not is_right(got, expected):
                raise WrongResultError(f"{should_be} {_shown(expected)}, got {_shown(got)}")
        return f"right in all {len(cases)} cases"

    def result(self, answer: Callable, case: tuple):
        try:
            return answer(*copy.deepcopy(case))
        except RAISED:
            return None

    def is_same(self, result, mistake: Callable, case: tuple) -> bool:
        return _near(result, mistake(*case))

    def other_hint(self, results: list, cases: list) -> str:
        """Whether all results are wrong by the same factor."""
        right = [self.solve(*case) for case in cases]
        if any(not isinstance(n, int | float) for n in [*results, *right]):
            return ""
        if any(not -LARGEST < n < LARGEST for n in results):
            return ""
        factor = results[-1] / right[-1]
        same = all(_near(r, factor * n) for r, n in zip(results, right))
        if not same or _near(factor, 1.0) or not factor:
            return ""
        return f"\n  In every case it is {factor:.4g} times the right result"


def _equal(got, expected) -> bool:
    try:
        return bool(got == expected)
    except (TypeError, ValueError, RuntimeError):  # a tuple of tensors
        return False


def _near(got, expected) -> bool:
    try:
        got, expected = np.asarray(got, dtype=float), np.asarray(expected, dtype=float)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        return False
    return got.shape == expected.shape and np.allclose(got, expected, rtol=TOLERANCE, atol=0)


def _shown(value) -> str:
    return f"{value:.6g}" if isinstance(value, float) else shown(value)
