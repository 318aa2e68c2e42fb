"""Pictures by their data: which numbers, labels, limits and colours stand in them, not pixels."""

import matplotlib
import numpy as np
import pytest
import torch
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex, to_rgb

from mha_utils import plots, theme
from mha_utils.plots import cost as plots_cost
from mha_utils.plots import heads as plots_heads
from mha_utils.plots.heads import MARK

matplotlib.use("agg")
RED = to_hex(theme.OKABE_ITO["vermilion"])


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


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


def test_numbers_can_be_read_on_every_colour():
    values = np.linspace(-1, 1, 21)[None]
    ax = plots.draw_matrix(values, numbers="{:.1f}")
    (image,) = ax.images
    for value, text in zip(values[0], ax.texts):
        back = image.cmap(image.norm(value))[:3]
        light = np.dot(back, [0.299, 0.587, 0.114])
        assert (text.get_color() == "w") == (light < 0.5)
    assert {text.get_color() for text in ax.texts} == {"w", theme.INK}


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


def test_what_is_not_finite_is_grey_and_does_not_set_the_scale():
    ax = plots.draw_matrix([[float("nan"), 2.0], [float("-inf"), -1.0]])
    (image,) = ax.images
    assert (image.norm.vmin, image.norm.vmax) == (-2, 2)
    assert image.get_array().mask.tolist() == [[True, False], [True, False]]
    assert to_hex(image.get_cmap().get_bad()) == theme.FORBIDDEN
    assert texts(ax) == ["nan", "2", "-inf", "-1"]
    assert ax.texts[0].get_color() == ax.texts[2].get_color() == theme.INK
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


def test_side_by_side_each_matrix_has_its_title_and_columns():
    left, right = plots.draw_side_by_side(
        {"q": [[1, 2]], "scores": [[3, 4, 5]]}, rows=["it"], columns=["a", "b", "c"]
    )
    assert [ax.get_title(loc="left") + ax.get_title() for ax in (left, right)] == ["q", "scores"]
    assert (labels(left.xaxis), labels(right.xaxis)) == (["a", "b"], ["a", "b", "c"])
    assert (labels(left.yaxis), labels(right.yaxis)) == (["it"], [""])
    assert (texts(left), texts(right)) == (["1", "2"], ["3", "4", "5"])


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


def test_a_leak_is_blank_at_0_and_red_after_the_query():
    leak = torch.tensor([[1.0, 0.0, 2.0], [0.0, 4.0, 0.0], [1.0, 1.0, 1.0]])
    ax = plots.draw_leak(leak, ["a", "b", "c"])
    assert ax.images[0].get_array().tolist() == (leak / 4).tolist()
    assert (ax.images[0].norm.vmin, ax.images[0].norm.vmax) == (0, 1)
    by_colour = {}
    for left, top, *_, colour in patches(ax):
        by_colour.setdefault(colour, []).append((int(top + 0.5), int(left + 0.5)))
    assert by_colour == {theme.PAPER: [(0, 1), (1, 0), (1, 2)], RED.lower(): [(0, 2)]}
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("output of", "depends on")
    assert not patches(plots.draw_leak(torch.ones(1, 1), ["a"]))
    plots.draw_leak(torch.zeros(2, 2), ["a", "b"])  # nobody depends on anybody


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


def test_marked_cells_are_framed():
    ax = plots.draw_matrix(np.zeros((3, 3)))
    plots_heads.mark_cells(ax, [(0, 2), (1, 0)])
    assert [p[:4] for p in patches(ax)] == [(1.5, -0.5, 1, 1), (-0.5, 0.5, 1, 1)]
    assert not ax.patches[0].get_fill()
    assert to_rgb(ax.patches[0].get_edgecolor()) == to_rgb(MARK)


def test_seeds_have_a_mean_every_value_and_a_ceiling():
    ax = plots_heads.draw_seeds({"1 head": [0.2, 0.4], "2 heads": [1.0]}, ceilings=[0.5, 1.0])
    steps, marks = ax.lines[:2], ax.lines[2:]
    assert [list(line.get_ydata()) for line in steps] == [[0.5, 0.5], [1.0, 1.0]]
    heights = [list(line.get_ydata()) for line in marks]
    assert heights == [[0.2, 0.4], [pytest.approx(0.3)], [1], [1]]
    assert [list(line.get_xdata()) for line in marks] == [[0, 0], [0], [1], [1]]
    assert steps[0].get_label() == "theory: at most"
    assert labels(ax.xaxis) == ["1 head", "2 heads"]
    assert ax.get_ylim() == (-0.03, 1.07)
    with pytest.raises(ValueError, match=r"^ceilings must be 1 numbers, got 2$"):
        plots_heads.draw_seeds({"a": [1]}, ceilings=[1, 2])


def test_lines_have_their_values_and_names():
    ax = plots_heads.draw_lines([0, 10], {"a": [1, 2], "b": [3, 4]}, xlabel="step")
    assert [list(line.get_ydata()) for line in ax.lines] == [[1, 2], [3, 4]]
    assert [list(line.get_xdata()) for line in ax.lines] == [[0, 10]] * 2
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["a", "b"]
    assert len({(line.get_color(), line.get_linestyle()) for line in ax.lines}) == 2
    assert ax.get_xlabel() == "step"
    with pytest.raises(ValueError, match=r"^'a' must have 2 values, got 1$"):
        plots_heads.draw_lines([0, 1], {"a": [1]})


