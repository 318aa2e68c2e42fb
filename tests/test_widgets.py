"""The Python side of the live views: state, sentence, still picture."""

import base64
import io
import re

import ipywidgets
import numpy as np
import pytest
import torch
from helpers import toy_explorer
from IPython.core.formatters import DisplayFormatter
from PIL import Image

from mha_utils import (
    attention_scores,
    attention_weights,
    causal_mask,
    split_heads,
    theme,
    widgets,
)
from mha_utils.widgets.examples import EXAMPLES
from mha_utils.widgets.kit.base import shows_problems
from mha_utils.widgets.kit.still import Cell, Grid, picture

VIEWS = EXAMPLES | {"HeadExplorer": toy_explorer}
MOVES = {
    "BugHunt": ("suspect", 2),
    "CacheShelf": ("length", 3),
    "LayerCost": ("seq_len", 64),
    "DropoutDraws": ("p", 0.7),
    "HeadExplorer": ("temperature", 3.0),
    "MaskPainter": ("allowed", [False] * 49),
    "MemoryRibbon": ("num_heads", 4),
    "PositionDials": ("distance", 9),
    "ProcessTiles": ("step", 1),
    "ShapeLetters": ("num_heads", 4),
    "SoftmaxScale": ("head_dim", 4),
    "HeadBudget": ("head_dim", 2),
    "TrainingFilm": ("frame", 1),
    "TrainingStaircase": ("num_lookups", 3),
    "WriterAtWork": ("head", "0.2"),
}
EACH = pytest.mark.parametrize("make", VIEWS.values(), ids=VIEWS)


@EACH
def test_bundle_has_the_view_a_text_and_a_picture(make):
    view = make()
    bundle, _ = view._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert bundle["text/plain"] == repr(view) == f"{type(view).__name__}: {view.finding()}"
    picture = Image.open(io.BytesIO(base64.b64decode(bundle["image/png"])))
    assert picture.width > 400
    assert len(picture.convert("RGB").getcolors(100_000)) > 5


def test_a_view_has_its_picture_under_ipywidgets_7_too(monkeypatch):
    """There a widget shows itself, without text and picture; Colab has it."""
    shown = []
    monkeypatch.setattr(ipywidgets.Widget, "_ipython_display_", shown.append, raising=False)
    data, _ = DisplayFormatter().format(toy_explorer())
    assert set(data) >= {"image/png", "text/plain", "application/vnd.jupyter.widget-view+json"}
    assert shown == []


@EACH
def test_text_is_the_same_in_every_run(make):
    assert repr(make()) == repr(make())
    assert "0x" not in repr(make())


@EACH
def test_javascript_is_one_module_without_imports(make):
    source = make()._esm
    assert not re.search(r"""\bimport\s*[{("'*]|\bfrom\s*["']""", source)
    (exported,) = re.findall(r"\bexport\b.*", source)
    assert re.fullmatch(r"export\{[\w$]+ as default\};", exported)
    assert "https://" not in source


@EACH
def test_picture_follows_the_state(make):
    view = make()
    before = view.png()
    setattr(view, *MOVES[type(view).__name__])
    assert view.png() != before


@EACH
def test_picture_needs_no_figure_of_matplotlib(make, monkeypatch):
    """A figure takes longer to draw than the rest of a picture."""
    from matplotlib.figure import Figure

    monkeypatch.delattr(Figure, "__init__")
    monkeypatch.delattr(Figure, "savefig")
    assert make().png().startswith(b"\x89PNG")


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("temperature", [0.1, 1.0, 4.0])
def test_weights_equal_the_package(causal, temperature):
    g = torch.Generator().manual_seed(0)
    q, k = torch.randn(2, 3, 9, 5, generator=g)
    view = widgets.HeadExplorer([f"w{i}" for i in range(9)], q, k, causal=causal)
    view.temperature = temperature
    view.length = 7
    scores = q[:, :7] @ k[:, :7].mT / 5**0.5 / temperature
    expected = attention_weights(scores, causal_mask(7) if causal else None)
    np.testing.assert_allclose(view.weights(), expected, atol=1e-6)


@pytest.mark.parametrize("num_heads", [1, 2, 3, 4, 6, 12])
def test_another_number_of_heads_cuts_the_same_columns(num_heads):
    g = torch.Generator().manual_seed(0)
    q, k = torch.randn(2, 1, 7, 12, generator=g)  # (B, T, D)
    given = (split_heads(x, 3)[0] for x in (q, k))
    view = widgets.HeadExplorer([f"w{i}" for i in range(7)], *given, resplit=True)
    assert view.num_heads == 3
    view.num_heads = num_heads
    scores = attention_scores(split_heads(q, num_heads), split_heads(k, num_heads))
    np.testing.assert_allclose(view.weights(), attention_weights(scores)[0], atol=1e-6)
    assert view.finding().startswith(f"Head 0 of {num_heads}, Dh = {12 // num_heads}: query 0,")
    view.head = 99
    assert view.finding().startswith(f"Head {num_heads - 1} of {num_heads}")


