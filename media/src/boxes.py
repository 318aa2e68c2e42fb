"""What the pictures in media/ are made of: boxes, arrows, cells, and a place to be stored."""

from pathlib import Path

from matplotlib import pyplot as plt
from matplotlib.patches import FancyBboxPatch

from mha_utils import theme

MEDIA = Path(__file__).parents[1]
GREY = "#a8a8a8"
DASHED = (0, (3, 2))


def draw_box(ax, x, y, width, height, colour, filled) -> None:
    ax.add_patch(
        FancyBboxPatch(
            (x, y),
            width,
            height,
            boxstyle="round,pad=0,rounding_size=0.12",
            facecolor=colour if filled else theme.PAPER,
            edgecolor=colour,
            linewidth=1.6,
            linestyle="-" if filled else DASHED,
        )
    )


def draw_arrow(ax, start, end, colour=theme.MUTED, **look) -> None:
    ax.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": colour, **look})


def draw_cells(ax, x, y, rows, colours) -> None:
    """Rows of square cells with their upper left corner at (x, y), one colour a column."""
    for column, colour in enumerate(colours):
        for row in range(rows):
            corner = x + 0.3 * column, y - 0.3 * (row + 1)
            ax.add_patch(plt.Rectangle(corner, 0.27, 0.27, color=colour))


def write(ax, x, y, text, **look) -> None:
    ax.text(x, y, text, **{"ha": "center", "va": "center", "fontsize": 9, **look})


def save(fig, ax, name: str) -> None:
    ax.axis("off")
    fig.savefig(MEDIA / name, dpi=150, metadata={"Software": None})
    plt.close(fig)
    print(f"media/{name}")
