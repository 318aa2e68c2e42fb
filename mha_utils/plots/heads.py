"""Pictures of experiments with heads: arrays in, matplotlib Axes out."""

from collections.abc import Sequence

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from mha_utils import theme
from mha_utils.plots.parts import mark

MARK = theme.OKABE_ITO["vermilion"]
SERIES = (theme.QUERY, MARK, "#8c8c8c", "#bcbcbc")


def draw_arcs(words: list[str], arcs: dict[str, tuple[int, int]], *, title="") -> Axes:
    """Draw a sentence, with a named arc from each query to the place of its answer.

    Args:
        words: the sentence.
        arcs: name -> (place of the query, place of the answer).

    Raises:
        ValueError: if an arc ends outside the sentence.
    """
    for name, ends in arcs.items():
        if not all(0 <= end < len(words) for end in ends):
            raise ValueError(f"arc {name!r} must join places 0 to {len(words) - 1}, got {ends}")
    widths = np.array([0.55 + 0.3 * len(word) for word in words])
    middle = np.cumsum(widths) - widths / 2
    width = 0.29 * widths.sum()
    _, ax = plt.subplots(figsize=(min(11.0, width), 2.1))
    size = 10 * min(1.0, 11.0 / width)  # words of a long sentence must not touch
    for x, word in zip(middle, words):
        ax.text(x, 0, word, ha="center", va="center", fontsize=size)
    longest = max(abs(middle[a] - middle[b]) for a, b in arcs.values()) or 1.0
    turn = np.linspace(0, np.pi, 60)
    for (name, (query, answer)), colour in zip(arcs.items(), theme.HEADS):
        start, end = middle[query], middle[answer]
        height = 1.0 + 5.0 * abs(start - end) / longest
        x = (start + end) / 2 + (start - end) / 2 * np.cos(turn)
        ax.plot(x, 0.8 + height * np.sin(turn), color=colour, linewidth=1.8)
        ax.plot(end, 0.8, marker="v", color=colour, markersize=6)
        look = {"ha": "center", "va": "bottom", "color": colour, "fontsize": 9.5}
        ax.text((start + end) / 2, 1.0 + height, name, **look)
    ax.set(xlim=(0, widths.sum()), ylim=(-0.8, 8.4), title=title)
    ax.axis("off")
    return ax


def draw_visitors(
    held: Sequence,
    visitors: dict[int, Sequence[int]],
    names: dict[int, str],
    *,
    dashed: dict[int, int] | None = None,
    title="",
    ax: Axes | None = None,
) -> Axes:
    """Draw tokens around a circle, and arrows from some of them: a colour for each visitor.

    Args:
        held: what stands in each token, the first at the top, clockwise.
        visitors: where arrows start -> where they end.
        names: what stands outside of the circle, beside some tokens.
        dashed: where a visitor's thin dashed arrow ends.
    """
    ax = ax or plt.subplots(figsize=(4.2, 3.9))[1]
    colours = dict(zip(visitors, (theme.QUERY, MARK)))
    angles = np.pi / 2 - 2 * np.pi * np.arange(len(held)) / len(held)
    places = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    for i, (place, content) in enumerate(zip(places, held)):
        edge = colours.get(i) or (theme.INK if i in names else theme.MUTED)
        face, ink = (colours[i], theme.PAPER) if i in colours else (theme.PAPER, edge)
        ax.add_patch(plt.Circle(place, 0.11, facecolor=face, edgecolor=edge, zorder=3))
        ax.text(*place, content, ha="center", va="center", color=ink, zorder=4)
    for i, name in names.items():
        side = "center" if abs(places[i, 0]) < 0.2 else "left" if places[i, 0] > 0 else "right"
        ax.text(*1.22 * places[i], name, ha=side, va="center", color=colours.get(i, theme.INK))
    for start, ends in visitors.items():
        for end in ends:
            _bend(ax, places, start, end, {"color": colours[start], "lw": 1.8})
    for start, end in (dashed or {}).items():
        _bend(ax, places, start, end, {"color": colours[start], "lw": 1.2, "ls": "--"})
    ax.set(xlim=(-1.65, 1.65), ylim=(-1.5, 1.5), aspect="equal")
    ax.axis("off")
    ax.set_title(title)
    return ax


