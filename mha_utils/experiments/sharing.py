"""Four heads that share keys or values: where they look differs, or also what they fetch."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from mha_utils.core.guards import require_choice
from mha_utils.core.modules import MultiHeadAttention
from mha_utils.experiments.model import Shape, fourier
from mha_utils.experiments.tasks import Batch, Lookups

WANTED = ("same part", "other parts")
PARTS, HEADS = 4, 4  # of a token's numbers; of queries


class Fetches(Lookups):
    """Every position needs 8 numbers of each of four others, whose tokens have four parts of 8.

    Args:
        wanted: the "same part" of all four, or "other parts", one of each.
    """

    def __init__(self, wanted: str):
        require_choice("wanted", wanted, WANTED)
        super().__init__()
        self.parts = range(PARTS) if wanted == "other parts" else (0,) * PARTS

    def draw(self, batch_size: int, generator: torch.Generator) -> Batch:
        tokens = torch.randn(batch_size, self.seq_len, self.out_dim, generator=generator)
        parts = tokens.unflatten(-1, (PARTS, self.width))
        pairs = zip(self.parts, self.offsets)
        targets = [parts[:, :, part].roll(offset, dims=1) for part, offset in pairs]
        here = torch.arange(self.seq_len)
        sources = torch.stack([(here - offset) % self.seq_len for offset in self.offsets], dim=-1)
        return Batch(tokens, torch.cat(targets, dim=-1), sources.expand(batch_size, -1, -1))


@dataclass(frozen=True)
class SharingShape(Shape):
    """Heads of queries, and how many sets of keys and of values they share."""

    num_keys: int = HEADS
    num_values: int = HEADS

    def build(self, task) -> "Fetcher":
        return Fetcher(task, self)


class FetchingLayer(nn.Module):
    """The package's layer and nothing else: places steer who looks at whom, values are tokens."""

    def __init__(self, task, shape: SharingShape):
        super().__init__()
        widths = {"qdim": task.seq_len, "kdim": task.seq_len, "vdim": task.out_dim}
        options = {"bias": False, "head_dim": shape.head_dim, **widths}
        self.attention = MultiHeadAttention(task.out_dim, shape.num_heads, **options)
        columns = [shape.head_dim * number for number in (shape.num_keys, shape.num_values)]
        self.attention.k_proj = nn.Linear(task.seq_len, columns[0], bias=False)
        self.attention.v_proj = nn.Linear(task.out_dim, columns[1], bias=False)
        for weight in self.attention.parameters():
            nn.init.normal_(weight, std=weight.shape[1] ** -0.5)

    def forward(self, tokens: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
        places = places.expand(len(tokens), -1, -1)
        return self.attention(places, places, tokens, need_weights=True)


class Fetcher(nn.Module):
    """A single layer of attention between places and tokens; its output is the answer."""

    def __init__(self, task, shape: SharingShape):
        super().__init__()
        self.layers = nn.ModuleList([FetchingLayer(task, shape)])
        self.register_buffer("waves", fourier(task.seq_len))

    def forward(self, inputs: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Outputs (B, T, out_dim) and the weights (B, H, T, T) of the layer."""
        out, weights = self.layers[0](inputs, self.waves)
        return out, [weights]


def sharing(head_dim: int, num_keys: int, num_values: int) -> SharingShape:
    """Four heads of queries of this width, and so many sets of keys and of values."""
    sizes = {"num_keys": num_keys, "num_values": num_values}
    return SharingShape(HEADS, head_dim, embed_dim=32, **sizes)


def ceiling(wanted: str, head_dim: int, num_values: int = HEADS) -> float:
    """The highest R^2 if places alone decide who looks at whom.

    All that reaches an output has passed a `v_proj` of `num_values` x Dh rows. Where each head
    needs another part, these rows have 32 numbers of a token to keep; else the same 8.
    """
    needed = 32 if wanted == "other parts" else 8
    return min(1.0, num_values * head_dim / needed)
