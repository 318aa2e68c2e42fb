"""What holds for every live view, in real Chromium."""

import base64
import io

import numpy as np
import pytest
from PIL import Image
from view_host import (
    axe_violations,
    finding,
    host,
    import_source,
    needs_browser,
    pixels,
    require_answer,
    wait_until_drawn,
    wear_theme,
)
from view_pictures import shade

from mha_utils.widgets.examples import EXAMPLES
from mha_utils.widgets.kit.base import SOURCES
from tools.browser.lab import browser
from tools.suite.comparing import same_text

pytestmark = needs_browser
EACH = pytest.mark.parametrize("make", EXAMPLES.values(), ids=EXAMPLES)


@pytest.fixture(scope="module")
def page():
    with browser() as chrome:
        yield chrome.new_page(viewport={"width": 1400, "height": 1000})


@EACH
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_is_accessible_and_says_what_python_says(page, make, theme):
    view = make()
    host(page, view)
    wear_theme(page, view, theme)
    assert same_text(finding(page), view.finding())
    assert axe_violations(page) == []
    for canvas in page.locator("canvas[role]").all():
        assert len(canvas.get_attribute("aria-label").split()) > 5


@EACH
def test_colours_follow_the_theme(page, make):
    view = make()
    host(page, view)
    seen = set()
    for theme in ("light", "dark"):
        wear_theme(page, view, theme)
        page.evaluate("(theme) => document.body.setAttribute('data-theme', theme)", theme)
        finding(page)
        seen.add(pixels(page.locator("canvas[role]").first))
    assert len(seen) == 2


@EACH
def test_keys_stay_in_the_view(page, make):
    host(page, make())
    page.evaluate(
        "() => { window.leaked = []; addEventListener('keydown', (e) => leaked.push(e.key)); }"
    )
    for control in page.locator("canvas[role], input, select, button, [tabindex='0']").all():
        if control.is_enabled() and control.is_visible():
            for key in ("m", "ArrowRight", " "):
                control.press(key)
    page.keyboard.press("Escape")  # closes a list that a space has opened
    assert page.evaluate("() => window.leaked") == []


def test_shortcuts_of_the_page_reach_it(page):
    """A key with Ctrl, Alt or Command is JupyterLab's or the browser's."""
    host(page, EXAMPLES["SoftmaxScale"]())
    held = ["ctrlKey", "altKey", "metaKey"]
    reached = page.evaluate(
        """(held) => {
          const reached = [];
          document.addEventListener("keydown", ({ key }) => reached.push(key));
          const control = document.querySelector(".mha-view input");
          for (const key of ["plain", "shiftKey", ...held]) {
            const event = new KeyboardEvent("keydown", { key, [key]: true, bubbles: true });
            control.dispatchEvent(event);
          }
          return reached;
        }""",
        held,
    )
    assert reached == held


@EACH
def test_removed_view_leaves_nothing_behind(page, make):
    host(page, make())
    assert page.evaluate("() => window.model.listeners()") > 3
    page.evaluate("() => window.stop()")
    assert page.evaluate("() => window.model.listeners()") == 0


@EACH
@pytest.mark.parametrize("width", [400, 700, 1400])
def test_nothing_is_wider_than_the_view(page, make, width):
    """But for what lies in a box that scrolls."""
    page.set_viewport_size({"width": width, "height": 1000})
    view = make()
    host(page, view)
    wear_theme(page, view, "light")
    finding(page)
    outside = page.evaluate(
        """() => {
          const view = document.querySelector(".mha-view").getBoundingClientRect();
          return [...document.querySelectorAll(".mha-view *:not(.mha-scroll *)")]
            .filter((node) => node.getBoundingClientRect().right > view.right + 0.5)
            .map((node) => node.outerHTML.slice(0, 80));
        }"""
    )
    page.set_viewport_size({"width": 1400, "height": 1000})
    assert outside == []


@EACH
def test_a_slider_changes_picture_and_sentence(page, make):
    host(page, make())
    require_answer(page, page.locator(".mha-view"))


@EACH
def test_an_error_is_shown(page, make):
    host(page, make())
    page.evaluate("() => window.model.set('problem', 'ValueError: said by Python')")
    assert "said by Python" in page.locator(".mha-problem").inner_text()


