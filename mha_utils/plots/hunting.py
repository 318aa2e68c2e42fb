"""Pictures of a bug hunt: curves nobody can tell apart, pieces of a strip, a table of verdicts."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from mha_utils import theme

ACCUSED = theme.OKABE_ITO["vermilion"]
LINES = (  # of curves: the second and the fourth fill each other's gaps
    {"color": theme.MUTED, "linestyle": "-"},
    {"color": theme.OKABE_ITO["sky"], "linestyle": (0, (3, 3))},
    {"color": theme.MUTED, "linestyle": ":"},
    {"color": theme.OKABE_ITO["purple"], "linestyle": (3, (3, 3))},
)


def draw_curves(curves: Mapping[str, Sequence[float]], over: int, *, labels=("", "")) -> Axes:
    """Draw learning curves, each point the mean of the last `over`; colours do not mean heads.

    Args:
        curves: name -> losses.
        labels: below the picture, and at its side.
    """
    ax = plt.subplots(figsize=(7, 3.4), layout="constrained")[1]
    for place, (name, losses) in enumerate(curves.items()):
        means = [np.mean(losses[max(0, i + 1 - over) : i + 1]) for i in range(len(losses))]
        ax.plot(means, linewidth=2.5, label=name, **LINES[place % len(LINES)])
    ax.set(xlabel=labels[0], ylabel=labels[1], ylim=(0, None))
    ax.legend(ncols=4, loc="lower center", frameon=False)
    return ax


def draw_strip(places: int, num_heads: int, framed: int = 1) -> Axes:
    """Draw memory with one head behind the other, cut into outputs; one of them is framed.

    Args:
        places: of notes; of a long strip only the beginning is shown.
        num_heads: results in an output; each number is a place, each colour a head.
        framed: which output; they count from 1.

    Raises:
        ValueError: if no output has the number `framed`.
    """
    if not 1 <= framed <= places:
        raise ValueError(f"framed has to be an output from 1 to {places}, got {framed}")
    wide = num_heads * min(places, max(num_heads + 1, framed))
    size = (min(0.42 * wide + 1.6, 40), 1.0)
    ax = plt.subplots(figsize=size, layout="constrained")[1]
    for cell in range(wide):
        _draw_result(ax, cell, *divmod(cell, places))
    cuts = np.arange(0, wide + 1, num_heads)
    ax.vlines(cuts, -0.3, 1.3, color=theme.MUTED, linewidth=2)
    for output, start in enumerate(cuts[:-1]):
        look = {"ha": "center", "va": "bottom", "fontsize": 9, "color": theme.MUTED}
        ax.text(start + num_heads / 2, 1.5, f"output {output + 1}", **look)
    frame = {"fill": False, "edgecolor": theme.MUTED, "linewidth": 4, "clip_on": False}
    ax.add_patch(plt.Rectangle((num_heads * (framed - 1), -0.3), num_heads, 1.6, **frame))
    ax.set(xlim=(-0.1, wide + 0.1), ylim=(-0.45, 2.1))
    ax.axis("off")
    return ax


def _draw_result(ax: Axes, x: int, head: int, place: int) -> None:
    """What one head found at one place."""
    colour = theme.HEADS[head % len(theme.HEADS)]
    ax.add_patch(plt.Rectangle((x, 0), 1, 1, facecolor=colour, edgecolor=theme.PAPER))
    ink = {"ha": "center", "va": "center", "color": theme.ink_on(colour)}
    ax.text(x + 0.5, 0.45, f"{place + 1}", **ink)


def draw_verdicts(
    verdicts: Mapping[str, Sequence[bool]], questions: Collection[str], apart=0
) -> Axes:
    """Draw who is accused by which question: a column for each suspect, a filled cell if accused.

    Args:
        verdicts: suspect -> an answer to each question.
        questions: a row for each.
        apart: how many of the last suspects stand behind a thick line.
    """
    ax = plt.subplots(figsize=(8.4, 5.2), layout="constrained")[1]
    for column, said in enumerate(verdicts.values()):
        for row, accuses in enumerate(said):
            colour = ACCUSED if accuses else "none"
            look = {"facecolor": colour, "edgecolor": theme.MUTED, "linewidth": 0.5}
            ax.add_patch(plt.Rectangle((column, row), 1, 1, **look))
    ax.set(xlim=(0, len(verdicts)), ylim=(len(questions), 0))
    ax.set_yticks(np.arange(len(questions)) + 0.5, [f"{name}?" for name in questions])
    ax.xaxis.tick_top()
    ax.set_xticks(np.arange(len(verdicts)) + 0.5, list(verdicts), rotation=50, ha="left")
    ax.tick_params(length=0)
    ax.spines[["top", "right"]].set_visible(True)
    ax.axvline(len(verdicts) - apart, color=theme.MUTED, linewidth=2)
    return ax
