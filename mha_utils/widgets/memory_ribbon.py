"""What view, transpose, contiguous and reshape do to memory, and what they leave alone."""

from typing import NamedTuple

import numpy as np
import torch
import traitlets
from torch import Tensor

from mha_utils import theme
from mha_utils.widgets.kit.base import LiveView, refuses
from mha_utils.widgets.kit.judged import size
from mha_utils.widgets.kit.still import Cell, Grid, picture


class Step(NamedTuple):
    """One way to handle a tensor: the step before it, the code, the letters of the shape."""

    start: str
    code: str
    letters: str


class Layout(NamedTuple):
    """Numbers as a tensor, and how they lie in memory."""

    numbers: Tensor

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.numbers.shape)

    @property
    def strides(self) -> tuple[int, ...]:
        return self.numbers.stride()

    @property
    def storage(self) -> list[int]:
        """The numbers in the order of memory."""
        return self.numbers.as_strided((self.numbers.numel(),), (1,)).tolist()

    def values(self) -> list[int]:
        """The numbers in the order of their indices, the last dimension fastest."""
        return self.numbers.flatten().tolist()


STEPS = {
    "q": Step("q", "q", "B T D"),
    "view": Step("q", "q.view(B, T, H, Dh)", "B T H Dh"),
    "transpose": Step("view", "q.view(B, T, H, Dh).transpose(1, 2)", "B H T Dh"),
    "contiguous": Step("transpose", "q.view(B, T, H, Dh).transpose(1, 2).contiguous()", "B H T Dh"),
    "wrong view": Step("q", "q.view(B, H, T, Dh)", "B H T Dh"),
    "merge": Step("contiguous", "heads.transpose(1, 2).reshape(B, T, D)", "B T D"),
    "wrong merge": Step("contiguous", "heads.contiguous().view(B, T, D)", "B T D"),
}
RIGHT = {"wrong view": "transpose", "wrong merge": "merge"}
LARGEST = {"batch_size": 2, "seq_len": 6, "num_heads": 4, "head_dim": 4}


