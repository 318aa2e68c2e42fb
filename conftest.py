"""One thread for the tests, long files first, and the plugins that run chapters and report."""

import os
import sys

import pytest

os.environ["OMP_NUM_THREADS"] = os.environ.get("MHA_THREADS", "1")
os.environ["MHA_EDITS"] = "raise"  # no cell is left out: every error is seen

pytest_plugins = ["tools.suite.nbval_strict", "tools.suite.report"]

FIRST = ("16_", "14_", "12_", "13_", "02_", "15_", "test_lab.py", "test_site.py", "test_fused.py")
FIRST += ("test_browser", "test_tweaks")


@pytest.fixture(autouse=True)
def closed_figures():
    """No picture of one test is open in the next."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def pytest_collection_modifyitems(items) -> None:
    """Chapters, then browsers (the site takes the chapters as executed), tweaks, and the rest."""
    items.sort(key=lambda item: rank(item.path.name))


def rank(name: str) -> tuple[bool, int]:
    places = [place for place, start in enumerate(FIRST) if name.startswith(start)]
    return not name.endswith(".ipynb"), min(places, default=len(FIRST))
