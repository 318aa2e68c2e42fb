"""Pictures of the bug hunt, by their data: means, and who is accused."""

import matplotlib
import numpy as np
from matplotlib.colors import to_hex

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


def test_a_cell_is_filled_if_its_question_accuses():
    ax = hunting.draw_verdicts({"a": [True, False], "b": [False, False]}, ["p", "q"], apart=1)
    filled = [patch.get_xy() for patch in ax.patches if patch.get_facecolor()[3]]
    assert filled == [(0, 0)]
    assert to_hex(ax.patches[0].get_facecolor()) == hunting.ACCUSED.lower()
    assert [t.get_text() for t in ax.get_yticklabels()] == ["p?", "q?"]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["a", "b"]
    assert np.unique(ax.lines[0].get_xdata()).tolist() == [1]
