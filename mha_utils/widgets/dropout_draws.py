"""Many draws of dropout on the same attention weights, and their average."""

import numpy as np
import torch
import traitlets
from PIL import Image
from torch import Tensor

from mha_utils import theme
from mha_utils.core.contracts import require_probability, require_seed, require_sizes
from mha_utils.widgets.kit.base import LiveView, refuses
from mha_utils.widgets.kit.still import Cell, grids_picture

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
        require_sizes(num_draws=num_draws)
        require_seed(seed)
        _require_drawable(p)
        if num_draws > MAX_DRAWS:
            raise ValueError(f"num_draws must be at most {MAX_DRAWS}, got {num_draws}")
        weights = _matrix_of_shares(weights)
        rows, columns = weights.shape
        tokens = [f"x{i}" for i in range(columns)] if tokens is None else list(tokens)
        if len(tokens) != columns:
            raise ValueError(f"tokens must be S = {columns} words, got {len(tokens)}")
        kind = {"generator": torch.Generator().manual_seed(seed), "dtype": torch.float32}
        super().__init__(
            shape=[rows, columns, num_draws],
            weights=weights.numpy().tobytes(),
            uniform=torch.rand(num_draws, rows, columns, **kind).numpy().tobytes(),
            tokens=tokens,
            p=float(p),
        )

    @refuses("p")
    def _keep_range(self, name, p):
        _require_drawable(p)

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
        weights, dropped = self._undropped(), self.dropped()
        present, sums = int((weights > 0).sum()), dropped[-1].sum(axis=1)
        gone = present - int((dropped[-1] > 0).sum())
        off = np.abs(dropped.mean(axis=0) - weights).max()
        draws = "1 draw" if self._draw == 1 else f"{self._draw} draws"
        return (
            f"p = {self.p:.2f}, draw {self._draw}: {gone} of {present} weights dropped, the others "
            f"times {1 / (1 - self.p):.2f}; row sums from {sums.min():.2f} to {sums.max():.2f}."
            f"{self._lost(sums)} "
            f"Averaged over {draws}, the weights are off by at most {off:.2f}."
        )

    def still(self) -> Image.Image:
        draws = self.dropped()
        weights = self._undropped()
        parts = {"before dropout": weights, f"after draw {self._draw}": draws[-1]}
        parts["average so far"] = draws.mean(axis=0)
        grids = {title: _cells(grid, weights) for title, grid in parts.items()}
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


def _cells(grid: np.ndarray, weights: np.ndarray) -> list[list[Cell]]:
    """A cross for a weight that was dropped, a frame around one above 1."""
    return [
        [
            Cell(theme.FORBIDDEN, "×")
            if number == 0 < weight
            else Cell(theme.weight_colour(number), f"{number:.2f}", marked=number > 1)
            for number, weight in zip(*rows)
        ]
        for rows in zip(grid.tolist(), weights.tolist())
    ]


def _require_drawable(p: float) -> None:
    require_probability(p=p)
    if p > MAX_P:
        raise ValueError(f"p must be at most {MAX_P} to be drawn, got {p}")


def _matrix_of_shares(weights) -> Tensor:
    weights = torch.as_tensor(weights).detach().float().cpu().contiguous()
    fits = weights.ndim == 2 and all(1 <= size <= MAX_TOKENS for size in weights.shape)
    if not fits or not ((weights >= 0) & (weights <= 1)).all():
        raise ValueError(
            f"weights must be (T, S) with T and S from 1 to {MAX_TOKENS} and values from 0 to 1, "
            f"got shape {tuple(weights.shape)}"
        )
    return weights
