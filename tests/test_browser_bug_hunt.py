"""The bug hunt in real Chromium, against Python."""

import random

import numpy as np
import pytest
from view_host import axe_violations, finding, host, needs_browser, pixels, set_traits, wear_theme

from mha_utils import widgets
from mha_utils.widgets.examples import EXAMPLES
from tools.comparing import same_text
from tools.lab_browser import browser

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


def press(page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def accuse(page, name: str) -> None:
    option = page.locator("optgroup option").filter(has_text=name)
    page.get_by_label("name of the suspect").select_option(option.first.get_attribute("value"))
    press(page, "accuse")


def trait(page, name: str):
    return page.evaluate("(name) => window.model.get(name)", name)


def name_of(view: widgets.BugHunt) -> str:
    return view.pieces[view._piece][0]


def test_a_game_is_played_to_its_end(page, game):
    accuse(page, wrong := next(n for n in game.names if n != name_of(game)))
    game.accuse(wrong)
    assert same_text(finding(page), game.finding())
    assert f"Not “{wrong}”" in finding(page)
    press(page, "sequences meet?")
    press(page, "leak map?")
    game.ask("sequences meet").ask("leak map")
    assert same_text(finding(page), game.finding())
    assert "2 questions asked" in finding(page)
    accuse(page, name_of(game))
    game.accuse(name_of(game))
    assert same_text(finding(page), game.finding())
    assert f"is “{name_of(game)}”. {game.pieces[game._piece][2]} Taught in" in finding(page)
    for name in ("asked", "accused", "picture"):
        assert trait(page, name) == getattr(game, name)


@pytest.mark.parametrize("seed", range(3))
def test_javascript_says_what_python_says(page, seed):
    chance, view = random.Random(seed), make_hunt()
    host(page, view)
    questions = len(view.answers[0])
    for level, _, order in view.levels:
        pairs = [[chance.choice(order), chance.randrange(questions)] for _ in range(40)]
        accused = [[chance.choice(order), chance.choice(order)] for _ in range(20)]
        set_traits(page, view, level=level, asked=pairs, accused=accused)
        for number in (0, 1, *chance.sample(range(1, len(order) + 1), 6), 99):
            set_traits(page, view, suspect=number)
            assert same_text(finding(page), view.finding())


def test_twins_are_said_to_be_twins_in_both_languages(page):
    pair = {"mask dropped when causal": [], "mask of one sequence used for all": []}
    view = widgets.BugHunt(pair, [], ["a", "b", "c"], level=2)
    host(page, view)
    other = next(name for name in view.names if name != name_of(view))
    accuse(page, other)
    assert finding(page) == view.accuse(other).finding()
    assert "nothing here tells the two apart" in finding(page)


def test_an_answer_stands_on_its_button_and_belongs_to_one_suspect(page, game):
    answer = {0: "clean", 1: "caught"}[game.answers[game._piece][0]]
    press(page, "knows places?")
    finding(page)
    asked = page.get_by_role("button", name=f"knows places: {answer}", exact=True)
    assert asked.get_attribute("aria-pressed") == "true"
    asked.click()
    assert "1 question asked" in finding(page), "an answer is paid once"
    page.get_by_label("suspect", exact=True).press("ArrowRight")
    assert "Suspect 2 of 32: nothing asked yet" in finding(page)
    again = page.get_by_role("button", name="knows places?", exact=True)
    assert again.get_attribute("aria-pressed") == "false"


def test_buttons_give_the_answers_of_the_piece(page, game):
    for number in range(1, 33):
        set_traits(page, game, suspect=number)
        press(page, "sequences meet?")
        finding(page)
        expected = "caught" if game.answers[game._piece][1] else "clean"
        assert page.get_by_role("button", name=f"sequences meet: {expected}").count() == 1


def test_maps_that_cost_are_hidden_until_paid(page, game):
    right, suspect = page.locator("canvas[role=img]").all()
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
    assert "Found 1 of 32: 1 question," in finding(page), "who is found costs nothing more"


def test_a_picture_is_drawn_as_python_knows_it(page, game):
    """The numbers in the label are those of the map; what is new is counted."""
    for n, (title, *_) in enumerate(game.pictures):
        for number in (1, 5, 9):
            set_traits(page, game, suspect=number, picture=n)
            question = [game._piece, len(game.probes) + n]
            set_traits(page, game, asked=[question])
            finding(page)
            label = page.locator("canvas[role=img]").nth(1).get_attribute("aria-label")
            assert label.startswith(f"Suspect {number}, {title}.")
            said = [row.split(": ")[1] for row in label.split("Row ")[1:]]
            numbers = [[float(x) for x in row.strip("; ").split()] for row in said]
            expected = game._map(game._piece)
            digit = np.where(np.abs(expected) < 9.995, 0.0051, 0.51)
            assert (np.abs(numbers - expected) < digit).all(), title
            extra = int(((expected != 0) & (game._map(-1) == 0)).sum())
            assert (f"Framed ({extra})" in label) == (extra > 0)


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
    right, suspect = page.locator("canvas[role=img]").all()
    area = right.evaluate("(node) => node.place.cell ** 2 * devicePixelRatio ** 2")
    assert count_warnings(right) == 0
    marked = sum(cell.marked for row in view._cells(view._map(view._piece)) for cell in row)
    assert marked >= least
    assert 0.6 * marked <= count_warnings(suspect) / area <= marked


def test_levels_have_their_own_suspects_and_names(page, game):
    page.get_by_label("suspect", exact=True).press("End")
    page.get_by_label("level").select_option(label="3 · dropout")
    game.level, game.suspect = 3, 1
    assert same_text(finding(page), game.finding())
    assert "Suspect 1 of 12" in finding(page)
    groups = page.locator("optgroup").all()
    assert [group.get_attribute("label") for group in groups] == ["dropping"]
    assert page.locator("optgroup option").all_inner_texts() == game.names
    page.get_by_label("level").select_option(label="1 · projections, scores, softmax")
    finding(page)
    labels = [group.get_attribute("label") for group in page.locator("optgroup").all()]
    assert labels == ["projecting", "weighing"]


def test_names_are_marked_when_they_are_used_up(page, game):
    accuse(page, wrong := next(n for n in game.names if n != name_of(game)))
    accuse(page, name_of(game))
    finding(page)
    texts = page.locator("optgroup option").all_inner_texts()
    assert f"✗ {wrong} (not this one)" in texts
    assert f"✓ {name_of(game)} (found)" in texts
    assert (
        page.get_by_label("suspect", exact=True).get_attribute("aria-valuetext").endswith("found")
    )
    page.get_by_label("suspect", exact=True).press("ArrowRight")
    finding(page)
    texts = page.locator("optgroup option").all_inner_texts()
    assert wrong in texts
    assert f"✓ {name_of(game)} (found)" in texts


def test_a_game_needs_only_the_keyboard(page, game):
    page.get_by_label("level").focus()
    for _ in range(2):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert "1 question asked" in finding(page)
    while page.evaluate("() => document.activeElement.tagName") != "SELECT":
        page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    page.keyboard.press(" ")
    assert "1 accusation." in finding(page)
    outline = page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none"


def test_progress_reaches_python(page, game):
    page.evaluate("() => { window.saves = 0; }")
    press(page, "leak map?")
    page.wait_for_function("() => window.saves > 0")
    game.asked, game.picture = trait(page, "asked"), trait(page, "picture")
    assert same_text(game.finding(), finding(page))


def test_stays_accessible_in_the_middle_of_a_game(page, game):
    for theme in ("light", "dark"):
        wear_theme(page, game, theme)
        press(page, "leak map?" if theme == "light" else "leak map")
        accuse(page, "one wide head")
        finding(page)
        assert axe_violations(page) == []


def test_names_that_would_answer_otherwise_are_marked(page, game):
    press(page, "knows places?")
    finding(page)
    game.ask("knows places")
    texts = page.locator("optgroup option").all_inner_texts()
    assert [text for text in texts if not text.startswith("✗")] == game.fitting()
    assert sum("(would answer otherwise)" in text for text in texts) == 32 - len(game.fitting()) > 0


def test_only_a_chosen_name_is_accused_and_only_while_it_is_open(page, game):
    assert page.get_by_label("name of the suspect").input_value() == ""
    press(page, "accuse")
    assert "0 accusations" in finding(page)
    accuse(page, name_of(game))
    assert "1 accusation." in finding(page)
    assert page.get_by_role("button", name="accuse", exact=True).is_disabled()
    page.get_by_label("suspect", exact=True).press("ArrowRight")
    finding(page)
    assert page.get_by_role("button", name="accuse", exact=True).is_enabled()
