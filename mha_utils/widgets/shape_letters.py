"""The letters B T D H Dh as boxes: every head reads the whole x; what is cut is q, k and v."""

from mha_utils import theme
from mha_utils.widgets.kit.sized import SizedView
from mha_utils.widgets.kit.still import Cell, Grid, picture

WHOLE = "#a8a8a8"  # a number that all heads read


class ShapeLetters(SizedView):
    """Move B, T, D and H and see what all heads read, and which cells of q belong to which head.

    Args:
        batch_size: B, 1 to 3.
        seq_len: T, 1 to 8.
        embed_dim: D, 12 at first.
        num_heads: H; must divide D.

    Raises:
        ValueError: if a size is below 1 or H does not divide D.
    """

    script = "shape_letters"

    def __init__(
        self, batch_size: int = 2, seq_len: int = 4, embed_dim: int = 12, num_heads: int = 3
    ):
        super().__init__(batch_size, seq_len, embed_dim, num_heads)

    def finding(self) -> str:
        b, t, d, h = self.batch_size, self.seq_len, self.embed_dim, self.num_heads
        return (
            f"x is (B, T, D) = ({b}, {t}, {d}): {b * t * d} numbers, and every head reads all of "
            f"them. What is cut is q, k and v: into H = {h} pieces of Dh = D / H = {d // h} "
            f"columns, so q is (B, H, T, Dh) = ({b}, {h}, {t}, {d // h}): {b * t * d} numbers."
        )

    def still(self):
        head_dim = self.embed_dim // self.num_heads
        row = [Cell(theme.HEADS[d // head_dim % len(theme.HEADS)]) for d in range(self.embed_dim)]
        whole, cut = [Cell(WHOLE)] * self.embed_dim, f"cut into {self.num_heads}"
        lines = [
            [
                Grid(f"{name} of sequence {b}: {how}", [cells] * self.seq_len, largest=(24, 24))
                for b in range(self.batch_size)
            ]
            for name, how, cells in (("x", "read whole", whole), ("q", cut, row))
        ]
        return picture(self.finding(), *lines)
