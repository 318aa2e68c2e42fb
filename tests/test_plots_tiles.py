"""Pictures of attention in tiles by their data: which cells, bars and dots stand in them."""

import matplotlib
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex

from mha_utils.plots.tiles import (
    LARGE,
    SMALL,
    draw_roofline,
    draw_steps,
    draw_sweep,
    draw_trips,
)

matplotlib.use("agg")


@pytest.mark.parametrize(
    ("seq_len", "count", "said"),
    [
        (1024, 16, "T = 1024, block 64: 136 of 256 tiles are visited"),
        (130, 3, "T = 130, block 64: 6 of 9 tiles are visited"),
        (1, 1, "T = 1, block 64: 1 tile is visited"),
    ],
)
def test_a_row_is_swept_up_to_the_diagonal(seq_len, count, said):
    ax = draw_sweep(seq_len, 64)
    assert ax.get_title(loc="left") + ax.get_title() == said
    colours = [to_hex(p.get_facecolor()).upper() for p in ax.patches if type(p) is plt.Rectangle]
    tiles, strips, legend = colours[: -4 * count - 2], colours[-4 * count - 2 : -2], colours[-2:]
    assert len(tiles) == count * (count + 1) // 2
    assert tiles.count(SMALL) == 1
    assert [strips.count(c) for c in (SMALL, LARGE)] == [3, 4 * count - 3]  # of q, k and v
    assert legend == [LARGE, SMALL]
    words = [t.get_text() for t in ax.texts]
    assert ("thrown away" in words) == ("never\nvisited" in words) == (count >= 8)


def test_a_step_shows_what_it_saves_of_the_bar_above():
    ax = draw_steps({"a": 10.0, "b": 4.0, "c": 7.0}, {"b": "a reason"})
    bars = [(bar.get_x(), round(bar.get_width(), 6), bar.get_hatch()) for bar in ax.patches]
    assert bars == [(0, 10.0, None), (0, 4.0, None), (4.0, 6.0, "///"), (0, 7.0, None)]
    assert [t.get_text() for t in ax.texts] == ["10 ms", "4 ms: a reason", "7 ms"]
    assert [t.get_position()[0] for t in ax.texts] == [11.0, 11.0, 8.0]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["a", "b", "c"]


def test_trips_of_the_map_are_counted_and_thick():
    ways = {
        "A": {"make": ("q k", "map"), "use": ("map v", "output")},
        "B": {"all": ("q", "output")},
    }
    panels = draw_trips(ways).figure.axes
    assert [panel.get_title() + panel.get_title(loc="left") for panel in panels] == ["A", "B"]
    first, second = [[t for t in panel.texts if t.get_text()] for panel in panels]
    names = [t.get_text() for t in first]
    assert names[:8] == ["make", "q", "k", "1", "use", "2", "v", "output"]
    assert names[8:] == ["the large memory, far away", "the small memory, close to the arithmetic"]
    assert [t.get_text() for t in second] == ["all", "q", "output"]
    arrows = [t for t in panels[0].texts if getattr(t, "arrow_patch", None) is not None]
    assert [t.arrow_patch.get_linewidth() for t in arrows] == [1, 1, 2.5, 2.5, 1, 1]
    is_fetched = [t.xyann[1] > t.xy[1] for t in arrows]
    assert is_fetched == [True, True, False, True, True, False]


def test_dots_lie_on_the_roof():
    ax = draw_roofline({"x": 5, "y": 40}, most=100.0, bytes_a_second=10.0, title="Roof")
    roof, *dots = [list(map(tuple, line.get_xydata())) for line in ax.lines]
    assert roof == [(4, 40), (10, 100), (5000, 100)]
    assert dots == [[(5, 50)], [(40, 100)]]
    words = [t.get_text() for t in ax.texts if t.get_text()]
    assert words[:2] == ["x: up to 50 %", "y: up to 100 %"]
    assert ax.figure.get_suptitle() == "Roof"


@pytest.mark.parametrize("few", [0.01, 4.0])
def test_a_dot_that_reaches_little_lies_on_the_roof_and_in_the_picture(few):
    ax = draw_roofline({"x": few}, most=1000.0, bytes_a_second=10.0)
    roof, dot = [tuple(map(tuple, line.get_xydata())) for line in ax.lines]
    assert roof[0] == dot[0] == (few, 10 * few)
    assert ax.get_ylim()[0] < 10 * few
    assert ax.get_xlim()[0] < few
