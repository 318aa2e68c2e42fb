"""The letters B T D H Dh as boxes: what shape x has, and what the heads take of it."""

import traitlets
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from mha_utils import theme
from mha_utils.contracts import require_divisible, require_sizes
from mha_utils.widgets.base import LiveView, shows_problems


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
    figure_size = (7.4, 2.6)

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

    def draw(self, figure: Figure) -> None:
        ax = figure.add_axes((0.01, 0.02, 0.98, 0.84))
        head_dim = self.embed_dim // self.num_heads
        for b in range(self.batch_size):
            for t in range(self.seq_len):
                for d in range(self.embed_dim):
                    colour = theme.HEADS[d // head_dim % len(theme.HEADS)]
                    corner = (b * (self.embed_dim + 1.5) + d, -t)
                    ax.add_patch(Rectangle(corner, 0.9, 0.9, color=colour))
            middle = b * (self.embed_dim + 1.5) + self.embed_dim / 2
            ax.annotate(f"sequence {b}", (middle, 1.3), ha="center")
        ax.set(aspect="equal", xlim=(-0.5, self.batch_size * (self.embed_dim + 1.5)))
        ax.set_ylim(-self.seq_len + 0.5, 2.4)
        ax.set_title(
            f"x: {self.seq_len} tokens (rows) × {self.embed_dim} columns, one colour a head"
        )
        ax.axis("off")
