"""What view, transpose, contiguous and reshape do to memory, and what they leave alone."""

from collections.abc import Callable
from typing import NamedTuple

import traitlets
from PIL import Image

from mha_utils import theme
from mha_utils.core.contracts import require_sizes
from mha_utils.widgets.kit.base import LiveView, refuses
from mha_utils.widgets.kit.still import Cell, blocks_picture
from mha_utils.widgets.strided import Strided, numbered


class Step(NamedTuple):
    """One way to handle a tensor: `apply` does to `start` what `code` says."""

    start: str
    code: str
    letters: str
    apply: Callable


STEPS = {
    "x": Step("x", "x", "B T D", lambda x, B, T, H, Dh: x),
    "view": Step(
        "x", "x.view(B, T, H, Dh)", "B T H Dh", lambda x, B, T, H, Dh: x.view(B, T, H, Dh)
    ),
    "transpose": Step(
        "view",
        "x.view(B, T, H, Dh).transpose(1, 2)",
        "B H T Dh",
        lambda by_token, B, T, H, Dh: by_token.transpose(1, 2),
    ),
    "contiguous": Step(
        "transpose",
        "x.view(B, T, H, Dh).transpose(1, 2).contiguous()",
        "B H T Dh",
        lambda heads, B, T, H, Dh: heads.contiguous(),
    ),
    "wrong view": Step(
        "x", "x.view(B, H, T, Dh)", "B H T Dh", lambda x, B, T, H, Dh: x.view(B, H, T, Dh)
    ),
    "merge": Step(
        "contiguous",
        "heads.transpose(1, 2).reshape(B, T, D)",
        "B T D",
        lambda heads, B, T, H, Dh: heads.transpose(1, 2).reshape(B, T, H * Dh),
    ),
    "wrong merge": Step(
        "contiguous",
        "heads.contiguous().view(B, T, D)",
        "B T D",
        lambda heads, B, T, H, Dh: heads.contiguous().view(B, T, H * Dh),
    ),
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

    batch_size = traitlets.Int(1).tag(sync=True)
    seq_len = traitlets.Int(4).tag(sync=True)
    num_heads = traitlets.Int(3).tag(sync=True)
    head_dim = traitlets.Int(2).tag(sync=True)
    steps = traitlets.List(traitlets.Unicode()).tag(sync=True)
    step = traitlets.Unicode("x").tag(sync=True)
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
        steps: tuple[str, ...] | list[str] = ("x", "view", "transpose", "contiguous"),
        step: str | None = None,
    ):
        sizes = {
            "batch_size": batch_size,
            "seq_len": seq_len,
            "num_heads": num_heads,
            "head_dim": head_dim,
        }
        require_sizes(**sizes)
        _require_small(sizes)
        step = _require_steps(list(steps), step)
        super().__init__(**sizes, steps=list(steps), step=step)

    @refuses("steps", "step")
    def _keep_known(self, name, given):
        _require_steps(*((self.steps, given) if name == "step" else (given, self.step)))

    @refuses(*LARGEST)
    def _keep_small(self, name, size):
        require_sizes(**{name: size})
        _require_small({name: size})

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """(B, T, H, Dh)."""
        return self.batch_size, self.seq_len, self.num_heads, self.head_dim

    @property
    def tensor(self) -> Strided:
        """The tensor after the chosen step; its numbers are the places they had in x."""
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
        wanted = (self.sequence, self.token, self.head, self.column)
        return tuple(min(i, size - 1) for i, size in zip(wanted, self.sizes))

    def finding(self) -> str:
        tensor = self.tensor
        b, t, h, _ = self.chosen
        index = self._index()
        where = f" in sequence {b}" if self.batch_size > 1 else ""
        return (
            f"{self._outcome(tensor)} {self._verdict(tensor)}"
            f"Element {list(index)} is at place {tensor.place(index)} of the storage: "
            f"token {t} of head {h}{where}."
        )

    def _outcome(self, tensor: Strided) -> str:
        name = "x" if self.step == "x" else f"After {self.step}"
        order = "contiguous" if tensor.is_contiguous() else "not contiguous"
        moved = "the numbers were copied into a new order" if self.moved else "no number moved"
        end = "" if self.step == "x" else f"; {moved}"
        return f"{name}: shape {tensor.shape}, strides {tensor.strides}, {order}{end}."

    def _verdict(self, tensor: Strided) -> str:
        """For a wrong step: what its first block or row holds instead of what it should."""
        if self.step not in RIGHT:
            return ""
        if self.is_right:
            return "With one token or one head the numbers come out right all the same. "
        by_head = self.step == "wrong view"
        first = tensor.values()[: (self.seq_len if by_head else self.num_heads) * self.head_dim]
        origins = [origin(number, *self.sizes) for number in first]
        tokens, heads = ({o[d] for o in origins} for d in (1, 2))
        block = "block of head 0" if by_head else "row of token 0"
        return (
            f"Right shape, wrong numbers: the {block} holds "
            f"{_listed('token', tokens)} of {_listed('head', heads)}. "
        )

    def _index(self) -> tuple[int, ...]:
        tensor = self.tensor
        b, t, h, c = self.chosen
        number = numbered(*self.sizes).place((b, t, h, c))
        return list(tensor.indices())[tensor.values().index(number)]

    def still(self) -> Image.Image:
        tensor, per_sequence = self.tensor, len(self.tensor.storage) // self.batch_size
        rows, columns = tensor.shape[-2:]
        ribbon = [
            [[line]]
            for sequence in _cut(self._cells(tensor.storage), per_sequence)
            for line in _cut(sequence, 32)
        ]
        blocks = _cut(_cut(self._cells(tensor.values()), columns), rows)
        parts = {
            "The storage, place by place:": ribbon,
            f"The tensor {STEPS[self.step].code}:": _cut(blocks, len(blocks) // self.batch_size),
        }
        return blocks_picture(parts, self.finding())

    def _cells(self, numbers) -> list[Cell]:
        origins = [origin(number, *self.sizes) for number in numbers]
        return [Cell(theme.HEADS[o[2]], str(o[1]), o == self.chosen) for o in origins]


def lay_out(step: str, B: int, T: int, H: int, Dh: int) -> Strided:
    """The tensor after a step, made of a contiguous x that holds 0, 1, 2, ..."""
    if step == "x":
        return numbered(B, T, H * Dh)
    return STEPS[step].apply(lay_out(STEPS[step].start, B, T, H, Dh), B, T, H, Dh)


def origin(number: int, B: int, T: int, H: int, Dh: int) -> tuple[int, int, int, int]:
    """(sequence, token, head, column) of the number that stood at this place of x."""
    return number // (T * H * Dh), number // (H * Dh) % T, number // Dh % H, number % Dh


def _cut(cells: list, size: int) -> list[list]:
    return [cells[i : i + size] for i in range(0, len(cells), size)]


def _listed(noun: str, numbers: set[int]) -> str:
    *most, last = (str(n) for n in sorted(numbers))
    return f"{noun}s {', '.join(most)} and {last}" if most else f"{noun} {last}"


def _require_small(sizes: dict[str, int]) -> None:
    for name, size in sizes.items():
        if size > LARGEST[name]:
            raise ValueError(f"{name} must be at most {LARGEST[name]} to be drawn, got {size}")


def _require_steps(steps: list[str], step: str | None) -> str:
    unknown = [name for name in steps if name not in STEPS]
    if unknown or not steps:
        raise ValueError(f"steps must be some of {list(STEPS)}, got {steps}")
    step = steps[0] if step is None else step
    if step not in steps:
        raise ValueError(f"step must be one of steps={steps}, got {step!r}")
    return step
