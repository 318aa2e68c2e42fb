"""Pictures by their data: which numbers, labels, limits and colours stand in them, not pixels."""

import re

import matplotlib
import numpy as np
import pytest
import torch
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex, to_rgb
from matplotlib.text import Annotation

from mha_utils import plots, theme
from mha_utils.plots import heads as plots_heads
from mha_utils.plots.heads import MARK
from mha_utils.plots.wires import crossings, draw_ring, draw_sending, draw_there_and_back

matplotlib.use("agg")


def texts(ax) -> list[str]:
    return [text.get_text() for text in ax.texts]


def labels(axis) -> list[str]:
    return [label.get_text() for label in axis.get_ticklabels()]


def patches(ax, kind=plt.Rectangle) -> list:
    """(left, top, width, height, colour) of every rectangle."""
    found = [p for p in ax.patches if isinstance(p, kind)]
    return [(*p.get_xy(), p.get_width(), p.get_height(), to_hex(p.get_facecolor())) for p in found]


VALUES = [[1.0, -4.0, 0.4], [2.0, 0.0, -0.4]]


def test_a_matrix_shows_its_numbers_labels_and_limits():
    ax = plots.draw_matrix(VALUES, rows=["a", "b"], columns=["x", "y", "z"], title="Now")
    (image,) = ax.images
    assert image.get_array().tolist() == VALUES
    assert (image.norm.vmin, image.norm.vmax) == (-4, 4)  # symmetric around 0
    assert image.get_cmap().name == theme.SIGNED
    assert texts(ax) == ["1", "-4", "0", "2", "0", "-0"]
    assert [text.get_position() for text in ax.texts[:4]] == [(0, 0), (1, 0), (2, 0), (0, 1)]
    assert (labels(ax.yaxis), labels(ax.xaxis)) == (["a", "b"], ["x", "y", "z"])
    assert ax.get_title(loc="left") + ax.get_title() == "Now"


def contrast(one, other) -> float:
    """As in WCAG 2.2: 1 for equal colours, 21 for black on white."""
    light = []
    for colour in (one, other):
        parts = [
            s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in to_rgb(colour)
        ]
        light.append(np.dot(parts, [0.2126, 0.7152, 0.0722]) + 0.05)
    return max(light) / min(light)


def test_numbers_can_be_read_on_every_colour():
    values = np.linspace(-1, 1, 21)[None]
    for cmap in (theme.SIGNED, theme.WEIGHTS):
        ax = plots.draw_matrix(values, numbers="{:.1f}", cmap=cmap)
        (image,) = ax.images
        for value, text in zip(values[0], ax.texts):
            back = image.cmap(image.norm(value))[:3]
            assert contrast(back, text.get_color()) >= 4.5
        assert {text.get_color() for text in ax.texts} == {"#000000", "#ffffff"}


def test_options_of_a_matrix():
    ax = plots.draw_matrix(VALUES, limits=(0, 9), numbers=None, highlight_row=1, cmap="viridis")
    assert (ax.images[0].norm.vmin, ax.images[0].norm.vmax) == (0, 9)
    assert ax.images[0].get_cmap().name == "viridis"
    assert texts(ax) == []
    ((left, top, width, height, _),) = patches(ax)
    assert (left, top, width, height) == (-0.5, 0.5, 3, 1)
    assert plots.draw_matrix(VALUES, ax=ax) is ax
    assert plots.draw_matrix(np.zeros((2, 2))).images[0].norm.vmax == 1  # no division by 0


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64, torch.int64, torch.bool])
def test_tensors_of_any_dtype_are_drawn(dtype):
    values = torch.tensor([[1, 0], [0, 1]]).to(dtype)
    values = values.requires_grad_() if dtype.is_floating_point else values
    assert plots.draw_matrix(values).images[0].get_array().tolist() == [[1, 0], [0, 1]]


def test_what_is_not_finite_is_hatched_and_does_not_set_the_scale():
    ax = plots.draw_matrix([[float("nan"), 2.0], [float("-inf"), -1.0]])
    (image,) = ax.images
    assert (image.norm.vmin, image.norm.vmax) == (-2, 2)
    assert image.get_array().mask.tolist() == [[True, False], [True, False]]
    assert [p[:2] for p in patches(ax)] == [(-0.5, -0.5), (-0.5, 0.5)]
    assert {p.get_hatch() for p in ax.patches} == {"////"}
    assert texts(ax) == ["nan", "2", "-inf", "-1"]
    assert ax.texts[0].get_color() == ax.texts[2].get_color() == "#000000"
    assert plots.draw_matrix([[float("nan")]]).images[0].norm.vmax == 1


