"""Arrow keys and pointer on the pictures of the live views choose a cell and stay inside."""

import pytest
from view_examples import MORE
from view_host import needs_browser
from view_pictures import of
from view_watch import play, stage

from mha_utils.widgets import memory_ribbon
from mha_utils.widgets.examples import EXAMPLES
from tools.browser.lab import browser

pytestmark = needs_browser

# For each picture: what up and down move, what left and right move, and through which values.
# Up is the next value of a width of heads, and the row before everywhere else.
TEN, SEVEN = range(10), range(7)
SIZES = (1, 2, 3, 4, 6, 8, 12)
GRIDS = {
    ("CacheShelf", 0): (None, ("length", range(1, 11))),
    ("HeadExplorer", 0): (("row", TEN), ("column", TEN)),
    ("HeadExplorer", 1): (("row", TEN), ("column", TEN)),
    ("MaskPainter", 0): (("row", SEVEN), ("column", SEVEN)),
    ("HeadBudget", 0): (("head_dim", SIZES[::-1]), ("num_heads", SIZES)),
    ("TrainingFilm", 0): (None, ("frame", range(4))),
    ("TrainingFilm", 1): (None, ("frame", range(4))),
}
HOW = {"pointerdown": ["pointerdown"], "pointermove": ["pointermove"]}
HOW["drag"] = ["pointermove", True]
KEYS = {"ArrowUp": (0, -1), "ArrowDown": (0, 1), "ArrowLeft": (1, -1), "ArrowRight": (1, 1)}


@pytest.fixture(scope="module")
def page():
    with browser() as chrome:
        yield chrome.new_page(viewport={"width": 1400, "height": 1000})


@pytest.mark.parametrize(("name", "canvas"), GRIDS)
def test_arrow_keys_move_by_one_and_stop_at_the_edge(page, name, canvas):
    view = EXAMPLES[name]()
    stage(page, view)
    axes = GRIDS[name, canvas]
    traits = [axis[0] for axis in axes if axis]
    for key in ("ArrowUp", "ArrowLeft", "ArrowDown", "ArrowRight", "ArrowUp", "ArrowLeft"):
        axis, step = axes[KEYS[key][0]], KEYS[key][1]
        if axis is None:
            continue
        trait, values = axis
        (before,) = play(page, view, [["nothing"]], full=False)
        state = before["state"]
        for seen in play(page, view, [["key", canvas, key]] * (len(values) + 1), full=False):
            place = list(values).index(state[trait]) + step
            expected = {t: state[t] for t in traits}
            expected[trait] = values[max(0, min(place, len(values) - 1))]
            state = seen["state"]
            assert {t: state[t] for t in traits} == expected, key


def test_a_choice_beyond_the_edge_is_walked_from_the_edge(page):
    """Python may set one; the picture then shows the last row and column."""
    view = EXAMPLES["MaskPainter"]()
    stage(page, view)
    script = [["trait", "row", 99], ["trait", "column", 99], ["key", 0, "ArrowUp"]]
    *_, up, left = play(page, view, [*script, ["key", 0, "ArrowLeft"]], full=False)
    assert (up["state"]["row"], left["state"]["column"]) == (5, 5)


@pytest.mark.parametrize("key", ["a", "Tab", "Home", "PageDown"])
def test_other_keys_choose_nothing(page, key):
    for name, canvas in GRIDS:
        view = EXAMPLES[name]()
        stage(page, view)
        before, after = play(page, view, [["nothing"], ["key", canvas, key]], full=False)
        assert after["state"] == before["state"], (name, key)


def boxes(picture: dict, rows: int, columns: int) -> dict:
    """Where each cell was drawn: left, top, width, height."""
    images = of(picture, "image")
    if images:
        (image,) = images
        wide, tall = image["w"] / columns, image["h"] / rows
        corner = image["x"], image["y"]
        return {
            (i, j): (corner[0] + j * wide, corner[1] + i * tall, wide, tall)
            for i in range(rows)
            for j in range(columns)
        }
    rects = [r for r in of(picture, "rect") if r["h"] > 6]
    return {divmod(n, columns): (r["x"], r["y"], r["w"], r["h"]) for n, r in enumerate(rects)}


