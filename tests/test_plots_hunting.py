"""Pictures of the bug hunt, by their data: means, places in memory, who is accused."""

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_hex

from mha_utils import theme
from mha_utils.plots import hunting

matplotlib.use("agg")


def test_a_point_of_a_curve_is_the_mean_of_the_last_losses():
    curves = {name: [4.0, 2.0, 0.0, 7.0] for name in "abcde"}
    ax = hunting.draw_curves(curves, over=2, labels=("x", "y"))
    assert [line.get_ydata().tolist() for line in ax.lines] == [[4, 3, 1, 3.5]] * 5
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list("abcde")
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_ylim()[0]) == ("x", "y", 0)
    looks = {(line.get_color(), str(line._unscaled_dash_pattern)) for line in ax.lines}
    assert len(looks) == 4  # no two of four look alike


def test_the_first_output_of_a_strip_is_framed_and_a_long_strip_shows_its_beginning():
    ax = hunting.draw_strip(5, 2)
    written = [text.get_text() for text in ax.texts]
    assert written == ["1", "2", "3", "4", "5", "1", "output 1", "output 2", "output 3"]
    assert [text.get_position()[0] for text in ax.texts[6:]] == [1, 3, 5]
    *results, frame = ax.patches
    assert [patch.get_x() for patch in results] == list(range(6))
    assert (frame.get_x(), frame.get_width(), frame.get_fill()) == (0, 2, False)
    assert [cut[0][0] for cut in ax.collections[0].get_segments()] == [0, 2, 4, 6]
    heads = [to_hex(patch.get_facecolor()) for patch in results]
    assert heads == [colour.lower() for colour in [*[theme.HEADS[0]] * 5, theme.HEADS[1]]]


def test_the_output_that_is_asked_for_is_framed_and_shown():
    frame = hunting.draw_strip(16, 4, framed=3).patches[-1]
    assert (frame.get_x(), frame.get_width()) == (8, 4)
    ax = hunting.draw_strip(16, 1, framed=3)
    assert [text.get_text() for text in ax.texts[3:]] == ["output 1", "output 2", "output 3"]
    for none in (0, 17):
        with pytest.raises(ValueError, match=f"from 1 to 16, got {none}"):
            hunting.draw_strip(16, 4, framed=none)


def test_a_short_strip_is_shown_whole():
    ax = hunting.draw_strip(2, 2)
    assert [text.get_text() for text in ax.texts[:4]] == ["1", "2", "1", "2"]
    assert [text.get_text() for text in ax.texts[4:]] == ["output 1", "output 2"]


def test_a_cell_is_filled_if_its_question_accuses():
    ax = hunting.draw_verdicts({"a": [True, False], "b": [False, False]}, ["p", "q"], apart=1)
    filled = [patch.get_xy() for patch in ax.patches if patch.get_facecolor()[3]]
    assert filled == [(0, 0)]
    assert to_hex(ax.patches[0].get_facecolor()) == hunting.ACCUSED.lower()
    assert [t.get_text() for t in ax.get_yticklabels()] == ["p?", "q?"]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["a", "b"]
    assert np.unique(ax.lines[0].get_xdata()).tolist() == [1]
