"""A mask painted cell by cell: what it does to the weights, and whether the future leaks."""

import torch
import traitlets
from jaxtyping import Float
from torch import Tensor

from mha_utils import theme
from mha_utils.core.masks import leak_map
from mha_utils.core.steps import attention
from mha_utils.widgets.kit.base import refuses
from mha_utils.widgets.kit.one_head import OneHead, most_at, require_one_head, require_words
from mha_utils.widgets.kit.still import Cell, Grid, picture, share_cell, size_cell
from mha_utils.widgets.kit.values import clamped


class MaskPainter(OneHead):
    """Paint who may look at whom in one head; `mask` is the painting as a tensor, to read or set.

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

    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
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
        tokens = require_words("tokens", tokens, "T", len(q))
        super().__init__(q, k, v, mask, tokens=tokens, row=min(2, len(q) - 1))

    @refuses("allowed")
    def _one_for_each_pair(self, name, allowed):
        pairs = self.shape[0] ** 2
        if len(allowed) != pairs:
            raise ValueError(f"allowed must hold T x T = {pairs} booleans, got {len(allowed)}")

    def weights(self) -> Float[Tensor, "T T"]:
        """The weights under the painted mask."""
        return attention(*self._tensors(), self.mask)[1]

    def influence(self) -> Float[Tensor, "T T"]:
        """The leak map |d out_i / d (q, k, v of token j)|."""
        q, k, v = self._tensors()

        def out(tokens):
            parts = tokens.split([q.shape[1], k.shape[1], v.shape[1]], dim=1)
            return attention(*parts, self.mask)[0]

        return leak_map(out, torch.cat([q, k, v], dim=1))

    def finding(self) -> str:
        mask, row, length = self.mask, self._row, self.shape[0]
        seers = int(mask.triu(1).any(dim=1).sum())
        sees = {0: "No query sees", 1: "1 query sees"}.get(seers, f"{seers} queries see")
        return (
            f"{int(mask.sum())} of {length**2} pairs may attend. "
            f"Row {row}, “{self.tokens[row]}”, {self._look(row)} {sees} the future."
        )

    def still(self):
        parts = {"weights under the mask": self._mask_cells(), "leak map": self._leak_cells()}
        words = self.tokens
        grids = [Grid(title, cells, words, words, self._row) for title, cells in parts.items()]
        return picture(self.finding(), grids)

    @property
    def _row(self) -> int:
        return clamped(self.row, 0, self.shape[0] - 1)

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
        pairs = zip(self.mask.tolist(), self.weights().tolist())
        forbidden = Cell(theme.FORBIDDEN)
        return [[share_cell(w) if may else forbidden for may, w in zip(*rows)] for rows in pairs]

    def _leak_cells(self) -> list[list[Cell]]:
        sizes = self.influence()
        most = sizes.max().item()
        return [
            [size_cell(size, most, wrong=j > i) for j, size in enumerate(row)]
            for i, row in enumerate(sizes.tolist())
        ]
