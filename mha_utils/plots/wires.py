"""What travels between processes: numbers and gradients, notes in a ring, and how long it takes."""

import itertools
import math
from collections.abc import Mapping, Sequence

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mha_utils import theme

LEFT, MIDDLE, RIGHT = 0.0, 1.0, 2.0  # where x, the processes and y stand
WAYS = dict(zip(("heads", "trading", "ring"), ("-s", "-o", "-^")))  # their lines


def draw_there_and_back(weights: Sequence, *ways: tuple[Sequence, float]) -> Figure:
    """Every process multiplies x by its weight, and a sum is made: forward, and of gradients.

    Args:
        weights: the number by which each process multiplies x = 1.
        ways: for each way back the gradient of x that each process finds alone, and the one that
            is found when they are added up.

    Raises:
        ValueError: if a way has not as many gradients as there are weights.
    """
    rows, panels = len(weights), 1 + len(ways)
    for found, _ in ways:
        if len(found) != rows:
            raise ValueError(f"expected {rows} gradients, one for each weight, got {found}")
    size = (3.9 * panels, 0.44 * rows + 1.1)
    figure, axes = plt.subplots(1, panels, figsize=size, layout="constrained", squeeze=False)
    there, *back = axes[0]
    draw_processes(there, "forward: copy x, add up for y", weights)
    for row, weight in enumerate(weights):
        draw_wire(there, LEFT, MIDDLE, row, rows, 1)
        draw_wire(there, MIDDLE, RIGHT, row, rows, weight)
    write_ends(there, rows, "x\n1", f"y\n{sum(weights):g}")
    for ax, way in zip(back, ways):
        draw_back(ax, weights, *way)
    return figure


def draw_back(ax: Axes, weights: Sequence, found: Sequence, total: float) -> None:
    """The gradient of y comes to every process, and leaves it as what was found."""
    rows = len(weights)
    shares = (gradient / weight for gradient, weight in zip(found, weights) if weight)
    given = round(next(shares, 1.0), 4)  # the gradient of y that reached a process
    titles = {
        rows: "backward of all y's: add up at y and at x",
        1: "backward: copy at y, add up at x",
    }
    is_sum = math.isclose(total, sum(found), rel_tol=1e-4)
    draw_processes(ax, titles.get(given, "backward") if is_sum else "backward", weights)
    for row, gradient in enumerate(found):
        draw_wire(ax, RIGHT, MIDDLE, row, rows, given)
        draw_wire(ax, MIDDLE, LEFT, row, rows, gradient)
    is_added = given == rows != 1  # all of them have it
    added = f"{rows} × 1\n= {rows}" if is_added else f"{given:g}"
    write_ends(ax, rows, f"gradient\nof x\n{total:g}", f"gradient\nof y\n{added}")


def draw_processes(ax: Axes, title: str, weights: Sequence) -> None:
    """A box for each process, with its weight in it."""
    ax.set_title(title)
    ax.set(xlim=(-0.2, 2.2), ylim=(len(weights) - 0.5, -0.5))
    ax.set_axis_off()
    for row, weight in enumerate(weights):
        colour = theme.HEADS[row % len(theme.HEADS)]
        box = {"boxstyle": "round", "facecolor": colour, "edgecolor": "none"}
        look = {"color": theme.ink_on(colour), "ha": "center", "va": "center", "bbox": box}
        ax.text(MIDDLE, row, f"× {weight:g}", **look)


