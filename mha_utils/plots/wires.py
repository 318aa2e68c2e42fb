"""What travels between processes that share out a sum: the numbers there, their gradients back."""

from collections.abc import Sequence

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mha_utils import theme

LEFT, MIDDLE, RIGHT = 0.0, 1.0, 2.0  # where x, the processes and y stand


def draw_there_and_back(weights: Sequence, found: Sequence, total) -> Figure:
    """Every process multiplies x by its weight, and a sum is made: forward, and of gradients.

    Args:
        weights: the number by which each process multiplies x = 1.
        found: the gradient of x that each process finds alone.
        total: the gradient of x when what they found is added up.

    Raises:
        ValueError: if `weights` and `found` are not as many.
    """
    if len(weights) != len(found):
        raise ValueError(f"expected {len(weights)} gradients, one for each weight, got {found}")
    rows = len(weights)
    size = (8.4, 0.44 * rows + 1.1)
    figure, (there, back) = plt.subplots(1, 2, figsize=size, layout="constrained")
    draw_processes(there, "forward: a copy for each, then a sum", weights)
    draw_processes(back, "backward: again a copy for each, then a sum", weights)
    for row, (weight, gradient) in enumerate(zip(weights, found)):
        draw_wire(there, LEFT, MIDDLE, row, rows, "1")
        draw_wire(there, MIDDLE, RIGHT, row, rows, weight)
        draw_wire(back, RIGHT, MIDDLE, row, rows, "1")
        draw_wire(back, MIDDLE, LEFT, row, rows, gradient)
    write_ends(there, rows, "x\n1", f"y\n{sum(weights)}")
    write_ends(back, rows, f"gradient\nof x\n{total}", "gradient\nof y\n1")
    return figure


def draw_processes(ax: Axes, title: str, weights: Sequence) -> None:
    """A box for each process, with its weight in it."""
    ax.set_title(title)
    ax.set(xlim=(-0.2, 2.2), ylim=(len(weights) - 0.5, -0.5))
    ax.set_axis_off()
    for row, weight in enumerate(weights):
        colour = theme.HEADS[row % len(theme.HEADS)]
        box = {"boxstyle": "round", "facecolor": colour, "edgecolor": "none"}
        look = {"color": theme.ink_on(colour), "ha": "center", "va": "center", "bbox": box}
        ax.text(MIDDLE, row, f"× {weight}", **look)


def draw_wire(ax: Axes, start: float, end: float, row: int, rows: int, number) -> None:
    """An arrow between a process and the end of its wire, and beside the box what travels on it."""
    colour, middle = theme.HEADS[row % len(theme.HEADS)], (rows - 1) / 2
    side = 1 if RIGHT in (start, end) else -1
    at_box, at_end = (MIDDLE + 0.45 * side, row), (MIDDLE + 0.8 * side, middle)
    tail, tip = (at_box, at_end) if start == MIDDLE else (at_end, at_box)
    look = {"arrowstyle": "->", "color": colour, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", tip, tail, arrowprops=look)
    beside = MIDDLE + 0.34 * side
    ax.text(beside, row, str(number), ha="center", va="center", color=theme.MUTED)


def write_ends(ax: Axes, rows: int, left: str, right: str) -> None:
    for place, text in ((LEFT, left), (RIGHT, right)):
        ax.text(place, (rows - 1) / 2, text, ha="center", va="center", color=theme.MUTED)
