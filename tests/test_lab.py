"""Chapters and views in real JupyterLab, opened from copies in a folder of their own."""

import os
import shutil
import tempfile
from pathlib import Path

import nbformat
import pytest
from view_host import axe_violations, needs_browser, require_answer, require_plain_keys_stay_inside

from mha_utils.widgets.examples import EXAMPLES
from tools.lab_browser import ROOT, Lab, browser, jupyter_server
from tools.notebooks import chapters

pytestmark = needs_browser
ALWAYS = ("00", "05", "11")  # the way in, a small one, the longest; the others with `make tour`
ALL_VIEWS = "all_views.ipynb"
NAMES = [
    pytest.param(path.name, marks=() if path.name[:2] in ALWAYS else pytest.mark.tour)
    for path in chapters()
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Copies of what JupyterLab, which saves on its own, is to open."""
    made = tmp_path_factory.mktemp("lab")
    for part in ("notebooks", "media", "benchmarks"):
        ignored = shutil.ignore_patterns(".ipynb_checkpoints")
        shutil.copytree(ROOT / part, made / part, ignore=ignored)
    nbformat.write(page_of_views(), made / "notebooks" / ALL_VIEWS)
    return made


def page_of_views():
    start = "from mha_utils.widgets.examples import EXAMPLES"
    sources = [start, *(f"EXAMPLES[{name!r}]()" for name in EXAMPLES)]
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    metadata = nbformat.read(chapters()[0], as_version=4).metadata
    return nbformat.v4.new_notebook(cells=cells, metadata=metadata)


@pytest.fixture(scope="module")
def server(folder):
    with jupyter_server(folder) as address:
        yield address


@pytest.fixture(scope="module")
def page():
    with browser() as chrome:
        yield chrome.new_page(viewport={"width": 1400, "height": 1000})


@pytest.fixture
def lab(request, page, server):
    """JupyterLab for one test: a picture is kept on failure, kernels end in any case."""
    failed_before = request.session.testsfailed
    lab = Lab(page, server)
    yield lab
    if request.session.testsfailed > failed_before:
        artifacts = Path(os.environ.get("MHA_ARTIFACTS") or tempfile.mkdtemp(prefix="artifacts-"))
        picture = artifacts / f"{request.node.name}.png"
        page.screenshot(path=picture)
        print(f"what was seen then: {picture}")
    lab.shut_down()


@pytest.fixture
def noted(page, server):
    """Errors of the page, and what it asks of others than its server."""
    problems, requests = [], []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    yield problems
    problems += [r for r in requests if not r.startswith((server, "blob:", "data:", "ws:"))]
    assert problems == []


@pytest.mark.parametrize("chapter", NAMES)
def test_chapter_runs_and_its_views_answer(page, lab, noted, chapter):
    lab.open(f"notebooks/{chapter}")
    lab.run_all()
    assert lab.error_outputs() == []
    assert lab.views()
    for cell in lab.views():
        require_answer(page, lab.view(cell))


def test_every_view_answers_in_both_themes(page, lab, noted):
    lab.open(f"notebooks/{ALL_VIEWS}")
    lab.run_all()
    assert lab.error_outputs() == []
    views = lab.views()
    assert len(views) == len(EXAMPLES)
    for cell in views:
        require_plain_keys_stay_inside(lab.view(cell))
    for change_theme in (lambda: None, lab.dark):
        change_theme()
        for cell in views:
            require_answer(page, lab.view(cell))
            assert axe_violations(page) == []


def test_what_is_opened_is_a_copy(folder):
    for path in chapters():
        copy = folder / "notebooks" / path.name
        assert copy.exists()
        assert not copy.samefile(path)
