"""A picture of scores by distance: what a layer gives to a key so many places back."""

from collections.abc import Sequence

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from mha_utils import theme
from mha_utils.plots.places import SEEN


def draw_scores(
    lines: dict[str, Sequence[float]],
    near: float,
    dots: dict[str, Sequence[int]] | None = None,
    *,
    title: str = "",
) -> Axes:
    """Draw scores by distance, and a level: the score of the key one place back.

    Args:
        lines: name -> a score for each distance 0, 1, 2, ...; the first is orange.
        near: the level.
        dots: name -> distances to mark on the first line, the first of them dark.
    """
    ax = plt.subplots(figsize=(9, 2.9))[1]
    for (name, line), colour in zip(lines.items(), (SEEN, theme.MUTED, *theme.HEADS)):
        ax.plot(range(len(line)), line, color=colour, linewidth=1.3, label=name)
    first = next(iter(lines.values()))
    for (name, marked), colour in zip((dots or {}).items(), (SEEN, theme.MUTED, *theme.HEADS)):
        heights = [first[distance] for distance in marked]
        ax.plot(marked, heights, ".", color=colour, markersize=6, label=name)
    ax.axhline(near, color=theme.QUERY, linewidth=1, linestyle="--", label="one place back")
    ax.set(xlabel="distance", ylabel="mean score", title=title)
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return ax
