"""Pictures of tensors: arrays in, matplotlib Axes out."""

import matplotlib
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import Normalize, to_rgb

from mha_utils import theme


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

    Args:
        values: (R, C), a tensor, an array or nested lists.
        rows, columns: R and C labels.
        cmap: a matplotlib colour map.
        limits: (low, high) of the colours; symmetric around 0 when left out. What is NaN or
            infinite has no colour: its cell is grey.
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
    ax = _new_axes(values.shape) if ax is None else ax
    largest = np.abs(values[np.isfinite(values)]).max(initial=0.0) or 1.0
    low, high = (-largest, largest) if limits is None else limits
    cmap = matplotlib.colormaps[cmap].with_extremes(bad=theme.FORBIDDEN)
    image = ax.imshow(values, cmap=cmap, norm=Normalize(low, high), aspect="equal")
    if numbers:
        _write_numbers(ax, values, image, numbers)
    _label(ax, rows, columns, title)
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
        title=title,
        cmap=theme.WEIGHTS,
        limits=(0, 1),
        numbers=numbers if len(tokens) <= 12 else None,
        highlight_row=highlight_row,
        ax=ax,
    )
    ax.set_ylabel("query: who looks")
    ax.set_xlabel("key: who is looked at")
    return ax


def draw_side_by_side(matrices: dict, *, rows, columns, numbers="{:.0f}") -> list[Axes]:
    """Draw named matrices with the same rows next to each other.

    Args:
        matrices: title -> (R, C) values; C may differ.
        rows: R labels.
        columns: labels, at least as many as the widest matrix has columns.
        numbers: format of the number in each cell.
    """
    widths = [np.shape(matrix)[1] for matrix in matrices.values()]
    size = (0.46 * sum(widths) + 0.9 * len(widths), 0.36 * len(rows) + 0.5)
    fig, _ = plt.subplots(1, len(widths), figsize=size, width_ratios=widths, layout="constrained")
    for ax, (title, matrix), width in zip(fig.axes, matrices.items(), widths):
        draw_matrix(matrix, rows=rows, columns=columns[:width], title=title, numbers=numbers, ax=ax)
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
    widths = [m.shape[1] for m in matrices.values()]
    height = max(len(m) for m in matrices.values())
    figsize = (size * sum(widths) + 0.7 * (len(widths) - 1), size * height + 0.35)
    fig, _ = plt.subplots(1, len(widths), figsize=figsize, width_ratios=widths, squeeze=False)
    for ax, (title, matrix) in zip(fig.axes, matrices.items()):
        for (i, j), number in np.ndenumerate(matrix):
            colour = theme.HEADS[head_of(number) % len(theme.HEADS)]
            ax.add_patch(plt.Rectangle((j, i), 0.94, 0.94, color=colour))
            ink = "w" if _is_dark(to_rgb(colour)) else theme.INK
            ax.text(j + 0.47, i + 0.47, f"{number}", ha="center", va="center", color=ink)
        ax.set(xlim=(0, matrix.shape[1]), ylim=(height, 0), aspect="equal")
        ax.set_title(title, fontsize=10)
        ax.axis("off")
    return list(fig.axes)


def draw_leak(leak, tokens, *, title="", ax: Axes | None = None) -> Axes:
    """Draw a leak map (T, T): blank where exactly 0, red where a token sees a later one.

    Raises:
        ValueError: if it has NaN or infinity.
    """
    leak = _array(leak)
    if not np.isfinite(leak).all():
        raise ValueError("leak must be finite: NaN would hide who sees whom")
    ax = draw_matrix(
        leak / (leak.max() or 1.0),
        rows=tokens,
        columns=tokens,
        title=title,
        cmap=theme.WEIGHTS,
        limits=(0, 1),
        numbers=None,
        ax=ax,
    )
    for i, j in np.argwhere(leak == 0):
        ax.add_patch(plt.Rectangle((j - 0.5, i - 0.5), 1, 1, color=theme.PAPER))
    for i, j in np.argwhere(np.triu(leak, 1) > 0):
        ax.add_patch(plt.Rectangle((j - 0.5, i - 0.5), 1, 1, color=theme.OKABE_ITO["vermilion"]))
    ax.set_ylabel("output of")
    ax.set_xlabel("depends on")
    return ax


def draw_shares(shares, labels, *, title="", colour=theme.QUERY, numbers="{:.3f}", ax=None) -> Axes:
    """Draw one row of numbers as labelled bars, the value written above each bar.

    Raises:
        ValueError: if there is not one label for each number.
    """
    shares = _array(shares)
    _require_labels("labels", labels, len(shares))
    if ax is None:
        _, ax = plt.subplots(figsize=(max(4.0, 0.75 * len(shares)), 2.2))
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
    height, width = shape
    size = (max(2.0, 0.52 * width + 1.0), max(1.0, 0.42 * height + 0.6))
    return plt.subplots(figsize=size)[1]


def _write_numbers(ax: Axes, values: np.ndarray, image, pattern: str) -> None:
    for (i, j), value in np.ndenumerate(values):
        is_dark = np.isfinite(value) and _is_dark(image.cmap(image.norm(value))[:3])
        ink = "w" if is_dark else theme.INK
        text = pattern.format(value + 0.0)
        ax.text(j, i, text, ha="center", va="center", fontsize=8, color=ink)


def _is_dark(colour: tuple[float, float, float]) -> bool:
    red, green, blue = colour
    return bool(0.299 * red + 0.587 * green + 0.114 * blue < 0.5)


def _label(ax: Axes, rows, columns, title: str) -> None:
    for axis, labels in ((ax.yaxis, rows), (ax.xaxis, columns)):
        axis.set_ticks(range(len(labels)) if labels is not None else [], labels)
        axis.set_tick_params(length=0)
    if columns is not None and max(map(len, map(str, columns))) > 4:
        ax.tick_params(axis="x", labelrotation=40)
        plt.setp(ax.get_xticklabels(), ha="right", rotation_mode="anchor")
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.set_title(title)


def _require_labels(name: str, labels, expected: int) -> None:
    if labels is not None and len(labels) != expected:
        raise ValueError(f"{name} must be {expected} labels, got {len(labels)}")
