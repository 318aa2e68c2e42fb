"""Exercises ask and answer what they did when their answers were read: solutions and mistakes.

`python tests/test_recorded_tasks.py` records them anew; read what changes before you store it.
"""

import functools
import importlib
import json
from pathlib import Path

import numpy as np
import pytest

import mha_utils
from mha_utils.checks.cases import SIZES, draw
from mha_utils.checks.exercises.numbers import Numbers
from mha_utils.checks.exercises.one_head import Task
from mha_utils.checks.report import RAISED

PATH = Path(__file__).with_name("recorded_tasks.json")


def tasks() -> dict[str, Task | Numbers]:
    """All exercises by module and name."""
    found = {}
    for path in sorted(Path(mha_utils.__file__).parent.glob("tasks*.py")):
        module = importlib.import_module(f"mha_utils.{path.stem}")
        here = {n: v for n, v in vars(module).items() if isinstance(v, Task | Numbers)}
        found |= {f"{path.stem}.{n}": v for n, v in here.items()}
    return found


def in_one_number(value) -> float:
    """What changes with any number of an array, or with its shape."""
    array = np.nan_to_num(np.asarray(value, dtype=float), nan=7.0, posinf=11.0, neginf=-11.0)
    flat = np.append(array.ravel(), array.shape)
    return float(flat @ np.sin(1 + np.arange(len(flat))))


def asked_with(task: Task | Numbers) -> list[list]:
    if isinstance(task, Numbers):
        return [list(case) for case in task.cases]
    random = np.random.default_rng(0)
    return [draw(task, sizes, random).plain for sizes in SIZES]


def summed_up(function, cases: list[list]) -> float | str:
    total = 0.0
    for number, case in enumerate(cases, start=1):
        try:
            total += number * in_one_number(function(*case))
        except RAISED as error:
            return type(error).__name__
    return float(f"{total:.6g}")


def recorded(task: Task | Numbers) -> dict[str, float | str]:
    """A number for what is asked, for the solution, its gradients and every mistake."""
    cases = asked_with(task)
    rows = {"asked": summed_up(lambda *case: sum(map(in_one_number, case)), cases)}
    rows["solution"] = summed_up(task.solve, cases)
    if getattr(task, "gradients", None):
        rows["gradients"] = summed_up(functools.partial(by_gradients, task), cases)
    return rows | {name: summed_up(m, cases) for name, m in task.mistakes.items()}


def by_gradients(task: Task, *case) -> float:
    count = len(task.inputs)
    ones = np.cos(np.arange(np.size(task.solve(*case)))).reshape(np.shape(task.solve(*case)))
    return sum(map(in_one_number, task.gradients_of(list(case[:count]), list(case[count:]), ones)))


@pytest.mark.parametrize("name", tasks())
def test_an_exercise_is_as_recorded(name):
    now = recorded(tasks()[name])
    for row, value in json.loads(PATH.read_text("utf-8"))[name].items():
        is_text = isinstance(value, str)
        assert now.pop(row) == (value if is_text else pytest.approx(value, 1e-4, 1e-4)), row
    assert now == {}


if __name__ == "__main__":
    table = {name: recorded(task) for name, task in tasks().items()}
    PATH.write_text(json.dumps(table, indent=1, ensure_ascii=False) + "\n", "utf-8")
