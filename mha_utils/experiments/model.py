"""The small model of every experiment: embedding, attention layers, linear readout."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from mha_utils.core.guards import require_sizes
from mha_utils.core.modules import MultiHeadAttention


@dataclass(frozen=True)
class Shape:
    """What a `SmallModel` is made of.

    Args:
        num_heads: H, in every layer.
        head_dim: Dh, the width of each head; H x Dh may differ from `embed_dim`.
        embed_dim: D, the width of a token vector.
        num_layers: attention layers, one after the other.
        causal: whether a query sees only itself and what stands before it.
        mlp: whether each attention is followed by a two-layer network of width 4 D.
        norm: whether layer norm stands before each attention and before the readout.
        uniform: a control that looks nowhere: W_q = W_k = 0, so every query averages all that
            it may see; the gradient of each has the other as a factor, so both stay zero.
    """

    num_heads: int
    head_dim: int
    embed_dim: int = 48
    num_layers: int = 1
    causal: bool = False
    mlp: bool = False
    norm: bool = False
    uniform: bool = False

    def build(self, task) -> "SmallModel":
        return SmallModel(task, self)


class Layer(nn.Module):
    """Add to every token what its heads have gathered; positions steer only who looks at whom."""

    def __init__(self, shape: Shape):
        super().__init__()
        d, width = shape.embed_dim, shape.num_heads * shape.head_dim
        widths = {"qdim": d, "kdim": d, "vdim": d}
        self.attention = MultiHeadAttention(width, shape.num_heads, bias=False, **widths)
        for weight in self.attention.parameters():
            nn.init.normal_(weight, std=weight.shape[1] ** -0.5)
        if shape.uniform:
            nn.init.zeros_(self.attention.q_proj.weight)
            nn.init.zeros_(self.attention.k_proj.weight)
        self.narrow = nn.Identity() if width == d else nn.Linear(width, d, bias=False)
        self.norm = nn.LayerNorm(d) if shape.norm else nn.Identity()
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))
        if not shape.mlp:
            self.mlp = None
        self.causal = shape.causal

    def forward(self, x: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        values = self.norm(x)
        placed = values + positions
        options = {"is_causal": self.causal, "need_weights": True}
        out, weights = self.attention(placed, placed, values, **options)
        x = x + self.narrow(out)
        return (x if self.mlp is None else x + self.mlp(x)), weights


class SmallModel(nn.Module):
    """Embedding, attention layers, linear readout: the model of every experiment.

    Args:
        task: gives `seq_len`, `out_dim` and `num_symbols` (0: inputs are vectors of `width`);
            `waves`: whether positions are made of waves, or each has a vector of its own.
        shape: heads, widths, layers.
    """

    def __init__(self, task, shape: Shape):
        super().__init__()
        require_sizes(num_heads=shape.num_heads, head_dim=shape.head_dim)
        d = shape.embed_dim
        waves = fourier(task.seq_len) if task.waves else torch.eye(task.seq_len)
        if task.num_symbols:
            self.embed = nn.Embedding(task.num_symbols, d)
        else:
            self.embed = nn.Linear(task.width, d, bias=False)
        self.place = nn.Linear(waves.shape[1], d, bias=False)
        nn.init.normal_(self.embed.weight, std=2 * d**-0.5)
        size = (task.seq_len / 2) ** 0.5 if task.waves else 1  # of each row of `waves`
        nn.init.normal_(self.place.weight, std=2 * d**-0.5 / size)
        self.layers = nn.ModuleList([Layer(shape) for _ in range(shape.num_layers)])
        self.norm = nn.LayerNorm(d) if shape.norm else nn.Identity()
        self.readout = nn.Linear(d, task.out_dim)
        self.register_buffer("waves", waves)
        self.placed_values = task.placed_values

    def forward(self, inputs: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Outputs (B, T, out_dim) and the weights (B, H, T, T) of every layer."""
        (x, positions), maps = self._start(inputs), []
        for layer in self.layers:
            x, weights = layer(x, positions)
            maps.append(weights)
        return self.readout(self.norm(x)), maps

    def _start(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """The token vectors, and what is added to them for queries and keys only."""
        x, positions = self.embed(inputs), self.place(self.waves)
        if isinstance(self.embed, nn.Embedding):
            x = x.sum(dim=-2)  # a token of several symbols
        return (x + positions, torch.zeros(())) if self.placed_values else (x, positions)


def fourier(seq_len: int) -> Tensor:
    """Cosine and sine of every frequency, (T, T): what a model knows about a position."""
    angles = torch.arange(seq_len)[:, None] * torch.arange(1, seq_len // 2 + 1) * 2 * math.pi
    return torch.cat([(angles / seq_len).cos(), (angles / seq_len).sin()], dim=-1)
