"""A tensor as torch keeps it: a storage, a shape to read it with, and strides."""

import itertools
import math
from typing import NamedTuple


class Strided(NamedTuple):
    """Shape, strides and storage, with the operations of torch that change them.

    The storage is a tuple of numbers; two tensors share memory if they hold the same tuple.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    storage: tuple[int, ...]

    def place(self, index: tuple[int, ...]) -> int:
        """Where the element with this index is in the storage."""
        return sum(i * stride for i, stride in zip(index, self.strides))

    def indices(self):
        """All indices, the last dimension fastest."""
        return itertools.product(*map(range, self.shape))

    def values(self) -> list[int]:
        """The elements in the order of their indices."""
        return [self.storage[self.place(index)] for index in self.indices()]

    def is_contiguous(self) -> bool:
        """Whether the storage has the order of the indices; a size of 1 has no order."""
        wanted = zip(self.shape, self.strides, row_major(self.shape))
        return all(size == 1 or stride == packed for size, stride, packed in wanted)

    def view(self, *shape: int) -> "Strided":
        """The same storage, read with another shape, where strides can say so."""
        strides = view_strides(self, shape)
        if strides is None:
            raise ValueError(
                f"shape {self.shape} with strides {self.strides} can not be viewed as {shape}"
            )
        return Strided(shape, strides, self.storage)

    def transpose(self, first: int, second: int) -> "Strided":
        """Two dimensions swapped: their strides are, the storage stays."""
        order = list(range(len(self.shape)))
        order[first], order[second] = second, first
        shape, strides = (tuple(of[d] for d in order) for of in (self.shape, self.strides))
        return Strided(shape, strides, self.storage)

    def contiguous(self) -> "Strided":
        """Itself if contiguous, else a copy whose storage has the order of the indices."""
        if self.is_contiguous():
            return self
        return Strided(self.shape, row_major(self.shape), tuple(self.values()))

    def reshape(self, *shape: int) -> "Strided":
        """A view where there is one, else a view of a copy."""
        return (self if view_strides(self, shape) else self.contiguous()).view(*shape)


def view_strides(tensor: Strided, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The strides that read the storage of a tensor with another shape, if there are any.

    Dimensions that lie in memory as one piece may be cut anew; pieces may not be joined.
    """
    if math.prod(shape) != len(tensor.storage):
        return None
    strides, wanted = [], list(shape)
    for size, step in reversed(_pieces(tensor)):
        taken = 1
        while wanted and (taken < size or wanted[-1] == 1):
            strides.insert(0, taken * step)
            taken *= wanted.pop()
        if taken != size:
            return None
    return tuple(strides)


def _pieces(tensor: Strided) -> list[tuple[int, int]]:
    """Neighbouring dimensions that lie in memory as one, as (size, stride)."""
    pieces = []
    for size, stride in zip(tensor.shape, tensor.strides):
        if size == 1:
            continue
        if pieces and pieces[-1][1] == size * stride:
            pieces[-1] = (pieces[-1][0] * size, stride)
        else:
            pieces.append((size, stride))
    return pieces or [(1, 1)]


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a contiguous tensor."""
    return tuple(math.prod(shape[d + 1 :]) for d in range(len(shape)))


def numbered(*shape: int) -> Strided:
    """A contiguous tensor that holds 0, 1, 2, ..., as `torch.arange(n).view(shape)`."""
    return Strided(shape, row_major(shape), tuple(range(math.prod(shape))))
