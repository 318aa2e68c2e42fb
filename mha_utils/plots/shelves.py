"""Pictures of a cache: what a new word asks and reads, who shares it, what shared heads fetch."""

import math
from collections.abc import Mapping, Sequence

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from mha_utils import theme


def draw_step(words: Sequence[str]) -> Axes:
    """A causal map while the last word is new: one row asks, and below it the shelf that it reads.

    Grey: questions that have been answered. Blue: the newest one. Orange and green: keys, values.
    """
    newest = len(words) - 1
    ax = plt.subplots(figsize=(0.38 * newest + 3.2, 0.3 * newest + 1.9), layout="constrained")[1]
    for row in range(newest + 1):
        for column in range(row + 1):
            _draw_cell(ax, column, row, theme.QUERY if row == newest else theme.FORBIDDEN)
        ax.text(-0.3, row + 0.5, words[row], ha="right", va="center")
        _draw_cell(ax, row, newest + 1.5, theme.KEY, "k")
        _draw_cell(ax, row, newest + 2.5, theme.VALUE, "v")
    frame = plt.Rectangle((newest - 0.03, newest + 1.47), 1, 2, fill=False, linewidth=2.5)
    ax.add_patch(frame)
    beside = {"x": newest + 1.3, "ha": "left", "va": "center"}
    ax.text(y=newest + 0.5, s="asks now", color=theme.QUERY, **beside)
    ax.text(y=newest + 2.5, s="the shelf (framed: new)", **beside)
    if newest:
        ax.text(y=newest / 2, s="answered before", **beside)
    ax.set(xlim=(-0.1, newest + 1.1), ylim=(newest + 3.6, -0.1), aspect="equal")
    ax.axis("off")
    return ax


def _draw_cell(ax: Axes, left: float, top: float, colour: str, text: str = "") -> None:
    """A cell of a map or a shelf, with a letter in it."""
    ax.add_patch(plt.Rectangle((left, top), 0.94, 0.94, color=colour, linewidth=0))
    look = {"ha": "center", "va": "center", "fontsize": 9, "color": theme.ink_on(colour)}
    ax.text(left + 0.47, top + 0.47, text, **look)


def draw_sharing(panels: Mapping[str, int]) -> list[Axes]:
    """Four heads above, the KV heads that they read below: one panel for each number of those."""
    _, axes = plt.subplots(1, len(panels), figsize=(7.2, 1.9), layout="constrained", squeeze=False)
    for ax, (title, kv_heads) in zip(axes[0], panels.items()):
        group = 4 // kv_heads
        for head in range(4):
            own = head // group
            middle, colour = own * group + (group - 1) / 2, theme.HEADS[own]
            ax.plot([head, middle], [1, 0], color=colour, linewidth=2, zorder=0)
            _write_name(ax, head, 1, f"q{head}", colour)
            _write_name(ax, middle, 0, f"k{own} v{own}", colour)
        ax.set(title=title, xlim=(-0.6, 3.6), ylim=(-0.45, 1.4))
        ax.axis("off")
    return list(axes[0])


def _write_name(ax: Axes, x: float, y: float, name: str, colour: str) -> None:
    """A name in a rounded box of its head's colour."""
    box = {"boxstyle": "round,pad=0.4", "edgecolor": "none", "facecolor": colour}
    look = {"color": theme.PAPER, "ha": "center", "va": "center", "fontsize": 9}
    ax.text(x, y, name, bbox=box, **look)


def draw_circle(back: Sequence[int], number: int = 12) -> Axes:
    """Tokens in a circle, each of as many parts as there are heads; what the top one fetches.

    Full: a part that is fetched. Framed: the token at the top, which wants one of each colour.

    Args:
        back: how many places back each head looks; it fetches the part of its own number.
        number: of tokens; they follow each other with the clock, so back is against it.
    """
    ax = plt.subplots(figsize=(6.2, 4), layout="constrained")[1]
    colours = [theme.HEADS[head % len(theme.HEADS)] for head in range(len(back))]
    for place in range(number):
        reached = [place == far % number for far in back]
        empty = theme.FORBIDDEN if place else theme.PAPER
        faces = [c if is_in else empty for c, is_in in zip(colours, reached)]
        _draw_token(ax, *_on_circle(-place, number), faces, () if place else colours)
    for head, far in enumerate(back):
        look = {"arrowstyle": "-|>", "color": colours[head], "linewidth": 1.8}
        look |= {"shrinkA": 15, "shrinkB": 17, "connectionstyle": "arc3,rad=0.15"}
        ends = _on_circle(-far, number), _on_circle(0, number)
        ax.annotate("", *ends, arrowprops=look)
        (x, y), away = ends[0], "right" if ends[0][0] < 0 else "left"
        side = math.copysign(0.27, x)
        ax.text(x + side, y, f"{far} back", color=colours[head], ha=away, va="center")
    ax.set(xlim=(-1.8, 1.8), ylim=(-1.15, 1.15), aspect="equal")
    ax.axis("off")
    return ax


def _on_circle(place: int, number: int) -> tuple[float, float]:
    """Where a token stands: 0 at the top, the next one beside it with the clock."""
    angle = 2 * math.pi * place / number
    return math.sin(angle), math.cos(angle)


def _draw_token(ax: Axes, x: float, y: float, faces: Sequence[str], frames: Sequence[str]) -> None:
    """A token as a strip of its parts, which may have frames."""
    side = 0.1
    left = x - side * len(faces) / 2
    for part, face in enumerate(faces):
        look, inside = {"edgecolor": theme.PAPER, "linewidth": 0.8}, 0.0
        if frames:
            look, inside = {"edgecolor": frames[part], "linewidth": 2.2}, 0.012
        place, width = (left + part * side + inside, y - side / 2 + inside), side - 2 * inside
        ax.add_patch(plt.Rectangle(place, width, width, facecolor=face, **look))