def _bend(ax: Axes, places: np.ndarray, start: int, end: int, look: dict) -> None:
    """An arrow from one place of a circle to another, bent inwards."""
    inwards = 0.3 if np.linalg.det(places[[start, end]]) < 0 else -0.3
    bend = {"connectionstyle": f"arc3,rad={inwards}", "shrinkA": 9, "shrinkB": 9}
    look = {"arrowstyle": "-|>", "zorder": 2, **look, **bend}
    ax.annotate("", places[end], places[start], arrowprops=look)


def mark_cells(ax: Axes, cells: Sequence[Sequence[int]]) -> None:
    """Frame the cells (row, column) of a drawn matrix."""
    mark(ax, cells, fill=False, lw=2.5, ec=MARK)


def draw_seeds(
    series: dict[str, dict[str, Sequence[float]]],
    *,
    ceilings: Sequence[float] | None = None,
    title="",
    ylabel="",
    ax: Axes | None = None,
) -> Axes:
    """Draw every training as a dot, those of a label side by side; theory as a step.

    Args:
        series: name, one for each colour -> label -> one number a seed; the same labels in each.
        ceilings: the highest value that theory allows, one for each label.

    Raises:
        ValueError: if the labels differ, or there is not one ceiling for each of them.
    """
    labels = list(next(iter(series.values())))
    for name, values in series.items():
        if list(values) != labels:
            raise ValueError(f"{name!r} must have the labels {labels}, got {list(values)}")
    if ceilings is not None and len(ceilings) != len(labels):
        raise ValueError(f"ceilings must be {len(labels)} numbers, got {len(ceilings)}")
    ax = ax or plt.subplots(figsize=(max(4.0, 0.75 * len(labels)), 2.8))[1]
    at, width = np.arange(len(labels)), 0.8 / len(series)
    if ceilings is not None:
        ax.hlines(ceilings, at - 0.45, at + 0.45, color=theme.MUTED, linewidth=1.4, zorder=1)
    for n, (values, colour) in enumerate(zip(series.values(), SERIES)):
        for i, seeds in enumerate(values.values()):
            aside = np.linspace(-0.4, 0.4, len(seeds)) + n - (len(series) - 1) / 2
            ax.plot(i + width * aside, seeds, "o", color=colour, markersize=4, alpha=0.75)
    ax.set_xticks(at, labels)
    ax.set(ylim=(-0.03, 1.07), ylabel=ylabel)
    ax.set_title(title)
    if len(series) > 1:
        ax.legend(ax.lines[:: len(labels)], list(series), frameon=False, bbox_to_anchor=(1, 0.8))
    return ax


def draw_lines(
    x: Sequence[float], lines: dict[str, Sequence[float]], *, title="", xlabel="", ax=None
) -> Axes:
    """Draw named lines over x, each in its colour with its name at its end.

    Raises:
        ValueError: if a line has not one value for each x.
    """
    for name, values in lines.items():
        if len(values) != len(x):
            raise ValueError(f"{name!r} must have {len(x)} values, got {len(values)}")
    ax = ax or plt.subplots(figsize=(7, 2.8))[1]
    styles = ("-", "--", "-.", ":")
    for i, (name, values) in enumerate(lines.items()):
        colour = theme.HEADS[i % len(theme.HEADS)]
        ax.plot(x, values, styles[i % len(styles)], color=colour, linewidth=2, label=name)
    ax.set_xlabel(xlabel)
    ax.set_title(title)
    ax.legend(frameon=False, fontsize=9)
    return ax
