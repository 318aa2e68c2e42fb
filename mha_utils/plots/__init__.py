"""Pictures of tensors: arrays in, matplotlib Axes out."""

import matplotlib
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import Normalize

from mha_utils import theme
from mha_utils.plots.parts import draw_scale, mark, write_labels, write_numbers

LONGEST = 40  # inches of a picture's side
MOST_NUMBERS = 1600  # that are written into cells: more could not be read


def draw_matrix(
    values,
    *,
    rows=None,
    columns=None,
    title="",
    cmap=theme.SIGNED,
    limits=None,
    numbers="{:.0f}",
    highlight_row=None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a matrix as coloured cells with its numbers in them.

    Without numbers it has a colour scale at its side; of several in one figure the last one has.

    Args:
        values: (R, C), a tensor, an array or nested lists.
        rows, columns: R and C labels.
        cmap: a matplotlib colour map.
        limits: (low, high) of the colours; symmetric around 0 when left out. What is NaN or
            infinite has no colour: its cell is hatched.
        numbers: format of the number in each cell, or None for no numbers.
        highlight_row: index of a row to frame.
        ax: where to draw; a new figure of fitting size when left out.

    Raises:
        ValueError: if `values` is not a matrix, or the labels do not fit it.
    """
    values = _array(values)
    if values.ndim != 2 or not values.size:
        raise ValueError(f"values must be a matrix (rows, columns), got shape {values.shape}")
    _require_labels("rows", rows, values.shape[0])
    _require_labels("columns", columns, values.shape[1])
    ax = ax or _new_axes(values.shape)
    largest = np.abs(values[np.isfinite(values)]).max(initial=0.0) or 1.0
    low, high = (-largest, largest) if limits is None else limits
    cmap = matplotlib.colormaps[cmap].with_extremes(bad=theme.PAPER)
    image = ax.imshow(values, cmap=cmap, norm=Normalize(low, high), aspect="equal")
    hatch = {"hatch": "////", "facecolor": theme.PAPER, "edgecolor": theme.EDGE, "linewidth": 0}
    mark(ax, np.argwhere(~np.isfinite(values)), **hatch)
    if numbers and values.size <= MOST_NUMBERS:
        write_numbers(ax, image, numbers)
    elif ax is ax.figure.axes[-1]:
        draw_scale(ax, image)
    write_labels(ax, rows, columns, title)
    if highlight_row is not None:
        frame = plt.Rectangle((-0.5, highlight_row - 0.5), values.shape[1], 1, fill=False)
        frame.set(edgecolor=theme.OKABE_ITO["vermilion"], linewidth=2.5, clip_on=False)
        ax.add_patch(frame)
    return ax


def draw_weights(
    weights, tokens, *, title="", numbers="{:.2f}", highlight_row=None, ax=None
) -> Axes:
    """Draw attention weights (T, S): a row for each query, one colour scale from 0 to 1.

    The numbers are left out above 12 tokens, where they could not be read.
    """
    ax = draw_matrix(
        weights,
        rows=tokens,
        columns=tokens,
        cmap=theme.WEIGHTS,
        limits=(0, 1),
        title=title,
        numbers=numbers if len(tokens) <= 12 else None,
        highlight_row=highlight_row,
        ax=ax,
    )
    ax.set(ylabel="query: who looks", xlabel="key: who is looked at")
    return ax


def draw_side_by_side(
    matrices: dict, *, rows, columns, numbers="{:.0f}", one_scale=False, limits=None
) -> list[Axes]:
    """Draw named matrices with the same rows next to each other.

    Args:
        matrices: title -> (R, C) values; C may differ.
        rows: R labels.
        columns: labels from the left; a column beyond the last one has none.
        numbers: format of the number in each cell.
        one_scale: whether a colour means the same number in all of them.
        limits: (low, high) of the colours, for one scale in several figures.
    """
    options = {"rows": rows, "numbers": numbers, "limits": limits}
    if one_scale:
        largest = max(np.abs(_array(matrix)).max() for matrix in matrices.values()) or 1.0
        options["limits"] = (-largest, largest)
    widths = [np.shape(matrix)[1] for matrix in matrices.values()]
    size = (0.46 * sum(widths) + 0.9 * len(widths), 0.36 * len(rows) + 0.5)
    figsize = np.minimum(size, LONGEST)
    columns = [*columns, *[""] * max(widths)]
    fig, _ = plt.subplots(
        1, len(widths), figsize=figsize, width_ratios=widths, layout="constrained"
    )
    for ax, (title, matrix), width in zip(fig.axes, matrices.items(), widths):
        draw_matrix(matrix, columns=columns[:width], title=title, ax=ax, **options)
    for ax in fig.axes[1:]:
        ax.set_yticklabels([])
    return list(fig.axes)


def draw_cells(blocks: dict, head_of, *, size=0.5) -> list[Axes]:
    """Draw numbered elements in cells of their head's colour, one picture for each block.

    Args:
        blocks: title -> matrix of element numbers; a vector becomes one row.
        head_of: gives the head (a colour) that an element number belongs to.
        size: width of a cell in inches.
    """
    matrices = {title: np.atleast_2d(np.asarray(numbers)) for title, numbers in blocks.items()}
    widths = [max(1, m.shape[1]) for m in matrices.values()]
    height = max(1, *(len(m) for m in matrices.values()))
    size = min(size, LONGEST / sum(widths), LONGEST / height)
    figsize = (size * sum(widths) + 0.7 * (len(widths) - 1), size * height + 0.35)
    fig, _ = plt.subplots(1, len(widths), figsize=figsize, width_ratios=widths, squeeze=False)
    for ax, (title, matrix) in zip(fig.axes, matrices.items()):
        for (i, j), number in np.ndenumerate(matrix):
            colour = theme.HEADS[head_of(number) % len(theme.HEADS)]
            ax.add_patch(plt.Rectangle((j, i), 0.94, 0.94, color=colour))
            if sum(widths) * height <= MOST_NUMBERS:
                ink = {"color": theme.ink_on(colour), "ha": "center", "va": "center"}
                ax.text(j + 0.47, i + 0.47, f"{number}", **ink)
        ax.set(xlim=(0, matrix.shape[1]), ylim=(height, 0), aspect="equal")
        ax.set_title(title, fontsize=10)
        ax.axis("off")
    return list(fig.axes)


def draw_leak(
    leak, tokens, *, title="", darkest: float | None = None, numbers=None, ax: Axes | None = None
) -> Axes:
    """Draw a leak map (T, T): blank where 0 up to rounding, orange where a token sees a later one.

    Args:
        leak: how far each output moves when each token is nudged.
        tokens: T labels.
        darkest: the number that is drawn darkest, for maps beside each other; else the largest.
        numbers: format of the number in each cell that is not blank, or None for none.

    Raises:
        ValueError: if it has NaN or infinity.
    """
    leak = _array(leak)
    if not np.isfinite(leak).all():
        raise ValueError("leak must be finite: NaN would hide who sees whom")
    leak = np.where(leak > np.finfo(np.float32).eps * leak.max(), leak, 0.0)
    darkest = darkest or leak.max() or 1.0
    shown, top = (leak, darkest) if numbers else (leak / darkest, 1)
    options = {"rows": tokens, "columns": tokens, "cmap": theme.LEAKS, "limits": (0, top)}
    before = len(ax.texts) if ax else 0
    ax = draw_matrix(shown, title=title, numbers=numbers, ax=ax, **options)
    mark(ax, np.argwhere(leak == 0), color=theme.PAPER)
    written = dict(zip(np.ndindex(leak.shape), ax.texts[before:]))  # none without numbers
    for cell, text in written.items():
        text.set_visible(leak[cell] > 0)
    for i, j in np.argwhere(np.triu(leak, 1) > 0):
        orange = matplotlib.colormaps[theme.FUTURE](leak[i, j] / darkest)
        mark(ax, [(i, j)], color=orange)
        if written:
            written[i, j].set_color(theme.ink_on(orange))
    ax.set(ylabel="output of", xlabel="depends on")
    return ax


def draw_shares(shares, labels, *, title="", colour=theme.QUERY, numbers="{:.3f}", ax=None) -> Axes:
    """Draw one row of numbers as labelled bars, the value written above each bar.

    Raises:
        ValueError: if there is not one label for each number.
    """
    shares = _array(shares)
    _require_labels("labels", labels, len(shares))
    ax = ax or plt.subplots(figsize=(min(max(4.0, 0.75 * len(shares)), LONGEST), 2.2))[1]
    ax.bar(range(len(shares)), shares, color=colour, width=0.7)
    for i, share in enumerate(shares):
        above = numbers.format(share)
        ax.annotate(above, (i, share), (0, 2), textcoords="offset points", ha="center", fontsize=9)
    ax.set_xticks(range(len(shares)), labels)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.margins(y=0.18)
    ax.set_title(title)
    return ax


def _array(values) -> np.ndarray:
    """Nested lists, an array, or a tensor of any dtype, with or without gradient."""
    if hasattr(values, "detach"):
        values = values.detach().double().cpu()
    return np.asarray(values, dtype=float)


def _new_axes(shape: tuple[int, int]) -> Axes:
    size = (max(2.0, 0.52 * shape[1] + 1.0), max(1.0, 0.42 * shape[0] + 0.6))
    return plt.subplots(figsize=np.minimum(size, LONGEST))[1]


def _require_labels(name: str, labels, expected: int) -> None:
    if labels is not None and len(labels) != expected:
        raise ValueError(f"{name} must be {expected} labels, got {len(labels)}")