def test_weights_have_one_scale_and_numbers_while_they_can_be_read():
    ax = plots.draw_weights(np.full((12, 12), 0.25), list("abcdefghijkl"))
    assert (ax.images[0].norm.vmin, ax.images[0].norm.vmax) == (0, 1)
    assert ax.images[0].get_cmap().name == theme.WEIGHTS
    assert texts(ax) == ["0.25"] * 144
    assert (labels(ax.yaxis), labels(ax.xaxis)) == (list("abcdefghijkl"),) * 2
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("query: who looks", "key: who is looked at")
    assert texts(plots.draw_weights(np.zeros((13, 13)), list("abcdefghijklm"))) == []
    assert len(patches(plots.draw_weights(np.eye(2), ["a", "b"], highlight_row=0))) == 1


def test_a_map_without_numbers_has_a_colour_scale_and_of_several_the_last():
    def ends(ax) -> list[str]:
        return [labels(strip.yaxis) for strip in ax.child_axes]

    assert ends(plots.draw_matrix(VALUES)) == []
    assert ends(plots.draw_matrix(VALUES, numbers=None)) == [["-4", "0", "4"]]
    assert ends(plots.draw_weights(np.zeros((13, 13)), list("abcdefghijklm"))) == [["0", "1"]]
    assert ends(plots.draw_matrix(VALUES, limits=(1, 2), numbers=None)) == [["1", "2"]]
    axes = plt.subplots(1, 3)[1]
    shown = [plots.draw_matrix(VALUES, numbers=None, ax=ax) for ax in axes]
    assert [len(ends(ax)) for ax in shown] == [0, 0, 1]


def test_side_by_side_each_matrix_has_its_title_and_columns():
    left, right = plots.draw_side_by_side(
        {"q": [[1, 2]], "scores": [[3, 4, 5]]}, rows=["it"], columns=["a", "b", "c"]
    )
    assert [ax.get_title(loc="left") + ax.get_title() for ax in (left, right)] == ["q", "scores"]
    assert (labels(left.xaxis), labels(right.xaxis)) == (["a", "b"], ["a", "b", "c"])
    assert (labels(left.yaxis), labels(right.yaxis)) == (["it"], [""])
    assert (texts(left), texts(right)) == (["1", "2"], ["3", "4", "5"])
    (left,) = plots.draw_side_by_side({"q": [[1, 2]]}, rows=["it"], columns=["a"])
    assert labels(left.xaxis) == ["a", ""]


@pytest.mark.parametrize("one_scale", [False, True])
def test_side_by_side_a_colour_means_one_number_if_asked(one_scale):
    matrices = {"small": [[1.0, -2.0]], "large": torch.tensor([[4.0, 0.0]])}
    axes = plots.draw_side_by_side(matrices, rows=["it"], columns="ab", one_scale=one_scale)
    limits = [ax.images[0].get_clim() for ax in axes]
    assert limits == [(-4, 4) if one_scale else (-2, 2), (-4, 4)]
    axes = plots.draw_side_by_side(matrices, rows=["it"], columns="ab", limits=(-5, 5))
    assert [ax.images[0].get_clim() for ax in axes] == [(-5, 5)] * 2


