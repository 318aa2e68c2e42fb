"""Pictures of what a writer reads: the letters of a text in colours."""

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from mha_utils import theme

SIZE = 0.19  # of a letter, in inches
HEIGHT = 0.4  # of a line


def draw_letters(
    texts: dict[str, tuple],
    *,
    width=56,
    most=1.0,
    least_written=None,
) -> Axes:
    """Draw texts with every letter on the colour of its value, in lines that can be read.

    Args:
        texts: name -> a text and the values of its letters, numbers or a tensor.
        width: letters in a line.
        most: the value with the darkest colour.
        least_written: values from this one on are written above their letters.

    Raises:
        ValueError: if a text has not one value for each letter.
    """
    for name, (text, values) in texts.items():
        if len(values) != len(text):
            raise ValueError(f"{name!r} must have {len(text)} values, got {len(values)}")
    heights = [max(1, -(-len(text) // width)) for text, _ in texts.values()]
    longest = max(1, min(width, max(len(text) for text, _ in texts.values())))
    _, ax = plt.subplots(figsize=(SIZE * longest, HEIGHT * sum(heights)))
    starts = np.cumsum([0, *heights[:-1]])
    for start, (text, values) in zip(starts, texts.values()):
        for n, (letter, value) in enumerate(zip(text, values)):
            place = (n % width, start + n // width)
            _draw_letter(ax, place, letter, float(value), most, least_written)
    ax.set(xlim=(0, longest), ylim=(sum(heights), 0), xticks=[])
    ax.set_yticks(starts + 0.6, list(texts))
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax


def _draw_letter(ax: Axes, place, letter: str, value: float, most: float, least) -> None:
    """One letter on its colour, with its value above it if that is large enough."""
    x, y = place
    colour = plt.get_cmap(theme.WEIGHTS)(value / most)
    ax.add_patch(plt.Rectangle((x + 0.03, y + 0.3), 0.94, 0.64, color=colour))
    look = {"ha": "center", "va": "center"}
    ink = theme.ink_on(colour)
    ax.text(x + 0.5, y + 0.62, letter, family="monospace", fontsize=11, color=ink, **look)
    if least is not None and value >= least:
        ax.text(x + 0.5, y + 0.12, f"{value:.1f}", fontsize=6.5, color=theme.MUTED, **look)
