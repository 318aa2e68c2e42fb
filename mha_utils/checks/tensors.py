"""Exercises that ask for a tensor: fresh sizes, two layouts in memory, values and gradients."""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from mha_utils.checks.exercise import Exercise
from mha_utils.checks.judge import (
    Attempt,
    close,
    require_device,
    require_dtype,
    require_gradients,
    require_tensor,
    require_values,
)
from mha_utils.checks.report import RAISED, call_answer, name_of

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


@dataclass(frozen=True, kw_only=True)
class Tensors(Exercise):
    """In every case the answer has to give the values and the gradients of `solve`.

    `inputs` name float arrays, `shapes` gives their sizes and `spread` their standard deviation;
    `constants` draws the arguments after them, which need no gradient. `solve`, `gradients` and
    the mistakes take inputs, then constants, as NumPy arrays; `gradients` also the gradient of
    the output. Without `gradients`, central differences stand in. An answer that only makes a
    mask (`on_devices`) is tried on the meta device, too, which has no numbers and which takes no
    tensor of another device.
    """

    inputs: tuple[str, ...]
    gradients: Callable | None = None
    constants: Callable = lambda lead, t, s, dh, dv, random: {}
    spread: float = 1.0
    on_devices: tuple[str, ...] = ()
    shapes: Callable = lambda lead, t, s, dh, dv: {
        "q": (*lead, t, dh),
        "k": (*lead, s, dh),
        "v": (*lead, s, dv),
        "scores": (*lead, t, s),
        "weights": (*lead, t, s),
    }

    def cases(self, seed: int) -> list[Case]:
        random = np.random.default_rng(seed)
        return [self._draw(sizes, random) for sizes in SIZES]

    def _draw(self, sizes: tuple, random) -> Case:
        shapes = self.shapes(*sizes)
        drawn = [self.spread * random.normal(size=shapes[n]) for n in self.inputs]
        return Case([a.astype(np.float32) for a in drawn], self.constants(*sizes, random))

    def trials(self, cases: list[Case]) -> Iterator[tuple]:
        """All values first, then all dtypes, then all gradients."""
        makes_mask = not self.inputs or bool(self.on_devices)
        for require in (require_values, require_dtype, require_gradients)[: 2 if makes_mask else 3]:
            for case in [*cases[1:], cases[0]]:  # sizes of 1 last: they say least
                for tensors in self._layouts(case.arrays):
                    yield require, case, tensors

    def _layouts(self, arrays: list[np.ndarray]) -> Iterator[list[Tensor]]:
        """The same numbers contiguous, as a transposed view of other memory, on other devices."""
        yield [torch.tensor(a, requires_grad=True) for a in arrays]
        turned = [torch.tensor(a).transpose(-2, -1).contiguous() for a in arrays]
        yield [t.transpose(-2, -1).requires_grad_() for t in turned]
        for device in self.on_devices:
            yield [torch.tensor(a, device=device) for a in arrays]

    def judge(self, answer: Callable, require: Callable, case: Case, tensors: list) -> None:
        call = self._describe_call(answer, case, tensors)
        got = call_answer(answer, _arguments(tensors, case), call)
        expected = np.asarray(self.solve(*case.plain))
        require_tensor(got, expected, call)
        if self.on_devices:
            require_device(got, tensors[0].device, call)
        if not (tensors and tensors[0].is_meta):
            require(Attempt(self, answer, case, tensors, call, got, expected))

    def _describe_call(self, answer: Callable, case: Case, tensors: list) -> str:
        """How the report writes the call: names, shapes and small values."""
        named = dict(zip(self.inputs, case.arrays)) | case.constants
        where = f" on {tensors[0].device.type!r}" if self.on_devices else ""
        return f"{name_of(answer)}({', '.join(_shown(n, v) for n, v in named.items())}{where})"

    def gradients_of(self, case: Case, grad_out: np.ndarray) -> tuple[np.ndarray, ...]:
        """The gradients of sum(result x grad_out) by every input."""
        if self.gradients is not None:
            return self.gradients(*case.plain, grad_out)
        arrays, constants = [a.astype(np.float64) for a in case.arrays], case.constants.values()

        def loss(i: int, changed: np.ndarray) -> float:
            return (self.solve(*arrays[:i], changed, *arrays[i + 1 :], *constants) * grad_out).sum()

        return tuple(_central_differences(partial(loss, i), a) for i, a in enumerate(arrays))

    def praise(self) -> str:
        if self.on_devices:
            return "right on every device"
        what = "values and gradients" if self.inputs else "values"
        return f"{what} right for {len(SIZES)} sizes"

    def named_mistake(self, answer: Callable, cases: list) -> str:
        results, again = ([self.result(answer, case) for case in cases] for _ in range(2))
        if any(not np.array_equal(a, b, equal_nan=True) for a, b in zip(results, again)):
            return "\n  It changes from call to call: draw no random numbers of your own"
        return super().named_mistake(answer, cases)

    def result(self, answer: Callable, case: Case) -> np.ndarray:
        try:
            tensors = next(self._layouts(case.arrays))
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
