"""Rotary positions as dials: each pair of features of a query and a key turns with its place."""

import torch
import traitlets
from torch import Tensor

from mha_utils import theme
from mha_utils.core.guards import require_positive
from mha_utils.core.rotary import Rotary
from mha_utils.widgets.kit.base import LiveView
from mha_utils.widgets.kit.judged import judged
from mha_utils.widgets.kit.one_head import require_finite_numbers
from mha_utils.widgets.kit.still import Cell, Grid, picture
from mha_utils.widgets.kit.values import fixed, packed, require_at_most, unpacked

MOST, PAIRS = 31, 8  # the last place of the key and the largest distance; dials


def _require_place(**places: int) -> None:
    require_at_most(MOST, **places)
    for name, place in places.items():
        if place < 0:
            raise ValueError(f"{name} must be at least 0, got {place}")


class PositionDials(LiveView):
    """A query and a key on a line of places; both turn as they move, and the score follows.

    The pairs are those of `Rotary` with its first layout: features n and n + Dh / 2.

    Args:
        q, k: one query and one key, (Dh,), before they are turned; Dh even, at most 16.
        key_place, distance: where the key stands, and how far after it the query; 0 to 31.
        base: as that of `Rotary`.

    Raises:
        ValueError: if an argument is out of its range, or q or k holds NaN or infinity.
    """

    script = "position_dials"

    q = traitlets.Bytes().tag(sync=True)
    k = traitlets.Bytes().tag(sync=True)
    base = judged(traitlets.Float, 10_000.0, require_positive)
    key_place = judged(traitlets.Int, 0, _require_place)
    distance = judged(traitlets.Int, 0, _require_place)

    def __init__(
        self, q: Tensor, k: Tensor, key_place: int = 4, distance: int = 3, base: float = 10_000.0
    ):
        q, k = (torch.as_tensor(x).detach().float().cpu() for x in (q, k))
        if q.ndim != 1 or len(q) % 2 or not 2 <= len(q) <= 2 * PAIRS or k.shape != q.shape:
            raise ValueError(
                f"q and k must be (Dh,) with Dh even, 2 to {2 * PAIRS}, "
                f"got {tuple(q.shape)} and {tuple(k.shape)}"
            )
        require_finite_numbers(q=q, k=k)
        places = {"key_place": key_place, "distance": distance}
        super().__init__(q=packed(q), k=packed(k), base=float(base), **places)

    @property
    def query_place(self) -> int:
        return self.key_place + self.distance

    def vectors(self) -> tuple[Tensor, Tensor]:
        """The query and the key before they are turned, (Dh,) each."""
        return unpacked(self.q, -1), unpacked(self.k, -1)

    def every_product(self) -> Tensor:
        """What each pair of features adds to q . k at every distance, (32, Dh / 2)."""
        q, k = self.vectors()
        turned = Rotary(len(q), self.base)(q.expand(1, 1, MOST + 1, -1))[0, 0]
        return (turned * k).unflatten(-1, (2, -1)).sum(dim=1)

    def products(self, distance: int | None = None) -> Tensor:
        """What each pair of features adds to q . k, (Dh / 2,)."""
        return self.every_product()[self.distance if distance is None else distance]

    def score(self, distance: int | None = None) -> float:
        """q . k / sqrt(Dh), after both are turned; the distance alone decides."""
        products = self.products(distance)
        return (products.sum() / (2 * len(products)) ** 0.5).item()

    def finding(self) -> str:
        products = self.products()
        return (
            f"Query at place {self.query_place}, key at place {self.key_place}, "
            f"{self.distance} apart: the products add up to {fixed(products.sum().item())}, "
            f"and divided by √{2 * len(products)} that is the score, {fixed(self.score())}."
        )

    def still(self):
        """What each pair adds at every distance, and below it the score; the present one marked."""
        table = self.every_product().T
        scores = table.sum(dim=0, keepdim=True) / (2 * len(table)) ** 0.5
        cells = [
            [
                Cell(theme.signed_colour(share), marked=far == self.distance)
                for far, share in enumerate(row)
            ]
            for part in (table, scores)
            for row in (part / part.abs().max().clamp(min=1e-9)).tolist()
        ]
        rows = [f"pair {n}: {fixed(product)}" for n, product in enumerate(self.products())]
        rows.append(f"score: {fixed(self.score())}")
        title = "product of each pair, and the score, at distance 0 to 31; blue below 0, red above"
        columns = [str(far) for far in range(MOST + 1)]
        return picture(self.finding(), [Grid(title, cells, rows, columns, largest=(22, 22))])
