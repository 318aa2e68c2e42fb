"""What one layer costs on paper, for three ways to write it, against the sequence length."""

import math

import traitlets
from PIL import Image

from mha_utils import theme
from mha_utils.core.contracts import require_divisible, require_sizes
from mha_utils.core.costs import IMPLEMENTATIONS, Cost, Workload, cost_of
from mha_utils.widgets.kit.base import LiveView, refuses, shows_problems
from mha_utils.widgets.kit.still_curves import curves_picture

SIZES = {
    "batch_size": (1, 2, 4, 8, 16, 32, 64),
    "seq_len": (64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384),
    "embed_dim": (256, 512, 768, 1024, 2048, 4096),
}
MAX_HEADS = 64
PANELS = {
    "arithmetic": "flops",
    "memory traffic": "moved_bytes",
    "attention maps held": "map_bytes",
}
COLOURS = {"loop over heads": theme.HEADS[3], "explicit": theme.HEADS[0], "fused": theme.HEADS[2]}


class LayerCost(LiveView):
    """Move B, T, D and H and read FLOPs, bytes moved and bytes of attention maps.

    The counts are those of `mha_utils.core.costs`.

    Args:
        batch_size: B, a power of two from 1 to 64.
        seq_len: T, a power of two from 64 to 16384.
        embed_dim: D: 256, 512, 768, 1024, 2048 or 4096.
        num_heads: H, at most 64; must divide D.
        is_causal: whether a query sees no key after its own.
        is_half: whether numbers have 16 bits instead of 32.

    Raises:
        ValueError: if a size is none of these, or H does not divide D.
    """

    script = "layer_cost"

    batch_size = traitlets.Int(1).tag(sync=True)
    seq_len = traitlets.Int(1024).tag(sync=True)
    embed_dim = traitlets.Int(768).tag(sync=True)
    num_heads = traitlets.Int(12).tag(sync=True)
    is_causal = traitlets.Bool(True).tag(sync=True)
    is_half = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self,
        batch_size: int = 1,
        seq_len: int = 1024,
        embed_dim: int = 768,
        num_heads: int = 12,
        is_causal: bool = True,
        is_half: bool = False,
    ):
        sizes = {"batch_size": batch_size, "seq_len": seq_len, "embed_dim": embed_dim}
        _require_drawable(**sizes, num_heads=num_heads)
        super().__init__(**sizes, num_heads=num_heads, is_causal=is_causal, is_half=is_half)

    @traitlets.observe("embed_dim", "num_heads")
    @shows_problems
    def _keep_range(self, change):
        _require_drawable(self.batch_size, self.seq_len, self.embed_dim, self.num_heads)

    @refuses(*SIZES)
    def _keep_known(self, name, size):
        _require_known(name, size)

    def costs(self, seq_len: int | None = None) -> dict[str, Cost]:
        """The counts for each implementation at the present sizes, or at another T."""
        sizes = self.batch_size, seq_len or self.seq_len, self.embed_dim, self.num_heads
        work = Workload(*sizes, self.is_causal, number_bytes=2 if self.is_half else 4)
        return {name: cost_of(name, work) for name in IMPLEMENTATIONS}

    def finding(self) -> str:
        costs = self.costs()
        explicit, fused = costs["explicit"], costs["fused"]
        heads = "1 head" if self.num_heads == 1 else f"{self.num_heads} heads"
        return (
            f"({self.batch_size}, {self.seq_len}, {self.embed_dim}) with {heads}, "
            f"{16 if self.is_half else 32} bits{', causal' if self.is_causal else ''}: "
            f"explicit computes {short(explicit.flops, 'FLOP')}, moves "
            f"{short(explicit.moved_bytes, 'B')} and holds {short(explicit.map_bytes, 'B')} of "
            f"attention maps; fused computes {_times(explicit.flops, fused.flops)} times less, "
            f"moves {_times(explicit.moved_bytes, fused.moved_bytes)} times less and holds none."
        )

    def still(self) -> Image.Image:
        at = {length: self.costs(length) for length in SIZES["seq_len"]}
        panels = {
            title: {
                name: {length: getattr(at[length][name], field) for length in at}
                for name in IMPLEMENTATIONS
            }
            for title, field in PANELS.items()
        }
        del panels["attention maps held"]["fused"]  # none: no place on a logarithmic scale
        return curves_picture(panels, self.seq_len, COLOURS, self.finding(), _write)


def short(value: float, unit: str) -> str:
    """Three digits and a prefix: `12.9 GB`."""
    step = 0
    while value >= 999.5 and step < 5:
        value, step = value / 1000, step + 1
    digits = 0 if step == 0 or value >= 99.95 else 1 if value >= 9.995 else 2
    rounded = math.floor(value * 10**digits + 0.5) / 10**digits
    return f"{rounded:.{digits}f} {('', 'k', 'M', 'G', 'T', 'P')[step]}{unit}"


def _write(title: str, value: float) -> str:
    return short(value, "FLOP" if title == "arithmetic" else "B")


def _times(a: int, b: int) -> str:
    return f"{math.floor(a / b * 10 + 0.5) / 10:.1f}"


def _require_drawable(batch_size: int, seq_len: int, embed_dim: int, num_heads: int) -> None:
    sizes = {"batch_size": batch_size, "seq_len": seq_len, "embed_dim": embed_dim}
    require_sizes(**sizes)
    for name, size in sizes.items():
        _require_known(name, size)
    require_divisible(embed_dim, num_heads)
    if num_heads > MAX_HEADS:
        raise ValueError(f"num_heads must be at most {MAX_HEADS}, got {num_heads}")


def _require_known(name: str, size: int) -> None:
    if size not in SIZES[name]:
        listed = ", ".join(map(str, SIZES[name]))
        raise ValueError(f"{name} must be one of {listed}, got {size}")