class MemoryRibbon(LiveView):
    """The storage of a tensor as a ribbon, and the tensor as its shape reads it.

    Args:
        batch_size: B, 1 or 2.
        seq_len: T, 1 to 6.
        num_heads: H, 1 to 4.
        head_dim: Dh, 1 to 4.
        steps: names out of `STEPS` that the reader can choose from.
        step: the one chosen at first; the first of `steps` when left out.

    Raises:
        ValueError: if a size is out of its range, a step has no such name, none is given,
            or `step` is not one of `steps`.
    """

    script = "memory_ribbon"

    batch_size = size(1, LARGEST["batch_size"])
    seq_len = size(4, LARGEST["seq_len"])
    num_heads = size(3, LARGEST["num_heads"])
    head_dim = size(2, LARGEST["head_dim"])
    steps = traitlets.List(traitlets.Unicode()).tag(sync=True)
    step = traitlets.Unicode("q").tag(sync=True)
    # The chosen element, by where it comes from; so it stays the same in every step.
    sequence = traitlets.Int(0).tag(sync=True)
    token = traitlets.Int(2).tag(sync=True)
    head = traitlets.Int(1).tag(sync=True)
    column = traitlets.Int(0).tag(sync=True)

    def __init__(
        self,
        batch_size: int = 1,
        seq_len: int = 4,
        num_heads: int = 3,
        head_dim: int = 2,
        steps: tuple[str, ...] | list[str] = ("q", "view", "transpose", "contiguous"),
        step: str | None = None,
    ):
        sizes = dict(zip(LARGEST, (batch_size, seq_len, num_heads, head_dim)))
        super().__init__(**sizes, steps=list(steps), step=_require_steps(list(steps), step))

    @refuses("steps", "step")
    def _keep_known(self, name, given):
        _require_steps(*((self.steps, given) if name == "step" else (given, self.step)))

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """(B, T, H, Dh)."""
        return self.batch_size, self.seq_len, self.num_heads, self.head_dim

    @property
    def tensor(self) -> Layout:
        """The tensor after the chosen step; its numbers are the places they had in q."""
        return lay_out(self.step, *self.sizes)

    @property
    def moved(self) -> bool:
        """Whether the chosen step copied the numbers into a new storage."""
        return self.tensor.storage != lay_out(STEPS[self.step].start, *self.sizes).storage

    @property
    def is_right(self) -> bool:
        """Whether every number is where its index says."""
        right = lay_out(RIGHT.get(self.step, self.step), *self.sizes)
        return self.tensor.values() == right.values()

    @property
    def chosen(self) -> tuple[int, int, int, int]:
        """(sequence, token, head, column) of the chosen element."""
        places = (self.sequence, self.token, self.head, self.column)
        return tuple(min(i, size - 1) for i, size in zip(places, self.sizes))

    def finding(self) -> str:
        tensor, (b, t, h, _) = self.tensor, self.chosen
        number = np.ravel_multi_index(self.chosen, self.sizes)
        index = (tensor.numbers == number).nonzero()[0].tolist()
        place = tensor.storage.index(number)
        where = f" in sequence {b}" if self.batch_size > 1 else ""
        return (
            f"{self._outcome(tensor)} {self._verdict()}"
            f"Element {index} is at place {place} of the storage: token {t} of head {h}{where}."
        )

    def _outcome(self, tensor: Layout) -> str:
        name = "q" if self.step == "q" else f"After {self.step}"
        order = "contiguous" if tensor.numbers.is_contiguous() else "not contiguous"
        moved = "the numbers were copied into a new order" if self.moved else "no number moved"
        end = "" if self.step == "q" else f"; {moved}"
        return f"{name}: shape {tensor.shape}, strides {tensor.strides}, {order}{end}."

    def _verdict(self) -> str:
        """For a wrong step: what its first block or row holds instead of what it should."""
        if self.step not in RIGHT:
            return ""
        if self.is_right:
            return "With one token or one head the numbers come out right all the same. "
        first = [
            origin(number, *self.sizes) for number in self.tensor.numbers[0, 0].flatten().tolist()
        ]
        tokens, heads = ({place[d] for place in first} for d in (1, 2))
        block = "block of head 0" if self.step == "wrong view" else "row of token 0"
        return (
            f"Right shape, wrong numbers: the {block} holds "
            f"{_listed('token', tokens)} of {_listed('head', heads)}. "
        )

    def still(self):
        storage = torch.tensor(self.tensor.storage).chunk(self.batch_size)
        ribbon = [line for part in storage for line in part.split(32)]
        numbers = self.tensor.numbers
        blocks = numbers if numbers.ndim == 4 else numbers[:, None]
        return picture(
            self.finding(),
            [self._grid("The storage, place by place:", ribbon)],
            [f"The tensor {STEPS[self.step].code}:"],
            *([self._grid("", block) for block in line] for line in blocks),
        )

    def _grid(self, title: str, numbers) -> Grid:
        cells = [list(map(self._cell, row.tolist())) for row in numbers]
        return Grid(title, cells, largest=(24, 24))

    def _cell(self, number: int) -> Cell:
        place = origin(number, *self.sizes)
        return Cell(theme.HEADS[place[2]], str(place[1]), place == self.chosen)


def lay_out(step: str, B: int, T: int, H: int, Dh: int) -> Layout:
    """What a step makes of a contiguous q that holds 0, 1, 2, ..."""
    q = torch.arange(B * T * H * Dh).view(B, T, H * Dh)
    by_token = q.view(B, T, H, Dh)
    transposed = by_token.transpose(1, 2)
    heads = transposed.contiguous()
    merged, wrong = heads.transpose(1, 2).reshape(q.shape), heads.view(q.shape)
    made = (q, by_token, transposed, heads, q.view(B, H, T, Dh), merged, wrong)
    return Layout(dict(zip(STEPS, made))[step])


def origin(number: int, B: int, T: int, H: int, Dh: int) -> tuple[int, int, int, int]:
    """(sequence, token, head, column) of the number that stood at this place of q."""
    return tuple(int(place) for place in np.unravel_index(number, (B, T, H, Dh)))


def _listed(noun: str, numbers: set[int]) -> str:
    *most, last = (str(n) for n in sorted(numbers))
    return f"{noun}s {', '.join(most)} and {last}" if most else f"{noun} {last}"


def _require_steps(steps: list[str], step: str | None) -> str:
    unknown = [name for name in steps if name not in STEPS]
    if unknown or not steps:
        raise ValueError(f"steps must be some of {list(STEPS)}, got {steps}")
    step = steps[0] if step is None else step
    if step not in steps:
        raise ValueError(f"step must be one of steps={steps}, got {step!r}")
    return step
