"""Draw the pictures in media/: `make media`."""

import itertools

from block import block, heads_read
from boxes import GREY, MEDIA, draw_arrow, draw_box, save
from matplotlib import pyplot as plt

from mha_utils import theme

NOTEBOOKS = MEDIA.parent / "notebooks"

CHAPTERS = (
    ("00", "start here", "What is this?\nAm I ready?"),
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
    ("11", "flash attention", "What does a map cost,\nand must it be written?"),
    ("12", "bug hunt", "Which bugs keep\nevery shape right?"),
    ("13", "what heads learn", "Which popular\nclaims hold?"),
    ("14", "positions", "How does a head\nknow the order?"),
    ("15", "decoding", "How does it write\none token at a time?"),
    ("16", "it writes", "Does my layer work\nin a real model?"),
    ("17", "several processes", "What if one machine\nis not enough?"),
    ("90", "published walks", "Do published\nnumbers hold?"),
)
PARTS = {
    "one head": ("00", "01", "02"),
    "from many heads to the module": ("03", "04", "05", "06", "07", "08", "09", "10"),
    "beyond": ("11", "12", "13", "14", "15", "16", "17", "90"),
}
ROUTES = {"90 min": ("01", "03", "06", "09"), "lab": ("02", "12", "13", "16")}  # and all in order
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
    "09": ("concat", "out"),
    "11": ("q kᵀ / √Dh", "mask", "softmax", "weights · v"),
    "12": tuple(name for name, _ in STEPS),
    "10": tuple(name for name, _ in STEPS if name != "dropout"),
    "13": ("q k v", "softmax"),
    "14": ("x", "q k v", "q kᵀ / √Dh"),
    "15": ("q k v", "mask", "weights · v"),
    "16": tuple(name for name, _ in STEPS),
    "17": tuple(name for name, _ in STEPS),
    "90": tuple(name for name, _ in STEPS),
}


def series_map() -> None:
    """Every chapter as a station; filled stations exist, dashed ones are being built."""
    exists = {path.name[:2] for path in NOTEBOOKS.glob("[0-9][0-9]_*.ipynb")}
    lowest = -1.75 * ((len(CHAPTERS) - 1) // 5) - 0.1
    fig, ax = plt.subplots(figsize=(11, 0.9 * (1.95 - lowest)))
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
        route = next((route for route, numbers in ROUTES.items() if number in numbers), "")
        look = {"color": ink, "fontsize": 8, "ha": "right", "style": "italic", "weight": "bold"}
        ax.text(x + 1.8, y + 0.08, route, **look)
    for (a, *_), (b, *_) in itertools.pairwise(CHAPTERS):
        (ax_, ay), (bx, by) = places[a], places[b]
        if ay == by:
            draw_arrow(ax, (ax_ + 1.9, ay + 0.6), (bx, by + 0.6), linewidth=1.2)
        else:
            middle = by + 1.48
            ax.plot(
                [ax_ + 0.95, ax_ + 0.95, bx + 0.95],
                [ay, middle, middle],
                color=theme.MUTED,
                linewidth=1.2,
            )
            draw_arrow(ax, (bx + 0.95, middle), (bx + 0.95, by + 1.2), linewidth=1.2)
    for i, (part, colour) in enumerate(zip(PARTS, PART_COLOURS)):
        ax.text((0, 1.6, 5.75)[i], 1.62, f"■ {part}", color=colour, fontsize=10, fontweight="bold")
    missing = len(CHAPTERS) - len(exists & {c[0] for c in CHAPTERS})
    if missing:
        ax.text(7.3, 1.62, "dashed: being written", color=theme.MUTED, fontsize=9)
    ax.set(xlim=(-0.1, 10.9), ylim=(lowest, 1.95), aspect="equal")
    save(fig, ax, "map.png")


def pipeline(number: str) -> None:
    """The whole module as a chain of tensors, with the steps of one chapter lit."""
    fig, ax = plt.subplots(figsize=(11, 1.25))
    for i, (name, shape) in enumerate(STEPS):
        x, lit = i * 1.5, name in LIT[number]
        draw_box(ax, x, 0, 1.2, 0.62, theme.QUERY if lit else GREY, lit)
        colour = "white" if lit else theme.MUTED
        ax.text(x + 0.6, 0.31, name, ha="center", va="center", fontsize=7.6, color=colour)
        ax.text(x + 0.6, -0.2, shape, ha="center", va="center", fontsize=7, color=theme.MUTED)
        if i:
            draw_arrow(ax, (x - 0.3, 0.31), (x, 0.31))
    ax.set(xlim=(-0.1, 16.3), ylim=(-0.45, 0.8), aspect="equal")
    save(fig, ax, f"pipeline_{number}.png")


def main() -> None:
    plt.rcParams.update(theme.RC)
    series_map()
    block()
    heads_read()
    for number in LIT:
        pipeline(number)


if __name__ == "__main__":
    main()
