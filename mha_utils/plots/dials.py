"""Pictures of dials: an arrow and its two steps as it turns, hands that come round."""

from collections.abc import Sequence

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from mha_utils import theme
from mha_utils.plots.places import SEEN

STEPS = theme.HEADS[1:3]  # to the right, and up


def draw_turned(a: float, b: float, angle: float) -> list[Axes]:
    """Draw an arrow made of two steps, a to the right and b up; beside it, all of it turned.

    Args:
        a, b: any numbers; a negative one is a step to the left, or down.
        angle: in radians, against the clock.
    """
    axes = plt.subplots(1, 2, figsize=(8, 3.4), subplot_kw={"aspect": "equal"})[1]
    cos, sin = np.cos(angle), np.sin(angle)
    length = np.hypot(a, b)
    far = 1.3 * length or 1.0  # the whole circle, and room for the names
    for ax, right, names in (
        (axes[0], np.array([1.0, 0.0]), ("a along (1, 0)", "b along (0, 1)")),
        (axes[1], np.array([cos, sin]), ("a along (cos, sin)", "b along (−sin, cos)")),
    ):
        up = np.array([-right[1], right[0]])
        _draw_steps(ax, a * right, b * up)
        beside = 0.06 * far  # a name stands outside of the triangle that the three arrows make
        _write_step(ax, names[0], a * right / 2, -np.copysign(beside, b) * up, STEPS[0])
        _write_step(ax, names[1], a * right + b * up / 2, np.copysign(beside, a) * right, STEPS[1])
        ax.add_patch(plt.Circle((0, 0), length, fill=False, color="lightgrey", zorder=0))
        ax.set(xlim=(-far, far), ylim=(-far, far))
        ax.set_axis_off()
    axes[0].set_title("the arrow (a, b)")
    axes[1].set_title("turned by an angle")
    return list(axes)


def _draw_steps(ax: Axes, first: np.ndarray, second: np.ndarray) -> None:
    """Two steps, one after the other, and the arrow that they make."""
    tip = first + second
    ends = (0 * tip, first), (first, tip), (0 * tip, tip)
    for (start, end), colour in zip(ends, (*STEPS, theme.HEADS[0])):
        style = {"arrowstyle": "-|>", "color": colour, "linewidth": 2.2, "shrinkA": 0, "shrinkB": 0}
        ax.annotate("", end, start, arrowprops=style)


def _write_step(ax: Axes, name: str, middle: np.ndarray, away: np.ndarray, colour: str) -> None:
    """The name of a step beside its middle, growing away from it."""
    x, y = away / np.hypot(*away)
    side = {"ha": "center" if abs(x) < 0.1 else "left" if x > 0 else "right"}
    side["va"] = "center" if abs(y) < 0.1 else "bottom" if y > 0 else "top"
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
    ax.text(*(middle + away), name, color=colour, bbox=box, **side)


def draw_hands(periods: Sequence[float], distances: Sequence[int]) -> np.ndarray:
    """Draw how far some dials have turned at some distances; in grey, one place back.

    Args:
        periods: after so many places each dial has come round.
        distances: a row of dials for each.
    """
    shape, size = (len(distances), len(periods)), (2.1 * len(periods), 2.0 * len(distances))
    axes = plt.subplots(*shape, figsize=size, squeeze=False, subplot_kw={"aspect": "equal"})[1]
    for row, distance in zip(axes, distances):
        for ax, period in zip(row, periods):
            ax.add_patch(plt.Circle((0, 0), 1, fill=False, color="lightgrey"))
            _draw_hand(ax, 1 / period, theme.MUTED, 1.5)
            _draw_hand(ax, distance / period, SEEN, 2.5)
            ax.set(xlim=(-1.15, 1.15), ylim=(-1.15, 1.15))
            ax.set_axis_off()
        row[0].text(-1.5, 0, f"{distance} back", ha="right", va="center", color=SEEN)
    for ax, period in zip(axes[0], periods):
        ax.set_title(f"once in {period:.1f} places")
    return axes


def _draw_hand(ax: Axes, rounds: float, colour: str, width: float) -> None:
    """An arrow that began on the right and has turned so many rounds, as in `draw_turned`."""
    tip = np.cos(2 * np.pi * rounds), np.sin(2 * np.pi * rounds)
    style = {"arrowstyle": "-|>", "color": colour, "linewidth": width, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", tip, (0, 0), arrowprops=style)
