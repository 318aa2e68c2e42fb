"""Colours: even steps, 0 is the page, figures without a background, text readable on any page."""

import base64
import io
import itertools

import matplotlib
import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.testing.globalipapp import get_ipython
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb
from matplotlib_inline.config import InlineBackend
from test_plots import contrast

from mha_utils import chapter, theme

DARK_PAGES = ("#111111", "#1c1c1c")
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
SHARES = {theme.WEIGHTS: (0, 1), theme.WEIGHTS_DARK: (0, 1)}
HALVES = {theme.SIGNED: (0.5, 1), theme.SIGNED_DARK: (0.5, 1)}
OTHER_HALVES = {theme.SIGNED: (0.5, 0), theme.SIGNED_DARK: (0.5, 0)}


def lab(colour) -> np.ndarray:
    """CIELAB under D65: equal distances look alike, 2 is just seen."""
    parts = np.array(to_rgb(colour))
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    x, y, z = np.cbrt(XYZ @ linear / (0.9505, 1, 1.089))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def apart(one, other) -> float:
    return float(np.linalg.norm(lab(one) - lab(other)))


@pytest.mark.parametrize(
    ("name", "ends"), [*SHARES.items(), *HALVES.items(), *OTHER_HALVES.items()]
)
def test_steps_look_alike_and_0_is_the_page(name, ends):
    colours = matplotlib.colormaps[name](np.linspace(*ends, 11))[:, :3]
    steps = list(itertools.starmap(apart, itertools.pairwise(colours)))
    assert max(steps) < 1.4 * min(steps)
    assert min(steps) > 9
    light = [lab(colour)[0] for colour in colours]
    page = (DARK_PAGES[-1],) if "dark" in name else (theme.PAPER,)
    assert light == sorted(light, reverse="dark" not in name)
    assert apart(colours[0], page[0]) < 6


@pytest.mark.parametrize("name", SHARES)
def test_a_hundredth_a_tenth_and_a_fifth_can_be_told_apart(name):
    colours = matplotlib.colormaps[name]([0.01, 0.1, 0.2])[:, :3]
    assert min(itertools.starmap(apart, itertools.pairwise(colours))) > 9


def test_text_on_the_page_can_be_read_on_white_and_in_dark_themes():
    assert contrast(theme.MUTED, theme.PAPER) >= 4.5
    for page in DARK_PAGES:
        assert contrast(theme.MUTED, page) >= 3.7
    with plt.rc_context(theme.RC):
        for name in ("text.color", "axes.labelcolor", "xtick.color", "ytick.color"):
            assert plt.rcParams[name] == theme.MUTED


def test_a_figure_of_a_notebook_has_no_background_and_asks_for_none():
    """With a colour of its own that is "none" JupyterLab would put it on white."""
    shell = get_ipython()
    chapter.show_through(shell)
    with plt.rc_context(theme.RC):
        figure = plt.figure(figsize=(2, 1))
        figure.gca().set_xticks([0, 1])
    as_png = shell.display_formatter.formatters["image/png"]
    as_png.enabled = True  # as in a kernel
    shown = as_png(figure)
    plt.close(figure)
    assert isinstance(shown, str)  # nothing is said about a background
    assert plt.imread(io.BytesIO(base64.b64decode(shown)))[0, 0, 3] == 0
    assert InlineBackend.instance().print_figure_kwargs["facecolor"] == "none"


def test_a_cell_that_misses_a_name_is_told_why(capsys):
    shell = InteractiveShell.instance()
    chapter.setup_chapter()
    chapter.setup_chapter()  # the first cell, run again
    for source, said in (("not_made + 1", 1), ("1 / 0", 0), ("1", 0)):
        shell.run_cell(source, silent=False)
        assert capsys.readouterr().out.count("run the cells above this one first") == said
