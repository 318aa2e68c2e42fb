"""A mask painted cell by cell: what it does to the weights, and whether the future leaks."""

import numpy as np
import torch
import traitlets
from jaxtyping import Bool, Float
from PIL import Image
from torch import Tensor

from mha_utils import theme
from mha_utils.core.steps import attention
from mha_utils.widgets.kit.base import LiveView, refuses
from mha_utils.widgets.kit.one_head import most_at, require_one_head, row_major
from mha_utils.widgets.kit.still import Cell, grids_picture


class MaskPainter(LiveView):
    """Paint who may look at whom in one head; `mask` is the painting as a tensor.

    Args:
        q: queries of one head, (T, Dh), T from 1 to 12.
        k: keys, (T, Dh).
        v: values, (T, Dv).
        tokens: T words; x0, x1, ... when left out.
        mask: the mask at first, boolean (T, T), True = may attend; None lets everyone attend.

    Raises:
        ValueError: if q, k, v are not one head of 1 to 12 tokens, hold NaN or infinity, or
            tokens or mask do not fit T.
    """

    script = "mask_painter"

    shape = traitlets.List(traitlets.Int()).tag(sync=True)
    q = traitlets.Bytes().tag(sync=True)
    k = traitlets.Bytes().tag(sync=True)
    v = traitlets.Bytes().tag(sync=True)
    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    allowed = traitlets.List(traitlets.Bool()).tag(sync=True)
    row = traitlets.Int(0).tag(sync=True)
    column = traitlets.Int(0).tag(sync=True)

    def __init__(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        tokens: list[str] | None = None,
        mask: Tensor | None = None,
    ):
        q, k, v = require_one_head(q, k, v)
        length = len(q)
        tokens = [f"x{i}" for i in range(length)] if tokens is None else list(tokens)
        if len(tokens) != length:
            raise ValueError(f"tokens must be T = {length} words, got {len(tokens)}")
        super().__init__(
            shape=[length, q.shape[1], v.shape[1]],
            q=q.numpy().tobytes(),
            k=k.numpy().tobytes(),
            v=v.numpy().tobytes(),
            tokens=tokens,
            allowed=row_major(mask, length),
            row=min(2, length - 1),
        )

    @refuses("allowed")
    def _one_for_each_pair(self, name, allowed):
        pairs = self.shape[0] ** 2
        if len(allowed) != pairs:
            raise ValueError(f"allowed must hold T x T = {pairs} booleans, got {len(allowed)}")

    @property
    def mask(self) -> Bool[Tensor, "T T"]:
        """The painted mask, True = may attend; set it to paint from Python."""
        return torch.tensor(self.allowed).view(self.shape[0], self.shape[0])

    @mask.setter
    def mask(self, mask: Tensor):
        self.allowed = row_major(mask, self.shape[0])

    def weights(self) -> Float[Tensor, "T T"]:
        """The weights under the painted mask."""
        return attention(*self._tensors(), self.mask)[1]

    def influence(self) -> Float[Tensor, "T T"]:
        """The leak map |d out_i / d (q, k, v of token j)|, in closed form.

        Equal to `leak_map` over tokens that hold their q, k and v side by side.
        """
        q, k, v = self._tensors()
        scale = q.shape[1] ** 0.5
        out, weights = attention(q, k, v, self.mask)
        centred = k - (weights @ k)[:, None]
        by_query = torch.einsum("ts,sv,tsd->tvd", weights, v, centred) / scale
        by_key = torch.linalg.norm(v - out[:, None], dim=-1) * q.norm(dim=-1, keepdim=True) / scale
        squared = weights.square() * (v.shape[1] + by_key.square())
        squared += torch.diag(by_query.square().sum(dim=(1, 2)))
        return squared.sqrt()

    def finding(self) -> str:
        mask, row, length = self.mask, self._row, self.shape[0]
        seers = int(mask.triu(1).any(dim=1).sum())
        sees = {0: "No query sees", 1: "1 query sees"}.get(seers, f"{seers} queries see")
        return (
            f"{int(mask.sum())} of {length**2} pairs may attend. "
            f"Row {row}, “{self.tokens[row]}”, {self._look(row)} {sees} the future."
        )

    def still(self) -> Image.Image:
        parts = {"weights under the mask": self._mask_cells(), "leak map": self._leak_cells()}
        return grids_picture(parts, self.tokens, self.tokens, self._row, self.finding())

    @property
    def _row(self) -> int:
        return max(min(self.row, self.shape[0] - 1), 0)

    def _tensors(self) -> list[Tensor]:
        """q, k and v in double precision, as the browser computes."""
        length = self.shape[0]
        return [
            torch.tensor(np.frombuffer(sent, np.float32)).double().view(length, -1)
            for sent in (self.q, self.k, self.v)
        ]

    def _look(self, row: int) -> str:
        keys, shares = int(self.mask[row].sum()), self.weights()[row].numpy()
        if keys == 0:
            return "may attend to nothing: its weights and its output are zeros."
        best = most_at(self.tokens, shares, keys)
        most = f"({shares.max():.2f})."
        if best == f"{keys} keys alike":
            return f"looks at {best} {most}"
        how = "1 key only:" if keys == 1 else f"{keys} keys, most at"
        return f"looks at {how} {best} {most}"

    def _mask_cells(self) -> list[list[Cell]]:
        return [
            [
                Cell(theme.weight_colour(w), f"{w:.2f}") if may else Cell(theme.FORBIDDEN, "×")
                for may, w in zip(mask, weights)
            ]
            for mask, weights in zip(self.mask.tolist(), self.weights().tolist())
        ]

    def _leak_cells(self) -> list[list[Cell]]:
        sizes = self.influence()
        most = sizes.max().item() or 1.0
        return [
            [_leak_cell(size, size / most, later=j > i) for j, size in enumerate(row)]
            for i, row in enumerate(sizes.tolist())
        ]


def _leak_cell(size: float, share: float, later: bool) -> Cell:
    if size == 0:
        return Cell(theme.PAPER)
    colour = theme.OKABE_ITO["vermilion"] if later else theme.weight_colour(share)
    return Cell(colour, f"{size:.2f}" if size < 9.995 else f"{size:.0f}")
