"""Why scores are divided by sqrt(Dh): the same draws of q and k, undivided and divided."""

import math
from typing import NamedTuple

import torch
import traitlets
from jaxtyping import Float
from torch import Tensor

from mha_utils import theme
from mha_utils.core.guards import require_seed, require_sizes
from mha_utils.widgets.kit.base import LiveView
from mha_utils.widgets.kit.judged import judged
from mha_utils.widgets.kit.one_head import require_temperature
from mha_utils.widgets.kit.still import Cell, Grid, picture
from mha_utils.widgets.kit.values import clamped, fixed, packed, seeded, unpacked

WIDTHS = tuple(2**n for n in range(10))  # 1 to 512
MAX_KEYS, QUERIES, SQUARES = 16, 16, 16


def _require_width(head_dim: int) -> None:
    require_sizes(head_dim=head_dim)
    if head_dim not in WIDTHS:
        raise ValueError(f"head_dim must be a power of two from 1 to 512, got {head_dim}")


class Side(NamedTuple):
    """Scores and what their softmax makes of them."""

    scores: Float[Tensor, " S"]
    weights: Float[Tensor, " S"]

    @property
    def spread(self) -> float:
        return self.scores.std().item()

    @property
    def entropy(self) -> float:
        return torch.special.entr(self.weights).sum().item()

    @property
    def slope(self) -> float:
        """The largest |d weight_j / d score_l|; none of those with j != l is larger."""
        return (self.weights * (1 - self.weights)).max().item()

    def bars(self, title: str) -> Grid:
        """A bar of squares for each key, its score and its weight beside it."""
        pairs = list(zip(self.scores.tolist(), self.weights.tolist()))
        labels = [f"{fixed(score, 1)} → {fixed(weight)}" for score, weight in pairs]
        return Grid(title, [_bar(weight) for _, weight in pairs], labels, largest=(17, 17))

    def finding(self) -> str:
        return (
            f"scores spread by {self.spread:.1f}, "
            f"the largest weight is {self.weights.max().item():.3f}, "
            f"entropy {self.entropy:.2f} of {math.log(len(self.weights)):.2f} nats, "
            f"largest slope {self.slope:.3f}."
        )


class SoftmaxScale(LiveView):
    """A query and some keys, cut to their first Dh numbers: q . k beside q . k / sqrt(Dh).

    `query` chooses one of 16 queries. `temperature` divides the left side only; with sqrt(Dh)
    both sides are the same. The spread of scores is their standard deviation.

    Args:
        head_dim: Dh at first, a power of two from 1 to 512.
        num_keys: number of keys, 2 to 16.
        seed: of the generator that draws q and k from a standard normal distribution.

    Raises:
        ValueError: if an argument is out of its range.
    """

    script = "softmax_scale"

    q = traitlets.Bytes().tag(sync=True)
    k = traitlets.Bytes().tag(sync=True)
    head_dim = judged(traitlets.Int, 64, _require_width)
    query = traitlets.Int(0).tag(sync=True)
    temperature = judged(traitlets.Float, 1.0, require_temperature)

    def __init__(self, head_dim: int = 64, num_keys: int = 8, seed: int = 0):
        require_sizes(num_keys=num_keys)
        if not 2 <= num_keys <= MAX_KEYS:
            raise ValueError(f"num_keys must be 2 to {MAX_KEYS}, got {num_keys}")
        require_seed(seed)
        drawn = torch.randn(QUERIES + num_keys, WIDTHS[-1], **seeded(seed))
        super().__init__(head_dim=head_dim, q=packed(drawn[:QUERIES]), k=packed(drawn[QUERIES:]))

    def sides(self) -> tuple[Side, Side]:
        """The softmax of q . k / temperature, and that of q . k / sqrt(Dh)."""
        q, k = (unpacked(sent, -1, WIDTHS[-1])[:, : self.head_dim] for sent in (self.q, self.k))
        products = k @ q[self._query]
        divided = (products / self.temperature, products / self.head_dim**0.5)
        return tuple(Side(scores, scores.softmax(dim=0)) for scores in divided)

    def finding(self) -> str:
        left, right = self.sides()
        how = "not divided"
        if self.temperature != 1:
            how = f"divided by temperature {self.temperature:.1f}"
        return (
            f"Query {self._query}, Dh = {self.head_dim}, {how}: {left.finding()} "
            f"Divided by √{self.head_dim}: {right.finding()}"
        )

    @property
    def _query(self) -> int:
        return clamped(self.query, 0, QUERIES - 1)

    def still(self):
        divisor = "" if self.temperature == 1 else f" / {self.temperature:.1f}"
        names = (f"q · k{divisor}", f"q · k / √{self.head_dim}")
        bars = [side.bars(f"{name} → softmax") for name, side in zip(names, self.sides())]
        return picture(self.finding(), bars)


def _bar(weight: float) -> list[Cell]:
    """At least one square for what is not 0.00 beside it, in a colour that is seen."""
    filled = max(round(SQUARES * weight), int(weight >= 0.005))
    colour = theme.weight_colour(0.3 + 0.7 * weight)
    return [Cell(colour)] * filled + [Cell(theme.PAPER)] * (SQUARES - filled)
