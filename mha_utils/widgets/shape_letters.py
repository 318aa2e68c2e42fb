"""The letters B T D H Dh as boxes: what shape x has, and what the heads take of it."""

import traitlets
from PIL import Image

from mha_utils import theme
from mha_utils.core.contracts import require_divisible, require_sizes
from mha_utils.widgets.kit.base import LiveView, shows_problems
from mha_utils.widgets.kit.still import cells_picture


class ShapeLetters(LiveView):
    """Move B, T, D and H and see which cells of x belong to which head.

    Args:
        batch_size: B, 1 to 3.
        seq_len: T, 1 to 8.
        embed_dim: D, 12 at first.
        num_heads: H; must divide D.

    Raises:
        ValueError: if a size is below 1 or H does not divide D.
    """

    script = "shape_letters"

    batch_size = traitlets.Int(2).tag(sync=True)
    seq_len = traitlets.Int(4).tag(sync=True)
    embed_dim = traitlets.Int(12).tag(sync=True)
    num_heads = traitlets.Int(3).tag(sync=True)

    def __init__(
        self, batch_size: int = 2, seq_len: int = 4, embed_dim: int = 12, num_heads: int = 3
    ):
        require_sizes(batch_size=batch_size, seq_len=seq_len)
        require_divisible(embed_dim, num_heads)
        super().__init__(
            batch_size=batch_size, seq_len=seq_len, embed_dim=embed_dim, num_heads=num_heads
        )

    @traitlets.observe("embed_dim", "num_heads")
    @shows_problems
    def _keep_divisible(self, change):
        require_divisible(self.embed_dim, self.num_heads)

    def finding(self) -> str:
        b, t, d, h = self.batch_size, self.seq_len, self.embed_dim, self.num_heads
        return (
            f"x is (B, T, D) = ({b}, {t}, {d}): {b * t * d} numbers. "
            f"Each of {h} heads takes Dh = D / H = {d // h} columns, "
            f"so q is (B, H, T, Dh) = ({b}, {h}, {t}, {d // h}): {b * h * t * (d // h)} numbers."
        )

    def still(self) -> Image.Image:
        head_dim = self.embed_dim // self.num_heads
        row = [theme.HEADS[d // head_dim % len(theme.HEADS)] for d in range(self.embed_dim)]
        return cells_picture([[row] * self.seq_len] * self.batch_size, self.finding())
