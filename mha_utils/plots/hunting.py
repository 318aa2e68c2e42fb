"""Pictures of a bug hunt: curves nobody can tell apart, a table of verdicts."""

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
