"""The heads explorer in real Chromium: heads cut anew, a locked row, long sequences."""

import numpy as np
import pytest
import torch
from helpers import toy_explorer
from test_data import WORDS
from view_host import finding, host, needs_browser, pixels, set_traits, wear_theme
from view_units import evaluate

from mha_utils import attention_scores, attention_weights, causal_mask, split_heads, widgets
from tools.browser.lab import browser
from tools.suite.comparing import same_text

pytestmark = needs_browser
STATE = "head_explorer/state.js"
WEIGHTS = """({ compute }, numHeads, model) => {
  const { weightsOf } = compute(model);
  return Array.from({ length: numHeads }, (_, h) => weightsOf(h));
}"""


@pytest.fixture(scope="module")
def page():
    with browser() as chrome:
        yield chrome.new_page(viewport={"width": 1400, "height": 1000})


def resplit_view(
    embed_dim: int, num_heads: int, length: int = 9, seed: int = 0, **options
) -> tuple[torch.Tensor, torch.Tensor, widgets.HeadExplorer]:
    g = torch.Generator().manual_seed(seed)
    q, k = torch.randn(2, 1, length, embed_dim, generator=g)
    heads = (split_heads(x, num_heads)[0] for x in (q, k))
    words = [f"w{i}" for i in range(length)]
    return q, k, widgets.HeadExplorer(words, *heads, resplit=True, **options)


@pytest.mark.parametrize("text", WORDS, ids=ascii)
def test_the_page_finds_the_words_that_python_finds(text):
    found = evaluate("head_explorer/tokens.js", "({ wordsOf }, text) => wordsOf(text)", text)
    assert found == WORDS[text].split()


@pytest.mark.parametrize("width", [400, 1060])
def test_many_heads_scroll_in_a_box_of_their_own_which_shows_the_chosen_one(page, width):
    page.set_viewport_size({"width": width, "height": 500})
    q, k = torch.randn(2, 72, 9, 3, generator=torch.Generator().manual_seed(0))
    view = widgets.HeadExplorer([f"w{i}" for i in range(9)], q, k, head=71)
    host(page, view)
    box, radios = page.locator(".mha-heads"), page.locator("[role=radio]")
    assert box.bounding_box()["height"] < 230
    for head in (71, 0, 40):
        set_traits(page, view, head=head)
        inside, chosen = box.bounding_box(), radios.nth(head).bounding_box()
        assert inside["y"] <= chosen["y"]
        assert chosen["y"] + chosen["height"] <= inside["y"] + inside["height"] + 1
        assert page.evaluate("scrollY") == 0, "the page stays where it is"
    page.set_viewport_size({"width": 1400, "height": 1000})


def test_a_shorter_finding_moves_nothing_below_it(page):
    page.set_viewport_size({"width": 400, "height": 900})
    words = ["a", "word that is so long that the sentence above needs another line"]
    view = widgets.HeadExplorer(words, *torch.eye(2).repeat(2, 1, 1, 1))
    host(page, view)
    tops = []
    for row in (0, 1, 0, 1):
        set_traits(page, view, row=row)
        tops.append(page.locator(".mha-panels").bounding_box()["y"])
    assert tops[0] < tops[1] == tops[2] == tops[3]
    page.set_viewport_size({"width": 1400, "height": 1000})
    set_traits(page, view, row=0)
    assert page.locator(".mha-panels").bounding_box()["y"] < tops[0], "a wider page needs less"


@pytest.mark.parametrize(("embed_dim", "given"), [(12, 3), (16, 1), (30, 30), (7, 7)])
def test_every_cut_is_that_of_split_heads(page, embed_dim, given):
    length = 6
    q, k, view = resplit_view(embed_dim, given, length, seed=embed_dim)
    host(page, view)
    cuts = evaluate(STATE, "({ splits }, _, model) => splits(model)", view=view)
    assert cuts == [n for n in range(1, embed_dim + 1) if embed_dim % n == 0]
    for num_heads, causal, temperature in zip(cuts, [False, True] * 4, (0.4, 1.0, 2.5, 1.0) * 2):
        set_traits(page, view, num_heads=num_heads, causal=causal, temperature=temperature)
        found = evaluate(STATE, WEIGHTS, num_heads, view)
        scores = attention_scores(split_heads(q, num_heads), split_heads(k, num_heads))
        mask = causal_mask(length) if causal else None
        expected = attention_weights(scores / temperature, mask)[0]
        np.testing.assert_allclose(np.reshape(found, expected.shape), expected, atol=1e-5)
        assert same_text(finding(page), view.finding())


@pytest.mark.parametrize(("given", "cuts"), [(1, 6), (64, 7)])
def test_no_more_cuts_than_32_or_as_were_given(given, cuts):
    _, _, view = resplit_view(64, given)
    expected = [2**n for n in range(cuts)]
    assert evaluate(STATE, "({ splits }, _, model) => splits(model)", view=view) == expected


def test_the_slider_knows_only_divisors_and_the_small_maps_follow(page):
    _, _, view = resplit_view(12, 3)
    view.head = 2
    host(page, view)
    finding(page)
    slider = page.get_by_label("heads", exact=True)
    seen = []
    slider.press("Home")
    for _ in range(6):
        text = finding(page)
        count = page.evaluate("() => window.model.get('num_heads')")
        assert page.locator("[role=radio]").count() == count
        assert page.locator("[role=radio][aria-checked=true]").count() == 1
        assert text.startswith(f"Head {min(2, count - 1)} of {count}, Dh = {12 // count}: query 0")
        seen.append(count)
        slider.press("ArrowRight")
    assert seen == [1, 2, 3, 4, 6, 12]
    assert slider.get_attribute("aria-valuetext") == "12"


