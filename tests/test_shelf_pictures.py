"""Pictures of a cache by their data: what asks, what is kept, who shares, what is fetched."""

import matplotlib
import pytest
from matplotlib.colors import to_hex

from mha_utils import theme
from mha_utils.plots.shelves import draw_circle, draw_sharing, draw_step

matplotlib.use("agg")


def colours(ax) -> list[str]:
    return [to_hex(p.get_facecolor()).lower() for p in ax.patches if p.get_fill()]


def test_of_a_step_the_last_row_asks_and_each_word_has_a_key_and_a_value():
    ax = draw_step(["a", "b", "c"])
    grey, asks, key, value = (
        colours(ax).count(c.lower()) for c in (theme.FORBIDDEN, theme.QUERY, theme.KEY, theme.VALUE)
    )
    assert (grey, asks, key, value) == (1 + 2, 3, 3, 3)
    (frame,) = (p for p in ax.patches if not p.get_fill())
    assert frame.get_x() == pytest.approx(2, abs=0.05)  # the newest column
    said = [t.get_text() for t in ax.texts]
    assert {"a", "b", "c", "asks now", "answered before"} <= set(said)
    assert (said.count("k"), said.count("v")) == (3, 3)


def test_of_a_first_word_nothing_is_answered():
    ax = draw_step(["a"])
    assert "answered before" not in [t.get_text() for t in ax.texts]


def test_heads_that_share_have_the_colour_of_what_they_read():
    one, two, all_own = draw_sharing({"one": 1, "two": 2, "four": 4})
    assert [t.get_text() for t in one.texts].count("k0 v0") == 4
    assert {to_hex(line.get_color()) for line in one.lines} == {theme.HEADS[0].lower()}
    said = {t.get_text(): t.get_position()[0] for t in two.texts}
    assert said == {"q0": 0, "q1": 1, "k0 v0": 0.5, "q2": 2, "q3": 3, "k1 v1": 2.5}
    first, second = theme.HEADS[:2]
    assert [line.get_color() for line in two.lines] == [first, first, second, second]
    assert [list(line.get_xdata()) for line in two.lines] == [
        [head, shared] for head, shared in zip(range(4), (0.5, 0.5, 2.5, 2.5))
    ]
    assert {t.get_text() for t in all_own.texts} >= {"q3", "k3 v3"}


def test_the_top_token_fetches_another_part_of_each_token():
    ax = draw_circle((1, 2, 5), number=6)
    found = colours(ax)
    assert len(found) == 6 * 3
    assert found[:3] == [theme.PAPER.lower()] * 3  # it wants one part of each, and has none
    edges = [to_hex(patch.get_edgecolor()) for patch in ax.patches[:3]]
    assert edges == [c.lower() for c in theme.HEADS[:3]]
    strips = [found[3 * n : 3 * n + 3] for n in range(6)]
    grey = theme.FORBIDDEN.lower()
    assert strips[2] == [grey, theme.HEADS[1].lower(), grey]
    assert strips[3] == [grey] * 3
    assert {"1 back", "2 back", "5 back"} <= {t.get_text() for t in ax.texts}
