"""The static site: every chapter offline, its view alive without a kernel."""

import itertools
import os
import re
import time
from collections import Counter
from pathlib import Path

import pytest
from playwright.sync_api import expect
from view_host import axe_violations, needs_browser, require_answer

from mha_utils.widgets.examples import EXAMPLES
from mha_utils.widgets.kit.page import embed, save_page
from tools.browser.lab import browser
from tools.build_site import build
from tools.mutation.choice import live_views
from tools.notebooks import chapters
from tools.suite.chapter_runner import code_cells
from tools.suite.comparing import same_text
from tools.suite.nbval_strict import EXECUTED

NAMES = [path.stem for path in chapters()]
WITH_AXE = [name for name in NAMES if name[:2] in ("01", "12")]


@pytest.fixture(scope="module")
def site(request, tmp_path_factory) -> Path:
    """Of the chapters as nbval executes them in this run; of those left out, as built alone."""
    executed = Path(os.environ[EXECUTED])
    cells = Counter(item.path for item in request.session.items)
    for path in chapters():
        if cells[path] == len(code_cells(path)):
            wait_for(executed / path.name)
    return build(tmp_path_factory.mktemp("site") / "build", executed)


def wait_for(path: Path, seconds: float = 600) -> None:
    """Another worker of pytest-xdist may still be at it."""
    deadline = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < deadline, f"nbval has not run {path.name}"
        time.sleep(0.2)


@pytest.fixture(scope="module")
def chrome():
    with browser() as chrome:
        yield chrome


@pytest.fixture
def offline(chrome):
    """A fresh page without network that notes what goes wrong and what it asks for."""
    context = chrome.new_context(offline=True, viewport={"width": 1300, "height": 1000})
    page = context.new_page()
    page.problems, page.requests = [], []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on(
        "console",
        lambda line: page.problems.append(line.text) if line.type == "error" else None,
    )
    page.on("request", lambda request: page.requests.append(request.url))
    yield page
    context.close()


def require_silence(page) -> None:
    assert page.problems == []
    assert [r for r in page.requests if not r.startswith(("file:", "blob:", "data:"))] == []


def test_pages_are_small_and_link_to_each_other(site):
    pages = [site / "index.html", *(site / "notebooks" / f"{name}.html" for name in NAMES)]
    for page in pages:
        assert page.stat().st_size <= 500_000
        text = page.read_text()
        for target in re.findall(r'(?:href|src)="([^"#?]+)[^"]*"', text):
            if not re.match(r"https?:|data:|mailto:", target):
                assert (page.parent / target).exists(), (page.name, target)
    for earlier, later in itertools.pairwise(NAMES):
        assert f'href="{later}.html"' in (site / "notebooks" / f"{earlier}.html").read_text()


def test_site_can_be_served_from_anywhere(site):
    assert (site / ".nojekyll").exists()
    for page in site.rglob("*.html"):
        loaded = re.findall(r'(?:src|<link[^>]* href)="(https?:[^"]+)"', page.read_text())
        assert loaded == [], page.name


def shown_views(page) -> list:
    """Every view of a page, once all of them are there."""
    views = page.locator(".mha-view")
    expect(views).to_have_count(page.locator("[data-mha-view]").count(), timeout=30_000)
    return views.all()


@needs_browser
@pytest.mark.parametrize("name", NAMES)
def test_views_of_a_chapter_answer_offline(site, offline, name):
    offline.goto((site / "notebooks" / f"{name}.html").as_uri())
    for view in shown_views(offline):
        require_answer(offline, view)
    require_silence(offline)


@needs_browser
@pytest.mark.parametrize("name", WITH_AXE)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_views_of_a_chapter_are_accessible(site, offline, name, theme):
    offline.goto((site / "notebooks" / f"{name}.html").as_uri())
    views = shown_views(offline)
    offline.evaluate("(theme) => { document.body.dataset.theme = theme; }", theme)
    for view in views:
        require_answer(offline, view)
    require_silence(offline)  # before axe, which reads style sheets again: file:// forbids that
    assert axe_violations(offline) == []


@needs_browser
def test_search_finds_a_chapter(site, offline):
    offline.goto((site / "search.html").as_uri() + "?q=padding")
    offline.locator("#search-results li a", has_text="06 · Mask").wait_for()
    require_silence(offline)


@needs_browser
@pytest.mark.parametrize("name", EXAMPLES)
def test_a_view_alone_in_a_page(tmp_path, offline, name):
    view = EXAMPLES[name]()
    offline.goto(save_page(view, tmp_path / "view.html").as_uri())
    shown = offline.locator(".mha-view")
    shown.wait_for()
    offline.wait_for_function("() => document.querySelector('.mha-finding').innerText")
    assert same_text(shown.locator(".mha-finding").inner_text(), view.finding())
    require_answer(offline, shown)
    require_silence(offline)


def test_every_view_has_an_example():
    assert set(EXAMPLES) == set(live_views()) - {"Bet", "RunBelow"}  # which draw no picture


def test_a_page_needs_an_html_path(tmp_path):
    with pytest.raises(ValueError, match=r"^path must end in \.html, got 'view\.txt'$"):
        save_page(EXAMPLES["ShapeLetters"](), "view.txt")


def test_what_a_reader_wrote_cannot_end_the_script():
    text = embed("v", {"sentence": "</script><b>"}, b"", "a < b")
    assert "</script><b>" not in text
    assert 'alt="a &lt; b"' in text
