"""Pictures of what attention costs."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from mha_utils import theme


def draw_against_length(
    lengths, curves: dict, *, ylabel: str, title="", ax: Axes | None = None
) -> Axes:
    """Draw curves {name: numbers} against T on logarithmic scales; each says how it grows.

    Raises:
        ValueError: if a curve has not as many numbers as there are lengths.
    """
    ax = ax or plt.subplots(figsize=(5.5, 3.4))[1]
    for (name, numbers), colour in zip(curves.items(), theme.HEADS):
        if len(numbers) != len(lengths):
            raise ValueError(f"{name} must have {len(lengths)} numbers, got {len(numbers)}")
        ax.loglog(lengths, numbers, "o-", color=colour)
        label = f" {name}:\n twice the text, × {last_doubling(lengths, numbers):.1f}"
        ax.text(lengths[-1], numbers[-1], label, color=colour, va="center")
    ax.set_xticks(lengths, [str(length) for length in lengths])
    ax.set_xticks([], minor=True)
    ax.set(xlabel="T", ylabel=ylabel, title=title)
    return ax


def draw_ladder(
    seconds: dict[str, float], reasons: Sequence[str], *, title="", ax: Axes | None = None
) -> Axes:
    """Draw a bar for each rung {name: seconds}, and beside it in grey what it saves and why.

    Args:
        seconds: from the first rung to the last.
        reasons: for every rung but the first, what it leaves out.

    Raises:
        ValueError: if there is not a reason for every rung but the first.
    """
    names, times = list(seconds), list(seconds.values())
    if len(reasons) != len(names) - 1:
        raise ValueError(f"expected {len(names) - 1} reasons, got {len(reasons)}")
    ax = ax or plt.subplots(figsize=(6.5, 2.9))[1]
    saved = [0.0, *(a - b for a, b in pairwise(times))]
    ax.barh(names, times, color=theme.QUERY)
    ax.barh(names, saved, left=times, color=theme.FORBIDDEN)
    for row, (before, now, why) in enumerate(zip(times, times[1:], reasons), start=1):
        ax.text(max(before, now), row, f" ÷ {before / now:.2f}  {why}", va="center")
    ax.set(xlabel="seconds", title=title)
    ax.invert_yaxis()
    return ax


def last_doubling(lengths, numbers) -> float:
    """The factor from T / 2 to T; where T / 2 was not measured, the slope's."""
    if len(lengths) > 1 and lengths[-1] == 2 * lengths[-2]:
        return numbers[-1] / numbers[-2]
    return 2 ** slope(lengths, numbers)


def slope(x, y) -> float:
    """Exponent of the power law through the points: 1 when y doubles with x, 2 when it is x²."""
    return float(np.polyfit(np.log(np.asarray(x, float)), np.log(np.asarray(y, float)), 1)[0])
