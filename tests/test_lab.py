"""Chapters and views in real JupyterLab, opened from copies in a folder of their own."""

import os
import shutil
import tempfile
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import expect
from view_host import axe_violations, needs_browser, require_answer, require_plain_keys_stay_inside

from mha_utils.left_out import digest
from mha_utils.widgets.examples import EXAMPLES
from tools.browser.lab import ROOT, Lab, browser, jupyter_server
from tools.notebooks import chapters

pytestmark = needs_browser
ALWAYS = ("00", "05", "11")  # the way in, a small one, the longest; the others with `make tour`
ALL_VIEWS, PLAY, PAIR = "all_views.ipynb", "play.ipynb", "pair.ipynb"
PLAYED = [  # a size, a button, a bet that is settled, a view that drives torch, a size repeated
    "from mha_utils import setup_chapter, widgets\nsetup_chapter()\nT = 5\nwidgets.RunBelow()",
    "bet = widgets.Bet('How many tokens?', [5, 6])\nbet",
    "bet.settle(T)",
    "curve = widgets.SoftmaxScale(num_keys=8)\ncurve",
    """@widgets.follow(curve)
def weights():
    import torch
    g = torch.Generator().manual_seed(0)
    print("Dh", curve.head_dim, *torch.randn(T, generator=g).div(curve.head_dim).tolist())""",
    "import torch\n\ntorch.ones(2, 5) @ torch.ones(T, 2)",
    "print('T', T)",
]
LINKED = [
    """from mha_utils import widgets
from mha_utils.widgets.examples import EXAMPLES
explorer, painter = (EXAMPLES[name]() for name in ("HeadExplorer", "MaskPainter"))
explorer.length, explorer.row = len(painter.tokens), 2
widgets.link(explorer, painter, "row")
explorer""",
    "painter",
]
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
    start = "from mha_utils.widgets.examples import EXAMPLES"
    views = [start, *(f"EXAMPLES[{name!r}]()" for name in EXAMPLES)]
    nbformat.write(notebook_of(views), made / "notebooks" / ALL_VIEWS)
    nbformat.write(notebook_of(PLAYED), made / "notebooks" / PLAY)
    nbformat.write(notebook_of(LINKED), made / "notebooks" / PAIR)
    return made


def notebook_of(sources: list[str]):
    cells = [nbformat.v4.new_code_cell(source, id=digest(source)) for source in sources]
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


def test_torch_follows_a_view_a_bet_is_settled_and_an_edit_runs_on(page, lab, noted):
    lab.open(f"notebooks/{PLAY}")
    lab.run_all()
    assert lab.error_outputs() == []
    lab.wait_for_output(4, "Dh 64 ")
    lab.view(3).get_by_label("Dh, width of a head").press("ArrowLeft")
    lab.wait_for_output(4, "Dh 32 ")
    lab.view(1).get_by_label("5").check()
    assert lab.view(1).locator(".mha-finding").inner_text() == "You bet on “5”, and so it is."
    lab.edit(0, PLAYED[0].replace("T = 5", "T = 6"))
    lab.view(0).get_by_role("button").click()
    lab.wait_for_output(2, "How many tokens?\nThe answer: 6.")
    lab.wait_for_output(6, "T 6")  # although the cell above it cannot live with the change
    lab.wait_for_output(4, "Dh 64 ")
    assert len(lab.output(4).split()) == 2 + 6
    lab.wait_for_output(5, "This cell is left out. It does not fit what you changed in [")
    assert "T = 6" in lab.output(5)
    assert lab.error_outputs() == []


def test_two_linked_views_move_together(page, lab, noted):
    lab.open(f"notebooks/{PAIR}")
    lab.run_all()
    explorer, painter = (lab.view(cell).locator(".mha-finding") for cell in (0, 1))
    expect(painter).to_contain_text("Row 2,")
    lab.view(0).locator("canvas[role=application]").first.press("ArrowDown")
    expect(painter).to_contain_text("Row 3,")
    lab.view(1).get_by_label("query (row)").press("ArrowRight")
    expect(explorer).to_contain_text("Query 4,")
    assert lab.error_outputs() == []


def test_what_is_opened_is_a_copy(folder):
    for path in chapters():
        copy = folder / "notebooks" / path.name
        assert copy.exists()
        assert not copy.samefile(path)
