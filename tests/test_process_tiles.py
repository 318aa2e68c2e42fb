"""The maps of several processes: who is idle, and how keys choose step and way."""

import pytest
from view_host import needs_browser
from view_watch import play, stage

from mha_utils import widgets
from tools.browser.lab import browser


def test_more_processes_than_heads_leave_some_idle_but_in_a_ring():
    for way, idle in (("heads", 5), ("trading", 5), ("ring", 0)):
        assert widgets.ProcessTiles(8, 3, 9, way).idle() == idle
    assert widgets.ProcessTiles(8, 16, 5, "ring").idle() == 3


def test_in_a_causal_ring_one_more_process_reads_nothing_at_every_step():
    idle = [widgets.ProcessTiles(4, 8, 12, "ring", step).idle() for step in range(5)]
    assert idle == [0, 1, 2, 3, 3]  # a step after the last is the last


def test_an_empty_note_is_read_by_nobody_and_who_has_no_tokens_reads_none():
    """The maps themselves: a process reads where it holds tokens of its own and a shown note."""
    for sizes in ((8, 3, 5), (5, 2, 3), (6, 1, 4), (4, 3, 7)):
        for step in range(sizes[0]):
            view, own = (widgets.ProcessTiles(*sizes, "ring", s) for s in (step, 0))
            ranks = range(sizes[0])
            reads = [has(own.tiles(r)) and has(view.tiles(r)) for r in ranks]
            assert view.idle() == reads.count(False), (sizes, step)


def has(tiles: list[list[str]]) -> bool:
    return any("head" in row for row in tiles)


def test_the_finding_in_full():
    view = widgets.ProcessTiles(4, 8, 12, "trading", 1)
    assert view.finding() == (
        "trading, step 1 of 2: traded: every process has its heads of all tokens. "
        "Processes without a head: 0."
    )
    view.way, view.step = "ring", 7
    assert view.finding() == (
        "ring, step 3 of 3: every note has moved on by 3 places. "
        "Processes that read nothing at this step: 3."
    )


@pytest.fixture(scope="module")
def page():
    with browser() as chrome:
        yield chrome.new_page(viewport={"width": 1400, "height": 1000})


@needs_browser
def test_keys_choose_step_and_way_and_stop_at_the_ends(page):
    view = widgets.ProcessTiles(4, 8, 12)
    stage(page, view)
    script = [
        ("ArrowLeft", ("trading", 0)),
        ("ArrowRight", ("trading", 1)),
        ("ArrowRight", ("trading", 2)),
        ("ArrowRight", ("trading", 2)),
        ("ArrowDown", ("ring", 2)),
        ("ArrowRight", ("ring", 3)),
        ("ArrowDown", ("ring", 3)),
        ("ArrowUp", ("trading", 2)),
        ("ArrowUp", ("heads", 2)),
        ("ArrowUp", ("heads", 2)),
    ]
    for key, (way, step) in script:
        (seen,) = play(page, view, [["key", 0, key]])
        most = 3 if way == "ring" or key == "ArrowRight" else 2  # a shorter way keeps the number
        assert (seen["state"]["way"], min(seen["state"]["step"], most)) == (way, step), key