@pytest.mark.parametrize("kind", ["pointerdown", "pointermove", "drag"])
@pytest.mark.parametrize(
    ("name", "canvas"), [case for case in GRIDS if None not in GRIDS[case] and case[1] != 1]
)
def test_the_pointer_chooses_the_cell_that_is_drawn_there(page, name, canvas, kind):
    """Near all four corners of the cells at the edge and in the middle; beside them nothing."""
    view = EXAMPLES[name]()
    stage(page, view)
    (rows, by_row), (columns, by_column) = GRIDS[name, canvas]
    (seen,) = play(page, view, [["nothing"]])
    cells = boxes(seen["pictures"][canvas], len(by_row), len(by_column))
    last = len(by_row) - 1, len(by_column) - 1
    where, script = [], []
    for cell in ((0, 0), (0, last[1]), (last[0], 0), last, (2, 1), (1, 3)):
        x, y, w, h = cells[cell]
        for at in ((x + 1, y + 1), (x + w - 1, y + 1), (x + 1, y + h - 1), (x + w - 1, y + h - 1)):
            script.append(["point", canvas, *at, *HOW[kind]])
            where.append((by_row[cell[0]], by_column[cell[1]]))
    left, top, w, h = cells[0, 0]
    right, bottom = (a + b for a, b in zip(cells[last][:2], cells[last][2:]))
    for at in (
        (left - 2, bottom - 4),
        (right - 4, top - 2),
        (right + 3, top + 4),
        (left + 4, bottom + 3),
    ):
        script.append(["point", canvas, *at, *HOW[kind]])
        where.append(where[-1])
    hovers = name == "HeadExplorer" or kind != "pointermove"
    for seen, expected in zip(play(page, view, script, full=False), where):
        if not hovers:
            expected = getattr(view, rows), getattr(view, columns)
        if name == "HeadExplorer" and kind == "pointerdown":
            play(page, view, [["trait", "locked", False]], full=False)
            assert seen["state"][columns] == expected[1]
            continue
        assert (seen["state"][rows], seen["state"][columns]) == expected, seen["act"]


def test_the_pointer_on_the_curves_takes_the_nearest_step(page):
    view = EXAMPLES["TrainingFilm"]()
    stage(page, view)
    (seen,) = play(page, view, [["nothing"]])
    path = of(seen["pictures"][1], "stroke")[0]["path"]
    for frame, (x, _) in enumerate(path):
        for far, how in ((-9, HOW["drag"]), (0, HOW["pointerdown"]), (9, HOW["drag"])):
            (seen,) = play(page, view, [["point", 1, x + far, 40, *how]], full=False)
            assert seen["state"]["frame"] == frame
    (seen,) = play(page, view, [["point", 1, path[0][0], 40, *HOW["pointermove"]]], full=False)
    assert seen["state"]["frame"] == frame > 0


@pytest.mark.parametrize("step", memory_ribbon.STEPS)
def test_the_ribbon_is_walked_and_pointed_at(page, step):
    """In memory and in the tensor: one further, a line further, and never out of it."""
    view = memory = EXAMPLES["MemoryRibbon"]()
    view.steps, view.step = list(memory_ribbon.STEPS), step
    stage(page, view)
    (seen,) = play(page, view, [["nothing"]])
    tensor, sizes = memory.tensor, memory.sizes
    lists = [list(tensor.storage), tensor.values()]
    for canvas, numbers in enumerate(lists):
        rects = of(seen["pictures"][canvas], "rect")
        script = [
            ["point", canvas, rects[n]["x"] + far, rects[n]["y"] + far]
            for n in range(0, len(rects), 5)
            for far in (1, 22)
        ]
        for at, seen_ in enumerate(play(page, view, script, full=False)):
            assert number_of(seen_["state"], sizes) == at // 2 * 5
        line = len({r["x"] for r in rects}) if canvas == 0 else tensor.shape[-1]
        now = number_of(seen_["state"], sizes)
        for key, far in (
            ("ArrowLeft", -1),
            ("ArrowUp", -line),
            ("ArrowRight", 1),
            ("ArrowDown", line),
        ):
            for seen_ in play(page, view, [["key", canvas, key]] * len(rects), full=False):
                place = numbers.index(now) + far
                now = numbers[place] if 0 <= place < len(numbers) else now
                assert number_of(seen_["state"], sizes) == now, key


def number_of(state: dict, sizes: tuple) -> int:
    """The number whose sequence, token, head and column are chosen."""
    number = 0
    for name, size in zip(("sequence", "token", "head", "column"), sizes):
        number = number * size + state[name]
    return number


def test_heads_are_walked_in_a_ring(page):
    """The one that is chosen, and no other, is checked and reached by the tabulator."""
    view = MORE["explorer of three heads"]()
    stage(page, view)
    now = view.head
    for key, far in zip(("ArrowRight", "ArrowUp", "ArrowDown", "ArrowLeft"), (1, -1, 1, -1)):
        for seen in play(page, view, [["key", -1, key]] * 4, full=False):
            now = (now + far) % 3
            assert seen["state"]["head"] == now
            assert seen["taken"] == [[n == now] * 2 for n in range(3)]
