"""The arguments that an answer is tried with: fresh sizes, two layouts in memory."""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from mha_utils.checks.exercises.one_head import Task
from mha_utils.checks.report import name_of

SIZES = (
    # leading dimensions, T, S, Dh, Dv
    ((), 1, 1, 1, 1),
    ((), 2, 4, 3, 5),
    ((), 3, 5, 4, 2),
    ((2,), 5, 3, 2, 3),
    ((2, 3), 7, 7, 5, 4),
)


@dataclass(frozen=True)
class Case:
    """One set of arguments: float arrays that gradients flow to, and everything else."""

    arrays: list[np.ndarray]
    constants: dict

    @property
    def plain(self) -> list:
        return [*self.arrays, *self.constants.values()]


def describe_call(answer: Callable, task: Task, case: Case) -> str:
    """How the report writes the call: names, shapes and small values."""
    named = dict(zip(task.inputs, case.arrays)) | case.constants
    return f"{name_of(answer)}({', '.join(_shown(n, v) for n, v in named.items())})"


def _shown(name: str, value) -> str:
    """`x(2, 3)` for arrays of floats and masks, `tokens=[1, 0]` for few whole numbers."""
    if not isinstance(value, np.ndarray):
        return f"{name}={value}"
    is_short = value.ndim == 1 and np.issubdtype(value.dtype, np.integer)
    return f"{name}={value.tolist()}" if is_short else f"{name}{tuple(value.shape)}"


def draw(task: Task, sizes: tuple, random) -> Case:
    """Random arguments of a task, in these sizes."""
    shapes = task.shapes(*sizes)
    drawn = [task.spread * random.normal(size=shapes[n]) for n in task.inputs]
    return Case([a.astype(np.float32) for a in drawn], task.constants(*sizes, random))


def layouts(arrays: list[np.ndarray]) -> Iterator[list[Tensor]]:
    """The same numbers twice: contiguous, and as a transposed view of other memory."""
    yield [torch.tensor(a, requires_grad=True) for a in arrays]
    turned = [torch.tensor(a).transpose(-2, -1).contiguous() for a in arrays]
    yield [t.transpose(-2, -1).requires_grad_() for t in turned]


def arguments(tensors: list[Tensor], case: Case) -> list:
    """What the answer is called with: tensors, and copies of everything else."""
    is_array = [isinstance(value, np.ndarray) for value in case.constants.values()]
    constants = zip(is_array, copy.deepcopy(list(case.constants.values())))
    return [*tensors, *(torch.tensor(c) if array else c for array, c in constants)]
