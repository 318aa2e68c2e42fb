"""The output of a query in the page of the head explorer: its numbers are those of torch."""

import numpy as np
import pytest
import torch
from test_explorer_values import FEATURES, W_V, random_view, toy, words, x
from view_host import (
    axe_violations,
    finding,
    host,
    needs_browser,
    set_traits,
    table_texts,
    wear_theme,
)

from mha_utils import split_heads, theme, widgets
from tools.browser.lab import browser

pytestmark = needs_browser


@pytest.fixture(scope="module")
def page():
    with browser() as chrome:
        yield chrome.new_page(viewport={"width": 1400, "height": 1000})


def shown(page) -> tuple[list[str], np.ndarray]:
    """Names of the lines of the output's table, and their numbers: weight, then the columns."""
    finding(page)
    rows = page.get_by_role("region").locator("tr").all()[1:]
    cells = [row.locator("th, td").all_inner_texts() for row in rows]
    numbers = [[float(text.replace("−", "-")) for text in row[1:]] for row in cells]
    return [row[0] for row in cells], np.array(numbers)


def require_lines(page, view) -> None:
    """Every weight, product and sum on the screen is that of Python, to two decimals."""
    names, found = shown(page)
    share, values = view.weights()[view.head, view.row], view.values()[view.head]
    assert names == [*view.tokens, "sum = output"]
    lines = np.column_stack([share, share[:, None] * values])
    expected = np.vstack([lines, [1, *view.output()[view.head, view.row]]])
    np.testing.assert_allclose(found, expected, atol=0.005 + 1e-5)


def test_numbers_on_the_screen_are_those_of_torch(page):
    *_, view = random_view(3, 7)
    host(page, view)
    require_lines(page, view)
    for change in ({"row": 5}, {"head": 2}, {"causal": True}, {"temperature": 0.4}, {"length": 6}):
        set_traits(page, view, **change)
        require_lines(page, view)


def test_another_sentence_and_a_learned_word_have_outputs(page):
    view = toy("the cat sat", **FEATURES, feature_v=W_V)
    host(page, view)
    page.get_by_label("sentence", exact=True).fill("the big yak sat")
    page.get_by_label("alive", exact=True).last.check()
    view.sentence = "the big yak sat"
    for word, _ in view.learned:
        if word == page.evaluate("() => window.model.get('learned').at(-1)[0]"):
            view.learn(word, "alive")
    require_lines(page, view)


def test_of_many_keys_and_columns_the_largest_and_first_are_shown(page):
    *_, view = random_view(1, 40, dim=20, row=3, column=2)
    host(page, view)
    names, found = shown(page)
    share, output = view.weights()[0, 3], view.output()[0, 3]
    largest = sorted(np.argsort(-share)[:11])
    assert names == [*(f"w{j}" for j in largest), "29 more", "sum = output"]
    np.testing.assert_allclose(found[-1], [1, *output[:16]], atol=0.005 + 1e-5)
    rest = np.setdiff1d(np.arange(40), largest)
    expected = [share[rest].sum(), *(share[rest] @ view.values()[0, rest, :16])]
    np.testing.assert_allclose(found[-2], expected, atol=0.005 + 1e-5)
    largest = view.values()[0, :, :16]
    assert (
        page.locator(".mha-hint")
        .last.inner_text()
        .endswith(
            f"The largest value of all words is {np.abs(largest).max():.2f} in columns 0 to 15, "
            "which are shown, of 20."
        )
    )


def test_cut_anew_the_table_has_the_columns_of_its_head(page):
    given = [split_heads(rows, 3)[0] for rows in x(3, 1, 5, 12)]
    view = widgets.HeadExplorer(words(5), *given[:2], v=given[2], resplit=True, row=1)
    host(page, view)
    for num_heads in (2, 12, 1, 3):
        set_traits(page, view, num_heads=num_heads, head=num_heads - 1)
        require_lines(page, view)


@pytest.mark.parametrize("name", ["light", "dark"])
def test_cells_have_the_colours_of_signed_numbers(page, name):
    v = torch.tensor([[-2.0, 0.0], [1.0, 2.0]])
    host(page, widgets.HeadExplorer(["a", "b"], torch.zeros(2, 1), torch.zeros(2, 1), v=v))
    wear_theme(page, toy(), name)
    page.evaluate("(name) => document.body.setAttribute('data-theme', name)", name)
    numbers = shown(page)[1]
    np.testing.assert_allclose(numbers, [[0.5, -1, 0], [0.5, 0.5, 1], [1, -0.5, 1]])
    cells = page.get_by_role("region").locator("td[data-colour]").all()
    seen = [cell.evaluate("(node) => getComputedStyle(node).backgroundColor") for cell in cells]
    palette = theme.palette(theme.SIGNED if name == "light" else theme.SIGNED_DARK)
    expected = [f"rgb({', '.join(map(str, palette[n]))})" for n in (4, 8, 10, 12, 6, 12)]
    assert seen == expected
    assert axe_violations(page) == []


@pytest.mark.parametrize("width", [400, 700, 1400])
def test_the_table_stays_inside(page, width):
    page.set_viewport_size({"width": width, "height": 1000})
    *_, view = random_view(2, 12, dim=16)
    host(page, view)
    wear_theme(page, view, "light")
    finding(page)
    right = "(node) => node.getBoundingClientRect().right"
    edge = page.locator(".mha-view").evaluate(right)
    nodes = page.locator(".mha-view *:not(.mha-scroll *)").all()
    assert all(node.evaluate(right) <= edge + 0.5 for node in nodes)
    page.set_viewport_size({"width": 1400, "height": 1000})


def test_without_values_there_is_no_table_of_them(page):
    host(page, toy(v=None))
    assert page.get_by_role("region").count() == 0
    assert len(table_texts(page)) > 0


def test_an_empty_sentence_has_no_output(page):
    view = toy()
    host(page, view)
    set_traits(page, view, sentence="")
    finding(page)
    assert not page.get_by_role("region").is_visible()
