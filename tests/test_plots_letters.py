"""Pictures of letters hold every letter in its place, and its value where it is large."""

import pytest
import torch
from matplotlib import pyplot as plt

from mha_utils import theme
from mha_utils.plots import letters


def written(ax) -> list[str]:
    return [text.get_text() for text in ax.texts]


def test_letters_stand_in_lines_with_large_values_above_them():
    ax = letters.draw_letters(
        {"one": ("abcde", [0.0, 0.2, 0.7, 0.1, 2.0]), "two": ("xy", torch.ones(2))},
        width=3,
        most=2.0,
        least_written=0.7,
    )
    assert written(ax) == ["a", "b", "c", "0.7", "d", "e", "2.0", "x", "1.0", "y", "1.0"]
    places = {t.get_text(): t.get_position() for t in ax.texts}
    assert places["d"] == (0.5, 1.62)
    assert places["x"] == (0.5, 2.62)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["one", "two"]
    assert len(ax.patches) == 7
    darkest, half = (plt.get_cmap(theme.WEIGHTS)(share) for share in (1.0, 0.5))
    colours = [patch.get_facecolor() for patch in ax.patches]
    assert colours[4] == darkest  # 2.0, the most
    assert colours[5] == colours[6] == half
    assert len(set(colours)) == 6
    inks = [t.get_color() for t in ax.texts if t.get_text() in "abcdexy"]
    assert inks == [theme.ink_on(colour) for colour in colours]


def test_letters_say_which_text_has_not_enough_values():
    with pytest.raises(ValueError, match=r"^'far' must have 2 values, got 1$"):
        letters.draw_letters({"far": ("ab", [1.0])})
