"""Pictures of places by their data: cells of texts, arrows that turn, scores."""

from types import SimpleNamespace

import matplotlib
import numpy as np
import pytest
import torch
from matplotlib.colors import to_hex
from matplotlib.text import Annotation

from mha_utils import theme
from mha_utils.plots import by_distance, dials, places
from mha_utils.plots.places import ANSWER, ASKED, COPIES, SEEN

matplotlib.use("agg")
EARLY = SimpleNamespace(letters="xyabcabcab", start=2, period=3)


def cells(ax) -> dict[tuple, str]:
    """(column, row) of each cell -> its colour."""
    return {p.get_xy(): to_hex(p.get_facecolor()).upper() for p in ax.patches if p.get_width() == 1}


def test_a_text_has_a_cell_for_each_symbol_on_its_colour():
    ax = places.draw_texts({"T": EARLY}, per_line=10)
    fill, (one, two) = theme.FORBIDDEN, COPIES
    wanted = [fill, fill, one, one, ANSWER, two, two, ANSWER, one, ASKED]
    found = cells(ax)
    assert [found[(i, 1.5)] for i in range(10)] == [colour.upper() for colour in wanted]
    assert "".join(t.get_text() for t in ax.texts if len(t.get_text()) == 1) == "T" + EARLY.letters


def test_the_last_symbol_asks_the_answer_and_that_notes_its_neighbour():
    ax = places.draw_texts({"T": EARLY}, per_line=10)
    ask, note = (t for t in ax.texts if isinstance(t, Annotation))
    assert (ask.xyann[0], ask.xy[0]) == (9.5, 7.5)
    assert (note.xyann[0], note.xy[0]) == (7.5, 6.5)
    named = {t.get_text(): t.get_color() for t in ax.texts}
    assert named["layer 1 asks"] == ASKED
    assert named["layer 0: c notes “before me: b”"] == ANSWER


def test_a_long_text_is_wrapped_and_a_line_marks_the_end_of_training():
    ax = places.draw_texts({"T": EARLY}, trained=3, per_line=4)
    assert sorted(cells(ax)) == sorted(
        (column, row + 1.5)
        for row in range(3)
        for column in range(4)
        if (column, row) >= (2, 0) or row
    )
    (line,) = ax.lines
    assert list(line.get_xdata()) == [1, 1]  # after the third cell, which begins the second line
    assert line.get_color() == SEEN
    assert len(places.draw_texts({"T": EARLY}, trained=10).lines) == 1
    assert not places.draw_texts({"T": EARLY}, trained=11).lines


def test_the_question_goes_to_the_last_copy_at_a_trained_place():
    ax = places.draw_texts({"T": EARLY}, trained=7, per_line=10)
    head, late = (t for t in ax.texts if isinstance(t, Annotation))
    assert head.xy == pytest.approx((4.5, 1.7))
    (way,) = (line for line in ax.lines if line.get_color() == ASKED)
    assert way.get_xydata()[0] == pytest.approx((10, 2))  # from the last cell
    assert way.get_xydata()[-1] == pytest.approx(head.xyann)
    assert way.get_xdata().max() > 10  # around the lines
    assert (late.xyann[0], late.xy[0]) == (9.5, 7.5)
    named = {t.get_text(): t.get_color() for t in ax.texts}
    assert named["layer 0 noted it at a trained place"] == ANSWER
    assert named["no row was trained here"] != ANSWER


def test_a_text_can_be_shown_before_its_arrows():
    with_them, bare = (
        places.draw_texts({"T": EARLY}, trained=7, per_line=10, arrows=arrows)
        for arrows in (True, False)
    )
    assert cells(bare) == cells(with_them)
    assert not any(isinstance(t, Annotation) for t in bare.texts)
    assert len(bare.lines) == 1  # the end of training


def test_two_texts_end_below_each_other():
    short = SimpleNamespace(letters="abcab", start=0, period=3)
    ax = places.draw_texts({"one": short, "two": EARLY}, per_line=10)
    rows = sorted({y for _, y in cells(ax)})
    columns = [sorted(x for x, y in cells(ax) if y == row) for row in rows]
    assert columns == [list(range(5, 10)), list(range(10))]


def test_an_arrow_is_turned_by_turning_its_two_steps():
    plain, turned = dials.draw_turned(2.0, 1.0, np.pi / 2)
    for ax, tip in ((plain, (2, 1)), (turned, (-1, 2))):
        ends = [t.xy for t in ax.texts if isinstance(t, Annotation)]
        assert ends[1] == pytest.approx(tip)
        assert ends[2] == pytest.approx(tip)
    assert "b along (−sin, cos)" in [t.get_text() for t in turned.texts]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("angle", [0.7, 4.0])
