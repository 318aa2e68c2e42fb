"""The bug hunt in real Chromium, against Python."""

import random

import pytest
from view_host import axe_violations, finding, host, needs_browser, set_traits, wear_theme
from view_hunt import accuse, name_of, press, trait

from mha_utils import widgets
from mha_utils.widgets.examples import EXAMPLES
from tools.browser.lab import browser
from tools.suite.comparing import same_text

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
    assert "Suspect 2 of 31: nothing asked yet" in finding(page)
    again = page.get_by_role("button", name="knows places?", exact=True)
    assert again.get_attribute("aria-pressed") == "false"


def test_buttons_give_the_answers_of_the_piece(page, game):
    for number in range(1, 32):
        set_traits(page, game, suspect=number)
        press(page, "sequences meet?")
        finding(page)
        expected = "caught" if game.answers[game._piece][1] else "clean"
        assert page.get_by_role("button", name=f"sequences meet: {expected}").count() == 1


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
    assert sum("(would answer otherwise)" in text for text in texts) == 31 - len(game.fitting()) > 0


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


def test_only_what_was_asked_or_is_free_speaks_against_a_name(page):
    """Where no free picture tells two apart, nothing that costs a question is told."""
    view = make_hunt()
    host(page, view)
    first = len(view.probes)
    shown = [first + n for n, (_, free, _) in enumerate(view.pictures) if free]
    for level, _, order in view.levels:
        answers = {piece: [view.answers[piece][q] for q in shown] for piece in order}
        twins = [(a, b) for a in order for b in order if a != b and answers[a] == answers[b]]
        set_traits(page, view, level=level, accused=[list(pair) for pair in twins])
        for number in sorted({order.index(a) + 1 for a, _ in twins})[:8]:
            set_traits(page, view, suspect=number)
            assert same_text(finding(page), view.finding())
            assert "would" not in finding(page)
