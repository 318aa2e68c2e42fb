"""A bet: chosen by the reader, settled by the notebook, counted in the recap."""

import pytest
from IPython.core.formatters import DisplayFormatter
from view_host import axe_violations, finding, host, needs_browser, set_traits, wear_theme

from mha_utils import widgets
from tools.browser.lab import browser

QUESTION = "Whose numbers are in row 0?"


def make(**traits) -> widgets.Bet:
    bet = widgets.Bet(QUESTION, ["token 0 only", "tokens 0 and 1", 3])
    for name, value in traits.items():
        setattr(bet, name, value)
    return bet


STATES = {
    "no bet": ({}, "No bet yet."),
    "bet": ({"chosen": "3"}, "You bet on “3”. Run on and see."),
    "won": ({"chosen": "3", "answer": "3"}, "You bet on “3”, and so it is."),
    "lost": ({"chosen": "3", "answer": "all"}, "You bet on “3”; it is “all”."),
    "settled without a bet": ({"answer": "3"}, "No bet yet."),
}


@pytest.mark.parametrize("state", STATES)
def test_says_how_it_stands(state):
    traits, sentence = STATES[state]
    assert make(**traits).finding() == sentence


def test_settling_tells_the_answer(capsys):
    bet = make()
    bet.settle(3)
    bet.chosen = "3"
    bet.settle(3)
    bet.settle("token 0 only")
    assert capsys.readouterr().out.splitlines() == [
        QUESTION,
        "The answer: 3.",
        QUESTION,
        "You bet on “3”, and so it is.",
        QUESTION,
        "You bet on “3”; it is “token 0 only”.",
    ]


def test_an_answer_that_was_no_choice_stops_nothing(capsys):
    bet = make(chosen="3")
    bet.settle(17)
    assert capsys.readouterr().out == f"{QUESTION}\nYou bet on “3”; it is “17”.\n"
    assert not bet.won


def test_bets_are_counted_once_a_question(capsys, monkeypatch):
    monkeypatch.setattr(widgets.Bet, "placed", {})
    widgets.count_bets()
    make(chosen="3", answer="3")
    make(chosen="3", answer="3")  # the cell was run again
    widgets.count_bets()
    widgets.Bet("Another?", ["yes", "no"]).chosen = "yes"
    widgets.count_bets()
    widgets.Bet.placed["Another?"].settle("no")
    widgets.count_bets()
    assert capsys.readouterr().out.splitlines() == [
        "No bet of yours is settled yet. Place some above, and run this cell again.",
        "You won 1 of 1 bet.",
        "You won 1 of 1 bet.",
        "Another?",
        "You bet on “yes”; it is “no”.",
        "You won 1 of 2 bets.",
    ]


@pytest.mark.parametrize("choices", [[], ["one"], ["a", "a"], [1, "1"]])
def test_choices_have_to_be_different(choices):
    with pytest.raises(ValueError, match=r"^choices must be two or more different answers, got \["):
        widgets.Bet(QUESTION, choices)


def test_only_a_choice_can_be_chosen():
    bet = make(chosen="3")
    with pytest.raises(ValueError, match=r"^chosen must be one of"):
        bet.chosen = "4"
    assert bet.chosen == "3"


def test_the_picture_shows_what_is_chosen():
    pictures = {
        make(**traits).png() for traits in ({}, {"chosen": "3"}, {"chosen": "token 0 only"})
    }
    assert len(pictures) == 3


@pytest.fixture(scope="module")
def page():
    with browser() as chrome:
        yield chrome.new_page(viewport={"width": 900, "height": 600})


@needs_browser
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_says_what_python_says(page, state, theme):
    bet = make(**STATES[state][0])
    host(page, bet)
    wear_theme(page, bet, theme)
    assert finding(page) == bet.finding()
    assert page.locator("input:checked").count() == bool(bet.chosen)
    assert axe_violations(page) == []


@needs_browser
def test_keys_choose_and_what_is_settled_stays(page):
    bet = make()
    host(page, bet)
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("() => window.model.get('chosen')") == "tokens 0 and 1"
    assert finding(page) == "You bet on “tokens 0 and 1”. Run on and see."
    bet.chosen = "tokens 0 and 1"
    set_traits(page, bet, answer="3")
    assert finding(page) == bet.finding() == "You bet on “tokens 0 and 1”; it is “3”."
    assert page.locator("input:enabled").count() == 0


@needs_browser
def test_a_bet_after_all_is_told_at_once(page):
    """On a page without a kernel the answer is known before anybody bets."""
    host(page, make(answer="3"))
    assert finding(page) == "No bet yet."
    page.get_by_label("3").check()
    assert finding(page) == "You bet on “3”, and so it is."


class Commands:
    """JupyterLab's commands, as a page can see them."""

    def __init__(self, names: str):
        self.script = f"""() => {{
          window.ran = [];
          window.jupyterapp = {{ commands: {{
            hasCommand: (name) => {names}.includes(name),
            execute: async (name) => window.ran.push(name),
          }} }};
        }}"""


@needs_browser
def test_the_button_runs_what_follows(page):
    host(page, widgets.RunBelow(), before=Commands('["notebook:run-all-below"]').script)
    page.get_by_role("button", name="Run this cell and all below").click()
    assert page.evaluate("() => window.ran") == ["notebook:run-all-below"]
    assert axe_violations(page) == []


@needs_browser
@pytest.mark.parametrize("before", ["", Commands("[]").script])
def test_without_jupyterlab_it_says_what_to_do(page, before):
    view = widgets.RunBelow()
    host(page, view, before=before)
    assert page.get_by_role("button").count() == 0
    assert finding(page) == view.finding()


@pytest.mark.parametrize(("server", "shown"), [("voila/0.5.13", False), ("", True)])
def test_an_app_has_no_button_for_edits(monkeypatch, server, shown):
    monkeypatch.delenv("VOILA_PREHEAT", raising=False)
    monkeypatch.setenv("SERVER_SOFTWARE", server)
    formatter = DisplayFormatter()
    assert bool(formatter.format(widgets.RunBelow())[0]) == shown
    assert formatter.format(widgets.Bet("How many?", [1, 2]))[0]
