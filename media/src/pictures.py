"""Draw the pictures in media/: `make media`."""

import itertools
from pathlib import Path

from matplotlib import pyplot as plt
from matplotlib.patches import FancyBboxPatch

from mha_utils import theme

MEDIA = Path(__file__).parents[1]
NOTEBOOKS = MEDIA.parent / "notebooks"

CHAPTERS = (
    ("00", "start here", "How do I use\nthis series?"),
    ("01", "single head", "What does\none head compute?"),
    ("02", "why many heads", "What can one\nhead not do?"),
    ("03", "stacked heads", "How do H heads\nrun side by side?"),
    ("04", "split", "How is one projection\nH small ones?"),
    ("05", "transpose", "Why do heads move\nnext to the batch?"),
    ("06", "mask", "Who may look\nat whom?"),
    ("07", "softmax", "Why divide\nby √Dh?"),
    ("08", "dropout", "What happens when\nweights are dropped?"),
    ("09", "concat", "How do heads come\nback together?"),
    ("10", "full module", "Is the whole\nmodule right?"),
    ("11", "on the GPU", "What does it cost,\nand where?"),
    ("12", "bug hunt", "Which bugs keep\nevery shape right?"),
    ("13", "what heads learn", "Which popular\nclaims hold?"),
)
PARTS = {
    "one head": ("00", "01", "02"),
    "from many heads to the module": ("03", "04", "05", "06", "07", "08", "09", "10"),
    "beyond": ("11", "12", "13"),
}
PART_COLOURS = (theme.QUERY, theme.VALUE, theme.OKABE_ITO["vermilion"])

STEPS = (
    ("x", "B T D"),
    ("q k v", "B T D"),
    ("split", "B T H Dh"),
    ("transpose", "B H T Dh"),
    ("q kᵀ / √Dh", "B H T S"),
    ("mask", "B H T S"),
    ("softmax", "B H T S"),
    ("dropout", "B H T S"),
    ("weights · v", "B H T Dh"),
    ("concat", "B T D"),
    ("out", "B T D"),
)
LIT = {
    "01": ("x", "q k v", "q kᵀ / √Dh", "softmax", "weights · v"),
    "02": ("softmax", "weights · v"),
    "03": ("x", "q k v", "q kᵀ / √Dh", "softmax", "weights · v", "concat"),
    "04": ("q k v", "split"),
    "05": ("transpose", "q kᵀ / √Dh"),
    "06": ("mask",),
    "07": ("q kᵀ / √Dh", "softmax"),
    "08": ("dropout",),
    "09": ("weights · v", "concat", "out"),
    "11": tuple(name for name, _ in STEPS),
    "12": tuple(name for name, _ in STEPS),
    "10": tuple(name for name, _ in STEPS),
    "13": ("q k v", "softmax"),
}


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
            linestyle="-" if filled else (0, (3, 2)),
        )
    )


def series_map() -> None:
    """Every chapter as a station; filled stations exist, dashed ones are being built."""
    exists = {path.name[:2] for path in NOTEBOOKS.glob("[0-9][0-9]_*.ipynb")}
    fig, ax = plt.subplots(figsize=(11, 5.0))
    places = {c[0]: (i % 5 * 2.2, -(i // 5) * 1.75) for i, c in enumerate(CHAPTERS)}
    colours = {n: c for c, ns in zip(PART_COLOURS, PARTS.values()) for n in ns}
    for number, title, question in CHAPTERS:
        x, y = places[number]
        filled = number in exists
        ink = "white" if filled else theme.INK
        draw_box(ax, x, y, 1.9, 1.2, colours[number], filled)
        ax.text(x + 0.1, y + 1.08, number, color=ink, fontsize=7.5, va="top", fontweight="bold")
        ax.text(x + 0.35, y + 1.08, title, color=ink, fontsize=7.5, va="top", fontweight="bold")
        ax.text(x + 0.1, y + 0.68, question, color=ink, fontsize=8, va="top", linespacing=1.35)
    arrow = {"arrowstyle": "-|>", "color": theme.MUTED, "linewidth": 1.2}
    for (a, *_), (b, *_) in itertools.pairwise(CHAPTERS):
        (ax_, ay), (bx, by) = places[a], places[b]
        if ay == by:
            ax.annotate("", (bx, by + 0.6), (ax_ + 1.9, ay + 0.6), arrowprops=arrow)
        else:
            middle = by + 1.48
            ax.plot(
                [ax_ + 0.95, ax_ + 0.95, bx + 0.95],
                [ay, middle, middle],
                color=theme.MUTED,
                linewidth=1.2,
            )
            ax.annotate("", (bx + 0.95, by + 1.2), (bx + 0.95, middle), arrowprops=arrow)
    for i, (part, colour) in enumerate(zip(PARTS, PART_COLOURS)):
        ax.text((0, 1.6, 5.75)[i], 1.62, f"■ {part}", color=colour, fontsize=10, fontweight="bold")
    missing = len(CHAPTERS) - len(exists & {c[0] for c in CHAPTERS})
    if missing:
        ax.text(7.3, 1.62, "dashed: being written", color=theme.MUTED, fontsize=9)
    ax.set(xlim=(-0.1, 10.9), ylim=(-3.6, 1.95), aspect="equal")
    save(fig, ax, "map.png")


def pipeline(number: str) -> None:
    """The whole module as a chain of tensors, with the steps of one chapter lit."""
    fig, ax = plt.subplots(figsize=(11, 1.25))
    for i, (name, shape) in enumerate(STEPS):
        x, lit = i * 1.5, name in LIT[number]
        draw_box(ax, x, 0, 1.2, 0.62, theme.QUERY if lit else "#a8a8a8", lit)
        colour = "white" if lit else theme.MUTED
        ax.text(x + 0.6, 0.31, name, ha="center", va="center", fontsize=7.6, color=colour)
        ax.text(x + 0.6, -0.2, shape, ha="center", va="center", fontsize=7, color=theme.MUTED)
        if i:
            arrow = {"arrowstyle": "-|>", "color": theme.MUTED}
            ax.annotate("", (x, 0.31), (x - 0.3, 0.31), arrowprops=arrow)
    ax.set(xlim=(-0.1, 16.3), ylim=(-0.45, 0.8), aspect="equal")
    save(fig, ax, f"pipeline_{number}.png")


def save(fig, ax, name: str) -> None:
    ax.axis("off")
    fig.savefig(MEDIA / name, dpi=150, metadata={"Software": None})
    plt.close(fig)
    print(f"media/{name}")


def main() -> None:
    plt.rcParams.update(theme.RC)
    series_map()
    for number in LIT:
        pipeline(number)


if __name__ == "__main__":
    main()
