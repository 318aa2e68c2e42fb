"""The head explorer compares two heads: Python against torch, the page against both."""

import re

import numpy as np
import pytest
import torch
from test_explorer_values import x
from view_charts import check_comparison
from view_host import axe_violations, finding, host, needs_browser, set_traits, wear_theme
from view_units import evaluate
from view_watch import play, stage

from mha_utils import attention_weights, widgets
from tools.browser.lab import browser
from tools.suite.comparing import same_text

DIFFERENCE = "({ compute }, _, model) => compute(model).difference"


@pytest.fixture(scope="module")
def page():
    with browser() as chrome:
        yield chrome.new_page(viewport={"width": 1400, "height": 1000})


def explorer(heads: int = 3, length: int = 6, **options) -> widgets.HeadExplorer:
    q, k = x(2, heads, length, 4)
    return widgets.HeadExplorer([f"w{i}" for i in range(length)], q, k, **options)


# ---- in Python ---------------------------------------------------------------------------


def test_difference_is_that_of_torch():
    view = explorer(head=2, other=1)
    q, k = x(2, 3, 6, 4)
    weights = attention_weights(q @ k.mT / 2)
    np.testing.assert_allclose(view.difference(), weights[2] - weights[1], atol=1e-6)
    view.other = 2
    assert not view.difference().any()


def test_fewer_heads_take_the_last_one_to_compare_with():
    view = explorer(resplit=True, other=2)
    view.num_heads = 2
    np.testing.assert_array_equal(view.difference(), view.weights()[0] - view.weights()[1])


def test_the_sentence_stays():
    assert explorer(other=1).finding() == explorer().finding()


def test_says_that_there_is_no_such_head():
    text = "^other must be 0 to 2, got 3$"
    with pytest.raises(ValueError, match=text):
        explorer(other=3)
    view = explorer()
    with pytest.raises(ValueError, match=text):
        view.other = 3
    assert view.other is None
    nothing = re.escape("there is nothing to compare with: set other to a head")
    with pytest.raises(ValueError, match=f"^{nothing}$"):
        view.difference()


# ---- in the page -------------------------------------------------------------------------


@needs_browser
@pytest.mark.parametrize("num_heads", [12, 3, 2, 1])
def test_the_page_finds_the_same_difference(num_heads):
    view = explorer(resplit=True, head=1, other=2, causal=True, temperature=0.7)
    view.num_heads = num_heads
    found = np.reshape(evaluate("head_explorer/state.js", DIFFERENCE, view=view), (6, 6))
    np.testing.assert_allclose(found, view.difference(), atol=1e-5)


@needs_browser
def test_the_list_brings_two_maps_and_takes_them_away(page):
    host(page, explorer())
    choice, pictures = page.get_by_label("compare with"), page.locator("canvas[role]")
    assert choice.locator("option").all_inner_texts() == ["none", "head 0", "head 1", "head 2"]
    for name, count, other in (("head 1", 3, 1), ("head 0", 3, 0), ("none", 2, None)):
        choice.select_option(name)
        finding(page)
        assert pictures.count() == count
        assert page.evaluate("() => window.model.get('other')") == other


@needs_browser
@pytest.mark.parametrize("width", [760, 1060])
def test_to_compare_makes_the_view_no_higher(page, width):
    page.set_viewport_size({"width": width, "height": 700})
    host(page, explorer())
    view, pictures = page.locator(".mha-view"), page.locator("canvas[role]")
    alone = view.bounding_box()["height"]
    set_traits(page, explorer(), other=1)
    assert view.bounding_box()["height"] <= alone
    assert len({picture.bounding_box()["y"] for picture in pictures.all()}) == 1, "side by side"
    set_traits(page, explorer(), other=None)
    assert view.bounding_box()["height"] == alone


@needs_browser
def test_the_list_is_worked_with_keys_and_follows_python(page):
    view = explorer()
    host(page, view)
    choice = page.get_by_label("compare with")
    choice.press("ArrowDown")
    choice.press("ArrowDown")
    assert page.evaluate("() => window.model.get('other')") == 1
    set_traits(page, view, other=2)
    assert choice.input_value() == "3"


@needs_browser
def test_the_chosen_cell_is_read_in_both_heads(page):
    view = explorer(other=1, names=["left", "middle", "right"], row=2)
    host(page, view)
    assert same_text(finding(page), view.finding())
    for key, row, column in (("ArrowRight", 2, 1), ("ArrowDown", 3, 1)):
        page.locator("canvas[role]").nth(2).press(key)
        finding(page)
        here, there = view.weights()[:2, row, column]
        text = f"Head left − head middle: {here:.3f} − {there:.3f} = {here - there:.3f}."
        assert page.get_by_text(text.replace("= -", "= −"), exact=True).count() == 1


@needs_browser
@pytest.mark.parametrize("values", [False, True])
def test_maps_show_the_weights_and_the_difference(page, values):
    view = explorer(other=1, v=x(3, 6, 2) if values else None)
    stage(page, view)
    for change in ([["nothing"]], [["trait", "head", 2]], [["trait", "head", 1]]):
        (seen,) = play(page, view, change)
        view.head = seen["state"]["head"]
        check_comparison(view, torch.tensor(view.weights()), seen["pictures"][4:6])


@needs_browser
def test_another_number_of_heads_is_listed(page):
    view = explorer(resplit=True, other=2)
    host(page, view)
    choice = page.get_by_label("compare with")
    for num_heads, place in ((2, "2"), (12, "3"), (1, "1")):
        set_traits(page, view, num_heads=num_heads)
        finding(page)
        assert choice.locator("option").count() == num_heads + 1
        assert choice.input_value() == place


@needs_browser
def test_a_single_head_has_nothing_to_compare_with(page):
    host(page, explorer(heads=1))
    assert page.get_by_label("compare with").count() == 0


@needs_browser
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 700, 1400])
def test_stays_accessible_and_inside(page, theme, width):
    page.set_viewport_size({"width": width, "height": 1000})
    view = explorer(other=1, v=x(3, 6, 4))
    host(page, view)
    wear_theme(page, view, theme)
    finding(page)
    assert axe_violations(page) == []
    right = "(node) => node.getBoundingClientRect().right"
    edge = page.locator(".mha-view").evaluate(right)
    nodes = page.locator(".mha-view *:not(.mha-scroll *)").all()
    assert all(node.evaluate(right) <= edge + 0.5 for node in nodes)
    page.set_viewport_size({"width": 1400, "height": 1000})
