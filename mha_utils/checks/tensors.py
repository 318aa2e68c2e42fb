"""Exercises whose answer is a function of tensors: tried on fresh sizes and two layouts."""

import copy
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import torch
from torch import Tensor

from mha_utils.checks.exercise import Exercise
from mha_utils.checks.judge import (
    Attempt,
    close,
    require_dtype,
    require_gradients,
    require_tensor,
    require_values,
)
from mha_utils.checks.report import RAISED, call_answer, name_of


@dataclass(frozen=True)
class Sizes:
    """A size for each letter; `lead` are the leading dimensions, written *B."""

    lead: tuple[int, ...]
    B: int
    T: int
    S: int
    H: int
    D: int
    Dh: int
    Dv: int

    def shape(self, letters: str) -> tuple[int, ...]:
        """ "*B T HDh" -> (*lead, T, H x Dh): letters that stand together are multiplied."""
        lead = self.lead if letters.startswith("*B") else ()
        parts = letters.removeprefix("*B").split()
        factors = (re.findall("D[hv]|[A-Z]", part) for part in parts)
        return (*lead, *(math.prod(getattr(self, letter) for letter in f) for f in factors))


SIZES = (
    Sizes((), B=1, T=1, S=1, H=1, D=2, Dh=1, Dv=1),
    Sizes((), B=5, T=2, S=4, H=4, D=6, Dh=3, Dv=5),
    Sizes((), B=2, T=3, S=5, H=5, D=3, Dh=4, Dv=2),
    Sizes((2,), B=3, T=5, S=3, H=3, D=4, Dh=2, Dv=3),
    Sizes((2, 3), B=4, T=7, S=7, H=7, D=5, Dh=5, Dv=4),
)
SHAPES = {
    **{"q": "*B T Dh", "k": "*B S Dh", "v": "*B S Dv"},
    **{"scores": "*B T S", "weights": "*B T S"},
    **{"x": "B T HDh", "heads": "B H T Dh", "W_heads": "H D Dh", "W_out": "HDh HDh"},
}


@dataclass(frozen=True)
class Case:
    """One set of arguments: float arrays that gradients flow to, and everything else."""

    arrays: list[np.ndarray]
    constants: dict

    @property
    def plain(self) -> list:
        return [*self.arrays, *self.constants.values()]


