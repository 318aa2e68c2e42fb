"""Views show what they did when their pictures were looked at: every note, word and attribute.

Other tests say that pictures are right; this says that none changed unseen. To record anew:
`PYTHONPATH=. python tests/test_recorded_views.py`. What depends on a machine's fonts is replaced
in the page.
"""

import hashlib
import json
from itertools import chain, zip_longest
from pathlib import Path

import numpy as np
import pytest
from test_bet import make as make_bet
from view_examples import MORE
from view_host import needs_browser
from view_watch import RECORDER, play, stage, sweep

from mha_utils.widgets import RunBelow
from mha_utils.widgets.examples import EXAMPLES
from tools.browser.lab import browser

pytestmark = needs_browser
PATH = Path(__file__).with_name("recorded_views.json")
DIGEST = Path(__file__).with_name("digest_view.js").read_text("utf-8")
VIEWS = EXAMPLES | MORE | {"Bet": make_bet, "RunBelow": RunBelow}
KEYS = ("ArrowDown", "ArrowRight", "Enter", " ", "ArrowUp", "ArrowLeft")
WIDTHS = (900, 550, 390, 334, 302)  # of the page; at some of them pictures change their layout
PLACES = ((0.43, 0.57), (0.71, 0.83))  # of a picture, in parts of its width and height
POINTER = ("pointermove", "pointerdown")
COLOURS = ":root { --jp-layout-color1: #fff; --jp-border-color1: #bbb; }"


@pytest.fixture(scope="module")
def page():
    with browser() as chrome:
        yield chrome.new_page(viewport={"width": 1400, "height": 1000})


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_shows_what_is_recorded(page, name):
    now, stored = recorded(page, name), json.loads(PATH.read_text("utf-8"))[name]
    assert list(now) == list(stored)
    changed = {acts: parts_apart(now[acts], stored[acts]) for acts in now}
    assert {acts: parts for acts, parts in changed.items() if parts} == {}


def parts_apart(now: str, stored: str) -> list[str]:
    """Words, attributes and traits of the page, or which of its pictures."""
    pairs = enumerate(zip_longest(now.split(), stored.split()))
    return [f"picture {n}" if n else "page" for n, (a, b) in pairs if a != b]


def recorded(page, name: str) -> dict[str, str]:
    """A few letters for the page and for each picture, summed up over the acts of every kind."""
    view = with_plain_numbers(VIEWS[name]())
    controls = stage(page, view, f"() => {{ ({RECORDER})(); ({DIGEST})(); }}")
    page.add_style_tag(content=COLOURS)
    play(page, view, [["width", WIDTHS[0]]])
    found = letters(page, view, {"first": [["nothing"]]} | moves_of(controls))
    controls = page.evaluate("() => window.inventory()")  # what can be chosen may have changed
    found |= letters(page, view, again(controls) | on_pictures(page))
    return found | letters(page, view, {f"{w} px wide": [["width", w]] for w in WIDTHS[1:]})


def letters(page, view, kinds: dict[str, list[list]]) -> dict[str, str]:
    seen = iter(play(page, view, list(chain(*kinds.values())), full=False))
    return {kind: summed_up([next(seen)["digest"] for _ in acts]) for kind, acts in kinds.items()}


def summed_up(digests: list[list[str]]) -> str:
    parts = ["".join(letters) for letters in zip_longest(*digests, fillvalue="-")]
    return " ".join(hashlib.sha256(part.encode()).hexdigest()[:6] for part in parts)


def sent(view) -> dict[str, bytes]:
    """Arrays of a view."""
    traits = {name: getattr(view, name) for name in view.trait_names(sync=True)}
    return {name: value for name, value in traits.items() if isinstance(value, bytes)}


def with_plain_numbers(view):
    """The view with all arrays rounded: a machine may compute their last digits in its own way."""
    for name, value in sent(view).items():
        if view.script not in ("training_film", "writer_at_work"):  # whose numbers are whole
            numbers = np.round(np.frombuffer(value, np.float32) * 64) / 64
            setattr(view, name, numbers.astype(np.float32).tobytes())
    return view


def moves_of(controls: list[dict]) -> dict[str, list[list]]:
    moves = {f"{c['place']} {' '.join(c['name'].split())}": some(sweep([c])) for c in controls}
    return {name: acts for name, acts in moves.items() if acts}


def again(controls: list[dict]) -> dict[str, list[list]]:
    """All moves once more, with every box ticked that was not."""
    boxes = [["move", c["place"], None] for c in controls if c["kind"] == "checkbox"]
    moves = {f"{name}, again": acts for name, acts in moves_of(controls).items()}
    return ({"boxes ticked": boxes} if boxes else {}) | moves


def some(acts: list) -> list:
    return acts[:: max(1, len(acts) // 6)]


def on_pictures(page) -> dict[str, list[list]]:
    """Keys and the pointer on every picture, keys in a group of buttons."""
    sizes = page.evaluate(
        "() => [...document.querySelectorAll('canvas')].map((c) => [c.width, c.height])"
    )
    first = 0 if page.query_selector("[role=radiogroup]") is None else -1
    acts = {f"keys on {n + 1}": [["key", n, key] for key in KEYS] for n in range(first, len(sizes))}
    for n, (wide, tall) in enumerate(sizes):
        places = [(round(wide * x), round(tall * y)) for x, y in PLACES]
        acts[f"pointer on {n + 1}"] = [["point", n, *at, kind] for at in places for kind in POINTER]
    return acts


if __name__ == "__main__":
    with browser() as chrome:
        page = chrome.new_page(viewport={"width": 1400, "height": 1000})
        table = {name: recorded(page, name) for name in VIEWS}
    PATH.write_text(json.dumps(table, indent=1, ensure_ascii=False) + "\n", "utf-8")
