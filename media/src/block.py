"""Two drawings: a transformer block around the layer of this series, and what its heads read."""

from boxes import GREY, draw_arrow, draw_box, draw_cells, save, write
from matplotlib import pyplot as plt

from mha_utils import theme

RED = theme.OKABE_ITO["vermilion"]
PARTS = (
    ("words", "one vector\nfor each word", 0.0),
    ("norm", "", 2.3),
    ("multi-head\nattention", "moves information\nbetween words", 4.1),
    ("norm", "", 7.0),
    ("MLP", "works on each\nword alone", 8.7),
    ("next word", "a score for\neach word", 12.0),
)


def block() -> None:
    """A transformer block with a sign at the layer that this series builds."""
    fig, ax = plt.subplots(figsize=(11, 3.3))
    write(ax, 6.35, 3.05, "one block; a language model stacks many of them", color=theme.MUTED)
    draw_box(ax, 1.85, -0.95, 9.2, 3.7, GREY, filled=False)
    for name, below, x in PARTS:
        here = "attention" in name
        draw_box(ax, x, 0, 1.5, 0.9, theme.QUERY if here else GREY, here)
        write(ax, x + 0.75, 0.45, name, color="white" if here else theme.INK)
        write(ax, x + 0.75, -0.5, below, fontsize=8, color=theme.MUTED)
    for start, end in ((1.5, 2.3), (3.8, 4.1), (5.6, 6.1), (6.62, 7.0), (8.5, 8.7), (10.2, 10.5)):
        draw_arrow(ax, (start, 0.45), (end, 0.45))
    draw_arrow(ax, (11.05, 0.45), (12.0, 0.45))
    for start, end in ((2.05, 6.4), (6.9, 10.75)):
        ax.plot((start, start, end), (0.45, 1.45, 1.45), color=theme.MUTED, linewidth=1.2)
        draw_arrow(ax, (end, 1.47), (end, 0.72))
        write(ax, end, 0.45, "+", fontsize=14)
        ax.add_patch(plt.Circle((end, 0.45), 0.26, fill=False, color=theme.MUTED))
    write(ax, 4.85, 2.3, "you are here", color=RED, fontsize=12, fontweight="bold")
    draw_arrow(ax, (4.85, 2.1), (4.85, 0.95), RED, linewidth=2)
    ax.set(xlim=(-0.1, 13.6), ylim=(-1.05, 3.25), aspect="equal")
    save(fig, ax, "block.png")


def heads_read() -> None:
    """Every head reads the whole x and makes a narrow q of it; beside it what is not so."""
    fig, ax = plt.subplots(figsize=(11, 3.3))
    colours = theme.HEADS[:2]
    write(ax, 3.3, 3.3, "so it is: each head reads all of x, and its q is narrow", ha="center")
    draw_cells(ax, 0, 1.9, 4, [GREY] * 6)
    write(ax, 0.9, 0.4, "x  (T × D)")
    for head, (colour, y) in enumerate(zip(colours, (1.95, 0.15))):
        ax.plot((1.86, 1.86), (0.72, 1.88), color=theme.MUTED, linewidth=3)
        draw_arrow(ax, (1.9, 1.3), (2.9, y + 0.4), colour, linewidth=2)
        draw_box(ax, 2.95, y, 1.5, 0.8, colour, filled=True)
        write(ax, 3.7, y + 0.4, f"W_q of head {head}\nD × Dh", color=theme.ink_on(colour))
        draw_arrow(ax, (4.5, y + 0.4), (5.35, y + 0.4), colour, linewidth=2)
        draw_cells(ax, 5.45, y + 1.0, 4, [colour] * 3)
        write(ax, 6.4, y + 0.4, f"q of head {head}\n(T × Dh)", ha="left", fontsize=8.5)
    ax.plot((8.35, 8.35), (-0.1, 3.0), color=GREY, linewidth=1)
    write(ax, 10.4, 3.3, "not so: x is not dealt out to the heads")
    draw_cells(ax, 9.5, 1.9, 4, [colours[0]] * 3 + [colours[1]] * 3)
    write(ax, 10.4, 0.4, "x  (T × D)")
    for ends in ((0.6, 2.0), (2.0, 0.6)):
        ax.plot((9.3, 11.5), ends, color=RED, linewidth=3)
    ax.set(xlim=(-0.1, 12.2), ylim=(-0.15, 3.5), aspect="equal")
    save(fig, ax, "heads_read.png")
