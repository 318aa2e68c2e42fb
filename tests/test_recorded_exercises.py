"""Exercises ask and answer what they did when their answers were read: solutions and mistakes.

`python tests/test_recorded_exercises.py` records them anew; read what changes before you store it.
"""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from mha_utils import checks
from mha_utils.checks.exercise import Exercise
from mha_utils.checks.numbers import Numbers
from mha_utils.checks.report import RAISED

PATH = Path(__file__).with_name("recorded_exercises.json")
EXERCISES = {n: e for n, e in vars(checks).items() if isinstance(e, Exercise)}


def in_one_number(value) -> float:
    """What changes with any number of an array, or with its shape; of a module, its weights."""
    if isinstance(value, nn.Module):
        value = torch.cat([weights.detach().flatten() for weights in value.parameters()])
    array = np.nan_to_num(np.asarray(value, dtype=float), nan=7.0, posinf=11.0, neginf=-11.0)
    flat = np.append(array.ravel(), array.shape)
    return float(flat @ np.sin(1 + np.arange(len(flat))))


def asked_with(exercise: Exercise) -> list[list]:
    cases = exercise.cases(seed=0)
    return [list(c) if isinstance(exercise, Numbers) else c.plain for c in cases]


def summed_up(function, cases: list[list]) -> float | str:
    total = 0.0
    for number, case in enumerate(cases, start=1):
        try:
            total += number * in_one_number(function(*case))
        except RAISED as error:
            return type(error).__name__
    return float(f"{total:.6g}")


def recorded(exercise: Exercise) -> dict[str, float | str]:
    """A number for what is asked, for the solution, its gradients and every mistake."""
    cases = asked_with(exercise)
    rows = {"asked": summed_up(lambda *case: sum(map(in_one_number, case)), cases)}
    rows["solution"] = summed_up(exercise.solve, cases)
    if getattr(exercise, "gradients", None):
        rows["gradients"] = summed_up(lambda *case: by_gradients(exercise, *case), cases)
    return rows | {name: summed_up(m, cases) for name, m in exercise.mistakes.items()}


def by_gradients(exercise: Exercise, *case) -> float:
    result = exercise.solve(*case)
    ones = np.cos(np.arange(np.size(result))).reshape(np.shape(result))
    return sum(map(in_one_number, exercise.gradients(*case, ones)))


@pytest.mark.parametrize("name", EXERCISES)
def test_an_exercise_is_as_recorded(name):
    now = recorded(EXERCISES[name])
    for row, value in json.loads(PATH.read_text("utf-8"))[name].items():
        is_text = isinstance(value, str)
        assert now.pop(row) == (value if is_text else pytest.approx(value, 1e-4, 1e-4)), row
    assert now == {}


if __name__ == "__main__":
    table = {name: recorded(exercise) for name, exercise in EXERCISES.items()}
    PATH.write_text(json.dumps(table, indent=1, ensure_ascii=False) + "\n", "utf-8")