def test_cells_have_the_colour_of_their_head():
    blocks = {"x": torch.arange(6), "heads": torch.arange(6).view(2, 3)}
    row, block = plots.draw_cells(blocks, lambda number: int(number) // 3)
    colours = [to_hex(theme.HEADS[n // 3]) for n in range(6)]
    assert [p[-1] for p in patches(row)] == [p[-1] for p in patches(block)] == colours
    assert [p[:2] for p in patches(row)] == [(n, 0) for n in range(6)]
    assert [p[:2] for p in patches(block)] == [(n % 3, n // 3) for n in range(6)]
    assert texts(row) == texts(block) == list("012345")
    assert row.get_ylim() == block.get_ylim() == (2, 0)


def test_more_heads_than_colours_start_again():
    (ax,) = plots.draw_cells({"x": [0, 6, 7]}, lambda number: number)
    first, again, _ = patches(ax)
    assert first[-1] == again[-1]


def test_no_element_at_all_is_an_empty_picture():
    (ax,) = plots.draw_cells({"x": torch.empty(0, 0)}, lambda number: number)
    assert patches(ax) == []
    assert min(ax.figure.get_size_inches()) > 0


def test_what_is_large_stays_a_picture_without_numbers():
    size = (64, 64)
    drawn = [
        plots.draw_matrix(torch.ones(size)),
        plots.draw_cells({"x": torch.arange(4096).view(size)}, lambda number: number)[0],
        plots.draw_side_by_side({"x": torch.ones(size)}, rows=range(64), columns=range(64))[0],
    ]
    many = plots.draw_matrix(torch.ones(1, 1600))
    shares = plots.draw_shares([0.1] * 64, list(range(64)))
    for ax in (*drawn, many, shares):
        assert max(ax.figure.get_size_inches()) <= 50
    assert [texts(ax) for ax in drawn] == [[], [], []]
    assert len(texts(many)) == 1600


def test_a_leak_is_blank_at_0_and_orange_after_the_query():
    leak = torch.tensor([[1.0, 0.0, 2.0], [0.0, 4.0, 0.5], [1.0, 1.0, 1.0]])
    ax = plots.draw_leak(leak, ["a", "b", "c"])
    assert ax.images[0].get_array().tolist() == (leak / 4).tolist()
    beside = plots.draw_leak(leak, ["a", "b", "c"], darkest=8.0)
    assert beside.images[0].get_array().tolist() == (leak / 8).tolist()
    assert (ax.images[0].norm.vmin, ax.images[0].norm.vmax) == (0, 1)
    assert contrast(theme.PAPER, ax.images[0].cmap(0.0)[:3]) > 1.2  # nearly 0 is not blank
    by_colour = {}
    for left, top, *_, colour in patches(ax):
        by_colour.setdefault(colour, []).append((int(top + 0.5), int(left + 0.5)))
    strong, weak = (to_hex(matplotlib.colormaps[theme.FUTURE](share)) for share in (2 / 4, 0.5 / 4))
    assert by_colour == {theme.PAPER: [(0, 1), (1, 0)], strong: [(0, 2)], weak: [(1, 2)]}
    shades = [contrast(theme.PAPER, to_rgb(colour)) for colour in (weak, strong)]
    assert 1.2 < shades[0] < shades[1]  # the stronger, the darker, and the weak ones are not blank
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("output of", "depends on")
    assert not patches(plots.draw_leak(torch.ones(1, 1), ["a"]))
    plots.draw_leak(torch.zeros(2, 2), ["a", "b"])  # nobody depends on anybody
    rounded = plots.draw_leak(torch.tensor([[2.0, 1e-7], [2.0, 2.0]]), ["a", "b"])
    assert [colour for *_, colour in patches(rounded)] == [theme.PAPER]
    told = plots.draw_leak(leak, ["a", "b", "c"], numbers="{:.1f}")
    seen = [text.get_text() for text in told.texts if text.get_visible()]
    assert seen == ["1.0", "2.0", "4.0", "0.5", "1.0", "1.0", "1.0"]  # a blank cell has none
    assert [patch[-1] for patch in patches(told)] == [patch[-1] for patch in patches(ax)]
    assert len(told.texts) == 9
    assert told.texts[2].get_color() == theme.ink_on(matplotlib.colormaps[theme.FUTURE](2 / 4))
    titled = plt.subplots()[1]
    titled.text(0, 0, "a remark")
    plots.draw_leak(leak, ["a", "b", "c"], numbers="{:.1f}", ax=titled)
    assert [text.get_text() for text in titled.texts if text.get_visible()] == ["a remark", *seen]


def test_shares_are_bars_with_their_values_above():
    ax = plots.draw_shares([0.25, 0.5], ["a", "b"], numbers="{:.2f}", title="Shares")
    assert [bar.get_height() for bar in ax.patches] == [0.25, 0.5]
    assert [(t.get_text(), t.xy) for t in ax.texts] == [("0.25", (0, 0.25)), ("0.50", (1, 0.5))]
    assert labels(ax.xaxis) == ["a", "b"]
    assert list(ax.get_yticks()) == []


def test_arcs_lead_from_the_query_to_the_answer():
    words = ["a", "b", "c", "d"]
    ax = plots_heads.draw_arcs(words, {"back": (3, 0), "next": (1, 2)})
    places = {t.get_text(): t.get_position()[0] for t in ax.texts}
    back, end, near, near_end = ax.lines
    for arc, mark, (query, answer) in ((back, end, "da"), (near, near_end, "bc")):
        x = arc.get_xdata()
        assert (x[0], x[-1]) == pytest.approx((places[query], places[answer]))
        assert list(mark.get_xdata()) == pytest.approx([places[answer]])
        assert arc.get_color() == mark.get_color()
    assert places["back"] == pytest.approx((places["a"] + places["d"]) / 2)
    assert back.get_ydata().max() > near.get_ydata().max()  # the longer, the higher
    plots_heads.draw_arcs(words, {"itself": (1, 1)})
    expected = r"^arc 'far' must join places 0 to 3, got \(1, 4\)$"
    with pytest.raises(ValueError, match=expected):
        plots_heads.draw_arcs(words, {"far": (1, 4)})


def test_two_visitors_of_a_circle_have_a_colour_each_and_so_have_their_arrows():
    visitors = {2: [1, 0], 1: [0]}
    names = {2: "Nina", 0: "Bo"}
    ax = plots_heads.draw_visitors("abcd", visitors, names, dashed={1: 3}, title="T")
    places = {t.get_text(): t.get_position() for t in ax.texts}
    drawn = [t for t in ax.texts if isinstance(t, Annotation)]
    ends = [("c", "b"), ("c", "a"), ("b", "a"), ("b", "d")]
    assert [(t.xyann, t.xy) for t in drawn] == [
        (pytest.approx(places[start]), pytest.approx(places[end])) for start, end in ends
    ]
    faces = [to_rgb(circle.get_facecolor()) for circle in ax.patches]
    assert faces == [to_rgb(c) for c in (theme.PAPER, MARK, theme.QUERY, theme.PAPER)]
    edges = [to_rgb(circle.get_edgecolor()) for circle in ax.patches]
    assert edges == [to_rgb(c) for c in (theme.INK, MARK, theme.QUERY, theme.MUTED)]
    colours = [to_rgb(t.arrow_patch.get_edgecolor()) for t in drawn]
    assert colours == [to_rgb(c) for c in (theme.QUERY, theme.QUERY, MARK, MARK)]
    assert [t.arrow_patch.get_linestyle() for t in drawn] == ["solid"] * 3 + ["--"]
    assert places["Nina"] == pytest.approx([1.22 * x for x in places["c"]], abs=1e-9)
    named = {t.get_text(): t.get_color() for t in ax.texts}
    assert (named["Nina"], named["Bo"]) == (theme.QUERY, theme.INK)


def test_marked_cells_are_framed():
    ax = plots.draw_matrix(np.zeros((3, 3)))
    plots_heads.mark_cells(ax, [(0, 2), (1, 0)])
    assert [p[:4] for p in patches(ax)] == [(1.5, -0.5, 1, 1), (-0.5, 0.5, 1, 1)]
    assert not ax.patches[0].get_fill()
    assert to_rgb(ax.patches[0].get_edgecolor()) == to_rgb(MARK)


def test_every_seed_is_a_dot_beside_the_others_below_a_ceiling():
    trained = {"1 head": [0.2, 0.4, 0.3], "2 heads": [1.0]}
    ax = plots_heads.draw_seeds({"trained": trained}, ceilings=[0.5, 1.0])
    (steps,) = ax.collections
    assert [step.tolist() for step in steps.get_segments()] == [
        [[-0.45, 0.5], [0.45, 0.5]],
        [[0.55, 1.0], [1.45, 1.0]],
    ]
    assert [list(line.get_ydata()) for line in ax.lines] == [[0.2, 0.4, 0.3], [1.0]]
    assert list(ax.lines[0].get_xdata()) == pytest.approx([-0.32, 0, 0.32])
    assert labels(ax.xaxis) == ["1 head", "2 heads"]
    assert ax.get_ylim() == (-0.03, 1.07)
    assert ax.get_legend() is None
    with pytest.raises(ValueError, match=r"^ceilings must be 1 numbers, got 2$"):
        plots_heads.draw_seeds({"trained": {"a": [1]}}, ceilings=[1, 2])


def test_two_series_of_seeds_stand_side_by_side_in_two_colours():
    ax = plots_heads.draw_seeds({"one": {"a": [0, 1]}, "two": {"a": [1, 0]}})
    assert [line.get_xdata().mean() for line in ax.lines] == pytest.approx([-0.2, 0.2])
    assert [to_rgb(line.get_color()) for line in ax.lines] == [to_rgb(theme.QUERY), to_rgb(MARK)]
    legend = ax.get_legend()
    assert [t.get_text() for t in legend.get_texts()] == ["one", "two"]
    shown = [to_rgb(handle.get_color()) for handle in legend.legend_handles]
    assert shown == [to_rgb(theme.QUERY), to_rgb(MARK)]
    with pytest.raises(ValueError, match=r"^'two' must have the labels \['a'\], got \['b'\]$"):
        plots_heads.draw_seeds({"one": {"a": [1]}, "two": {"b": [1]}})


def test_lines_have_their_values_and_names():
    ax = plots_heads.draw_lines([0, 10], {"a": [1, 2], "b": [3, 4]}, xlabel="step")
    assert [list(line.get_ydata()) for line in ax.lines] == [[1, 2], [3, 4]]
    assert [list(line.get_xdata()) for line in ax.lines] == [[0, 10]] * 2
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["a", "b"]
    assert len({(line.get_color(), line.get_linestyle()) for line in ax.lines}) == 2
    assert ax.get_xlabel() == "step"
    with pytest.raises(ValueError, match=r"^'a' must have 2 values, got 1$"):
        plots_heads.draw_lines([0, 1], {"a": [1]})


@pytest.mark.parametrize("weights", [[1], [1, 2, 3, 4], list(range(1, 9))])
def test_numbers_go_there_and_gradients_come_back_on_the_same_wires(weights):
    ways = [([w * n for w in weights], n * sum(weights)) for n in (1, len(weights), 10)]
    there, copied, added, back = draw_there_and_back(weights, *ways).axes
    boxes = [f"× {w}" for w in weights]
    sent = [text for w in weights for text in ("1", str(w))]
    returned = [text for w in weights for text in ("10", str(10 * w))]
    written = [[t for t in texts(ax) if t not in ("", *boxes)] for ax in (there, back)]
    assert written[0] == [*sent, "x\n1", f"y\n{sum(weights)}"]
    total = 10 * sum(weights)
    assert written[1] == [*returned, f"gradient\nof x\n{total}", "gradient\nof y\n10"]
    titles = ["backward: copy at y, add up at x", "backward of all y's: add up at y and at x"]
    assert copied.get_title() == titles[0]
    assert added.get_title() == titles[len(weights) > 1]
    assert back.get_title() == "backward"
    assert draw_there_and_back(weights, (weights, 77)).axes[1].get_title() == "backward"
    arrows = [[a for a in ax.texts if isinstance(a, Annotation)] for ax in (there, back)]
    for ax, ahead in zip(arrows, (True, False)):
        assert [a.xy[0] > a.xyann[0] for a in ax] == [ahead] * 2 * len(weights)


@pytest.mark.parametrize(("number", "step"), [(1, 0), (2, 1), (4, 1), (8, 7)])
def test_notes_move_on_around_the_table_and_queries_stay(number, step):
    (ax,) = draw_ring(number, step).axes
    said = [text for text in texts(ax) if text]
    assert said[::2] == [f"queries\nof {rank}" for rank in range(number)]
    assert said[1::2] == [f"note\nof {(rank - step) % number}" for rank in range(number)]
    hatched = [t.get_bbox_patch().get_hatch() for t in ax.texts if t.get_text().startswith("note")]
    assert [*map(bool, hatched)] == [(rank - step) % number > rank for rank in range(number)]
    assert sum(isinstance(a, Annotation) for a in ax.texts) == number * (number > 1)


def test_where_lines_cross_is_marked():
    assert crossings([1, 4], [1, 1], [2, 2]) == []
    assert crossings([1, 4], [1, 4], [4, 1]) == [pytest.approx((2, 2))]
    for one in ([1, 2, 4], [4, 2, 1], [1, 2, 2, 4]):  # they meet where both have a height
        where = (2, 2) if len(one) == 3 else (3, 2)
        assert crossings([1, 2, 3, 4][: len(one)], one, [2] * len(one)) == [pytest.approx(where)]
    for one in ([1, 2, 1], [4, 2, 4], [2, 1, 1], [4, 4, 2]):
        assert crossings([1, 2, 3], one, [2, 2, 2]) == []
    sending = {"heads": [1, 4], "trading": [0.4, 0.1], "ring": [0.1, 0.4]}
    (ax,) = draw_sending([2, 4], [2, 1], sending).axes
    assert len(ax.lines) == 4 + 2  # heads meets computing, and the ring trading


def test_a_gradient_is_missing():
    expected = "expected 2 gradients, one for each weight, got [1]"
    with pytest.raises(ValueError, match=f"^{re.escape(expected)}$"):
        draw_there_and_back([1, 2], ([1], 3))
