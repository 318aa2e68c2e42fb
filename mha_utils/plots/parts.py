"""What is drawn over and around a coloured matrix: numbers, labels, marks, a colour scale."""

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import FormatStrFormatter

from mha_utils import theme


def mark(ax: Axes, cells, **look) -> None:
    """Put a rectangle over each cell (row, column) of a drawn matrix."""
    for row, column in cells:
        ax.add_patch(plt.Rectangle((column - 0.5, row - 0.5), 1, 1, **look))


def write_numbers(ax: Axes, image, pattern: str) -> None:
    """The number of each cell, black or white: whichever is easier to read on its colour."""
    for (i, j), value in np.ndenumerate(image.get_array().data):
        ink = theme.ink_on(image.cmap(image.norm(value)) if np.isfinite(value) else theme.PAPER)
        text = pattern.format(value + 0.0)
        ax.text(j, i, text, ha="center", va="center", fontsize=8, color=ink)


def draw_scale(ax: Axes, image) -> None:
    """A narrow strip of the colours beside a map, with the numbers at its ends and 0."""
    low, high = image.norm.vmin, image.norm.vmax
    strip = ax.inset_axes((1.03, 0, 0.03, 1))
    bar = ax.figure.colorbar(image, cax=strip, ticks=sorted({low, high, min(max(0, low), high)}))
    bar.ax.tick_params(length=0, labelsize=8)
    bar.ax.yaxis.set_major_formatter(FormatStrFormatter("%.2g"))
    bar.outline.set(edgecolor=theme.EDGE, linewidth=0.6)


def write_labels(ax: Axes, rows, columns, title: str) -> None:
    """Words beside the rows and below the columns, turned where they are long."""
    for axis, labels in ((ax.yaxis, rows), (ax.xaxis, columns)):
        axis.set_ticks(range(len(labels)) if labels is not None else [], labels)
        axis.set_tick_params(length=0)
    if columns is not None and max(map(len, map(str, columns))) > 4:
        ax.tick_params(axis="x", labelrotation=40)
        plt.setp(ax.get_xticklabels(), ha="right", rotation_mode="anchor")
    for spine in ax.spines.values():
        spine.set(visible=True, edgecolor=theme.EDGE, linewidth=0.6)
    ax.set_title(title)