def test_a_small_map_is_drawn_in_whole_cells(page):
    """Up to the edge of a cell its colour is that of its weight, of no other."""
    host(page, EXAMPLES["HeadExplorer"]())
    import_source(page, "kit/canvas.js")
    corners = page.evaluate(
        """() => {
          const pen = new OffscreenCanvas(60, 60).getContext("2d");
          window.source.drawShares(pen, Float32Array.from([1, 0, 0.25, 0.5]), 2, 0, 0, 60);
          return [[0, 0], [30, 0], [0, 30], [30, 30]].map(([x, y]) =>
            [[1, 1], [28, 1], [1, 28], [28, 28]].map(([i, j]) =>
              Array.from(pen.getImageData(x + i, y + j, 1, 1).data.slice(0, 3))));
        }"""
    )
    for seen, share in zip(corners, (1.0, 0.0, 0.25, 0.5), strict=True):
        for colour in seen:
            np.testing.assert_allclose(colour, shade(share), atol=1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_canvas_colours_are_those_of_a_page_without_jupyterlab(page, scheme):
    """There the colours are the browser's own, which a canvas would take for light ones."""
    page.emulate_media(color_scheme=scheme)
    view = EXAMPLES["MaskPainter"]()
    host(page, view)
    import_source(page, "kit/canvas.js")
    page.add_style_tag(content=f":root {{ color-scheme: light dark; }}\n{view._css}")
    paper, ink = page.evaluate(
        """() => {
          const { paper, ink } = window.source.pageColours(document.querySelector(".mha-body"));
          const pen = new OffscreenCanvas(1, 1).getContext("2d");
          return [paper, ink].map((colour) => {
            pen.fillStyle = colour;
            pen.fillRect(0, 0, 1, 1);
            return pen.getImageData(0, 0, 1, 1).data[0];
          });
        }"""
    )
    page.emulate_media(color_scheme="light")
    page.evaluate("() => document.querySelectorAll('style').forEach((style) => style.remove())")
    assert (paper > 200, ink > 200) == (scheme == "light", scheme == "dark")


@pytest.mark.parametrize("is_dark", [False, True])
def test_pictures_follow_the_theme_of_jupyterlab(page, is_dark):
    """The white of a map becomes the page's dark, what is dark becomes light, green stays green."""
    strip = Image.new("RGB", (30, 10), "white")
    strip.paste("black", (10, 0, 20, 10))
    strip.paste("#009e73", (20, 0, 30, 10))
    strip.save(file := io.BytesIO(), "png")
    address = f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
    page.set_content(
        f"<style>{(SOURCES / 'style.css').read_text('utf-8')}</style>"
        f"<body data-jp-theme-light={str(not is_dark).lower()}>"
        f"<div class=jp-RenderedImage><img style='display: block' src={address}></div>"
    )
    shot = Image.open(io.BytesIO(page.locator("img").screenshot())).convert("RGB")
    white, black, (red, green, blue) = (shot.getpixel((x, 5)) for x in (5, 15, 25))
    assert (max(white) < 30, min(black) > 225) == (is_dark, is_dark)
    assert green == max(red, green, blue)


VECTORS = [
    (name, trait)
    for name, make in EXAMPLES.items()
    for trait in ("q", "k", "v")
    if isinstance(sent := getattr(make(), trait, None), bytes) and sent
]


@pytest.mark.parametrize(("name", "trait"), VECTORS)
def test_other_vectors_are_drawn_as_in_a_view_that_had_them_from_the_start(page, name, trait):
    view = EXAMPLES[name]()
    host(page, view)
    before = page.evaluate(SEEN)
    other = np.frombuffer(getattr(view, trait), "<f4")[::-1].copy()
    page.evaluate(SEND, [trait, base64.b64encode(other.tobytes()).decode()])
    wait_until_drawn(page)
    after = page.evaluate(SEEN)
    setattr(view, trait, other.tobytes())
    host(page, view)
    assert after == page.evaluate(SEEN) != before


SEEN = """() => [
  document.body.innerText, ...[...document.querySelectorAll("canvas")].map((c) => c.toDataURL())
]"""
SEND = """([name, text]) => {
  const array = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  window.model.set(name, new DataView(array.buffer));
}"""
