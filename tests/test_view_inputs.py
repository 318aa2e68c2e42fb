"""Wrong input in the live views: a ValueError in Python, a clear sentence in the page."""

import json
import math
import re

import pytest
import torch
from helpers import toy_explorer
from traitlets import TraitError
from view_host import finding, host, needs_browser
from view_watch import play, stage

from mha_utils import widgets
from mha_utils.widgets.examples import EXAMPLES
from mha_utils.widgets.kit.page import embed, save_page
from tools.browser.lab import browser

NASTY = [
    "<!--<script>",
    "</script><b>",
    "two\nlines",
    "a\tb\x00",
    "\ud83d",
    "שלום",
    "مرحبا",
    "x" * 5000,
    "",
    "👩‍🚀",
]
WRONG = [  # view, trait, value, what is said
    ("HeadExplorer", "temperature", 0.0, "temperature must be above 0 and finite, got 0.0"),
    ("HeadExplorer", "temperature", -1.0, "temperature must be above 0 and finite, got -1.0"),
    ("HeadExplorer", "temperature", math.nan, "temperature must be above 0 and finite, got nan"),
    ("HeadExplorer", "temperature", math.inf, "temperature must be above 0 and finite, got inf"),
    ("HeadExplorer", "num_heads", 2, "num_heads must stay 1 without resplit=True, got 2"),
    ("SoftmaxScale", "temperature", 0.0, "temperature must be above 0 and finite, got 0.0"),
    ("SoftmaxScale", "head_dim", 48, "head_dim must be a power of two from 1 to 512, got 48"),
    ("DropoutDraws", "p", 1.0, "p must be at most 0.9 to be drawn, got 1.0"),
    ("DropoutDraws", "p", -0.1, "p must be a probability between 0 and 1, got -0.1"),
    ("DropoutDraws", "p", math.nan, "p must be a probability between 0 and 1, got nan"),
    ("ShapeLetters", "seq_len", 0, "seq_len must be an integer of at least 1, got 0"),
    ("MemoryRibbon", "seq_len", 7, "seq_len must be at most 6 to be drawn, got 7"),
    ("MemoryRibbon", "step", "merge", "step must be one of steps="),
    ("LayerCost", "seq_len", 65, "seq_len must be one of 64, 128"),
    ("PositionDials", "key_place", 32, "key_place must be at most 31 to be drawn, got 32"),
    ("PositionDials", "distance", -1, "distance must be at least 0, got -1"),
    ("PositionDials", "base", 0.0, "base must be a finite number above 0, got 0.0"),
    ("ProcessTiles", "num_processes", 9, "num_processes must be at most 8 to be drawn, got 9"),
    ("ProcessTiles", "way", "rings", "way must be one of"),
    ("ProcessTiles", "step", 8, "step must be 0 to 7, got 8"),
    ("HeadBudget", "head_dim", 5, "head_dim must be one of 1, 2, 3, 4, 6, 8, 12, got 5"),
    ("TrainingFilm", "frame", 4, "frame must be 0 to 3, got 4"),
    ("TrainingFilm", "example", -1, "example must be 0 to 1, got -1"),
    ("TrainingStaircase", "num_heads", 0, "num_heads must be an integer of at least 1, got 0"),
    ("TrainingStaircase", "num_heads", 13, "num_heads must be at most 12 to be drawn, got 13"),
    ("TrainingStaircase", "head_dim", 5, "head_dim must be one of 1, 2, 3, 4, 6, 8, 12, 16,"),
    ("TrainingStaircase", "num_lookups", 7, "num_lookups must be at most 6 to be drawn, got 7"),
    ("BugHunt", "level", 4, "level must be one of [1, 2, 3], got 4"),
    (
        "WriterAtWork",
        "head",
        "2.0",
        "head must be one of 0.0, 0.1, 0.2, 0.3, 1.0, 1.1, 1.2, 1.3, got",
    ),
    ("WriterAtWork", "temperature", 0.0, "temperature must be above 0 and finite, got 0.0"),
    ("MaskPainter", "allowed", [True], "allowed must hold T x T = 49 booleans, got 1"),
]


@pytest.fixture(scope="module")
def page():
    with browser() as chrome:
        yield chrome.new_page(viewport={"width": 1400, "height": 1000})


@pytest.mark.parametrize(("name", "trait", "value", "text"), WRONG)
def test_a_wrong_value_is_refused_and_the_one_before_stays(name, trait, value, text):
    view = EXAMPLES[name]()
    before = getattr(view, trait), view.finding(), view.png()
    with pytest.raises(ValueError, match=f"^{re.escape(text)}"):
        setattr(view, trait, value)
    with pytest.raises(TraitError), view.hold_trait_notifications():  # as a page sets it
        setattr(view, trait, value)
    assert (getattr(view, trait), view.finding(), view.png()) == before


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float64])
def test_numbers_that_are_none_are_refused(bad, dtype):
    good = torch.ones(3, 2, dtype=dtype)
    wrong = good.clone()
    wrong[1, 0] = bad
    for name, pair in (("q", (wrong, good)), ("k", (good, wrong))):
        with pytest.raises(ValueError, match=f"^{name} must hold finite numbers, got {bad}$"):
            widgets.HeadExplorer(["a", "b", "c"], *pair)
    with pytest.raises(ValueError, match="k must hold finite numbers"):
        widgets.MaskPainter(good, wrong, good)
    with pytest.raises(ValueError, match="weights must be"):
        widgets.DropoutDraws(wrong)
    maps, sources = wrong[:2].view(1, 1, 1, 2, 2), {"a": torch.zeros(1, 2)}
    with pytest.raises(ValueError, match="maps must hold weights from 0 to 1"):
        widgets.TrainingFilm([0], maps, [["a", "b"]], ["h"], {"a": [1.0]}, sources)
    rows = [{"num_heads": 1, "head_dim": 1, "scores": [bad]}]
    with pytest.raises(ValueError, match="scores must be numbers from 0 to 1"):
        widgets.HeadBudget(rows, "score", 1, num_heads=1, head_dim=1)


