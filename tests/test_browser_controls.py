"""Every control of every live view, at every position: what a reader sees, against torch."""

import re

import pytest
import view_charts
import view_curves
import view_dials
import view_grids
import view_shelf
import view_tiles
import view_writer
from helpers import toy_explorer
from view_examples import MORE, REACH
from view_host import needs_browser
from view_labels import check_labels
from view_pictures import check_canvas
from view_watch import follow, play, positions, stage, sweep

from mha_utils.widgets.examples import EXAMPLES
from tools.browser.lab import browser
from tools.suite.comparing import same_text

pytestmark = needs_browser
EACH = pytest.mark.parametrize("name", EXAMPLES)
FILES = view_grids, view_charts, view_curves, view_dials, view_shelf, view_tiles, view_writer
KNOWN = {name: check for file in FILES for name, check in vars(file).items()}
EXPECTED = {name: KNOWN[make().script] for name, make in EXAMPLES.items()}
WORDS = ["the", "cat", "sat", "on", "the", "mat", "because", "it", "was", "tired"]


@pytest.fixture(scope="module")
def page():
    with browser() as chrome:
        yield chrome.new_page(viewport={"width": 1400, "height": 1000})


@EACH
def test_every_position_of_every_control(page, name):
    """Python and the page say the same, and nothing that a control reaches is wrong."""
    view = EXAMPLES[name]()
    for seen in play(page, view, sweep(stage(page, view)), full=False):
        assert same_text(seen["sentence"], follow(view, seen).finding()), seen["act"]
        assert seen["problem"] == view.problem == ""


@EACH
def test_controls_reach_all_that_they_must(page, name):
    view = EXAMPLES[name]()
    controls, left = stage(page, view), dict(REACH[name])
    sliders = [control["place"] for control in controls if control["kind"] == "range"]
    for control in controls:
        label = re.sub(r"\s+", " ", control["name"]).strip()
        if control["kind"] in ("text", "button", "radio") or label not in left:
            assert control["kind"] in ("text", "button", "radio", "select-one"), label
            continue
        trait, values = left.pop(label)
        places = positions(control)
        start = view.get_state()[trait]
        script = [["move", control["place"], place] for place in places]
        for seen, at in zip(play(page, view, script, full=False), range(-1, len(places))):
            found = seen["state"][trait]
            if control["kind"] == "range":
                at = (len(values) - 1) // 2 if at == len(values) + 1 else at
                value = values[max(0, min(at, len(values) - 1))]
                text = seen["outputs"][sliders.index(control["place"])]
                shown = view.steps[found] if label == "training step" else found
                assert float(re.match(r"[\d.]+", text)[0]) == pytest.approx(shown)
            else:
                value = values[at + 1] if len(values) > 2 or at < 0 else values[1]
                value = (not start) ^ bool((at + 1) % 2) if control["kind"] == "checkbox" else value
            assert found == pytest.approx(value), (label, seen["act"])
        stage(page, view)
    assert left == {}


@pytest.mark.parametrize("make", [*EXAMPLES.values(), *MORE.values()], ids=[*EXAMPLES, *MORE])
def test_pictures_show_what_torch_computes(page, make):
    view = make()
    controls = stage(page, view)
    script = [["nothing"], *sweep(controls, few=True), ["width", 390], ["width", 1100]]
    for seen in play(page, view, script):
        assert same_text(seen["sentence"], follow(view, seen).finding()), seen["act"]
        check(view, seen)


def check(view, seen) -> None:
    EXPECTED[type(view).__name__](view, seen)
    check_labels(view, seen)
    for picture in seen["pictures"]:
        check_canvas(picture, seen["ink"])


def test_the_explorer_of_the_chapter(page):
    view = toy_explorer(row=7, column=1)
    stage(page, view)
    for seen in play(page, view, [["trait", "row", 8], ["trait", "temperature", 4.0]]):
        check(follow(view, seen), seen)


@pytest.mark.parametrize("name", ["LayerCost", "ShapeLetters"])
def test_heads_that_no_longer_divide_become_the_next_smaller_number_that_does(page, name):
    view = EXAMPLES[name]()
    stage(page, view)
    for before in (24,) if name != "LayerCost" else (768,):
        for heads in [h for h in range(1, min(before, 64) + 1) if before % h == 0]:
            for width in REACH[name]["D columns"][1]:
                script = [["trait", "embed_dim", before], ["trait", "num_heads", heads]]
                *_, seen = play(page, view, [*script, ["trait", "embed_dim", width]], full=False)
                right = max(h for h in range(1, heads + 1) if width % h == 0)
                assert (seen["state"]["num_heads"], seen["outputs"][3]) == (right, str(right))
