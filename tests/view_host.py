"""A live view in a page of its own, without a kernel: what the browser tests share."""

import base64
import os

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page

from mha_utils.widgets import LiveView
from tools.browser.chromium import NO_BROWSER, chromium
from tools.bundle import SOURCES

REQUIRED = bool(os.environ.get("MHA_REQUIRE_BROWSER"))
needs_browser = pytest.mark.skipif(not REQUIRED and chromium() is None, reason=NO_BROWSER)

# A plain object in the place of anywidget's model, and the view's module rendered with it.
HOST = """async ([source, state, bytes]) => {
  for (const [name, text] of Object.entries(bytes)) {
    const array = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const shifted = new Uint8Array(array.length + 1);  // unaligned, as from a kernel
    shifted.set(array, 1);
    state[name] = new DataView(shifted.buffer, 1);
  }
  const listeners = {};
  window.model = {
    get: (name) => state[name],
    set(name, value) {
      state[name] = value;
      (listeners[`change:${name}`] ?? []).forEach((call) => call());
    },
    on: (event, call) => (listeners[event] ??= []).push(call),
    off: (event, call) => { listeners[event] = listeners[event].filter((c) => c !== call); },
    save_changes() { window.saves = (window.saves ?? 0) + 1; },
    send: window.sent && ((order) => window.sent.push(order)),  // with a kernel, if a test has one
    listeners: () => Object.values(listeners).flat().length,
  };
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  window.module = await import(url);
  document.body.replaceChildren();
  window.stop = await window.module.default.render({ model: window.model, el: document.body });
  await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
}"""


def host(page: Page, view: LiveView, before: str = "", css: str = "") -> None:
    """Render the view in an empty page, from its traits as they are now; `before` runs first.

    As in JupyterLab the style is there before the view is: a picture takes its colours from it.
    """
    state = {n: getattr(view, n) for n in view.trait_names(sync=True) if not n.startswith("_")}
    sent = {n: base64.b64encode(v).decode() for n, v in state.items() if isinstance(v, bytes)}
    state = {n: v for n, v in state.items() if isinstance(v, bool | int | float | str | list)}
    page.goto("about:blank")
    if before:
        page.evaluate(before)
    page.add_style_tag(content=f"{css} {view._css}")
    page.evaluate(HOST, [view._esm, state, sent])


def import_source(page: Page, path: str) -> None:
    """A module of mha_utils/widgets/js as it is written, before it is built, as window.source."""
    page.route("https://source/**", lambda route: route.fulfill(**answer(route.request.url)))
    page.evaluate("async (url) => { window.source = await import(url); }", f"https://source/{path}")


def answer(url: str) -> dict:
    path = SOURCES / url.removeprefix("https://source/")
    kind = "application/json" if path.suffix == ".json" else "text/javascript"
    free = {"Access-Control-Allow-Origin": "*"}
    return {"body": path.read_text("utf-8"), "content_type": kind, "headers": free}


def set_traits(page: Page, view: LiveView, **traits) -> None:
    """The same change in Python and in the page, which has drawn it when this returns."""
    for name, value in traits.items():
        setattr(view, name, value)
        page.evaluate("([n, v]) => window.model.set(n, v)", [name, value])
    wait_until_drawn(page)


def wait_until_drawn(page: Page) -> None:
    """A view draws in the frame after a change: nothing is read before it."""
    page.evaluate("() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)))")


def finding(page: Page) -> str:
    wait_until_drawn(page)
    return page.locator(".mha-finding").inner_text()


def table_texts(page: Page) -> list[list[str]]:
    """The words of every cell of the rows that can be seen."""
    wait_until_drawn(page)
    return [
        [" ".join(cell.split()) for cell in row.locator("th, td").all_text_contents()]
        for row in page.locator("tr:visible").all()
    ]


def pixels(canvas: Locator) -> str:
    wait_until_drawn(canvas.page)
    return canvas.evaluate("(node) => node.toDataURL()")


def require_answer(page: Page, view: Locator) -> None:
    """Some slider, moved by keyboard, changes sentence and picture; a bet takes a choice."""
    if not view.locator("canvas[role]").count():
        require_words(view)
        return
    sentence, pictures = view.locator(".mha-finding"), view.locator("canvas[role]")
    before = sentence.inner_text(), [pixels(picture) for picture in pictures.all()]
    sliders = view.locator("input[type=range]")
    for number in range(sliders.count()):
        for key in ("ArrowLeft", "ArrowRight", "ArrowRight"):
            sliders.nth(number).press(key)
            wait_until_drawn(page)
            after = sentence.inner_text(), [pixels(picture) for picture in pictures.all()]
            if after[0] != before[0] and after[1] != before[1]:
                return
    raise AssertionError(f"no slider changes sentence and picture; it says: {before[0]}")


def require_words(view: Locator) -> None:
    """A bet says what was chosen; a button says what it does, or a sentence what to do."""
    choices = view.locator("input[type=radio]:enabled")
    if choices.count():
        choices.first.check()
        assert view.locator(".mha-finding").inner_text().startswith("You bet on “")
    assert view.inner_text().strip()


def require_plain_keys_stay_inside(view: Locator) -> None:
    """In JupyterLab a plain m turns a cell into markdown, and d d deletes it."""
    control = view.locator("input[type=range], canvas[role]").first
    for key in ("m", "d", "d"):
        control.press(key)
    assert view.is_visible()


def axe_violations(page: Page) -> list[str]:
    results = Axe().run(page, context=".mha-view")
    return [f"{v['id']}: {v['help']}" for v in results.response["violations"]]


def wear_theme(page: Page, view: LiveView, theme: str) -> None:
    """The view's style sheet and JupyterLab's colours of the light or the dark theme."""
    paper, ink, line = THEMES[theme]
    colours = f"--jp-layout-color1: {paper}; --jp-ui-font-color1: {ink};"
    sheet = f":root {{ {colours} --jp-border-color1: {line}; background: {paper}; }}"
    page.add_style_tag(content=f"{sheet}\n{view._css}")


THEMES = {"light": ("#ffffff", "#1b1b1b", "#bdbdbd"), "dark": ("#111111", "#e0e0e0", "#616161")}