def test_bars_stand_in_groups_with_their_values():
    groups = {"one": {"a": 0.5, "b": 1.5}, "two": {"a": 0.25, "b": 2.0}}
    ax = plots_heads.draw_bars(groups, limits=(0, 3), ylabel="nats")
    heights = [bar.get_height() for bar in ax.patches]
    assert heights == [0.5, 0.25, 1.5, 2.0]  # all of one name after the other
    middles = [bar.get_x() + bar.get_width() / 2 for bar in ax.patches]
    assert middles == pytest.approx([-0.2, 0.8, 0.2, 1.2])
    assert texts(ax) == [".50", ".25", "1.5", "2.0"]
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["a", "b"]
    assert (labels(ax.xaxis), ax.get_ylim(), ax.get_ylabel()) == (["one", "two"], (0, 3), "nats")
    assert plots_heads.draw_bars({"one": {"a": 1.0}}).get_legend() is None
    expected = r"^group 'two' must have the bars \['a'\], got \['b'\]$"
    with pytest.raises(ValueError, match=expected):
        plots_heads.draw_bars({"one": {"a": 1.0}, "two": {"b": 1.0}})


# ---- costs -----------------------------------------------------------------------------

MACHINE = {"device": "cpu", "hardware": "A CPU", "threads": 2, "date": "2026-01-02"}
MACHINE |= {"versions": {"torch": "2.13"}}


def row(median: float) -> dict:
    return {"ratio": {"low": median / 2, "median": median, "high": 2 * median}}


def test_ratios_are_drawn_fastest_on_top():
    case = {"label": "sizes", "rows": {"slow": row(3.0), "fused": row(1.25), "odd": row(9.0)}}
    ax = plots_cost.draw_ratios(case, MACHINE, title="Found", skip=("odd",))
    fast, dot, slow, _, one = ax.lines
    assert list(fast.get_xdata()) == [0.625, 2.5]
    assert (list(dot.get_xdata()), list(dot.get_ydata())) == ([1.25], [0])
    assert list(slow.get_xdata()) == [1.5, 6.0]
    assert list(one.get_xdata()) == [1, 1]
    assert texts(ax) == ["1.25", "3.00"]
    assert labels(ax.yaxis) == ["fused", "slow"]
    assert ax.get_ylim() == (1.5, -0.5)  # the first one on top
    assert (fast.get_color(), slow.get_color()) == (theme.VALUE, theme.QUERY)
    assert ax.get_title(loc="left") + ax.get_title() == "Found\nsizes"
    assert "A CPU, 2 threads; torch 2.13; recorded 2026-01-02" in ax.get_xlabel()
    low, high = ax.get_xlim()
    shown = [(t, f"{t:g}") for t in (0.5, 0.7, 1, 1.5, 2, 3, 5, 10) if low < t < high]
    assert list(zip(ax.get_xticks(), labels(ax.xaxis))) == shown


def test_curves_over_lengths_say_their_slope():
    curves = {"maps": [1, 4, 16], "kernel": [2, 4, 8]}
    ax = plots_cost.draw_against_length([64, 128, 256], curves, ylabel="MiB")
    assert [list(line.get_ydata()) for line in ax.lines] == [[1, 4, 16], [2, 4, 8]]
    assert texts(ax) == [" slope 2.0", " slope 1.0"]
    assert [t.get_position() for t in ax.texts] == [(256, 16), (256, 8)]
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert labels(ax.xaxis) == ["64", "128", "256"]
    with pytest.raises(ValueError, match=r"^maps must have 2 numbers, got 1$"):
        plots_cost.draw_against_length([1, 2], {"maps": [1]}, ylabel="")


def test_slope_is_the_exponent():
    x = [1, 2, 5, 10]
    for exponent in (0.5, 1, 2, 3):
        assert plots_cost.slope(x, [7 * n**exponent for n in x]) == pytest.approx(exponent)


def test_the_roof_is_the_lower_of_two_limits():
    limits = {"matmul_flops_per_second": {"float32": 100e9}, "copied_bytes_per_second": 10e9}
    record = {"limits": limits, "machine": MACHINE}
    ax = plots_cost.draw_roofline(record, {"fused": (2.0, 15e9), "maps": (30.0, 60e9)})
    roof, fused, maps = ax.lines
    for x, y in zip(roof.get_xdata(), roof.get_ydata()):
        assert y == pytest.approx(min(10 * x, 100))
    assert max(roof.get_xdata()) == pytest.approx(4 * 30)
    assert (fused.get_xdata()[0], fused.get_ydata()[0]) == (2, 15)
    assert (maps.get_xdata()[0], maps.get_ydata()[0]) == (30, 60)
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["fused", "maps"]
    assert ax.get_ylim()[1] == pytest.approx(300)
    assert "A CPU, 2 threads" in ax.get_xlabel()
