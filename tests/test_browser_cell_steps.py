"""One cell, step by step, in real Chromium, against torch and Python."""

import numpy as np
import pytest
import torch
from test_cell_steps import random_steps
from view_host import finding, host, needs_browser, pixels, set_traits, table_texts, wear_theme
from view_units import evaluate

from mha_utils import attention, attention_scores, causal_mask, widgets
from mha_utils.widgets.examples import EXAMPLES
from tools.browser.lab import browser
from tools.suite.comparing import same_text

pytestmark = needs_browser
NUMBERS, COMPUTE = "cell_steps/numbers.js", "({ compute }, _, model) => compute(model)"
toy_steps = EXAMPLES["CellSteps"]


@pytest.fixture(scope="module")
def page():
    with browser() as chrome:
        yield chrome.new_page(viewport={"width": 1400, "height": 1000})


@pytest.mark.parametrize("seed", range(8))
def test_javascript_computes_what_torch_computes(seed):
    view = random_steps(seed)
    found = evaluate(NUMBERS, COMPUTE, view=view)
    q, k, v = (
        torch.tensor(np.frombuffer(sent, np.float32)).view(len(view.words), -1)
        for sent in (view.q, view.k, view.v)
    )
    i, j = view.query, view.key
    mask = torch.tensor(view.allowed).view(len(q), len(q))
    mask = mask & causal_mask(len(q)) if seed % 2 else mask
    out, weights = attention(q, k, v, mask)
    scores = attention_scores(q, k)[i]
    expected = {
        "products": q[i] * k[j],
        "scores": scores,
        "masked": scores.masked_fill(~mask[i], -torch.inf),
        "weights": weights[i],
        "parts": weights[i][:, None] * v,
        "out": out[i],
        "map": q @ k.T,
    }
    for name, numbers in expected.items():
        np.testing.assert_allclose(found[name], numbers, atol=1e-5, err_msg=name)
    view.step = 6
    found = evaluate(NUMBERS, COMPUTE, view=view)
    np.testing.assert_allclose(found["map"], weights, atol=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_javascript_says_and_writes_what_python_does(page, seed):
    rng = np.random.default_rng(seed)
    view = random_steps(seed)
    host(page, view)
    for step in range(1, 7):
        place = {
            "query": int(rng.integers(len(view.words))),
            "key": int(rng.integers(len(view.words))),
        }
        set_traits(page, view, step=step, is_causal=bool(rng.integers(2)), **place)
        assert same_text(finding(page), view.finding())
        assert without_gaps(table_texts(page)) == without_gaps(view.table())


def without_gaps(table: list) -> list:
    """A result stands in a line of its own in the page."""
    return [[text.replace(" ", "") for text in row] for row in table]


def test_the_toy_head_is_written_alike_in_all_its_cells(page):
    view = toy_steps()
    host(page, view)
    for query in range(10):
        set_traits(page, view, query=query, key=(3 * query) % 10, step=query % 6 + 1)
        assert same_text(finding(page), view.finding())
        assert without_gaps(table_texts(page)) == without_gaps(view.table())


def test_buttons_and_slider_step_forward_and_back(page):
    host(page, toy_steps())
    forward, back = (page.get_by_role("button", name=name) for name in ("next", "previous"))
    for step in (2, 3):
        forward.click()
        assert finding(page).startswith(f"Step {step} of 6")
    back.focus()
    page.keyboard.press("Enter")
    assert finding(page).startswith("Step 2 of 6, sum.")
    slider = page.get_by_label("step", exact=True)
    slider.press("End")
    forward.click()
    assert finding(page).startswith("Step 6 of 6, times v.")
    slider.press("Home")
    back.click()
    assert finding(page).startswith("Step 1 of 6, products.")
    assert slider.get_attribute("aria-valuetext") == "1 · products"


def test_numbers_can_be_selected_with_the_mouse(page):
    view = toy_steps()
    host(page, view)
    wear_theme(page, view, "light")
    page.get_by_label("step", exact=True).press("End")
    finding(page)
    box = page.locator("tr:visible").last.bounding_box()
    page.mouse.move(box["x"] + 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 2, box["y"] + box["height"] / 2, steps=5)
    page.mouse.up()
    selected = page.evaluate("() => getSelection().toString()")
    assert selected.split()[-3:] == ["0.8645", "0.7614", "0.0279"]


def test_arrow_keys_lists_and_pointer_choose_the_cell(page):
    host(page, toy_steps())
    canvas = page.locator("canvas[role]")
    for key in ("ArrowUp", "ArrowRight"):
        canvas.press(key)
    assert "“because” · “sat”" in finding(page)
    for _ in range(12):
        canvas.press("ArrowDown")
        canvas.press("ArrowLeft")
    assert "“tired” · “the”" in finding(page)
    page.get_by_label("query", exact=True).select_option("1 cat")
    page.get_by_label("key", exact=True).select_option("7 it")
    assert "“cat” · “it”" in finding(page)
    canvas.click(position=centre(canvas, 5, 8))
    assert "“mat” · “was”" in finding(page)
    canvas.click(position=centre(canvas, -1, 3))
    assert "“mat” · “was”" in finding(page), "a word is no cell"


def centre(canvas, row: int, column: int) -> dict:
    place = canvas.evaluate("(node) => node.place")
    x, y = ((n + 0.5) * place["cell"] for n in (column, row))
    return {"x": place["left"] + x, "y": place["top"] + y}


def test_a_drag_moves_the_cell(page):
    view = toy_steps()
    host(page, view)
    wear_theme(page, view, "light")
    canvas = page.locator("canvas[role]")
    box = canvas.bounding_box()
    for column, act in ((0, page.mouse.down), (6, page.mouse.up)):
        at = centre(canvas, 2, column)
        page.mouse.move(box["x"] + at["x"], box["y"] + at["y"], steps=4)
        act()
    assert "“sat” · “because”" in finding(page)


def test_causal_forbids_the_future_in_map_table_and_sentence(page):
    view = toy_steps()
    host(page, view)
    set_traits(page, view, query=1, key=7, step=4)
    finding(page)
    canvas = page.locator("canvas[role]")
    before = pixels(canvas)
    page.get_by_label("causal").check()
    assert "forbidden, so it becomes −∞. 2 of 10 keys are allowed." in finding(page)
    assert [row[2] for row in table_texts(page)[1:]] == ["0", "0"] + ["−∞"] * 8
    assert pixels(canvas) != before


def test_the_map_has_the_colours_of_the_still_picture(page):
    view = toy_steps()
    host(page, view)
    canvas = page.locator("canvas[role]")
    for step in (1, 3, 5):
        set_traits(page, view, step=step)
        finding(page)
        for row, column in ((7, 5), (2, 1), (9, 1), (0, 0)):
            expected = [int(view._cell(row, column).colour[i : i + 2], 16) for i in (1, 3, 5)]
            np.testing.assert_allclose(colour_in(canvas, row, column), expected, atol=8)


def colour_in(canvas, row: int, column: int) -> list[int]:
    """Near the left edge of a cell, beside its number."""
    return canvas.evaluate(
        """(node, [row, column]) => {
          const { left, top, cell } = node.place;
          const scale = devicePixelRatio;
          const [x, y] = [left + (column + 0.1) * cell, top + (row + 0.5) * cell];
          const pen = node.getContext("2d");
          return Array.from(pen.getImageData(x * scale, y * scale, 1, 1).data.slice(0, 3));
        }""",
        [row, column],
    )


def test_the_chosen_key_is_marked_in_the_table(page):
    host(page, toy_steps())
    for step in (4, 5, 6):
        page.evaluate("(step) => window.model.set('step', step)", step)
        finding(page)
        assert page.locator("tr.mha-chosen:visible th").all_inner_texts() == ["cat"]
    page.evaluate("() => window.model.set('key', 5)")
    assert "“mat”" in finding(page)
    assert page.locator("tr.mha-chosen:visible th").all_inner_texts() == ["mat"]


def test_what_stands_below_stays_where_it_is(page):
    wide = torch.randn(3, 5, 16, generator=torch.Generator().manual_seed(0))
    view = widgets.CellSteps(list("abcde"), *wide)
    host(page, view)
    wear_theme(page, view, "light")
    heights = set()
    for step in range(1, 7):
        page.evaluate("(step) => window.model.set('step', step)", step)
        finding(page)
        heights.add(page.locator(".mha-view").bounding_box()["height"])
    assert len(heights) == 1
