"""Many draws of dropout on the same attention weights, and their average."""

import numpy as np
import torch
import traitlets
from PIL import Image
from torch import Tensor

from mha_utils import theme
from mha_utils.contracts import require_probability, require_sizes
from mha_utils.widgets.base import LiveView
from mha_utils.widgets.still import Cell, grids_picture

MAX_TOKENS = 12
MAX_P = 0.9


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
    p = traitlets.Float(0.4).tag(sync=True)
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
        require_probability(p=p)
        require_sizes(num_draws=num_draws)
        if p > MAX_P or num_draws > 500:
            raise ValueError(
                f"p must be at most {MAX_P} and num_draws at most 500, got {p} and {num_draws}"
            )
        weights = _matrix_of_shares(weights)
        rows, columns = weights.shape
        tokens = [f"x{i}" for i in range(columns)] if tokens is None else list(tokens)
        if len(tokens) != columns:
            raise ValueError(f"tokens must be S = {columns} words, got {len(tokens)}")
        generator = torch.Generator().manual_seed(seed)
        super().__init__(
            shape=[rows, columns, num_draws],
            weights=weights.numpy().tobytes(),
            uniform=torch.rand(num_draws, rows, columns, generator=generator).numpy().tobytes(),
            tokens=tokens,
            p=float(p),
        )

    def dropped(self) -> np.ndarray:
        """The weights after each draw up to the present one, (draw, T, S); in evaluation as is."""
        rows, columns, _ = self.shape
        weights = np.frombuffer(self.weights, np.float32).reshape(rows, columns).astype(float)
        if not self.training:
            return np.broadcast_to(weights, (self._draw, rows, columns))
        uniform = np.frombuffer(self.uniform, np.float32).reshape(-1, rows, columns)
        return weights * (uniform[: self._draw].astype(float) >= self.p) / (1 - self.p)

    def finding(self) -> str:
        if not self.training:
            return "Evaluation: nothing is dropped, whatever p is."
        weights, draws = self._undropped(), self.dropped()
        present, sums = int((weights > 0).sum()), draws[-1].sum(axis=1)
        gone = present - int((draws[-1] > 0).sum())
        off = np.abs(draws.mean(axis=0) - weights).max()
        return (
            f"p = {self.p:.2f}, draw {self._draw}: {gone} of {present} weights dropped, the others "
            f"times {1 / (1 - self.p):.2f}; row sums from {sums.min():.2f} to {sums.max():.2f}."
            f"{self._lost(sums)} "
            f"The average of draws 1 to {self._draw} is off by at most {off:.2f}."
        )

    def still(self) -> Image.Image:
        draws = self.dropped()
        parts = {"weights": self._undropped(), f"draw {self._draw}": draws[-1]}
        parts["average so far"] = draws.mean(axis=0)
        grids = {title: [[_cell(n) for n in row] for row in grid] for title, grid in parts.items()}
        return grids_picture(grids, self._queries(), self.tokens, None, self.finding())

    @property
    def _draw(self) -> int:
        return max(min(self.draw, self.shape[2]), 1)

    def _undropped(self) -> np.ndarray:
        rows, columns, _ = self.shape
        return np.frombuffer(self.weights, np.float32).reshape(rows, columns).astype(float)

    def _queries(self) -> list[str]:
        rows, columns, _ = self.shape
        return self.tokens if rows == columns else [f"query {i}" for i in range(rows)]

    def _lost(self, sums: np.ndarray) -> str:
        lost = [f"“{self._queries()[i]}”" for i in np.flatnonzero(sums == 0)]
        return f" Lost everything: {', '.join(lost)}." if lost else ""


def _cell(weight: float) -> Cell:
    return Cell(theme.weight_colour(min(weight, 1)), f"{weight:.2f}")


def _matrix_of_shares(weights) -> Tensor:
    weights = torch.as_tensor(weights).detach().float().contiguous()
    fits = weights.ndim == 2 and all(1 <= size <= MAX_TOKENS for size in weights.shape)
    if not fits or not ((weights >= 0) & (weights <= 1)).all():
        raise ValueError(
            f"weights must be (T, S) with T and S from 1 to {MAX_TOKENS} and values from 0 to 1, "
            f"got shape {tuple(weights.shape)}"
        )
    return weights