def test_a_cell_that_is_not_there_is_refused():
    for name in ("row", "column"):
        with pytest.raises(ValueError, match=f"{name} must be 0 to 9, got 10"):
            toy_explorer(**{name: 10})


def test_the_row_stays_in_a_sentence_that_shrinks():
    view = toy_explorer(row=7, column=9)
    view.length = 6
    assert (view.row, view.column) == (5, 5)
    view.sentence = "the dog"
    assert (view.length, view.row, view.column) == (2, 1, 1)
    view.sentence = "xyzzy"
    assert (view.length, view.row, view.weights().shape) == (0, 0, (1, 0, 0))
    assert view.png()
    view.sentence = "the dog slept"
    assert view.finding().startswith("Query 0, “the”, looks")


def test_heads_that_do_not_divide_are_refused():
    x = torch.ones(1, 2, 128)
    view = widgets.HeadExplorer(["a", "b"], x, x, resplit=True)
    with pytest.raises(ValueError, match="embed_dim=128 and num_heads=3"):
        view.num_heads = 3
    with pytest.raises(ValueError, match="num_heads must be at most 32 to be drawn, got 64"):
        view.num_heads = 64
    assert view.weights().shape == (1, 2, 2)


TEXTS = {
    "only unknown words": "xyzzy quux",
    "nothing": " , . ",
    "10,000 words": "the dog " * 5000,
    "10,000 unknown words": " ".join(f"word{n}" for n in range(10_000)),
    "5,000 letters": "the " + "x" * 5000,
    "other scripts": "the שלום مرحبا дом 猫 Straße",
    "markup": "the <!--<script> dog </script> is",
    "half a character": "the \ud83d dog",
}


@needs_browser
@pytest.mark.parametrize("text", TEXTS)
def test_python_and_the_page_agree_on_any_text(page, text):
    view = toy_explorer(row=7, column=1)
    controls = stage(page, view)
    assert controls[0]["kind"] == "text"
    view.sentence = TEXTS[text]
    (seen,) = play(page, view, [["move", 0, TEXTS[text]]])
    assert seen["sentence"] == view.finding()
    assert seen["problem"] == ""
    for trait in ("length", "row", "column"):
        assert seen["state"][trait] == getattr(view, trait)
    assert len(seen["sentence"]) < 500
    assert len(view.tokens) <= 128
    assert view.png()


@needs_browser
def test_equal_shares_have_no_winner(page):
    """Said alike by Python and the page, whichever keys share the first place."""
    rows = {
        (1, 1, 1, 1): "looks at 4 keys alike: 0.25. ",
        (5, 1, 5, 1): "looks most at keys 0 “a” and 2 “c” alike: ",
        (5, 5, 5, 1): "looks most at 3 keys alike: ",
        (1, 1, 1, 5): "looks most at key 3, “d”: ",
    }
    for scores, said in rows.items():
        q = torch.tensor([[1.0], [1.0], [1.0], [1.0]])
        view = widgets.HeadExplorer(list("abcd"), q, torch.tensor(scores).float()[:, None])
        host(page, view)
        assert f"Query 0, “a”, {said}" in view.finding()
        assert finding(page) == view.finding()
        view = widgets.MaskPainter(q, torch.tensor(scores).float()[:, None], q, list("abcd"))
        host(page, view)
        assert finding(page) == view.finding()
        assert ("alike" in view.finding()) == ("alike" in said)


def nasty_views() -> dict:
    length = len(NASTY)
    x = torch.randn(length, 4, generator=torch.Generator().manual_seed(0))
    weights = x.new_full((length, length), 1 / length)
    maps = weights.expand(1, 1, 1, -1, -1)
    places = {"a": torch.zeros(1, length)}
    return {
        "HeadExplorer": widgets.HeadExplorer(NASTY, x, x),
        "MaskPainter": widgets.MaskPainter(x, x, x, NASTY),
        "DropoutDraws": widgets.DropoutDraws(weights, NASTY),
        "TrainingFilm": widgets.TrainingFilm([0], maps, [NASTY], ["h"], {"a": [1.0]}, places),
    }


@needs_browser
@pytest.mark.parametrize("name", nasty_views())
def test_a_page_holds_any_token(page, tmp_path, name):
    view = nasty_views()[name]
    path = save_page(view, tmp_path / "view.html")
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(path.as_uri())
    page.wait_for_selector(".mha-finding:not(:empty)")
    assert finding(page).split() == " ".join(view.finding().split()).split()
    assert page.locator(".mha-problem").is_hidden()
    assert errors == []
    for canvas in page.locator("canvas[role]").all():
        assert 20 < canvas.bounding_box()["width"] < 1400
    assert page.evaluate("() => document.querySelectorAll('body > b, p > b b').length") == 0


def test_nothing_in_a_page_ends_its_script_early():
    text = "".join(NASTY)
    written = embed("view", {"words": NASTY, "q": b"12"}, b"", text)
    script = written.split('id="view">')[1].removesuffix("</script>")
    assert "<" not in script
    assert json.loads(script)["state"]["words"] == NASTY
    assert "<script>" not in written.split('src="')[0]
