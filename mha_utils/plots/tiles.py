"""Pictures of attention in tiles: a row that is swept, trips and time saved, the roof above."""

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from mha_utils import theme

LARGE, SMALL = theme.OKABE_ITO["sky"], theme.OKABE_ITO["orange"]  # where a number lies
FAR, THICK = 0.05, 0.045  # of strips from the map, and their width; the map's side is 1
MIDDLE = {"ha": "center", "va": "center"}


def draw_sweep(seq_len: int, block: int) -> Axes:
    """Draw how one block of queries sweeps its row of tiles, and what lies in which memory.

    Args:
        seq_len: T, of queries and of keys.
        block: queries in a block, and keys.
    """
    count = max(1, -(-seq_len // block))
    row = int(0.65 * count)
    now = row // 2
    _, ax = plt.subplots(figsize=(6.6, 4.5), layout="constrained")
    for query in range(count):
        for key in range(query + 1):
            look = {"linewidth": 0.8} | _look(query, key, row, now)
            ax.add_patch(plt.Rectangle((key / count, query / count), *[1 / count] * 2, **look))
    for name, along, place, lit in (
        ("q", "down", -FAR - THICK, row),
        ("output", "down", 1.5, None),
        ("k", "across", -2 * FAR - 2 * THICK, now),
        ("v", "across", -FAR - THICK, now),
    ):
        _strip(ax, name, along, place, count, lit)
    _notes(ax, (row + 0.5) / count, (now + 0.5) / count, row / count)
    if count >= 8:
        _words(ax, count, row, now)
    _legend(ax)
    ax.set(xlim=(-0.2, 1.66), ylim=(1.17, -0.26), aspect="equal")
    visited = count * (count + 1) // 2
    tiles = "1 tile is" if count == 1 else f"{visited} of {count**2} tiles are"
    ax.set_title(f"T = {seq_len}, block {block}: {tiles} visited")
    ax.axis("off")
    return ax


def _look(query: int, key: int, row: int, now: int) -> dict:
    """The tile in the small memory, those of its row before and after it, all others."""
    if query != row:
        return {"facecolor": "#f0f0f0", "edgecolor": theme.EDGE}
    if key < now:
        return {"facecolor": theme.PAPER, "edgecolor": theme.MUTED, "linestyle": ":"}
    return {"facecolor": SMALL if key == now else theme.PAPER, "edgecolor": theme.MUTED}


def _words(ax: Axes, count: int, row: int, now: int) -> None:
    """Which tiles are over, which are to come and which never come."""
    below = {"fontsize": 8, "ha": "center", "va": "top"}
    ax.text(now / 2 / count, (row + 1.15) / count, "thrown away", **below)
    ax.text((now + row + 2) / 2 / count, (row + 1.15) / count, "to come", **below)
    ax.text(0.73, 0.2, "never\nvisited", **MIDDLE)


def _strip(ax: Axes, name: str, along: str, place: float, count: int, lit: int | None) -> None:
    """One of q, k, v and the output, cut into blocks; the one that was fetched is lit."""
    for i in range(count):
        look = {"facecolor": SMALL if i == lit else LARGE, "edgecolor": theme.PAPER}
        corner, size = (place, i / count), (THICK, 1 / count)
        if along == "across":
            corner, size = corner[::-1], size[::-1]
        ax.add_patch(plt.Rectangle(corner, *size, linewidth=0.8, **look))
    at = (place + THICK / 2, -0.03) if along == "down" else (-0.03, place + THICK / 2)
    ax.text(*at, name, ha="center" if along == "down" else "right", va="center")


def _notes(ax: Axes, middle: float, tile: float, top: float) -> None:
    """Three notes beside the row's `middle`, fed by the tile whose upper edge is at (tile, top)."""
    box = {"boxstyle": "round", "facecolor": SMALL, "edgecolor": "none"}
    ink = theme.ink_on(SMALL)
    ax.text(1.16, middle, "largest\ntotal\ngathered", bbox=box, color=ink, fontsize=9, **MIDDLE)
    arrow = {"arrowstyle": "-|>", "color": theme.MUTED, "shrinkA": 0, "shrinkB": 0}
    bent = arrow | {"connectionstyle": "arc3,rad=-0.25"}
    ax.annotate("", (1.04, middle - 0.02), (tile, top), arrowprops=bent)
    ax.annotate("", (1.495, middle), (1.275, middle), arrowprops=arrow)
    ax.text(1.385, middle + 0.02, "gathered\n/ total", fontsize=8, ha="center", va="top")


def _legend(ax: Axes) -> None:
    small = "in the small memory, close to the arithmetic"
    for y, colour, text in ((1.06, LARGE, "in the large memory, far away"), (1.13, SMALL, small)):
        ax.add_patch(plt.Rectangle((0, y - 0.02), 0.04, 0.04, color=colour))
        ax.text(0.06, y, text, va="center", fontsize=9)


def draw_steps(milliseconds: dict[str, float], gains: dict[str, str]) -> Axes:
    """Draw a bar for each way, and at the end of a bar what it saves of the one above it.

    Args:
        milliseconds: of each way, from the top.
        gains: way -> why it is faster than the way above it; others that follow are grey.
    """
    _, ax = plt.subplots(figsize=(7.2, 2.9), layout="constrained")
    times = list(milliseconds.values())
    for y, (name, time) in enumerate(milliseconds.items()):
        is_step = name in gains or y == 0
        ax.barh(y, time, color=theme.QUERY if is_step else theme.EDGE)
        text = f"{time:.0f} ms"
        if name in gains:
            saved = times[y - 1] - time
            look = {"color": "none", "edgecolor": theme.QUERY, "hatch": "///", "linewidth": 0}
            ax.barh(y, saved, left=time, **look)
            text = f"{text}: {gains[name]}"
        ax.text(max(times[y - 1], time) + 1 if name in gains else time + 1, y, text, va="center")
    ax.set_yticks(range(len(times)), list(milliseconds))
    ax.set(xlabel="milliseconds", xlim=(0, 1.45 * max(times)))
    ax.invert_yaxis()
    return ax


def draw_trips(ways: dict[str, dict[str, tuple[str, str]]]) -> Axes:
    """Draw what each step fetches from the large memory and writes to it, a panel for each way.

    Args:
        ways: title of a panel -> step -> (what it fetches, what it writes), names with a space
            between them; each trip of "map" is thick and gets its number.
    """
    widths = [len(steps) + 0.6 for steps in ways.values()]
    apart = {"width_ratios": widths}
    figure = plt.figure(figsize=(7.6, 2.8), layout="constrained")
    axes = figure.subplots(1, len(ways), gridspec_kw=apart, squeeze=False)[0]
    for ax, width, (title, steps) in zip(axes, widths, ways.items()):
        for y, height, colour in ((1, 0.25, LARGE), (-0.45, 0.45, SMALL)):
            ax.add_patch(plt.Rectangle((-0.1, y), width - 0.1, height, color=colour))
        trips = 0
        for x, (step, (fetched, written)) in enumerate(steps.items()):
            middle = x + 0.4 if len(steps) > 1 else width / 2 - 0.15
            ax.text(middle, -0.12, step, color=theme.ink_on(SMALL), fontsize=10, **MIDDLE)
            names = [(name, True) for name in fetched.split()]
            names += [(name, False) for name in written.split()]
            for i, (name, is_fetched) in enumerate(names):
                trips += name == "map"
                shown = str(trips) if name == "map" else name
                _trip(ax, middle + 0.26 * (i - (len(names) - 1) / 2), shown, is_fetched)
        ax.set(xlim=(-0.15, width - 0.15), ylim=(-0.5, 1.3), title=title)
        ax.axis("off")
    for y, colour, words in (
        (1.125, LARGE, "the large memory, far away"),
        (-0.33, SMALL, "the small memory, close to the arithmetic"),
    ):
        look = {"color": theme.ink_on(colour), "fontsize": 8, "style": "italic"} | MIDDLE
        axes[0].text(widths[0] / 2 - 0.15, y, words, **look)
    return axes[0]


def _trip(ax: Axes, x: float, shown: str, is_fetched: bool) -> None:
    """One arrow, down to the arithmetic or up from it: thick with a number, or thin with a name."""
    is_map = shown.isdigit()
    colour = theme.QUERY if is_map else theme.MUTED
    ends = [(x, 0.97), (x, 0.03)] if is_fetched else [(x, 0.03), (x, 0.97)]
    look = {"color": colour, "linewidth": 2.5 if is_map else 1, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", ends[1], ends[0], arrowprops=look | {"arrowstyle": "-|>"})
    weight = "bold" if is_map else "normal"
    box = {"boxstyle": "round,pad=0.1", "facecolor": theme.PAPER, "edgecolor": "none"}
    ax.text(x, 0.5, shown, color=colour, weight=weight, fontsize=9, bbox=box, **MIDDLE)


def draw_roofline(dots: dict, *, most: float, bytes_a_second: float, title="") -> Axes:
    """Draw the roof of a machine, and on it what each program can reach.

    Args:
        dots: name of a program -> its operations per byte.
        most: operations a second.
        bytes_a_second: what travels between the large memory and the arithmetic.
    """
    _, ax = plt.subplots(figsize=(6.6, 3.2), layout="constrained")
    edge = most / bytes_a_second
    ends = np.array([min([4, *dots.values()]), edge, max([5000, *dots.values()])])
    ax.loglog(ends, np.minimum(most, bytes_a_second * ends), color="0.5")
    for (name, x), colour in zip(dots.items(), (theme.QUERY, theme.VALUE)):
        place = (x, min(most, bytes_a_second * x))
        ax.plot(*place, "o", color=colour, markersize=9)
        text = f"{name}: up to {100 * place[1] / most:.0f} %"
        ax.annotate(text, place, (8, -16), textcoords="offset points", color=colour)
    ax.text(0.4 * edge, 0.7 * most, "memory decides", color="0.5", ha="right")
    ax.text(4 * edge, 1.25 * most, "arithmetic decides", color="0.5", ha="center")
    ticks = [4, 16, 64, round(edge), 512, 2048]
    ax.set_xticks(ticks, list(map(str, ticks)))
    ax.set_xticks([], minor=True)
    ax.set(xlabel="operations per byte", ylabel="operations a second")
    ax.set_ylim(min(most / 60, 0.6 * bytes_a_second * ends[0]), 2.2 * most)
    ax.figure.suptitle(title)
    return ax
