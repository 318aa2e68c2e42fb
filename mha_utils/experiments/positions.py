"""Five ways to say where a token stands, and a question that is asked later than in training."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from mha_utils.core.masks import sliding_window_mask
from mha_utils.core.modules import MultiHeadAttention
from mha_utils.core.rotary import Rotary
from mha_utils.core.steps import (
    attention_scores,
    attention_weights,
    causal_mask,
    merge_heads,
)
from mha_utils.experiments.model import Shape
from mha_utils.experiments.tasks import IGNORED, Batch, Classes

KINDS = ("none", "learned", "sinusoidal", "rotary", "alibi")
TRAINED, LENGTHS = 32, (32, 40, 48, 64, 128, 256)
FAR = (2, 8, 32, 96)  # keys at distances of 32 and more that a query may see besides its last 32
ASKED = 8  # the last tokens of a sequence, whose answers are scored


@dataclass(frozen=True)
class PlacedShape(Shape):
    """A `Shape` whose tokens know where they stand in one of five ways."""

    positions: str = "none"

    def build(self, task) -> "PlacedModel":
        return PlacedModel(task, self)


class LateRepeat(Classes):
    """A block of distinct symbols after other ones, over and over: what follows the last symbol?

    Args:
        seq_len: the question is asked at the end of so many tokens.
        from_start: the block is repeated from the start, and not in the last 32 tokens only.
    """

    num_classes = num_symbols = out_dim = 64
    relations = ("repeat",)

    def __init__(self, seq_len: int = TRAINED, from_start: bool = False):
        self.seq_len = seq_len
        self.early = 0 if from_start else seq_len - TRAINED

    def draw(self, batch_size: int, generator: torch.Generator) -> Batch:
        drawn = {"generator": generator}
        period = torch.randint(6, 13, (batch_size, 1), **drawn)
        start = self.early + torch.randint(13, (batch_size, 1), **drawn)
        symbols = torch.rand(batch_size, self.num_symbols, **drawn).argsort(dim=-1)
        others = torch.randint(12, self.num_symbols, (batch_size, self.seq_len + 1), **drawn)
        place = torch.arange(self.seq_len + 1) - start
        sequence = symbols.gather(1, torch.where(place < 0, others, place % period))
        asked = place[:, :-1] >= period
        if self.seq_len > TRAINED:
            asked[:, :-ASKED] = False
        sources = torch.where(asked, torch.arange(self.seq_len) - period + 1, -1)
        answers = sequence[:, 1:].where(asked, IGNORED)
        return Batch(sequence[:, :-1, None], answers[..., None], sources[..., None])


class PlacedLayer(nn.Module):
    """Causal attention in which places turn queries and keys, or are subtracted from the scores."""

    def __init__(self, shape: PlacedShape):
        super().__init__()
        turning = Rotary(shape.head_dim) if shape.positions == "rotary" else None
        self.norm = nn.LayerNorm(shape.embed_dim)
        self.attention = MultiHeadAttention(
            shape.embed_dim,
            shape.num_heads,
            bias=False,
            head_dim=shape.head_dim,
            rotary=turning,
        )
        self.slopes = slopes(shape.num_heads) if shape.positions == "alibi" else None

    def forward(self, x: Tensor, mask: Tensor, scores_of: Callable | None = None):
        """Outputs and weights; `scores_of` makes scores of (q, k) in place of the layer's own."""
        layer, normed = self.attention, self.norm(x)
        q, k, v = layer.project(normed, normed, normed)
        scores = (scores_of or self.scores)(q, k)
        weights = attention_weights(scores, mask)
        return x + layer.out_proj(merge_heads(weights @ v)), weights

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        """Of queries and keys where they stand."""
        if self.attention.rotary is not None:
            q, k = self.attention.rotary(q), self.attention.rotary(k)
        scores = attention_scores(q, k)
        return scores if self.slopes is None else scores + alibi_bias(self.slopes, q.shape[-2])


