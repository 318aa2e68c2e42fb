"""Pictures for and against what is said of heads: their story, what is lost, whom they beat."""

from collections.abc import Sequence

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from mha_utils import theme
from mha_utils.plots.heads import MARK

LOOKS = (  # of dots, in the order in which they are named
    {"marker": "o", "color": theme.QUERY, "alpha": 0.7},
    {"marker": "s", "color": theme.MUTED, "markerfacecolor": "none"},
    {"marker": "^", "color": theme.MUTED, "markerfacecolor": "none"},
)


def draw_notes(symbols: Sequence[str], answer: int, *, title="") -> Axes:
    """Draw how two heads copy: notes below the symbols, and the last one looks for its own.

    Args:
        symbols: a text that ends where a symbol comes back.
        answer: the place right after its earlier copy.

    Raises:
        ValueError: if the answer does not stand after a symbol and before the last one, or what
            stands before it is not the last symbol.
    """
    last = len(symbols) - 1
    if not 0 < answer < last:
        raise ValueError(f"answer must be a place from 1 to {last - 1}, got {answer}")
    if symbols[answer - 1] != symbols[last]:
        before = f"{symbols[last]!r}, the last symbol, got {answer}, after {symbols[answer - 1]!r}"
        raise ValueError(f"answer must be a place right after {before}")
    ax = plt.subplots(figsize=(0.75 * len(symbols) + 2.4, 2.7))[1]
    for x, symbol in enumerate([*symbols, symbols[answer]]):
        colour = {last: MARK, answer: theme.QUERY, last + 1: theme.QUERY}.get(x, theme.MUTED)
        _write_box(ax, x, 1, symbol, colour, "--" if x > last else "-")
        if 0 < x <= last:
            _write_box(ax, x, 0, symbols[x - 1], MARK if x == answer else theme.MUTED)
    for y, name in ((1, "symbol"), (0, "note: before\nme stood …")):
        ax.text(-0.7, y, name, ha="right", va="center", fontsize=9, color=theme.MUTED)
    _bend(ax, (last, 0.68), (answer, -0.32), MARK, -0.28)
    _bend(ax, (answer, 1.32), (last + 1, 1.32), theme.QUERY, -0.18)
    middle = {"x": (answer + last) / 2, "ha": "center", "va": "center", "fontsize": 9.5}
    ax.text(**middle, y=-1.55, s=f"second head: who has the note “{symbols[last]}”?", color=MARK)
    ax.text(
        **middle, y=2.65, s=f"… and copies what stands there: {symbols[answer]}", color=theme.QUERY
    )
    ax.set(xlim=(-2.2, last + 1.6), ylim=(-1.8, 2.9))
    ax.set_title(title)
    ax.axis("off")
    return ax


def _write_box(ax: Axes, x: float, y: float, text: str, colour: str, line="-") -> None:
    box = {"boxstyle": "round,pad=0.3", "facecolor": theme.PAPER, "edgecolor": colour}
    look = {"ha": "center", "va": "center", "family": "monospace", "color": colour}
    ax.text(x, y, text, bbox=box | {"linestyle": line}, **look)


def _bend(ax: Axes, start: tuple, end: tuple, colour: str, bend: float) -> None:
    look = {"arrowstyle": "-|>", "color": colour, "lw": 1.6, "shrinkA": 0, "shrinkB": 0}
    arrow = look | {"connectionstyle": f"arc3,rad={bend}"}
    ax.annotate("", end, start, arrowprops=arrow)


def draw_rises(rises: dict[str, dict], *, title="", ylabel="") -> Axes:
    """Draw what is lost without each head: one dot for each text, one look for each kind.

    Args:
        rises: head -> kind of text -> a number for each text; every head may have its own kinds.

    Raises:
        ValueError: if there are more than three kinds, which is how many looks there are.
    """
    kinds = list(dict.fromkeys(kind for found in rises.values() for kind in found))
    if len(kinds) > len(LOOKS):
        raise ValueError(f"rises must have at most {len(LOOKS)} kinds of text, got {kinds}")
    ax = plt.subplots(figsize=(max(6.0, 0.75 * len(rises)), 3))[1]
    ax.axhline(0, color=theme.MUTED, linewidth=0.8)
    for kind, look in zip(kinds, LOOKS):
        aside = 0.25 * (kinds.index(kind) - (kinds.index(kind) > 0) * 0.1)
        for place, found in enumerate(rises.values()):
            numbers = found.get(kind, [])
            spread = place + aside + 0.09 * (np.arange(len(numbers)) - (len(numbers) - 1) / 2)
            ax.plot(spread, numbers, linestyle="none", markersize=6.5, **look)
        ax.plot([], [], linestyle="none", markersize=6.5, label=kind, **look)
    ax.set_xticks(range(len(rises)), list(rises), fontsize=9)
    ax.set(ylabel=ylabel)
    ax.set_title(title)
    ax.legend(frameon=False, fontsize=9, loc="upper right")
    return ax


def draw_counts(counts: dict[str, float], *, most: int, title="") -> Axes:
    """Draw counts as bars, first ours and then its opponents.

    Args:
        counts: name -> count.
        most: how many there can be.
    """
    _, ax = plt.subplots(figsize=(8, 0.42 * len(counts) + 1.2), layout="constrained")
    colours = [theme.QUERY, *[theme.MUTED] * (len(counts) - 1)]
    ax.barh(range(len(counts)), [*counts.values()], color=colours, height=0.7)
    for place, count in enumerate(counts.values()):
        ax.text(count + 0.2, place, f"{count:.0f}", va="center", fontsize=9, color=theme.MUTED)
    ax.set_yticks(range(len(counts)), list(counts))
    ax.set(xlim=(0, most), ylim=(len(counts) - 0.4, -0.6), xticks=range(0, most + 1, 4))
    ax.set_title(title)
    return ax
