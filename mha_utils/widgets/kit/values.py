"""Numbers of a view: sent as bytes, kept in range, written as JavaScript writes them."""

import math

import numpy as np
import torch
from torch import Tensor


def packed(tensor: Tensor) -> bytes:
    """The numbers as float32, row by row."""
    return tensor.to(torch.float32).contiguous().numpy().tobytes()


def unpacked(sent: bytes, *shape: int) -> Tensor:
    """What was sent in single or half precision, in double as the browser computes."""
    kind = np.float16 if len(sent) == 2 * math.prod(shape) else np.float32
    return torch.tensor(np.frombuffer(sent, kind)).double().view(shape)


def seeded(seed: int) -> dict:
    """Options for torch.rand and torch.randn: the same numbers whatever the default dtype is."""
    return {"generator": torch.Generator().manual_seed(seed), "dtype": torch.float32}


def clamped(value: int, least: int, most: int) -> int:
    """The nearest integer from `least` to `most`."""
    return max(min(value, most), least)


def fixed(number: float | Tensor, digits: int = 2) -> str:
    """With so many decimals, halves rounded away from 0 as JavaScript's toFixed does."""
    number = float(number)
    if math.isinf(number):
        return "−∞"
    further = math.nextafter(number, math.copysign(math.inf, number))
    return f"{further:z.{digits}f}".replace("-", "−")


def rounded(number: float, digits: int = 1) -> str:
    """With so many decimals, rounded as JavaScript's Math.round does with whole numbers."""
    power = 10**digits
    return f"{math.floor(float(number) * power + 0.5) / power:.{digits}f}"


def count(number: int, noun: str) -> str:
    """`1 head`, `2 heads`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def require_at_most(most: float, **values: float) -> None:
    """Raise ValueError for a value above what can be drawn."""
    for name, value in values.items():
        if value > most:
            raise ValueError(f"{name} must be at most {most} to be drawn, got {value}")


def require_places(number: int, **places: int) -> None:
    """Raise ValueError unless every place is one of so many, counted from 0."""
    for name, place in places.items():
        if not 0 <= place < number:
            raise ValueError(f"{name} must be 0 to {number - 1}, got {place}")


def require_one_of(known, listed: str = "", **values) -> None:
    """Raise ValueError for a value that is not known."""
    for name, value in values.items():
        if isinstance(value, bool) or value not in known:
            raise ValueError(f"{name} must be one of {listed or known}, got {value!r}")


def joined(numbers) -> str:
    """`1, 2, 3`."""
    return ", ".join(map(str, numbers))