class PlacedModel(nn.Module):
    """Embedding, position vectors if there are any, two layers or more, linear readout."""

    def __init__(self, task, shape: PlacedShape):
        super().__init__()
        d = shape.embed_dim
        self.embed = nn.Embedding(task.num_symbols, d)
        self.place = nn.Embedding(max(LENGTHS), d) if shape.positions == "learned" else None
        if shape.positions == "sinusoidal":
            self.register_buffer("waves", sinusoids(max(LENGTHS), d))
        self.layers = nn.ModuleList([PlacedLayer(shape) for _ in range(shape.num_layers)])
        self.norm = nn.LayerNorm(d)
        self.readout = nn.Linear(d, task.out_dim)

    def forward(
        self,
        inputs: Tensor,
        window: int | None = None,
        mask: Tensor | None = None,
        scores_of: Sequence[Callable | None] | None = None,
    ) -> tuple[Tensor, list[Tensor]]:
        """Outputs (B, T, out_dim) and the weights (B, H, T, T) of every layer.

        Args:
            scores_of: for each layer, what makes its scores of (q, k), or None: the layer does.
        """
        x, length = self.embed(inputs[..., 0]), inputs.shape[1]
        if mask is None:
            mask = sliding_window_mask(length, window=length if window is None else window)
        if self.place is not None:
            x = x + self.place.weight[:length]
        if hasattr(self, "waves"):
            x = x + self.waves[:length]
        maps = []
        of_layers = scores_of or [None] * len(self.layers)
        for layer, of_layer in zip(self.layers, of_layers, strict=True):
            x, weights = layer(x, mask, of_layer)
            maps.append(weights)
        return self.readout(self.norm(x)), maps


def sinusoids(seq_len: int, embed_dim: int) -> Tensor:
    """Sine and cosine of ever slower waves, side by side, (T, D): Vaswani et al., section 3.5."""
    waves = 10_000.0 ** -(torch.arange(0, embed_dim, 2) / embed_dim)
    angles = torch.arange(seq_len)[:, None] * waves
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)[:, :embed_dim]


def slopes(num_heads: int) -> Tensor:
    """ALiBi's slopes, 2^(-8/H), 2^(-16/H), ..., 2^-8: Press et al. (2022), section 3."""
    return 2.0 ** (-8 * torch.arange(1, num_heads + 1) / num_heads)


def alibi_bias(slopes: Tensor, seq_len: int) -> Tensor:
    """-slope x distance for every head, (H, T, T)."""
    place = torch.arange(seq_len)
    return -slopes[:, None, None] * (place[:, None] - place).abs()


def some_far_keys(length: int, number: int, seed: int = 0) -> Tensor:
    """Each query sees the last 32 keys, and so many of the earlier ones, drawn at random."""
    causal, near = causal_mask(length), sliding_window_mask(length, window=TRAINED)
    dice = torch.rand(length, length, generator=torch.Generator().manual_seed(seed))
    rank = dice.where(causal & ~near, 2.0).argsort(dim=-1).argsort(dim=-1)
    return near | (causal & (rank < number))


def start_hidden(length: int) -> Tensor:
    """Causal, but later queries do not see the first 32 keys."""
    mask = causal_mask(length)
    mask[TRAINED:, :TRAINED] = False
    return mask


@torch.no_grad()
def ask_later(model: PlacedModel, task, num_sequences: int = 64) -> dict:
    """Accuracy where the question is asked at the end of 32, ..., 256 tokens."""

    def accuracy(task, **options):
        batch = task.draw(num_sequences, torch.Generator().manual_seed(1_000_000))
        return round(task.score(model(batch.inputs, **options)[0], batch)["all"], 4)

    scores = {"all": accuracy(task)}
    for length in LENGTHS:
        scores[f"{length}"] = accuracy(LateRepeat(length))
        scores[f"{length} from start"] = accuracy(LateRepeat(length, from_start=True))
        scores[f"{length} in a window"] = accuracy(LateRepeat(length), window=TRAINED)
    last = LENGTHS[-1]
    for number in FAR:
        mask = some_far_keys(last, number)
        scores[f"{last} with {number} far keys"] = accuracy(LateRepeat(last), mask=mask)
    early = LateRepeat(last, from_start=True)
    scores[f"{last} start hidden"] = accuracy(early, mask=start_hidden(last))
    return {"scores": scores}
