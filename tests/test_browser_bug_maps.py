"""The pictures of the bug hunt in real Chromium, against Python."""

import numpy as np
import pytest
from view_host import finding, host, needs_browser, pixels, set_traits
from view_hunt import accuse, name_of, press, trait

from mha_utils.widgets.examples import EXAMPLES
from tools.browser.lab import browser

pytestmark = needs_browser

make_hunt = EXAMPLES["BugHunt"]


@pytest.fixture(scope="module")
def page():
    with browser() as chrome:
        yield chrome.new_page(viewport={"width": 1400, "height": 1000})


@pytest.fixture
def game(page):
    view = make_hunt()
    host(page, view)
    return view


def test_maps_that_cost_are_hidden_until_paid(page, game):
    right, suspect = page.locator("canvas[role]").all()
    press(page, "weights, head 2")
    assert "nothing asked yet" in finding(page)
    assert trait(page, "picture") == 2
    press(page, "leak map?")
    assert "1 question asked" in finding(page)
    shown = pixels(suspect)
    set_traits(page, game, suspect=2)
    finding(page)
    assert pixels(suspect) != shown
    assert "Not asked yet: press “leak map?”." in suspect.get_attribute("aria-label")
    assert "Row" not in suspect.get_attribute("aria-label")
    hidden = pixels(suspect)
    set_traits(page, game, suspect=3)
    finding(page)
    assert pixels(suspect) == hidden, "what nobody has asked for looks the same everywhere"
    assert "Row “cat”" in right.get_attribute("aria-label")
    accuse(page, name_of(game))
    finding(page)
    assert "Row “cat”" in suspect.get_attribute("aria-label")
    press(page, "leak map with padding")
    assert "Found 1 of 31: 1 question," in finding(page), "who is found costs nothing more"


def test_a_picture_is_drawn_as_python_knows_it(page, game):
    """The numbers in the label are those of the map; what is new and what differs is counted."""
    kinds = set()
    for n, (title, *_) in enumerate(game.pictures):
        for number in (1, 5, 9):
            set_traits(page, game, suspect=number, picture=n)
            question = [game._piece, len(game.probes) + n]
            set_traits(page, game, asked=[question])
            finding(page)
            right, label = (
                canvas.get_attribute("aria-label") for canvas in page.locator("canvas[role]").all()
            )
            assert label.startswith(f"Suspect {number}, {title}.")
            said = [row.split(": ")[1] for row in label.split("Row ")[1:]]
            numbers = [[float(x) for x in row.strip("; ").split()] for row in said]
            expected = game._map(game._piece)
            digit = np.where(np.abs(expected) < 9.995, 0.0051, 0.51)
            assert (np.abs(numbers - expected) < digit).all(), title
            extra = int(((expected != 0) & (game._map(-1) == 0)).sum())
            assert (f"Framed ({extra})" in label) == (extra > 0)
            words = [text.split(". Row ", 1)[1].replace(";", "").split() for text in (right, label)]
            others = sum(a != b for a, b in zip(*words, strict=True))
            counted = f"{others} of {expected.size} numbers differ from the right module's."
            same = "To two digits all numbers are those of the right module."
            assert (counted if others or extra else same) in label
            kinds.add((others > 0, extra > 0))
    assert kinds >= {(True, False), (False, False)}


def count_warnings(canvas) -> int:
    return canvas.evaluate(
        """(node) => {
          const { data } = node.getContext("2d").getImageData(0, 0, node.width, node.height);
          let red = 0;
          for (let at = 0; at < data.length; at += 4) {
            red += data[at] === 213 && data[at + 1] === 94 && data[at + 2] === 0;
          }
          return red;
        }"""
    )


@pytest.mark.parametrize(
    ("name", "picture", "least"),
    [("one wide head", 4, 0), ("softmax over the queries", 4, 10), ("NaN rows", 5, 15)],
)
def test_red_is_what_the_right_module_does_not_have(page, name, picture, least):
    view = make_hunt()
    place = [label[0] for label in view.pieces].index(name)
    view.level, order = next((n, order) for n, _, order in view.levels if place in order)
    view.suspect = order.index(place) + 1
    view.ask(view.pictures[picture][0])
    host(page, view)
    finding(page)
    right, suspect = page.locator("canvas[role]").all()
    area = right.evaluate("(node) => node.place.cell ** 2 * devicePixelRatio ** 2")
    assert count_warnings(right) == 0
    marked = sum(cell.marked for row in view._cells(view._map(view._piece)) for cell in row)
    assert marked >= least
    assert 0.6 * marked <= count_warnings(suspect) / area <= marked
