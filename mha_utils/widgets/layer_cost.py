"""What one layer costs on paper, for three ways to write it, against the sequence length."""

import math
from dataclasses import replace

import traitlets

from mha_utils import theme
from mha_utils.core.costs import IMPLEMENTATIONS, Cost, Workload, cost_of
from mha_utils.widgets.kit.judged import choice, judged
from mha_utils.widgets.kit.sized import SizedView
from mha_utils.widgets.kit.still import Cell, Grid, picture
from mha_utils.widgets.kit.values import count, joined, rounded

SIZES = {
    "batch_size": (1, 2, 4, 8, 16, 32, 64),
    "seq_len": (64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384),
    "embed_dim": (256, 512, 768, 1024, 2048, 4096),
}
MAX_HEADS = 64
PANELS = {
    "arithmetic, FLOP": "flops",
    "memory traffic, bytes": "moved_bytes",
    "attention maps held, bytes": "map_bytes",
}


def _require_few(num_heads: int) -> None:
    if num_heads > MAX_HEADS:
        raise ValueError(f"num_heads must be at most {MAX_HEADS}, got {num_heads}")


class LayerCost(SizedView):
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

    batch_size, seq_len, embed_dim = (
        choice(traitlets.Int, default, SIZES[name], joined(SIZES[name]))
        for name, default in zip(SIZES, (1, 1024, 768))
    )
    num_heads = judged(traitlets.Int, 12, _require_few)
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
        sizes = batch_size, seq_len, embed_dim, num_heads
        super().__init__(*sizes, is_causal=is_causal, is_half=is_half)

    def costs(self) -> dict[str, Cost]:
        """The counts for each implementation at the present sizes."""
        return {name: cost_of(name, self.work()) for name in IMPLEMENTATIONS}

    def work(self) -> Workload:
        """What is counted: the present sizes."""
        sizes = self.batch_size, self.seq_len, self.embed_dim, self.num_heads
        return Workload(*sizes, self.is_causal, number_bytes=2 if self.is_half else 4)

    def finding(self) -> str:
        costs = self.costs()
        explicit, fused = costs["explicit"], costs["fused"]
        heads = count(self.num_heads, "head")
        return (
            f"({self.batch_size}, {self.seq_len}, {self.embed_dim}) with {heads}, "
            f"{16 if self.is_half else 32} bits{', causal' if self.is_causal else ''}: "
            f"explicit computes {short(explicit.flops, 'FLOP')}, moves "
            f"{short(explicit.moved_bytes, 'B')} and holds {short(explicit.map_bytes, 'B')} of "
            f"attention maps; fused computes {rounded(explicit.flops / fused.flops)} times less, "
            f"moves {rounded(explicit.moved_bytes / fused.moved_bytes)} times less and holds none."
        )

    def still(self):
        """The present sizes, twice the tokens, and twice the heads where D allows it."""
        t, h = self.seq_len, self.num_heads
        sizes = [(t, h), (2 * t, h), (t, 2 * h)]
        sizes = [each for each in sizes if self.embed_dim % each[1] == 0]
        shown = IMPLEMENTATIONS[1:]  # the loop has its curve in the live view
        works = [replace(self.work(), seq_len=tokens, num_heads=heads) for tokens, heads in sizes]
        names = [f"T = {tokens}, H = {heads}" for tokens, heads in sizes]
        grids = []
        for title, field in PANELS.items():
            numbers = [[getattr(cost_of(name, work), field) for name in shown] for work in works]
            grids.append(Grid(title, _cells(numbers), names, shown, 0, (70, 22)))
        return picture(self.finding(), grids)


def _cells(numbers: list[list[int]]) -> list[list[Cell]]:
    """Colours on a logarithmic scale over eight powers of ten."""
    most = math.log10(max(map(max, numbers)))
    shares = [[1 - (most - math.log10(max(n, 1))) / 8 for n in row] for row in numbers]
    return [
        [Cell(theme.weight_colour(share), short(n, "")) for share, n in zip(*rows)]
        for rows in zip(shares, numbers)
    ]


def short(value: float, unit: str) -> str:
    """Three digits and a prefix: `12.9 GB`."""
    step = 0
    while value >= 999.5 and step < 5:
        value, step = value / 1000, step + 1
    digits = 0 if step == 0 or value >= 99.95 else 1 if value >= 9.995 else 2
    return f"{rounded(value, digits)} {('', 'k', 'M', 'G', 'T', 'P')[step]}{unit}"
