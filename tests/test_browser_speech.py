"""What a reader who hears the live views meets: tab stops, roles, and each change once."""

import pytest
from test_browser_choices import GRIDS
from view_host import finding, host, needs_browser, wear_theme

from mha_utils.widgets.examples import EXAMPLES
from tools.browser.lab import browser

pytestmark = needs_browser
EACH = pytest.mark.parametrize("name", EXAMPLES)
KEYED = {
    *GRIDS,
    ("MemoryRibbon", 0),
    ("MemoryRibbon", 1),
    ("PositionDials", 0),
    ("ProcessTiles", 0),
}
STOPS = {"application", "region", "radio", "range", "checkbox", "select-one", "text", "button"}
PAUSE = 900  # milliseconds, after which a screen reader has been told

# Every text that a screen reader is told from now on, and every change of a label.
LISTEN = """() => {
  window.heard = [];
  const note = (records) => records.forEach(({ type, target, attributeName }) => {
    if (type === "attributes") heard.push(`${attributeName} of ${target.tagName}`);
    else if (target.closest?.("[role=status], [aria-live], [role=alert]") && target.textContent) {
      heard.push(target.textContent);
    }
  });
  const root = document.querySelector(".mha-view");
  new MutationObserver(note).observe(root, { subtree: true, childList: true, characterData: true });
  for (const canvas of root.querySelectorAll("canvas[role=application]")) {
    new MutationObserver(note).observe(canvas, { attributeFilter: ["aria-label", "role"] });
  }
}"""


@pytest.fixture(scope="module")
def page():
    with browser() as chrome:
        page = chrome.new_page(viewport={"width": 1400, "height": 1000})
        page.clock.install()
        yield page


def show(page, name: str):
    view = EXAMPLES[name]()
    host(page, view)
    wear_theme(page, view, "light")
    finding(page)
    page.clock.run_for(PAUSE)
    page.evaluate(LISTEN)
    return view


def heard(page) -> list[str]:
    page.clock.run_for(PAUSE)
    return page.evaluate("() => window.heard.splice(0)")


@EACH
def test_pictures_with_keys_say_so_and_all_others_are_no_tab_stop(page, name):
    show(page, name)
    places = {
        place: canvas.get_attribute("role")
        for place, canvas in enumerate(page.locator("canvas").all())
        if canvas.get_attribute("aria-hidden") is None
    }
    hidden = page.locator("canvas[aria-hidden]").count()
    keyed = {place - hidden for place, role in places.items() if role == "application"}
    assert keyed == {place for view, place in KEYED if view == name}
    assert set(places.values()) <= {"application", "img"}
    for canvas in page.locator("canvas").all():
        is_keyed = canvas.get_attribute("role") == "application"
        assert canvas.evaluate("(node) => node.tabIndex") == (0 if is_keyed else -1)
        if is_keyed:
            assert "arrow keys" in canvas.get_attribute("aria-label")
            described = page.locator(f"#{canvas.get_attribute('aria-describedby')}")
            assert described.inner_text() == finding(page)


@EACH
def test_the_tabulator_stops_once_at_everything_that_answers(page, name):
    """A control or a picture with keys; a group of radio buttons is one stop."""
    show(page, name)
    stops = page.evaluate(
        """() => [...document.querySelectorAll(".mha-view *")].filter((node) => node.tabIndex >= 0
          && !node.disabled && getComputedStyle(node).visibility !== "hidden")
          .map((node) => node.getAttribute("role") ?? node.type ?? node.tagName)"""
    )
    assert set(stops) <= STOPS
    assert stops.count("application") == len([view for view, _ in KEYED if view == name])
    assert page.locator("[role=radio][tabindex='0']").count() <= 1


@EACH
def test_a_change_is_heard_once(page, name):
    show(page, name)
    before = finding(page)
    for slider in page.locator("input[type=range]:enabled").all():
        for key in ("Home", "End"):
            if finding(page) == before:
                slider.press(key)
    told = heard(page)
    assert len(told) == 1
    assert told[0].endswith(finding(page))


def test_a_change_that_is_taken_back_is_not_heard(page):
    show(page, "TrainingFilm")
    for key in ("ArrowLeft", "ArrowRight"):
        page.locator("canvas[role]").first.press(key)
    assert heard(page) == []


@pytest.mark.parametrize(("name", "canvas"), sorted(KEYED))
def test_a_walk_is_heard_once_and_the_label_stays(page, name, canvas):
    show(page, name)
    picture = page.locator("canvas[role]").nth(canvas)
    away, back = (
        ("ArrowLeft", "ArrowRight") if name == "TrainingFilm" else ("ArrowRight", "ArrowLeft")
    )
    for key in (back, away, away, back, away):
        picture.press(key)
    told = heard(page)
    assert len(told) == 1
    assert told[0] not in ("", "aria-label of CANVAS")


@pytest.mark.parametrize("name", ["HeadExplorer", "MemoryRibbon"])
def test_what_the_pointer_passes_over_is_seen_and_not_heard(page, name):
    show(page, name)
    picture = page.locator("canvas[role=application]").first
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    shown = page.locator(".mha-view").inner_text()
    for share in (0.5, 0.6, 0.7, 0.8):
        page.mouse.move(box["x"] + share * box["width"], box["y"] + 0.6 * box["height"])
    assert heard(page) == []
    assert page.locator(".mha-view").inner_text() != shown
    page.mouse.down()
    page.mouse.up()
    picture.press("ArrowLeft")
    assert len(heard(page)) == 1


def test_the_cell_that_keys_are_on_is_heard_without_the_sentence(page):
    view = show(page, "MaskPainter")
    canvas = page.locator("canvas[role=application]")
    canvas.press("ArrowRight")
    word = view.tokens[view.column + 1]
    assert [text.split(":")[0] for text in heard(page)] == [f"Column {view.column + 1}, “{word}”"]
    canvas.press(" ")
    (told,) = heard(page)
    assert told.endswith(finding(page))


def test_words_that_were_heard_leave_the_page(page):
    show(page, "ShapeLetters")
    page.locator("input[type=range]").first.press("ArrowLeft")
    assert len(heard(page)) == 1
    page.clock.run_for(5000)
    assert page.locator(".mha-spoken").text_content() == ""