@dataclass(frozen=True, kw_only=True)
class Tensors(Exercise):
    """In every case the answer has to give the values and the gradients of `solve`.

    `inputs` name float arrays, `shapes` says which letters they have ("B T HDh": three dimensions,
    the last as wide as all heads) and `spread` their standard deviation; `constants` draws the
    arguments after them, which need no gradient. `solve`, `gradients` and the mistakes take
    inputs, then constants, as NumPy arrays; `gradients` also the gradient of the output. Without
    `gradients`, central differences stand in.
    """

    inputs: tuple[str, ...] = ()
    gradients: Callable | None = None
    constants: Callable = lambda sizes, random: {}
    spread: float = 1.0
    shapes: dict[str, str] = field(default_factory=lambda: SHAPES)

    def cases(self, seed: int) -> list[Case]:
        random = np.random.default_rng(seed)
        return [self.draw(sizes, random) for sizes in SIZES]

    def draw(self, sizes: Sizes, random) -> Case:
        shapes = [sizes.shape(self.shapes[name]) for name in self.inputs]
        arrays = [(self.spread * random.normal(size=s)).astype(np.float32) for s in shapes]
        return Case(arrays, self.constants(sizes, random))

    def compare(self, answer: Callable, cases: list[Case]) -> str:
        """All values first, then all dtypes, then all gradients."""
        last = 3 if self.inputs else 2  # a mask has no gradients
        for require in (require_values, require_dtype, require_gradients)[:last]:
            for case in [*cases[1:], cases[0]]:  # sizes of 1 last: they say least
                for tensors in self._layouts(case.arrays):
                    self._try(answer, require, case, tensors)
        what = "values and gradients" if self.inputs else "values"
        return f"{what} right for {len(cases)} sizes"

    def _layouts(self, arrays: list[np.ndarray]) -> Iterator[list[Tensor]]:
        """The same numbers contiguous, and as a transposed view of other memory."""
        yield [torch.tensor(a, requires_grad=True) for a in arrays]
        turned = [torch.tensor(a).transpose(-2, -1).contiguous() for a in arrays]
        yield [t.transpose(-2, -1).requires_grad_() for t in turned]

    def _try(self, answer: Callable, require: Callable, case: Case, tensors: list) -> None:
        call = self._describe_call(answer, case)
        got = call_answer(answer, _arguments(tensors, case), call)
        expected = np.asarray(self.solve(*case.plain))
        require_tensor(got, expected, call)
        require(Attempt(self, answer, case, tensors, call, got, expected))

    def _describe_call(self, answer: Callable, case: Case) -> str:
        """How the report writes the call: names, shapes and small values."""
        named = dict(zip(self.inputs, case.arrays)) | case.constants
        return f"{name_of(answer)}({', '.join(_shown(n, v) for n, v in named.items())})"

    def gradients_of(self, case: Case, grad_out: np.ndarray) -> tuple[np.ndarray, ...]:
        """The gradients of sum(result x grad_out) by every input."""
        if self.gradients is not None:
            return self.gradients(*case.plain, grad_out)
        arrays, constants = [a.astype(np.float64) for a in case.arrays], case.constants.values()

        def loss(i: int, changed: np.ndarray) -> float:
            return (self.solve(*arrays[:i], changed, *arrays[i + 1 :], *constants) * grad_out).sum()

        return tuple(_central_differences(partial(loss, i), a) for i, a in enumerate(arrays))

    def named_mistake(self, answer: Callable, cases: list) -> str:
        results, again = ([self.result(answer, case) for case in cases] for _ in range(2))
        if any(not np.array_equal(a, b, equal_nan=True) for a, b in zip(results, again)):
            return "\n  It changes from call to call: draw no random numbers of your own"
        if self._minds_the_layout(answer, cases):
            return "\n  It is right for what is stored row by row: what are the strides here?"
        return super().named_mistake(answer, cases)

    def _minds_the_layout(self, answer: Callable, cases: list) -> bool:
        """Whether it is right for contiguous tensors, and for the same numbers turned is not."""
        by_row, turned = (
            all(self.is_same(self.result(answer, case, layout), self.solve, case) for case in cases)
            for layout in (0, 1)
        )
        return by_row and not turned

    def result(self, answer: Callable, case: Case, layout: int = 0) -> np.ndarray:
        try:
            tensors = list(self._layouts(case.arrays))[layout]
            return answer(*_arguments(tensors, case)).detach().double().numpy()
        except RAISED:
            return np.empty(0)

    def is_same(self, result, mistake: Callable, case: Case) -> bool:
        with np.errstate(all="ignore"):
            wrong = np.asarray(mistake(*case.plain), dtype=np.float64)
        return result.shape == wrong.shape and close(result, wrong)


def _shown(name: str, value) -> str:
    """`x(2, 3)` for arrays of floats and masks, `tokens=[1, 0]` for few whole numbers."""
    if not isinstance(value, np.ndarray):
        return f"{name}={value}"
    is_short = value.ndim == 1 and np.issubdtype(value.dtype, np.integer)
    return f"{name}={value.tolist()}" if is_short else f"{name}{tuple(value.shape)}"


def _arguments(tensors: list[Tensor], case: Case) -> list:
    """What the answer is called with: tensors, and copies of everything else."""
    is_array = [isinstance(value, np.ndarray) for value in case.constants.values()]
    constants = zip(is_array, copy.deepcopy(list(case.constants.values())))
    return [*tensors, *(torch.tensor(c) if array else c for array, c in constants)]


def _central_differences(function: Callable, array: np.ndarray, step: float = 1e-6) -> np.ndarray:
    gradient = np.zeros_like(array)
    for at in np.ndindex(array.shape):
        moved = array.copy()
        moved[at] += step
        higher = function(moved)
        moved[at] -= 2 * step
        gradient[at] = (higher - function(moved)) / (2 * step)
    return gradient
