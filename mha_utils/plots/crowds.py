"""Pictures of crowds of far keys: what they leave right, and a laboratory for them."""

from collections.abc import Sequence

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from mha_utils import theme
from mha_utils.plots.places import COPIES, SEEN

ZONE = "grey"  # and pale: distances at which training checked no note


def draw_dips(
    right: dict[int, Sequence], distances: Sequence[int], scores: Sequence[float], asked: int = 27
) -> list[Axes]:
    """Draw right answers by where a crowd stands, above what a layer gives for a distance.

    Args:
        right: size of the crowd -> right answers, one for each of the distances.
        scores: the mean score of a key 1, 2, 3, ... places back.
        asked: from this distance on, a grey zone: no note of use in training had a key there.
    """
    above, below = axes = plt.subplots(2, 1, figsize=(8, 4.8), sharex=True)[1]
    for i, (number, line) in enumerate(right.items()):
        look = {"alpha": (i + 2) / (len(right) + 1), "linewidth": 1 + i / 2, "marker": "."}
        above.plot(distances, line, color=SEEN, label=f"crowd of {number}", **look)
    above.set(ylabel="right answers", ylim=(-0.03, 1.05))
    above.set_title("your RoPE model, 256 tokens: a crowd at one distance in layer 0")
    above.legend(frameon=False, loc="lower left")
    near, top = scores[0], max(scores) + 2
    below.plot(range(1, len(scores) + 1), scores, color=SEEN, linewidth=2)
    below.plot(1, near, "o", color=SEEN)
    below.axhline(near, color="grey", linewidth=0.7)
    below.text(2, near, " one place back", va="bottom", color="grey")
    below.set(ylabel="mean score", ylim=(min(scores) - 1, top), xlabel="distance")
    below.set_title("its layer 0: the mean score of a key, by its distance")
    for ax in axes:
        ax.axvspan(
            asked - 0.5, max(*distances, len(scores), asked) + 0.5, color=ZONE, alpha=0.15, zorder=0
        )
    below.text(asked, top - 0.2, "training checked no note here", va="top")
    return list(axes)


def draw_laboratory(distance: int, number: int, near: int = 15, hidden: int = 6) -> Axes:
    """Draw the keys of a query in a row: near ones, then a crowd that is shown at one distance.

    Args:
        distance, number: where the crowd is said to stand, and how many keys are in it.
        near: so many keys stand where they are.
        hidden: so many cells stand for all that come before.
    """
    total = hidden + number + near
    ax = plt.subplots(figsize=(9, 1.3))[1]
    colours = ["none"] * hidden + [theme.FORBIDDEN] * number + [COPIES[1]] * (near - 1)
    for i, colour in enumerate([*colours, theme.QUERY]):
        look = {"facecolor": colour, "edgecolor": "grey", "linewidth": 0.4}
        ax.add_patch(plt.Rectangle((i, 0), 1, 1, **look))
    below = {"ha": "center", "va": "top"}
    ax.text(hidden / 2, -0.5, "hidden", **below)
    said = f"{number} keys, all shown {distance} places back"
    ax.text(hidden + number / 2, -0.5, said, color=theme.INK, **below)
    ax.text(total, -0.5, f"{near} keys where they are", ha="right", va="top", color=theme.QUERY)
    ax.text(total, 1.4, "the query", ha="right", va="bottom", color=theme.QUERY)
    ax.set(xlim=(-0.2, total + 0.2), ylim=(-3.4, 3.4))
    ax.axis("off")
    return ax
