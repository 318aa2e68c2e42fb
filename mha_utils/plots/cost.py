"""Pictures of what attention costs."""

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from mha_utils import theme


def draw_against_length(
    lengths, curves: dict, *, ylabel: str, title="", ax: Axes | None = None
) -> Axes:
    """Draw curves {name: numbers} against T on logarithmic scales, each with its slope.

    Raises:
        ValueError: if a curve has not as many numbers as there are lengths.
    """
    ax = ax or plt.subplots(figsize=(5.5, 3.4))[1]
    for (name, numbers), colour in zip(curves.items(), theme.HEADS):
        if len(numbers) != len(lengths):
            raise ValueError(f"{name} must have {len(lengths)} numbers, got {len(numbers)}")
        ax.loglog(lengths, numbers, "o-", color=colour, label=name)
        label = f" slope {slope(lengths, numbers):.1f}"
        ax.text(lengths[-1], numbers[-1], label, color=colour, va="center")
    ax.set_xticks(lengths, [str(length) for length in lengths])
    ax.set_xticks([], minor=True)
    ax.set(xlabel="T", ylabel=ylabel, title=title, xlim=(None, 2.2 * lengths[-1]))
    ax.legend(frameon=False)
    return ax


def slope(x, y) -> float:
    """Exponent of the power law through the points: 1 when y doubles with x, 2 when it is x²."""
    return float(np.polyfit(np.log(np.asarray(x, float)), np.log(np.asarray(y, float)), 1)[0])