def draw_wire(ax: Axes, start: float, end: float, row: int, rows: int, number: float) -> None:
    """An arrow between a process and the end of its wire, and beside the box what travels on it."""
    colour, middle = theme.HEADS[row % len(theme.HEADS)], (rows - 1) / 2
    side = 1 if RIGHT in (start, end) else -1
    at_box, at_end = (MIDDLE + 0.45 * side, row), (MIDDLE + 0.8 * side, middle)
    tail, tip = (at_box, at_end) if start == MIDDLE else (at_end, at_box)
    look = {"arrowstyle": "->", "color": colour, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", tip, tail, arrowprops=look)
    beside = MIDDLE + 0.34 * side
    ax.text(beside, row, f"{number:g}", ha="center", va="center", color=theme.MUTED)


def write_ends(ax: Axes, rows: int, left: str, right: str) -> None:
    for place, text in ((LEFT, left), (RIGHT, right)):
        ax.text(place, (rows - 1) / 2, text, ha="center", va="center", color=theme.MUTED)


def draw_ring(num_processes: int, step: int) -> Figure:
    """People around a table, each with queries that stay, and the note that each has now.

    Args:
        num_processes: P.
        step: how often every note has been passed to the neighbour on the right.
    """
    figure, ax = plt.subplots(figsize=(4.4, 4.4), layout="constrained")
    turn = 2 * math.pi / num_processes
    for rank in range(num_processes):
        angle = rank * turn - math.pi / 2  # to the right: against the clock, seen from above
        _write_box(ax, 1.0, angle, f"queries\nof {rank}", rank, "circle")
        owner = (rank - step) % num_processes
        _write_box(ax, 0.56, angle, f"note\nof {owner}", owner, "round", read=owner <= rank)
        if num_processes > 1:
            _draw_pass(ax, angle, turn)
    ax.set(xlim=(-1.2, 1.2), ylim=(-1.2, 1.2), aspect="equal")
    ax.set_axis_off()
    return figure


def _write_box(ax: Axes, far: float, angle: float, text: str, owner: int, shape: str, read=True):
    """A box in the colour of the process that it comes from; hatched, if it is not read."""
    colour = theme.HEADS[owner % len(theme.HEADS)] if read else theme.PAPER
    box = {"boxstyle": shape, "facecolor": colour, "edgecolor": theme.EDGE}
    box |= {} if read else {"hatch": "///"}
    place = (far * math.cos(angle), far * math.sin(angle))
    look = {"color": theme.ink_on(colour), "ha": "center", "va": "center", "fontsize": 8}
    ax.text(*place, text, bbox=box, **look)


def _draw_pass(ax: Axes, angle: float, turn: float) -> None:
    """An arrow from a note towards the place of the neighbour."""
    start, end = ((0.56 * math.cos(a), 0.56 * math.sin(a)) for a in (angle, angle + turn))
    look = {"arrowstyle": "->", "color": theme.MUTED, "shrinkA": 19, "shrinkB": 19}
    ax.annotate("", end, start, arrowprops=look | {"connectionstyle": "arc3,rad=0.2"})


def draw_sending(processes: Sequence, computing: Sequence, sending: Mapping) -> Figure:
    """Seconds of computing and of sending in each way; a ring where two lines cross.

    Args:
        processes: numbers of processes.
        computing: seconds of each, for each of these numbers.
        sending: the same for the way "heads", "trading" or "ring".
    """
    figure, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
    for (way, seconds), colour in zip(sending.items(), theme.HEADS[4:] + theme.HEADS[3:4]):
        ax.plot(processes, seconds, WAYS[way], color=colour, label=f"sending: {way}")
    ax.plot(processes, computing, "--", color=theme.MUTED, label="computing")
    for one, other in ((sending["heads"], computing), (sending["ring"], sending["trading"])):
        for place in crossings(processes, one, other):
            ax.plot(*place, "o", ms=14, mfc="none", mec=theme.MUTED)
    ax.set(xscale="log", yscale="log", xlabel="processes", ylabel="seconds, each process")
    ax.set_xticks(processes, map(str, processes))
    ax.minorticks_off()
    figure.legend(frameon=False, loc="outside right upper")
    return figure


def crossings(xs: Sequence, one: Sequence, other: Sequence) -> list[tuple[float, float]]:
    """Where two lines cross that are straight on logarithmic axes.

    Args:
        xs, one, other: as many positive numbers; both lines have a height at each x.

    Returns:
        (x, y) from the left. A line that only touches the other does not cross it.
    """
    ahead = [math.log(a / b) for a, b in zip(one, other)]
    found, side = [], 0.0
    for i, (now, after) in enumerate(itertools.pairwise(ahead)):
        side = now or side  # where they meet: as before
        if side * after < 0:
            part = now / (now - after)
            pairs = (xs[i : i + 2], one[i : i + 2])
            found.append(tuple(a ** (1 - part) * b**part for a, b in pairs))
    return found
