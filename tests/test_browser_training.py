"""The training view in real Chromium: orders to the kernel, its answers and its silence."""

import pytest
from view_host import axe_violations, finding, host, needs_browser, set_traits, wear_theme

from mha_utils import widgets
from mha_utils.widgets.examples import EXAMPLES
from tools.browser.lab import browser

pytestmark = needs_browser
WITH_KERNEL = "() => { window.sent = []; }"
ALONE = "This page has no kernel, so nothing can be trained here."
LATE = "The kernel has not answered for some seconds."
GOING = {"curve": [[10, 1.1, -0.02]], "runs": [[3, 12, 4, 10, -0.02]], "training": True}
DONE = {"curve": [[10, 1.1, -0.02], [40, 0.3, 0.7]], "runs": [[3, 12, 4, 40, 0.7]]}
STATES = {
    "nothing": {},
    "going on": GOING,
    "done": DONE,
    "stopped": {"runs": [[3, 12, 4, 40, 0.7], [1, 1, 1, 1, 0.1]], "curve": [[1, 2.0, 0.1]]},
}


@pytest.fixture(scope="module")
def page():
    with browser() as chrome:
        page = chrome.new_page(viewport={"width": 1400, "height": 1000})
        page.clock.install()
        yield page


def show(page, before: str = WITH_KERNEL, **traits) -> widgets.TrainingStaircase:
    view = widgets.TrainingStaircase(steps=40)
    for name, value in traits.items():
        setattr(view, name, value)
    host(page, view, before=before)
    page.evaluate("() => { document.body.style.width = ''; }")
    return view


def note(page) -> str:
    return page.locator(".mha-hint[role=status]").inner_text()


def sent(page) -> list[dict]:
    return page.evaluate("() => window.sent.splice(0)")


@pytest.mark.parametrize("state", STATES)
def test_the_page_says_what_python_says(page, state):
    view = show(page, **STATES[state])
    for traits in ({}, {"num_heads": 12}, {"head_dim": 1}, {"num_lookups": 6}, {"num_heads": 1}):
        set_traits(page, view, **traits)
        assert finding(page) == view.finding()


def test_a_press_trains_what_is_chosen_and_the_next_one_stops(page):
    view = show(page)
    page.get_by_label("heads H").press("ArrowRight")
    page.get_by_label("head width Dh").press("Home")
    button = page.get_by_role("button", name="Train")
    button.press("Enter")
    assert sent(page) == [{"do": "train", "num_heads": 3, "head_dim": 1, "num_lookups": 4}]
    set_traits(page, view, **GOING)
    page.clock.run_for(43_000)
    set_traits(page, view, curve=[*GOING["curve"], [30, 0.9, 0.1]])
    assert page.get_by_text("Step 30 of 40, about 15 s left").count() == 1
    stop = page.get_by_role("button", name="Stop")
    assert stop.evaluate("(node) => node === document.activeElement")
    stop.press("Space")
    assert sent(page) == [{"do": "stop"}]
    set_traits(page, view, **DONE, training=False)
    assert page.get_by_role("button", name="Train").is_enabled()
    assert page.get_by_text("about").count() == 0
    last = " ".join(page.locator("tr").last.inner_text().split())
    assert last == "1 3 × 12 4 40 0.700 0.750"


def test_a_kernel_that_does_not_answer_is_named_until_it_does(page):
    view = show(page)
    page.get_by_role("button").click()
    assert note(page) == ""
    page.clock.run_for(4300)
    assert note(page).startswith(LATE)
    set_traits(page, view, **GOING)
    assert note(page) == ""
    page.clock.run_for(4300)  # it has ended in the middle of a training
    assert note(page).startswith(LATE)
    set_traits(page, view, training=False)
    assert note(page) == ""
    page.clock.run_for(4300)
    assert note(page) == ""


def test_a_kernel_that_has_ended_is_named_at_once(page):
    show(page, before="() => { window.sent = { push() { throw new Error('Cannot send'); } }; }")
    page.get_by_role("button").click()
    assert note(page).startswith(LATE)
    assert page.locator(".mha-problem").is_hidden()


def test_a_page_without_a_kernel_shows_recorded_runs(page):
    view = show(page, before="", training=True)  # saved in the middle of a training
    assert note(page).startswith(ALONE)
    assert page.get_by_role("button", name="Train").is_disabled()
    label = page.locator("canvas").first.get_attribute("aria-label")
    known = {heads: r2 for heads, width, r2 in view.recorded if width == view.head_dim}
    assert f" Recorded: 1: {known[1]:.3f}, " in label
    set_traits(page, view, num_lookups=3)
    finding(page)
    assert "Recorded" not in page.locator("canvas").first.get_attribute("aria-label")


def test_what_was_recorded_is_not_given_away_where_it_can_be_found_out(page):
    show(page)
    assert "Recorded" not in page.locator("canvas").first.get_attribute("aria-label")


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("before", ["", WITH_KERNEL])
def test_there_is_nothing_for_axe_to_say(page, state, theme, before):
    view = show(page, before, **STATES[state])
    wear_theme(page, view, theme)
    assert axe_violations(page) == []


@pytest.mark.parametrize("width", [400, 700, 1000, 1400])
def test_it_fits_every_page(page, width):
    page.set_viewport_size({"width": width, "height": 900})
    view = EXAMPLES["TrainingStaircase"]()
    host(page, view, before=WITH_KERNEL)
    wear_theme(page, view, "light")
    page.wait_for_timeout(100)
    inside = "(root) => [root.scrollWidth - root.clientWidth, root.getBoundingClientRect().right]"
    over, right = page.locator(".mha-view").evaluate(inside)
    assert over <= 0
    assert right <= width
    for part in page.locator("canvas, table, button").all():
        box = part.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    page.set_viewport_size({"width": 1400, "height": 1000})
