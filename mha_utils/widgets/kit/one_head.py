"""What a view of one small attention head is given: q, k, v and a mask."""

import math

import torch
from torch import Tensor

MAX_TOKENS = 12
TIE = 1e-6  # shares that are closer than rounding are equal


def require_one_head(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """q, k (T, Dh) and v (T, Dv) as float32 on the CPU.

    Raises:
        ValueError: if they are not one head of 1 to 12 tokens, or hold NaN or infinity.
    """
    q, k, v = (torch.as_tensor(x).detach().float().cpu().contiguous() for x in (q, k, v))
    if q.ndim != 2 or not 1 <= len(q) <= MAX_TOKENS or not q.shape[1]:
        raise ValueError(
            f"q must be one head (T, Dh) with T from 1 to {MAX_TOKENS}, got {tuple(q.shape)}"
        )
    if k.shape != q.shape:
        raise ValueError(f"k must be (T, Dh) = {tuple(q.shape)} as q, got {tuple(k.shape)}")
    if v.ndim != 2 or len(v) != len(q) or not v.shape[1]:
        raise ValueError(f"v must be (T, Dv) with T = {len(q)}, got {tuple(v.shape)}")
    for name, x in {"q": q, "k": k, "v": v}.items():
        bad = [number for number in x.flatten().tolist() if not math.isfinite(number)]
        if bad:
            raise ValueError(f"{name} must hold finite numbers, got {bad[0]}")
    return q, k, v


def most_at(words: list[str], shares, among: int) -> str:
    """The key with the largest share of `among` keys; where several have it, how many."""
    best = [j for j, share in enumerate(shares) if share > max(shares) - TIE]
    if len(best) == 1:
        return f"key {best[0]}, “{words[best[0]]}”"
    if len(best) == 2 < among:
        named = (f"{j} “{words[j]}”" for j in best)
        return f"keys {' and '.join(named)} alike"
    return f"{len(best)} keys alike"


def require_temperature(temperature: float) -> None:
    """Raise ValueError unless scores can be divided by it: a number above 0, not infinite."""
    if not 0 < temperature < math.inf:
        raise ValueError(f"temperature must be above 0 and finite, got {temperature}")


def row_major(mask: Tensor | None, length: int) -> list[bool]:
    """A mask (T, T) row by row; None lets everyone attend.

    Raises:
        ValueError: if the mask is not boolean (T, T).
    """
    if mask is None:
        return [True] * length**2
    mask = torch.as_tensor(mask)
    if mask.dtype != torch.bool or mask.shape != (length, length):
        kind = str(mask.dtype).removeprefix("torch.")
        raise ValueError(
            f"mask must be boolean (T, T) = ({length}, {length}), True = may attend, "
            f"got {kind} {tuple(mask.shape)}"
        )
    return mask.flatten().tolist()
