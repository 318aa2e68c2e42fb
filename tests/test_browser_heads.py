"""The head budget and the training film in real Chromium, against Python."""

import numpy as np
import pytest
import torch
from view_host import finding, host, needs_browser, pixels, set_traits, wear_theme
from view_units import evaluate

from mha_utils import widgets
from mha_utils.widgets.examples import EXAMPLES
from tools.browser.lab import browser
from tools.suite.comparing import same_text

pytestmark = needs_browser

toy_budget, toy_film = EXAMPLES["HeadBudget"], EXAMPLES["TrainingFilm"]


@pytest.fixture(scope="module")
def page():
    with browser() as chrome:
        yield chrome.new_page(viewport={"width": 1400, "height": 1000})


# ---- the head budget -------------------------------------------------------------------


def test_budget_says_in_javascript_what_python_says(page):
    view = toy_budget()
    host(page, view)
    for heads in view.heads:
        for width in view.widths:
            set_traits(page, view, num_heads=heads, head_dim=width)
            assert same_text(finding(page), view.finding())
    assert finding(page) == "12 heads of width 12 (144 columns): not tried."


def test_budget_without_theory_speaks_of_none(page):
    rows = [{"num_heads": 1, "head_dim": 4, "scores": [0.25, 0.5]}]
    view = widgets.HeadBudget(rows, "right", 4, num_heads=1, head_dim=4)
    host(page, view)
    said = "1 head of width 4 (4 columns): right 0.375, from 0.250 to 0.500 over 2 seeds."
    assert finding(page) == view.finding() == said


def test_budget_is_walked_with_arrow_keys_and_stops_at_the_edge(page):
    view = toy_budget()
    host(page, view)
    grid = page.locator("canvas[role]").first
    for key, trait, expected in (
        ("ArrowRight", "num_heads", [6, 8, 12, 12]),
        ("ArrowLeft", "num_heads", [8, 6, 4, 3, 2, 1, 1]),
        ("ArrowUp", "head_dim", [8, 12, 12]),
        ("ArrowDown", "head_dim", [8, 6, 4, 3, 2, 1, 1]),
    ):
        for value in expected:
            grid.press(key)
            assert page.evaluate("(name) => window.model.get(name)", trait) == value


def test_budget_is_chosen_with_the_pointer(page):
    view = toy_budget()
    host(page, view)
    wear_theme(page, view, "light")
    finding(page)
    grid = page.locator("canvas[role]").first
    place, box = grid.evaluate("(node) => node.place"), grid.bounding_box()
    row, column = view.widths[::-1].index(3), view.heads.index(8)
    x = box["x"] + place["left"] + (column + 0.5) * place["cell"]
    y = box["y"] + place["top"] + (row + 0.5) * place["cell"]
    page.mouse.click(x, y)
    assert finding(page).startswith("8 heads of width 3 (24 columns)")


# ---- the training film -----------------------------------------------------------------


def random_film(seed: int) -> widgets.TrainingFilm:
    g = torch.Generator().manual_seed(seed)
    maps = torch.randn(4, 2, 3, 5, 5, generator=g).mul(2).softmax(dim=-1)
    places = torch.randint(-1, 5, (2, 2, 5), generator=g)
    places[..., 0] = 2  # every relation is asked somewhere
    return widgets.TrainingFilm(
        [0, 7, 20, 30],
        maps,
        labels=[list("abcde"), list("edcba")],
        heads=["head 0", "head 1", "head 2"],
        curves={"one": torch.rand(4, generator=g).tolist(), "two": [0.0, 0.25, 0.5, 1.0]},
        sources={"one": places[0], "two": places[1]},
    )


@pytest.mark.parametrize("seed", range(3))
def test_film_says_in_javascript_what_python_says(page, seed):
    view = random_film(seed)
    host(page, view)
    for frame in range(4):
        for example in range(2):
            set_traits(page, view, frame=frame, example=example)
            assert same_text(finding(page), view.finding())


def test_film_shows_the_weights_of_the_step():
    view = random_film(5)
    view.frame, view.example = 1, 1
    read = """({ read }, _, model) => {
      const raw = model.get("maps");
      return read(model, new Uint8Array(raw.buffer, raw.byteOffset)).weights;
    }"""
    found = np.array(evaluate("training_film/state.js", read, view=view)).reshape(3, 5, 5)
    np.testing.assert_allclose(found, view.weights(), atol=1e-9)


def test_film_is_stepped_with_arrow_keys_and_dragged_on_the_curves(page):
    view = toy_film()
    host(page, view)
    wear_theme(page, view, "light")
    maps, curves = page.locator("canvas[role]").all()
    for key, expected in (("ArrowLeft", [2, 1, 0, 0]), ("ArrowRight", [1, 2, 3, 3])):
        for frame in expected:
            maps.press(key)
            assert page.evaluate("() => window.model.get('frame')") == frame
    finding(page)
    box = curves.bounding_box()
    page.mouse.click(box["x"] + 45, box["y"] + 60)
    assert finding(page).startswith("Step 0.")


def test_marks_can_be_taken_away(page):
    host(page, toy_film())
    maps = page.locator("canvas[role]").first
    before = pixels(maps)
    page.get_by_label("mark the answers").uncheck()
    finding(page)
    assert pixels(maps) != before