def test_heads_have_names():
    x = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0))
    view = widgets.HeadExplorer(["a", "b", "c"], x, x, names=["5.0", "5.1"], head=1)
    assert view.finding().startswith("Head 5.1: query 0, “a”")
    expected = attention_weights(x[1] @ x[1].mT / 2)
    np.testing.assert_allclose(view.weights()[1], expected, atol=1e-6)


def test_half_precision_takes_half_the_bytes():
    q, k = torch.randn(2, 3, 6, 4, generator=torch.Generator().manual_seed(0)).half()
    words = [f"w{i}" for i in range(6)]
    half, full = widgets.HeadExplorer(words, q, k), widgets.HeadExplorer(words, q.float(), k)
    assert 2 * len(half.q) == len(full.q)
    np.testing.assert_array_equal(half.weights(), full.weights())


def test_a_locked_row_is_said():
    view = toy_explorer(row=7, locked=True)
    assert view.finding().startswith("Query 7, “it” (locked), looks most at key 1, “cat”: 0.76.")


def test_finding_says_what_the_numbers_say():
    view = toy_explorer(row=7, column=1)
    assert view.finding() == (
        "Query 7, “it”, looks most at key 1, “cat”: 0.76. Entropy 0.98 of at most 2.30 nats."
    )
    view.causal, view.row = True, 0
    assert view.finding() == (
        "Query 0, “the”, looks most at key 0, “the”: 1.00. Entropy 0.00 of at most 0.00 nats."
    )


def test_a_sentence_of_the_reader_is_taken():
    view = toy_explorer()
    view.sentence = "the dog slept xyzzy"
    view.length = 3
    assert view.tokens == ["the", "dog", "slept"]
    assert view.weights().shape == (1, 3, 3)


@pytest.mark.parametrize("name", ["LayerCost", "ShapeLetters"])
def test_heads_that_do_not_divide_are_shown_as_a_problem(name):
    view = EXAMPLES[name]()
    with pytest.raises(ValueError, match=r"^embed_dim must be divisible by num_heads"):
        type(view)(num_heads=5)
    view.num_heads = 5
    assert view.problem.startswith("ValueError: embed_dim must be divisible by num_heads")
    view.num_heads = 4
    assert view.problem == ""


def test_shows_problems_keeps_the_name_of_the_callback():
    @shows_problems
    def callback(self, change):
        """Text."""

    assert callback.__name__ == "callback"


# ---- still pictures --------------------------------------------------------------------


def colour_at(image: Image.Image, x: int, y: int) -> str:
    return "#{:02x}{:02x}{:02x}".format(*image.getpixel((x, y)))


def two_by_two(**options) -> Grid:
    colours = [["#ff0000", "#00ff00"], ["#0000ff", "#ffff00"]]
    return Grid("", [[Cell(colour) for colour in row] for row in colours], **options)


def test_cells_stand_in_rows_and_columns():
    image = picture("", [two_by_two(largest=(20, 20))])
    corners = [colour_at(image, 12 + x, 18 + y) for y in (2, 22) for x in (2, 22)]
    assert corners == ["#ff0000", "#00ff00", "#0000ff", "#ffff00"]
    assert colour_at(image, 12 + 42, 20) == theme.PAPER


def test_parts_of_a_line_share_its_width_and_cells_shrink_to_it():
    grid = Grid("", [[Cell("#ff0000")] * 40])
    image = picture("", [grid, grid])
    red = [x for x in range(image.width) if colour_at(image, x, 19) == "#ff0000"]
    assert max(red) < image.width
    assert max(x for x in red if x < 416) < 404 < min(x for x in red if x > 404) < 420


def test_a_framed_row_and_a_marked_cell_can_be_seen():
    plain, framed = (picture("", [two_by_two(framed=row)]) for row in (None, 1))
    assert colour_at(framed, 40, 18 + 35) == theme.OKABE_ITO["orange"].lower()
    assert colour_at(plain, 40, 18 + 35) != theme.OKABE_ITO["orange"].lower()
    marked = picture("", [Grid("", [[Cell("#ffffff", "1", marked=True)]])])
    assert colour_at(marked, 13, 19) == theme.INK


def test_a_wide_table_is_cut():
    short, long, longer = (picture("", ["x" * n]).tobytes() for n in (50, 200, 300))
    assert short != long == longer
