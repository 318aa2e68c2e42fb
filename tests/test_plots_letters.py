"""Pictures of letters hold every letter in its place, and its value where it is large."""

import pytest
import torch

from mha_utils.plots import letters


def written(ax) -> list[str]:
    return [text.get_text() for text in ax.texts]


def test_letters_stand_in_lines_with_large_values_above_them():
    ax = letters.draw_letters(
        {"one": ("abcde", [0.0, 0.2, 0.7, 0.1, 2.0]), "two": ("xy", torch.ones(2))},
        width=3,
        most=2.0,
        least_written=0.7,
        title="T",
    )
    assert written(ax) == ["a", "b", "c", "0.7", "d", "e", "2.0", "x", "1.0", "y", "1.0"]
    places = {t.get_text(): t.get_position() for t in ax.texts}
    assert places["d"] == (0.5, 1.62)
    assert places["x"] == (0.5, 2.62)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["one", "two"]
    assert len(ax.patches) == 7
    assert ax.get_title() == "T"


def test_letters_say_which_text_has_not_enough_values():
    with pytest.raises(ValueError, match=r"^'far' must have 2 values, got 1$"):
        letters.draw_letters({"far": ("ab", [1.0])})
