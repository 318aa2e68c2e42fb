"""What views of attention heads are given: q, k, v and a mask."""

import math

import torch
import traitlets
from jaxtyping import Bool
from torch import Tensor

from mha_utils.widgets.kit.base import LiveView
from mha_utils.widgets.kit.values import packed, unpacked

MAX_TOKENS = 12
TIE = 1e-6  # shares that are closer than rounding are equal


class OneHead(LiveView):
    """A view of q, k (T, Dh), v (T, Dv) and a mask (T, T), in one head."""

    shape = traitlets.List(traitlets.Int()).tag(sync=True)
    q = traitlets.Bytes().tag(sync=True)
    k = traitlets.Bytes().tag(sync=True)
    v = traitlets.Bytes().tag(sync=True)
    allowed = traitlets.List(traitlets.Bool()).tag(sync=True)

    def __init__(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, **others):
        sizes = {"shape": [*q.shape, v.shape[1]], "allowed": row_major(mask, len(q))}
        super().__init__(**sizes, q=packed(q), k=packed(k), v=packed(v), **others)

    @property
    def mask(self) -> Bool[Tensor, "T T"]:
        """The mask, True = may attend; it can be set."""
        return torch.tensor(self.allowed).view(self.shape[0], self.shape[0])

    @mask.setter
    def mask(self, mask: Tensor):
        self.allowed = row_major(mask, self.shape[0])

    def _tensors(self) -> list[Tensor]:
        return [unpacked(sent, self.shape[0], -1) for sent in (self.q, self.k, self.v)]


def require_one_head(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """q, k (T, Dh) and v (T, Dv) as float32 on the CPU.

    Raises:
        ValueError: if they are not one head of 1 to 12 tokens, or hold NaN or infinity.
    """
    q, k, v = (torch.as_tensor(x).detach().float().cpu() for x in (q, k, v))
    if q.ndim != 2 or not 1 <= len(q) <= MAX_TOKENS or not q.shape[1]:
        raise ValueError(
            f"q must be one head (T, Dh) with T from 1 to {MAX_TOKENS}, got {tuple(q.shape)}"
        )
    if k.shape != q.shape:
        raise ValueError(f"k must be (T, Dh) = {tuple(q.shape)} as q, got {tuple(k.shape)}")
    if v.ndim != 2 or len(v) != len(q) or not v.shape[1]:
        raise ValueError(f"v must be (T, Dv) with T = {len(q)}, got {tuple(v.shape)}")
    require_finite_numbers(q=q, k=k, v=v)
    return q, k, v


def several_heads(name: str, x: Tensor, num_words: int, width: str = "Dh") -> Tensor:
    """q, k or v of words, (H, words, Dh) or (words, Dh), as the former; halves stay halves.

    Raises:
        ValueError: if they have another shape, or hold NaN or infinity.
    """
    x = torch.as_tensor(x).detach().cpu()
    x = x if x.dtype == torch.float16 else x.float()
    heads = x[None] if x.ndim == 2 else x
    if heads.ndim != 3 or heads.shape[1] != num_words or 0 in heads.shape:
        raise ValueError(
            f"{name} must be (H, {num_words}, {width}) or ({num_words}, {width}) "
            f"for {num_words} words, got {tuple(x.shape)}"
        )
    require_finite_numbers(**{name: heads})
    return heads


def require_finite_numbers(**tensors: Tensor) -> None:
    """Raise ValueError for the first number that is NaN or infinite."""
    for name, tensor in tensors.items():
        bad = tensor[~tensor.isfinite()]
        if len(bad):
            raise ValueError(f"{name} must hold finite numbers, got {bad[0].item()}")


def require_words(name: str, words: list[str] | None, letter: str, number: int) -> list[str]:
    """One word each; x0, x1, ... when left out.

    Raises:
        ValueError: if there are more or fewer.
    """
    words = [f"x{i}" for i in range(number)] if words is None else list(words)
    if len(words) != number:
        raise ValueError(f"{name} must be {letter} = {number} words, got {len(words)}")
    return words


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
