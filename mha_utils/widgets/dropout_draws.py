"""Many draws of dropout on the same attention weights, and their average."""

import numpy as np
import torch
import traitlets
from torch import Tensor

from mha_utils import theme
from mha_utils.core.guards import require_seed, require_sizes
from mha_utils.widgets.kit.base import LiveView
from mha_utils.widgets.kit.judged import probability
from mha_utils.widgets.kit.one_head import require_words
from mha_utils.widgets.kit.still import Cell, Grid, picture, share_cell
from mha_utils.widgets.kit.values import clamped, count, packed, seeded, unpacked

MAX_TOKENS = 12
MAX_P = 0.9
MAX_DRAWS = 500


class DropoutDraws(LiveView):
    """Drop attention weights again and again, and watch the average settle.

    Args:
        weights: attention weights (T, S), T and S from 1 to 12, between 0 and 1.
        tokens: S words, for queries and keys alike when T = S; x0, x1, ... when left out.
        p: probability to drop a weight, 0 to 0.9.
        num_draws: how many draws there are, 1 to 500.
        seed: of the `torch.Generator` that makes the uniform numbers.

    Raises:
        ValueError: if an argument is out of its range or `tokens` does not fit S.
    """

    script = "dropout_draws"

    shape = traitlets.List(traitlets.Int()).tag(sync=True)
    weights = traitlets.Bytes().tag(sync=True)
    uniform = traitlets.Bytes().tag(sync=True)
    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    p = probability(0.4, MAX_P)
    draw = traitlets.Int(1).tag(sync=True)
    training = traitlets.Bool(True).tag(sync=True)

    def __init__(
        self,
        weights: Tensor,
        tokens: list[str] | None = None,
        p: float = 0.4,
        num_draws: int = 200,
        seed: int = 0,
    ):
        require_sizes(num_draws=num_draws)
        require_seed(seed)
        if num_draws > MAX_DRAWS:
            raise ValueError(f"num_draws must be at most {MAX_DRAWS}, got {num_draws}")
        weights = _matrix_of_shares(weights)
        rows, columns = weights.shape
        super().__init__(
            shape=[rows, columns, num_draws],
            weights=packed(weights),
            uniform=packed(torch.rand(num_draws, rows, columns, **seeded(seed))),
            tokens=require_words("tokens", tokens, "S", columns),
            p=p,
        )

    def dropped(self) -> np.ndarray:
        """The weights after each draw up to the present one, (draw, T, S); in evaluation as is."""
        weights = self._undropped()
        if not self.training:
            return np.broadcast_to(weights, (self._draw, *weights.shape))
        uniform = unpacked(self.uniform, -1, *weights.shape).numpy()
        return weights * (uniform[: self._draw] >= self.p) / (1 - self.p)

    def finding(self) -> str:
        if not self.training:
            return "Evaluation: nothing is dropped, whatever p is."
        weights, dropped = self._undropped(), self.dropped()
        present, sums = int((weights > 0).sum()), dropped[-1].sum(axis=1)
        gone = present - int((dropped[-1] > 0).sum())
        off = np.abs(dropped.mean(axis=0) - weights).max()
        return (
            f"p = {self.p:.2f}, draw {self._draw}: {gone} of {present} weights dropped, the others "
            f"times {1 / (1 - self.p):.2f}; row sums from {sums.min():.2f} to {sums.max():.2f}."
            f"{self._lost(sums)} "
            f"Averaged over {count(self._draw, 'draw')}, the weights are off by at most {off:.2f}."
        )

    def still(self):
        draws = self.dropped()
        weights = self._undropped()
        parts = {"before dropout": weights, f"after draw {self._draw}": draws[-1]}
        parts["average so far"] = draws.mean(axis=0)
        grids = [
            Grid(title, _cells(grid, weights), self._queries(), self.tokens)
            for title, grid in parts.items()
        ]
        return picture(self.finding(), grids)

    @property
    def _draw(self) -> int:
        return clamped(self.draw, 1, self.shape[2])

    def _undropped(self) -> np.ndarray:
        return unpacked(self.weights, *self.shape[:2]).numpy()

    def _queries(self) -> list[str]:
        rows, columns, _ = self.shape
        return self.tokens if rows == columns else [f"query {i}" for i in range(rows)]

    def _lost(self, sums: np.ndarray) -> str:
        lost = [f"“{self._queries()[i]}”" for i in np.flatnonzero(sums == 0)]
        return f" Lost everything: {', '.join(lost)}." if lost else ""


def _cells(grid: np.ndarray, weights: np.ndarray) -> list[list[Cell]]:
    """A cross for a weight that was dropped, a frame around one above 1."""
    pairs, cross = zip(grid.tolist(), weights.tolist()), Cell(theme.PAPER, "×")
    return [
        [
            cross if number == 0 < weight else share_cell(number, number > 1)
            for number, weight in zip(*rows)
        ]
        for rows in pairs
    ]


def _matrix_of_shares(weights) -> Tensor:
    weights = torch.as_tensor(weights).detach().float().cpu()
    fits = weights.ndim == 2 and all(1 <= size <= MAX_TOKENS for size in weights.shape)
    if not fits or not ((weights >= 0) & (weights <= 1)).all():
        raise ValueError(
            f"weights must be (T, S) with T and S from 1 to {MAX_TOKENS} and values from 0 to 1, "
            f"got shape {tuple(weights.shape)}"
        )
    return weights
