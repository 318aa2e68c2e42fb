"""Why scores are divided by sqrt(Dh): the same draws of q and k, undivided and divided."""

import math
from typing import NamedTuple

import numpy as np
import torch
import traitlets
from jaxtyping import Float
from PIL import Image
from torch import Tensor

from mha_utils.core.contracts import require_seed, require_sizes
from mha_utils.widgets.kit.base import LiveView, refuses
from mha_utils.widgets.kit.one_head import require_temperature
from mha_utils.widgets.kit.still import bars_picture

WIDTHS = tuple(2**n for n in range(10))  # 1 to 512
MAX_KEYS, QUERIES = 16, 16


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
    head_dim = traitlets.Int(64).tag(sync=True)
    query = traitlets.Int(0).tag(sync=True)
    temperature = traitlets.Float(1.0).tag(sync=True)

    def __init__(self, head_dim: int = 64, num_keys: int = 8, seed: int = 0):
        require_sizes(head_dim=head_dim, num_keys=num_keys)
        if not 2 <= num_keys <= MAX_KEYS:
            raise ValueError(f"num_keys must be 2 to {MAX_KEYS}, got {num_keys}")
        _require_width(head_dim)
        require_seed(seed)
        kind = {"generator": torch.Generator().manual_seed(seed), "dtype": torch.float32}
        q, k = torch.randn(QUERIES + num_keys, WIDTHS[-1], **kind).split([QUERIES, num_keys])
        super().__init__(head_dim=head_dim, q=q.numpy().tobytes(), k=k.numpy().tobytes())

    @refuses("head_dim")
    def _keep_width(self, name, head_dim):
        _require_width(head_dim)

    @refuses("temperature")
    def _keep_temperature(self, name, temperature):
        require_temperature(temperature)

    def sides(self) -> tuple[Side, Side]:
        """The softmax of q . k / temperature, and that of q . k / sqrt(Dh)."""
        q, k = (_vectors(sent)[:, : self.head_dim] for sent in (self.q, self.k))
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
        return max(min(self.query, QUERIES - 1), 0)

    def still(self) -> Image.Image:
        left, right = self.sides()
        name = "q · k" if self.temperature == 1 else f"q · k / {self.temperature:.1f}"
        parts = {f"softmax of {name}": left, f"softmax of q · k / √{self.head_dim}": right}
        shares = {title: side.weights.tolist() for title, side in parts.items()}
        below = {
            t: [f"{score:.1f}".replace("-", "−") for score in side.scores]
            for t, side in parts.items()
        }
        return bars_picture(shares, below, self.finding())


def _written(scores: Tensor) -> list[str]:
    return [f"{score:.1f}".replace("-", "−") for score in scores.tolist()]


def _vectors(sent: bytes) -> Tensor:
    """In double precision, as the browser computes."""
    return torch.tensor(np.frombuffer(sent, np.float32)).double().view(-1, WIDTHS[-1])


def _require_width(head_dim: int) -> None:
    if head_dim not in WIDTHS:
        raise ValueError(f"head_dim must be a power of two from 1 to 512, got {head_dim}")
