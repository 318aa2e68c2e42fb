"""Pictures for and against a story about heads, by their data: texts, places, numbers."""

import re

import matplotlib
import numpy as np
import pytest

from mha_utils import theme
from mha_utils.plots import evidence
from mha_utils.plots.heads import MARK

matplotlib.use("agg")


def test_a_note_says_what_stood_before():
    ax = evidence.draw_notes(list("xyzx"), 1, title="T")
    written = {t.get_position(): t.get_text() for t in ax.texts if len(t.get_text()) == 1}
    above = {(0, 1): "x", (1, 1): "y", (2, 1): "z", (3, 1): "x", (4, 1): "y"}  # the answer: y
    assert written == above | {(1, 0): "x", (2, 0): "y", (3, 0): "z"}
    colours = {t.get_position(): t.get_color() for t in ax.texts}
    assert colours[1, 0] == colours[3, 1] == MARK  # it looks for its own note
    assert colours[1, 1] == colours[4, 1] == theme.QUERY
    told = " ".join(t.get_text() for t in ax.texts)
    assert "who has the note “x”?" in told
    assert "copies what stands there: y" in told
    assert ax.get_title() == "T"


@pytest.mark.parametrize("answer", [0, 3])
def test_an_answer_needs_a_symbol_before_it(answer):
    with pytest.raises(ValueError, match=rf"^answer must be a place from 1 to 2, got {answer}$"):
        evidence.draw_notes(list("xyzx"), answer)


def test_an_answer_stands_after_what_comes_back():
    expected = "answer must be a place right after 'x', the last symbol, got 2, after 'y'"
    with pytest.raises(ValueError, match=f"^{expected}$"):
        evidence.draw_notes(list("xyzx"), 2)


def test_every_text_has_a_dot_beside_the_head_that_is_out():
    rises = {"one": {"copy": [1.0, 2.0], "plain": [0.1]}, "two": {"copy": [0.5]}}
    ax = evidence.draw_rises(rises, title="T", ylabel="nats")
    drawn = [line for line in ax.lines[1:] if len(line.get_xdata())]
    assert [list(line.get_ydata()) for line in drawn] == [[1, 2], [0.5], [0.1]]
    assert [round(np.mean(line.get_xdata())) for line in drawn] == [0, 1, 0]
    assert drawn[0].get_marker() == drawn[1].get_marker() != drawn[2].get_marker()
    assert [t.get_text() for t in ax.get_xticklabels()] == ["one", "two"]
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["copy", "plain"]


def test_a_kind_without_a_look_is_refused():
    expected = "rises must have at most 3 kinds of text, got ['a', 'b', 'c', 'd']"
    with pytest.raises(ValueError, match=f"^{re.escape(expected)}$"):
        evidence.draw_rises({"one": {kind: [1.0] for kind in "abcd"}})


def test_counts_stand_at_their_bars_and_ours_stands_out():
    ax = evidence.draw_counts({"ours": 7, "luck": 3.0, "a rule": 0}, most=10, title="T")
    assert [patch.get_width() for patch in ax.patches] == [7, 3, 0]
    assert [t.get_text() for t in ax.texts] == ["7", "3", "0"]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["ours", "luck", "a rule"]
    ours, *others = [matplotlib.colors.to_hex(patch.get_facecolor()) for patch in ax.patches]
    assert ours == theme.QUERY.lower() != others[0] == others[1]
    assert ax.get_xlim() == (0, 10)
    assert ax.get_title() == "T"