@pytest.mark.parametrize(("a", "b"), [(1.0, 0.6), (3.0, 2.0), (-1.0, 0.5), (0, 1), (1, 0), (0, 0)])
def test_any_arrow_lies_in_the_picture_with_its_circle_and_its_names(a, b, angle):
    for ax in dials.draw_turned(a, b, angle):
        (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
        names = [t.get_position() for t in ax.texts if not isinstance(t, Annotation)]
        arrows = [t.xy for t in ax.texts if isinstance(t, Annotation)]
        assert len(names) == 2
        for x, y in (*names, *arrows):
            assert left < x < right
            assert low < y < high
        (circle,) = ax.patches
        assert circle.radius < min(-left, right, -low, high)


def test_a_kind_looks_the_same_whatever_is_drawn_beside_it():
    kinds = ("a", "b", "c")
    alone = places.draw_kinds([32, 40, 64], {"c": [1, 0.5, 0]}, kinds, title="T").lines[0]
    beside = places.draw_kinds([32, 40, 64], {"a": [1] * 3, "c": [0] * 3}, kinds)
    assert alone.get_color() == beside.lines[1].get_color() == theme.HEADS[2]
    assert alone.get_linestyle() == beside.lines[1].get_linestyle()
    assert list(alone.get_ydata()) == [1, 0.5, 0]
    assert [label.get_text() for label in beside.get_xticklabels()] == ["32", "64"]
    assert [t.get_text() for t in beside.texts] == ["a 1.00", "c 0.00"]


def test_a_band_spans_several_models():
    spread = {"a": [[1, 0.8], [0.2, 0.4]]}
    ax = places.draw_kinds([32, 64], {"a": [0.9, 0.3]}, ("a",), spread=spread)
    (band,) = ax.collections
    corners = {tuple(point) for point in band.get_paths()[0].vertices.tolist()}
    assert corners == {(32, 0.8), (32, 1), (64, 0.2), (64, 0.4)}
    assert not places.draw_kinds([32], {"a": [1]}, ("a",)).collections


def test_names_at_the_ends_of_lines_stand_apart():
    ends = {"a": [0.01], "b": [0.9], "c": [0.02]}
    ax = places.draw_kinds([32], ends, tuple("abc"))
    at = {t.get_text()[0]: t.get_position()[1] for t in ax.texts}
    assert at == pytest.approx({"a": 0.01, "b": 0.9, "c": 0.1})


def test_tickets_are_drawn_for_the_first_heads():
    ax = places.draw_tickets([torch.ones(5) * h for h in range(6)], [0.5] * 6)
    assert [line.get_ydata()[0] for line in ax.lines] == [0, 1, 2, 3]
    assert ax.get_legend().get_texts()[0].get_text() == "head 0: slope 0.500"


def test_scores_are_drawn_with_the_level_of_the_neighbour_and_marked_distances():
    ax = by_distance.draw_scores(
        {"all": [1, 4, 2], "some": [0, 3, 1]}, 4, {"upper": [2]}, title="T"
    )
    drawn = {line.get_label(): line.get_xydata().tolist() for line in ax.lines}
    assert drawn["all"] == [[0, 1], [1, 4], [2, 2]]
    assert drawn["some"] == [[0, 0], [1, 3], [2, 1]]
    assert drawn["upper"] == [[2, 2]]
    assert {y for _, y in drawn["one place back"]} == {4}
    names = [t.get_text() for t in ax.get_legend().get_texts()]
    assert names == ["all", "some", "upper", "one place back"]
    assert ax.get_title() == "T"


def test_a_hand_has_turned_as_far_as_its_distance_in_grey_as_far_as_one_place():
    ((one, two),) = dials.draw_hands([4.0, 8.0], [10])
    tips = [[t.xy for t in ax.texts if isinstance(t, Annotation)] for ax in (one, two)]
    assert tips[0] == [pytest.approx((0, 1), abs=1e-9), pytest.approx((-1, 0), abs=1e-9)]
    assert tips[1] == [pytest.approx((0.5**0.5, 0.5**0.5)), pytest.approx((0, 1), abs=1e-9)]
    assert (one.get_title(), two.get_title()) == ("once in 4.0 places", "once in 8.0 places")
    assert "10 back" in [t.get_text() for t in one.texts]
