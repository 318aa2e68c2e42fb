"""Positions by rotation: how well a query and a key match depends on how far apart they are."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from mha_utils.core.guards import (
    checked,
    require_choice,
    require_positive,
    require_sizes,
    require_width,
)
from mha_utils.core.signatures import in_float32

LAYOUTS = ("half", "pairs")


class Rotary(nn.Module):
    """Turn each pair of features by an angle that grows with the position (RoPE).

    A dot product of two turned vectors depends on their positions through the difference alone.

    Args:
        head_dim: width Dh of a head, even.
        base: pair i turns by base^(-2 i / Dh) radians from one position to the next.
        layout: which features are a pair: "half" (i and i + Dh / 2, as Llama has it in
            transformers) or "pairs" (2 i and 2 i + 1, as in the paper).

    Raises:
        ValueError: if `head_dim` is not an even integer of at least 2, `base` is not a finite
            number above 0, or the layout is neither of the two.

    Source: Su et al. (2021), "RoFormer", section 3.2. It has no parameters and no state: the
    angles are made in float64 (float32 where a device has no other) for each call.
    """

    def __init__(self, head_dim: int, base: float = 10_000.0, layout: str = "half"):
        super().__init__()
        require_sizes(head_dim=head_dim)
        if head_dim % 2:
            raise ValueError(f"head_dim must be even, got {head_dim}")
        require_positive(base=base)
        require_choice("layout", layout, LAYOUTS)
        self.head_dim, self.base, self.layout = head_dim, base, layout

    @checked
    @in_float32
    def forward(
        self,
        heads: Float[Tensor, "B H T Dh"],
        positions: Int[Tensor, "..."] | None = None,
        start: int = 0,
    ) -> Float[Tensor, "B H T Dh"]:
        """Queries or keys, turned.

        Args:
            heads: (B, H, T, Dh).
            positions: (T,), or (B, T) where sequences differ; `start`, `start` + 1, ... when
                left out.

        Raises:
            ValueError: if the width is not `head_dim`, or positions do not fit.
        """
        require_width("heads", heads, self.head_dim, "head_dim")
        if positions is None:
            positions = torch.arange(start, start + heads.shape[-2], device=heads.device)
        require_positions(positions, heads.shape[0], heads.shape[-2])
        angles = self.angles(positions)
        angles = angles if positions.ndim == 1 else angles.unsqueeze(1)  # the same for all heads
        cos, sin = angles.cos().to(heads.dtype), angles.sin().to(heads.dtype)
        if self.layout == "half":
            a, b = heads.chunk(2, dim=-1)
            return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)
        a, b = heads[..., 0::2], heads[..., 1::2]
        return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)

    def both(self, q: Tensor, k: Tensor, positions: Tensor | None = None, start: int = 0) -> tuple:
        """q (B, H, T, Dh) and k (B, Hkv, T, Dh) of the same tokens, turned by the same angles."""
        turned = self(torch.cat((q, k), dim=1), positions, start)
        return turned.split((q.shape[1], k.shape[1]), dim=1)

    def angles(self, positions: Tensor) -> Tensor:
        """(..., Dh / 2), in radians: a row for each position."""
        precise = torch.float32 if positions.device.type == "mps" else torch.float64
        made = {"dtype": precise, "device": positions.device}
        pairs = torch.arange(0, self.head_dim, 2, **made) / self.head_dim
        return positions.unsqueeze(-1) * self.base**-pairs

    def extra_repr(self) -> str:
        return f"head_dim={self.head_dim}, base={self.base:g}, layout={self.layout!r}"


def require_positions(positions: Tensor, batch_size: int, seq_len: int) -> None:
    """Raise ValueError unless positions are (T,) or (B, T)."""
    if tuple(positions.shape) not in ((seq_len,), (1, seq_len), (batch_size, seq_len)):
        raise ValueError(
            f"positions must be (T,) = ({seq_len},) or (B, T) = ({batch_size}, {seq_len}), "
            f"got {tuple(positions.shape)}"
        )


def require_rotary(rotary: Rotary | None, head_dim: int) -> None:
    """Raise ValueError unless `rotary` is None, or a `Rotary` for heads of this width."""
    is_one = isinstance(rotary, Rotary) and rotary.head_dim == head_dim
    if rotary is not None and not is_one:
        raise ValueError(f"rotary must be a Rotary with head_dim={head_dim}, got {rotary!r}")
