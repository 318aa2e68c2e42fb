"""Every control of every live view, at every position: what a reader sees, against torch."""

import pytest
import view_charts
import view_grids
from view_host import needs_browser
from view_watch import follow, play, stage, sweep

from mha_utils.widgets.examples import EXAMPLES
from tools.lab_browser import browser

pytestmark = needs_browser
EXPECTED = {
    name: getattr(view_grids, snake, None) or getattr(view_charts, snake)
    for name, snake in ((view, EXAMPLES[view]().script) for view in EXAMPLES)
}


@pytest.fixture(scope="module")
def page():
    with browser() as chrome:
        yield chrome.new_page(viewport={"width": 1400, "height": 1000})


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_position_of_every_control(page, name):
    view = EXAMPLES[name]()
    for seen in play(page, view, sweep(stage(page, view)), full=False):
        assert seen["sentence"] == follow(view, seen).finding(), seen["act"]
        assert seen["problem"] == view.problem == ""


@pytest.mark.parametrize("name", EXAMPLES)
def test_pictures(page, name):
    view = EXAMPLES[name]()
    for seen in play(page, view, sweep(stage(page, view), few=True)):
        EXPECTED[name](follow(view, seen), seen)
