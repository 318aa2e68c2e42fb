"""The dials of rotary positions: what they compute, refuse, and how keys and pointer move them."""

import math
import re

import pytest
import torch
from view_host import needs_browser
from view_pictures import of
from view_watch import play, stage

from mha_utils import MultiHeadAttention, Rotary, theme, widgets
from mha_utils.widgets import position_dials
from tools.browser.lab import browser

Q, K = torch.randn(2, 8, generator=torch.Generator().manual_seed(3)).double()


def test_the_score_is_that_of_the_layer():
    """Queries and keys of a module with rotary positions, scaled and turned by the module."""
    torch.manual_seed(0)
    layer = MultiHeadAttention(8, 1, rotary=Rotary(8)).double()
    x = torch.randn(1, 6, 8, dtype=torch.float64)
    q, k, _ = layer.project(x, x, x)
    turned_q, turned_k = layer.rotary(q)[0, 0], layer.rotary(k)[0, 0]
    for i, j in ((5, 0), (5, 5), (3, 2)):
        view = widgets.PositionDials(q[0, 0, i], k[0, 0, j], key_place=j, distance=i - j)
        expected = (turned_q[i] @ turned_k[j]).item() / 8**0.5
        assert view.score() == pytest.approx(expected, abs=1e-6)
        assert view.query_place == i


def test_only_the_distance_decides():
    view = widgets.PositionDials(Q, K, key_place=0, distance=5)
    there = view.score()
    view.key_place = 31
    assert view.score() == there
    view.distance = 6
    assert view.score() != there
    assert view.score(5) == there


def test_the_finding_in_full():
    view = widgets.PositionDials(torch.ones(2), torch.ones(2), key_place=7, distance=0)
    assert view.finding() == (
        "Query at place 7, key at place 7, 0 apart: the products add up to 2.00, "
        "and divided by √2 that is the score, 1.41."
    )
    view.distance = 3  # cos 3
    assert view.finding() == (
        "Query at place 10, key at place 7, 3 apart: the products add up to −1.98, "
        "and divided by √2 that is the score, −1.40."
    )


def test_the_last_strip_of_the_still_is_the_score(monkeypatch):
    monkeypatch.setattr(position_dials, "picture", lambda finding, grids: grids)
    (grid,) = widgets.PositionDials(torch.ones(2), torch.ones(2), key_place=7, distance=3).still()
    assert grid.rows == ["pair 0: −1.98", "score: −1.40"]
    assert [cell.marked for cell in grid.cells[-1][:5]] == [False, False, False, True, False]
    for row in grid.cells:  # of one pair: what it adds, and the score
        assert row[0].colour == theme.signed_colour(1)
        assert row[3].colour == theme.signed_colour(math.cos(3))


ERRORS = {
    "odd": ((torch.ones(3), torch.ones(3)), "(Dh,) with Dh even, 2 to 16, got (3,) and (3,)"),
    "wide": ((torch.ones(18), torch.ones(18)), "(Dh,) with Dh even, 2 to 16, got (18,) and (18,)"),
    "two shapes": ((Q, K[:4]), "(Dh,) with Dh even, 2 to 16, got (8,) and (4,)"),
    "rows": ((Q[None], K[None]), "(Dh,) with Dh even, 2 to 16, got (1, 8) and (1, 8)"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_wrong_vectors_are_refused(name):
    given, text = ERRORS[name]
    with pytest.raises(ValueError, match=f"^q and k must be {re.escape(text)}$"):
        widgets.PositionDials(*given)
    with pytest.raises(ValueError, match=r"^k must hold finite numbers, got nan$"):
        widgets.PositionDials(Q, K * torch.nan)


@pytest.fixture(scope="module")
def page():
    with browser() as chrome:
        yield chrome.new_page(viewport={"width": 1400, "height": 1000})


@needs_browser
def test_keys_move_both_or_change_the_distance_and_stop_at_the_ends(page):
    view = widgets.PositionDials(Q, K, key_place=1, distance=30)
    stage(page, view)
    steps = {
        "ArrowLeft": [(0, 30), (0, 30)],
        "ArrowRight": [(1, 30)],
        "ArrowDown": [(1, 31), (1, 31)],
        "ArrowUp": [(1, 30)],
        "Home": [(1, 30)],
    }
    for key, expected in steps.items():
        for place, seen in zip(expected, play(page, view, [["key", 0, key]] * len(expected))):
            assert (seen["state"]["key_place"], seen["state"]["distance"]) == place, key


@needs_browser
def test_the_pointer_drags_the_nearer_token(page):
    view = widgets.PositionDials(Q, K, key_place=10, distance=10)
    stage(page, view)
    (seen,) = play(page, view, [["nothing"]])
    at = {int(t["text"]): t["x"] for t in of(seen["pictures"][0], "text") if t["text"].isdigit()}
    move = ["pointermove", True]
    script = [
        (["point", 0, at[20], 30], (10, 10)),  # the query, where it is
        (["point", 0, at[30], 30, *move], (10, 20)),
        (["point", 0, at[0], 30, *move], (10, 0)),  # it does not pass the key
        (["point", 0, at[60], 30, *move], (10, 31)),
        (["point", 0, at[10], 30], (10, 31)),  # the key
        (["point", 0, at[20], 30, *move], (20, 31)),
        (["point", 0, at[50], 30, *move], (31, 31)),
        (["point", 0, at[0], 30, "pointermove"], (31, 31)),  # nothing is held
    ]
    for act, expected in script:
        (seen,) = play(page, view, [act], full=False)
        assert (seen["state"]["key_place"], seen["state"]["distance"]) == expected, act
