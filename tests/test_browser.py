"""The first two live views in real Chromium: their arithmetic and their keys."""

import numpy as np
import pytest
import torch
from helpers import toy_explorer
from view_host import (
    finding,
    host,
    needs_browser,
)
from view_units import evaluate

from mha_utils import attention_scores, attention_weights, causal_mask, widgets
from tools.browser.lab import browser
from tools.suite.comparing import same_text

pytestmark = needs_browser


@pytest.fixture(scope="module")
def page():
    with browser() as chrome:
        yield chrome.new_page(viewport={"width": 1400, "height": 1000})


@pytest.mark.parametrize("seed", range(4))
def test_javascript_computes_what_torch_computes(seed):
    rng = np.random.default_rng(seed)
    num_words, length, head_dim = (int(n) for n in rng.integers([9, 1, 1], [40, 33, 65]))
    temperature, causal = float(rng.uniform(0.1, 4)), bool(seed % 2)
    q, k = torch.tensor(rng.normal(size=(2, num_words, head_dim)), dtype=torch.float32)
    ids = rng.integers(0, num_words, size=length)
    view = widgets.HeadExplorer([f"w{i}" for i in range(num_words)], q, k, "w0")
    view.sentence = " ".join(f"w{i}" for i in ids)
    view.length, view.temperature, view.causal = length, temperature, causal
    compute = "({ compute }, _, model) => compute(model)"
    found = evaluate("head_explorer/state.js", compute, view=view)
    scores, weights = found["scores"], found["weights"]
    expected = attention_scores(q[ids], k[ids])
    mask = causal_mask(length) if causal else None
    np.testing.assert_allclose(np.reshape(scores, (length, length)), expected, atol=1e-5)
    expected = attention_weights(expected / temperature, mask)
    np.testing.assert_allclose(np.reshape(weights, (length, length)), expected, atol=1e-5)


def test_javascript_and_python_say_the_same_sentence(page):
    rng = np.random.default_rng(0)
    q, k = torch.tensor(rng.normal(size=(2, 3, 12, 5)), dtype=torch.float32)
    view = widgets.HeadExplorer([f"w{i}" for i in range(12)], q, k)
    host(page, view)
    for _ in range(12):
        change = {
            "head": int(rng.integers(3)),
            "length": int(rng.integers(1, 13)),
            "row": int(rng.integers(12)),
            "causal": bool(rng.integers(2)),
            "temperature": float(rng.integers(1, 40)) / 10,
        }
        for name, value in change.items():
            setattr(view, name, value)
            page.evaluate("([n, v]) => window.model.set(n, v)", [name, value])
        assert same_text(finding(page), view.finding()), change


def test_shapes_are_said_alike_and_heads_always_divide(page):
    view = widgets.ShapeLetters()
    host(page, view)
    for name, value in (("batch_size", 3), ("seq_len", 7), ("num_heads", 6), ("embed_dim", 16)):
        page.evaluate("([n, v]) => window.model.set(n, v)", [name, value])
    view.batch_size, view.seq_len, view.embed_dim, view.num_heads = 3, 7, 16, 4
    assert same_text(finding(page), view.finding())


def test_a_typed_sentence_is_computed_and_unknown_words_are_named(page):
    view = toy_explorer()
    host(page, view)
    page.fill(".mha-view input[type=text]", "the dog slept xyzzy because she was happy")
    page.focus(".mha-view canvas >> nth=0")
    text = finding(page)
    assert text.endswith("Not in the vocabulary: xyzzy.")
    assert page.evaluate("() => window.model.get('length')") == 7
    page.fill(".mha-view input[type=text]", "")
    assert finding(page).startswith("Write a sentence")
    assert page.locator(".mha-problem").is_hidden()


def test_an_error_is_shown_in_the_view(page):
    host(page, toy_explorer())
    page.evaluate("() => { window.model.set('shape', null); window.model.set('row', 1); }")
    page.wait_for_selector(".mha-problem:not([hidden])")
    assert page.locator(".mha-problem").inner_text().startswith("This view failed: ")
    host(page, toy_explorer())
    page.evaluate("() => window.model.set('problem', 'ValueError: said by Python')")
    assert "said by Python" in page.locator(".mha-problem").inner_text()


def test_python_hears_of_moves_as_they_are_made_once_a_frame(page):
    host(page, toy_explorer())
    move = """(rows) => {
      window.saves = 0;
      const slider = document.querySelectorAll("input[type=range]")[1];
      for (const value of rows) {
        slider.value = value;
        slider.dispatchEvent(new Event("input"));
      }
    }"""
    at_once = page.evaluate(f"(rows) => {{ ({move})(rows); return window.saves; }}", [0.5, 1.5, 2])
    assert page.evaluate("() => window.model.get('temperature')") == pytest.approx(2)
    assert at_once == 0
    page.wait_for_function("() => window.saves === 1", timeout=2000)
    page.wait_for_timeout(100)
    assert page.evaluate("() => window.saves") == 1
    page.evaluate(move, [1])
    page.wait_for_function("() => window.saves === 1", timeout=2000)


@pytest.mark.parametrize("make", [toy_explorer, widgets.ShapeLetters], ids=["heads", "shapes"])
def test_a_removed_view_leaves_nothing_behind(page, make):
    host(page, make())
    assert page.evaluate("() => window.model.listeners()") > 3
    page.evaluate("() => window.stop()")
    assert page.evaluate("() => window.model.listeners()") == 0


def test_arrow_keys_and_pointer_choose_a_cell(page):
    host(page, toy_explorer(row=7, column=1))
    page.focus(".mha-view canvas >> nth=0")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert finding(page).startswith("Query 8, “was”")
    assert "Query “was” meets key “sat”" in page.locator("table").inner_text()
    page.mouse.click(*corner_of(page, 0.99, 0.99))
    assert finding(page).startswith("Query 9, “tired”")
    assert "Query “tired” meets key “tired”" in page.locator("table").inner_text()


def corner_of(page, x: float, y: float) -> tuple[float, float]:
    box = page.locator(".mha-view canvas").first.bounding_box()
    return box["x"] + x * box["width"], box["y"] + y * box["height"]


def test_numbers_behind_a_cell_are_those_of_the_chapter(page):
    host(page, toy_explorer(row=7, column=1))
    table = page.locator("table").inner_text()
    for number in ("2 × 2", "8", "÷ √4 = score", "4", "0.7614"):
        assert number in table


def test_heads_are_a_radio_group_with_one_tab_stop(page):
    q, k = torch.randn(2, 4, 6, 3, generator=torch.Generator().manual_seed(0))
    host(page, widgets.HeadExplorer([f"w{i}" for i in range(6)], q, k))
    finding(page)
    radios = page.locator("[role=radio]")
    assert radios.count() == 4
    assert page.locator("[role=radio][tabindex='0']").count() == 1
    radios.first.focus()
    page.keyboard.press("ArrowRight")
    assert finding(page).startswith("Head 1: query")
    assert page.evaluate("() => document.activeElement.textContent") == "head 1"


def test_the_other_heads_stay_where_they_are_when_one_is_chosen(page):
    q, k = torch.randn(2, 4, 6, 3, generator=torch.Generator().manual_seed(0))
    host(page, widgets.HeadExplorer([f"w{i}" for i in range(6)], q, k, names=["head 10.11"] * 4))
    finding(page)
    radios = page.locator("[role=radio]")
    places = [radio.bounding_box() for radio in radios.all()]
    radios.nth(2).click()
    finding(page)
    assert [radio.bounding_box() for radio in radios.all()] == places
