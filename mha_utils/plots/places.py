"""Pictures of places: texts that are asked late, who answers how late, what a key keeps."""

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from mha_utils import theme
from mha_utils.plots.heads import draw_lines

COPIES = "#cfe3f1", "#a9cde6"  # of a block, in turns
ASKED, ANSWER = theme.QUERY, theme.OUT
SEEN = theme.OKABE_ITO["vermilion"]  # the line where training ended, RoPE and its crowds
STYLES = ("-", "--", "-.", ":", "-")


def draw_texts(texts: dict, *, trained: int = 32, per_line: int = 64, arrows: bool = True) -> Axes:
    """Draw texts as a model reads them, a cell for each symbol, their ends below each other.

    Grey: before the first copy of the block. Blue: the copies. Dark blue: the last symbol, which
    asks. Purple: what followed its earlier copies. Two arrows: the question, to the purple cell in
    the last line, and from there the note, one place back. Where a longer text has a purple cell at
    a trained place, the question goes to that one, and a grey arrow to the one in the last line.

    Args:
        texts: title -> what has `letters`, `start` and `period`.
        trained: a line marks the end of so many cells.
        per_line: so many cells stand side by side.
        arrows: whether to draw them.
    """
    lines = [-(-len(text.letters) // per_line) for text in texts.values()]
    height = sum(lines) + 4.4 * len(texts)
    _, ax = plt.subplots(figsize=(0.148 * per_line, 0.148 * height))
    top = 0.0
    for (title, text), number in zip(texts.items(), lines):
        ax.text(0, top + 0.6, title, va="center")
        shift = number * per_line - len(text.letters)
        corner = _draw_text(ax, text, top + 1.5, shift, trained, per_line)
        if arrows:
            _draw_arrows(ax, text, corner, trained, per_line)
        top += number + 4.4
    ax.set(xlim=(-0.2, per_line + 0.2), ylim=(height, 0), aspect="equal")
    ax.axis("off")
    return ax


def _draw_text(ax: Axes, text, top: float, shift: int, trained: int, per_line: int) -> Callable:
    """The cells of one text, the first line shifted so that the last is full: where they are."""

    def corner(i):
        row, column = divmod(i + shift, per_line)
        return column, top + row

    for i, letter in enumerate(text.letters):
        face = _face(text, i)
        ink = theme.PAPER if face in (ASKED, ANSWER) else theme.MUTED
        ink = theme.INK if face in COPIES else ink
        x, y = corner(i)
        look = {"facecolor": face, "edgecolor": theme.PAPER, "linewidth": 0.5}
        ax.add_patch(plt.Rectangle((x, y), 1, 1, **look))
        place = {"ha": "center", "va": "center", "fontsize": 7, "family": "monospace"}
        ax.text(x + 0.5, y + 0.53, letter, color=ink, **place)
    if trained <= len(text.letters):
        x, y = corner(trained - 1)
        ax.plot([x + 1, x + 1], [y - 0.15, y + 1.15], color=SEEN, linewidth=2.5)
    return corner


def _draw_arrows(ax: Axes, text, corner: Callable, trained: int, per_line: int) -> None:
    """Who asks whom, if the copy that is asked is in the last line."""
    (end, y), (answer, _) = corner(len(text.letters) - 1), corner(len(text.letters) - text.period)
    if end > answer > 0:
        early = _early_answer(text, trained)
        if early is None:
            _draw_note(ax, end, answer, y, text.letters)
        else:
            _draw_early_note(ax, (end, y), corner(early), (answer, y), per_line)


def _early_answer(text, trained: int) -> int | None:
    """Where an answer stands at a trained place of a longer text, the last of them."""
    places = range(1, trained) if trained < len(text.letters) else ()
    return max((i for i in places if _face(text, i) == ANSWER), default=None)


def _draw_note(ax: Axes, end: float, answer: float, y: float, letters: str) -> None:
    """Two arrows below the last line: who asks whom, and what that one has noted."""
    noted, asks = letters[int(answer - end) - 1], letters[-1]
    _draw_arrow(ax, end, answer, y + 1.1, ASKED)
    _draw_arrow(ax, answer, answer - 1, y + 1.1, ANSWER)
    ax.text(
        answer - 1,
        y + 1.9,
        f"layer 0: {noted} notes “before me: {asks}”",
        color=ANSWER,
        ha="right",
        va="center",
    )
    ax.text(end + 1, y + 2.8, "layer 1 asks", color=ASKED, ha="right", va="center")


def _draw_early_note(ax: Axes, end: tuple, early: tuple, late: tuple, right: int) -> None:
    """A bent arrow around the lines to a trained place; a grey one to the last copy, which is not.

    Args:
        right: where the lines end.
    """
    (x, y), above = early, early[1] - 0.55
    look = {"color": ASKED, "linewidth": 2.5, "clip_on": False}
    way = [(end[0] + 1, end[1] + 0.5), (right + 0.8, end[1] + 0.5), (right + 0.8, above)]
    ax.plot(*zip(*way, (x + 0.5, above)), solid_joinstyle="round", **look)
    head = {"arrowstyle": "-|>", "mutation_scale": 14, "color": ASKED, "linewidth": 2.5}
    head |= {"shrinkA": 0, "shrinkB": 0}
    ax.annotate("", (x + 0.5, y + 0.2), (x + 0.5, above), arrowprops=head)
    note = {"color": ANSWER, "ha": "left", "va": "bottom"}
    ax.text(x + 1.5, above - 0.2, "layer 0 noted it at a trained place", **note)
    _draw_arrow(ax, end[0], late[0], end[1] + 1.1, theme.MUTED)
    ax.text(late[0] - 0.5, end[1] + 1.9, "no row was trained here", ha="right", va="center")
    ax.text(end[0] + 1, end[1] + 2.8, "layer 1 asks", color=ASKED, ha="right", va="center")


def _face(text, i: int) -> str:
    """The colour of a cell."""
    if i == len(text.letters) - 1:
        return ASKED
    if i and text.letters[i - 1] == text.letters[-1]:
        return ANSWER
    return theme.FORBIDDEN if i < text.start else COPIES[(i - text.start) // text.period % 2]


def _draw_arrow(ax: Axes, start: float, end: float, y: float, colour: str) -> None:
    """An arrow below a line, from the middle of a cell to that of an earlier one."""
    look = {"arrowstyle": "-|>", "mutation_scale": 9, "color": colour, "linewidth": 1.4}
    look |= {"shrinkA": 0, "shrinkB": 0}
    look["connectionstyle"] = f"arc3,rad={-min(0.9, 1.8 / abs(start - end))}"
    ax.annotate("", (end + 0.5, y), (start + 0.5, y), arrowprops=look)


def draw_kinds(
    lengths: Sequence[int], lines: dict[str, Sequence], kinds, *, spread=None, title=""
) -> Axes:
    """Draw accuracy by length, a line for each kind, which looks the same in all pictures.

    Args:
        lines: kind -> an accuracy for each length.
        kinds: all there are, in the order of their looks.
        spread: kind -> for each length the accuracies of several models; a band spans them.
    """
    ax = plt.subplots(figsize=(6.5, 3.2))[1]
    heights = _apart([right[-1] for right in lines.values()])
    for (kind, right), height in zip(lines.items(), heights):
        number = list(kinds).index(kind)
        look = {"color": theme.HEADS[number], "linestyle": STYLES[number], "linewidth": 2}
        ax.plot(lengths, right, label=kind, marker=".", markersize=9, **look)
        if spread is not None:
            lowest, highest = zip(*((min(each), max(each)) for each in spread[kind]))
            ax.fill_between(lengths, lowest, highest, color=look["color"], alpha=0.2, linewidth=0)
        name = f"{kind} {right[-1]:.2f}"
        ax.text(lengths[-1] * 1.08, height, name, color=theme.HEADS[number], va="center")
    ax.set_xscale("log", base=2)
    powers = [n for n in lengths if n & (n - 1) == 0]
    ax.set_xticks(powers, list(map(str, powers)))
    ax.set(
        xlim=(None, lengths[-1] * 1.05),
        ylim=(-0.03, 1.05),
        ylabel="accuracy",
        xlabel="tokens",
        title=title,
    )
    return ax


def _apart(heights: Sequence[float]) -> list[float]:
    """The heights of labels: from the lowest up, each at least 0.09 above the one before."""
    moved, floor = dict.fromkeys(range(len(heights)), 0.0), -1.0
    for i in sorted(moved, key=lambda i: heights[i]):
        moved[i] = floor = max(heights[i], floor + 0.09)
    return list(moved.values())


def draw_tickets(tickets: Sequence, slopes: Sequence[float]) -> Axes:
    """Draw what a key keeps of its tickets by its distance: a line for each of four heads at most.

    Args:
        tickets: (H, S): what a key keeps in each head, by its distance.
        slopes: (H,).
    """
    kept = {
        f"head {h}: slope {s:.3f}": np.asarray(tickets[h]).tolist()
        for h, s in enumerate(slopes[:4])
    }
    title = "Share of its tickets that a key keeps, by its distance"
    ax = draw_lines(range(len(tickets[0])), kept, xlabel="distance", title=title)
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return ax