def test_another_cut_gives_another_map_and_the_first_one_comes_back(page):
    _, _, view = resplit_view(12, 3)
    host(page, view)
    finding(page)
    maps = page.locator("canvas[role]").first
    before = pixels(maps)
    for num_heads, same in ((4, False), (3, True)):
        page.evaluate("(n) => window.model.set('num_heads', n)", num_heads)
        finding(page)
        assert (pixels(maps) == before) == same


def test_the_numbers_behind_a_cell_are_those_of_the_shown_head(page):
    q, k, view = resplit_view(12, 3, row=4, column=2)
    view.head = 1
    host(page, view)
    for num_heads in (3, 6):
        page.evaluate("(n) => window.model.set('num_heads', n)", num_heads)
        finding(page)
        product = (split_heads(q, num_heads)[0, 1, 4] @ split_heads(k, num_heads)[0, 1, 2]).item()
        shown = page.locator("tr.mha-total").first.inner_text().replace("−", "-").split()
        assert float(shown[-1]) == pytest.approx(product, abs=6e-4)


def test_without_resplit_there_is_no_slider_for_heads(page):
    host(page, toy_explorer())
    assert page.get_by_label("heads", exact=True).count() == 0


# ---- the locked row --------------------------------------------------------------------


def hover(page, row: int, column: int) -> None:
    canvas = page.locator("canvas[role]").first
    place = canvas.evaluate("(node) => node.place")
    box = canvas.bounding_box()
    x, y = (place["left"] + (n + 0.5) * place["cell"] for n in (column, row))
    page.mouse.move(box["x"] + x, box["y"] + y)


def show_toy(page, **options) -> None:
    view = toy_explorer(row=7, column=1, **options)
    host(page, view)
    wear_theme(page, view, "light")
    finding(page)


def test_moving_over_the_map_chooses_until_a_click_locks_the_row(page):
    show_toy(page)
    hover(page, 2, 3)
    assert finding(page).startswith("Query 2, “sat”, looks")
    page.mouse.down()
    page.mouse.up()
    assert finding(page).startswith("Query 2, “sat” (locked), looks")
    hover(page, 9, 5)
    assert finding(page).startswith("Query 2, “sat” (locked), looks")
    assert "Query “sat” meets key “mat”" in page.locator("table").inner_text()
    page.mouse.down()
    page.mouse.up()
    assert finding(page).startswith("Query 9, “tired”, looks")
    hover(page, 0, 0)
    assert finding(page).startswith("Query 0, “the”, looks")


def test_enter_and_the_checkbox_lock_too(page):
    show_toy(page)
    canvas = page.locator("canvas[role]").first
    canvas.press("Enter")
    assert page.get_by_label("lock the row").is_checked()
    for key in ("ArrowUp", "ArrowRight"):
        canvas.press(key)
    assert finding(page).startswith("Query 7, “it” (locked), looks")
    assert "Query “it” meets key “sat”" in page.locator("table").inner_text()
    page.get_by_label("lock the row").uncheck()
    canvas.press("ArrowUp")
    assert finding(page).startswith("Query 6, “because”, looks")


def test_a_locked_row_stays_from_head_to_head(page):
    _, _, view = resplit_view(12, 3, row=5, locked=True)
    host(page, view)
    for num_heads in (1, 12, 4):
        page.evaluate("(n) => window.model.set('num_heads', n)", num_heads)
        assert "query 5, “w5” (locked)" in finding(page)


# ---- up to 128 tokens ------------------------------------------------------------------


def test_128_tokens_can_be_shown_and_shortened(page):
    _, _, view = resplit_view(24, 12, length=128)
    host(page, view)
    length = page.get_by_label("tokens", exact=True)
    assert length.get_attribute("max") == "128"
    finding(page)
    canvas = page.locator("canvas[role]").first
    for _ in range(200):
        canvas.press("ArrowDown", no_wait_after=True)
    assert "query 127, “w127”" in finding(page)
    length.press("Home")
    for _ in range(4):
        length.press("ArrowRight")
    assert "query 0, “w0”" in finding(page), "a shorter sentence takes the row along"
    set_traits(page, view, row=127, length=5)
    assert same_text(finding(page), view.finding())


def test_heads_are_called_by_their_names(page):
    x = torch.randn(3, 4, 2, generator=torch.Generator().manual_seed(0))
    names = ["0.0", "0.1", "1.0"]
    view = widgets.HeadExplorer(["a", "b", "c", "d"], x, x.flip(0), names=names, head=2)
    host(page, view)
    assert same_text(finding(page), view.finding())
    assert finding(page).startswith("Head 1.0: query 0")
    assert page.get_by_role("radio").all_inner_texts() == [f"head {name}" for name in names]
    page.get_by_role("radio", name="head 0.1").click()
    view.head = 1
    assert same_text(finding(page), view.finding())


def test_half_precision_is_read_to_the_last_bit(page):
    x = torch.randn(2, 5, 3, generator=torch.Generator().manual_seed(0)).half()
    x[0, 0] = torch.tensor([6e-8, -65504.0, 0.0])  # the smallest, the largest, nothing
    view = widgets.HeadExplorer([f"w{i}" for i in range(5)], x, x)
    host(page, view)
    numbers = """({ numbers }, _, model) => numbers(model.get("q"), model.get("shape"))"""
    read = evaluate(STATE, numbers, view=view)
    assert read == x.flatten().tolist()
    assert same_text(finding(page), view.finding())
