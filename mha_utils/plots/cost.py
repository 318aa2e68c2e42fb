"""Pictures of what attention costs: ratios, memory, the roofline."""

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from mha_utils import theme
from mha_utils.bench.record import caption

OURS = ("fused", "explicit")


def draw_ratios(case: dict, machine: dict, *, title="", skip=(), ax: Axes | None = None) -> Axes:
    """Draw one measured case: time of each row divided by that of its parts, fastest on top.

    Args:
        case: as `bench.measure_case` returns it; dots are medians, lines quartiles.
        machine: where it was measured, for the line below.
        title: the finding; the case's label is written after it.
        skip: names of rows to leave out.
        ax: where to draw; a new figure when left out.
    """
    rows = {name: row["ratio"] for name, row in case["rows"].items() if name not in skip}
    names = sorted(rows, key=lambda name: rows[name]["median"])
    if ax is None:
        _, ax = plt.subplots(figsize=(7, 0.3 * len(names) + 1.1))
    for place, name in enumerate(names):
        ratio, colour = rows[name], theme.VALUE if name in OURS else theme.QUERY
        ax.plot([ratio["low"], ratio["high"]], [place, place], color=colour, lw=2)
        ax.plot(ratio["median"], place, "o", color=colour)
        ax.text(ratio["high"] * 1.03, place, f"{ratio['median']:.2f}", va="center", fontsize=8)
    ax.axvline(1, color=theme.MUTED, lw=0.8)
    ax.set(yticks=range(len(names)), yticklabels=names, xscale="log", ylim=(len(names) - 0.5, -0.5))
    ax.set(title=f"{title}\n{case['label']}", xlim=(None, 1.25 * ax.get_xlim()[1]))
    ticks = [t for t in (0.5, 0.7, 1, 1.5, 2, 3, 5, 10) if ax.get_xlim()[0] < t < ax.get_xlim()[1]]
    ax.set_xticks(ticks, [f"{t:g}" for t in ticks])
    ax.set_xticks([], minor=True)
    ax.set_xlabel(f"time, parts = 1    ({caption(machine)})", fontsize=8)
    return ax


def draw_against_length(
    lengths, curves: dict, *, ylabel: str, title="", ax: Axes | None = None
) -> Axes:
    """Draw curves {name: numbers} against T on logarithmic scales, each with its slope.

    Raises:
        ValueError: if a curve has not as many numbers as there are lengths.
    """
    ax = plt.subplots(figsize=(5.5, 3.4))[1] if ax is None else ax
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


def draw_roofline(record: dict, points: dict, *, title="", ax: Axes | None = None) -> Axes:
    """Draw what a machine can reach, FLOP/s against FLOPs for each byte moved, and points below.

    Args:
        record: as `bench.measure` returns it; its limits are the roof.
        points: {name: (FLOPs per byte, FLOP/s)}.
    """
    peak = record["limits"]["matmul_flops_per_second"]["float32"]
    rate = record["limits"]["copied_bytes_per_second"]
    ax = plt.subplots(figsize=(6, 3.6))[1] if ax is None else ax
    largest = 4 * max(max(x for x, _ in points.values()), peak / rate)
    intensity = np.geomspace(0.5, largest, 200)
    ax.loglog(intensity, np.minimum(rate * intensity, peak) / 1e9, color=theme.INK)
    ax.text(peak / rate / 3, peak / 3e9, "copy rate", rotation=35, ha="right", fontsize=8)
    ax.text(largest, peak * 1.1e-9, "matmul rate", ha="right", fontsize=8)
    for (name, (x, y)), colour in zip(points.items(), theme.HEADS):
        ax.loglog(x, y / 1e9, "o", color=colour, label=name)
    ax.set(xlabel=f"FLOPs for each byte moved\n{caption(record['machine'])}", ylabel="GFLOP/s")
    ax.set(title=title, ylim=(None, peak * 3e-9))
    ax.xaxis.label.set_fontsize(8)
    ax.legend(frameon=False, loc="lower right", fontsize=8)
    return ax
