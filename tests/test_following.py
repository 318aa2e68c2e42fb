"""Torch code behind a slider: run again as a view moves, its results and errors in one place."""

import os
import re

import matplotlib.pyplot as plt
import pytest
import torch
from helpers import toy_explorer
from jupyter_client.manager import start_new_kernel

from mha_utils import widgets
from mha_utils.widgets import following
from mha_utils.widgets.kit import slices


class Place:
    """What is shown below a cell, as IPython's display gives it."""

    shown: list["Place"]

    def __init__(self, data, raw, display_id=None):
        self.history = [data]
        assert raw
        Place.shown.append(self)

    def update(self, data, raw):
        assert raw
        self.history.append(data)

    @property
    def text(self):
        return self.history[-1].get("text/plain")


class Loop:
    """The kernel's loop: runs what it is given when `run` is called, and notes the waits."""

    def __init__(self):
        self.soon, self.waits = [], []

    def add_callback(self, call):
        self.soon.append(call)

    def call_later(self, seconds, call):
        self.waits.append(seconds)
        self.soon.append(call)

    def run(self):
        while self.soon:
            self.soon.pop(0)()


@pytest.fixture(autouse=True)
def shown(monkeypatch):
    Place.shown = []
    monkeypatch.setattr(following, "display", Place)
    return Place.shown


@pytest.fixture
def loop(monkeypatch):
    loop = Loop()
    kernel = type("Kernel", (), {"io_loop": loop})
    monkeypatch.setattr(slices, "get_ipython", lambda: type("Shell", (), {"kernel": kernel}))
    return loop


@pytest.fixture
def view():
    return toy_explorer(row=7, column=1)


def test_a_result_follows_the_view(view, shown):
    @widgets.follow(view)
    def chosen():
        print("row", view.row)
        return torch.tensor(view.column)

    assert [place.history for place in shown] == [[{"text/plain": "row 7\ntensor(1)"}]]
    view.row = 3
    view.column = 2
    assert shown[0].text == "row 3\ntensor(2)"
    assert len(shown) == 1
    assert chosen() == 2  # it can be called as before


def test_any_of_several_views_is_followed(view, shown):
    other = widgets.SoftmaxScale()

    @widgets.follow(view, other)
    def both():
        return view.row + other.head_dim

    view.row, other.head_dim = 1, 4
    assert shown[0].text == "5"


def test_a_figure_stands_below_the_text_and_is_closed(view, shown):
    before = plt.get_fignums()

    @widgets.follow(view)
    def drawn():
        print("drawn")
        _, ax = plt.subplots()
        return ax.plot([view.row, 1])

    text, picture = shown
    assert text.text == "drawn"
    view.row = 2
    first, second = (data["image/png"] for data in picture.history)
    assert first != second
    assert plt.get_fignums() == before


def test_an_error_stands_in_the_place_and_goes_when_it_is_over(view, shown, capsys):
    @widgets.follow(view)
    def fragile():
        return 6 // view.row

    view.row = 0
    assert shown[0].text == "ZeroDivisionError: integer division or modulo by zero"
    view.row = 2
    assert shown[0].text == "3"
    assert capsys.readouterr().out == ""


def test_an_error_at_first_stops_tests_only(view, shown, monkeypatch):
    def broken():
        raise KeyError("row")

    widgets.follow(view)(broken)
    assert shown[0].text == "KeyError: 'row'"
    monkeypatch.setenv("MHA_FACTS", "raise")
    with pytest.raises(KeyError):
        widgets.follow(view)(broken)


def test_what_falls_silent_leaves_nothing_old(view, shown):
    @widgets.follow(view)
    def says():
        if view.row == 7:
            print("seven")

    view.row = 3
    assert shown[0].text == ""


def test_a_cell_run_again_replaces_its_function(view, shown):
    calls = []
    for number in (1, 2):

        @widgets.follow(view)
        def again(number=number):
            calls.append(number)

    view.row = 1
    assert calls == [1, 2, 2]


def test_moves_while_it_works_are_one(view, shown, loop):
    calls = []

    @widgets.follow(view)
    def slow():
        calls.append(view.row)

    for row in range(5):
        view.row = row
    assert calls == [7]  # a cell may be running: the loop decides when
    loop.run()
    assert calls == [7, 4]
    view.row = 2
    loop.run()
    assert calls == [7, 4, 2]


def test_a_long_function_leaves_as_much_time_free(view, shown, loop, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(following.time, "monotonic", lambda: now[0])

    @widgets.follow(view)
    def long():
        now[0] += 0.5

    for row, wait in ((1, None), (2, 0.5), (3, 0.5)):
        view.row = row
        loop.run()
        assert wait is None or loop.waits[-1] == pytest.approx(wait)
    now[0] += 10
    view.row = 4
    loop.run()
    assert loop.waits[-1] < 0  # at once


def test_a_short_function_runs_once_a_frame(view, shown, loop, monkeypatch):
    monkeypatch.setattr(following.time, "monotonic", lambda: 100.0)
    widgets.follow(view)(lambda: None)
    for row in (1, 2):
        view.row = row
        loop.run()
    assert loop.waits[-1] == pytest.approx(1 / 60)


def test_without_voila_no_widget_is_needed(view, shown, monkeypatch):
    monkeypatch.setenv("SERVER_SOFTWARE", "gunicorn/23")
    widgets.follow(view)(lambda: view.row)
    assert [place.text for place in shown] == ["7"]


@pytest.mark.parametrize("ahead", [False, True], ids=["with the page", "ahead of it"])
def test_under_voila_a_widget_tells_what_a_page_without_display_ids_can_show(ahead):
    """Such a page hears the messages of widgets, as Voila's does."""
    told = {"VOILA_PREHEAT": "True"} if ahead else {"SERVER_SOFTWARE": "voila/0.5.13"}
    messages = messages_until("'column 1'", (VOILA, "view.column = 1"), told)
    sent = [m["content"] for m in messages if m["msg_type"] in ("comm_open", "comm_msg")]
    outputs = [c for c in sent if c["data"].get("state", {}).get("outputs")]
    texts = [[o["data"]["text/plain"] for o in c["data"]["state"]["outputs"]] for c in outputs]
    assert texts == [["column 0", "a picture"], ["column 1", "a picture"]]
    (shown,) = (m["content"]["data"] for m in messages if m["msg_type"] == "display_data")
    assert {content["comm_id"] for content in outputs} == {shown[WIDGET]["model_id"]}


def messages_until(last: str, cells: tuple[str, ...], environment: dict) -> list[dict]:
    """What a kernel sends while it runs the cells, up to a message with these words in it."""
    manager, client = start_new_kernel(env=os.environ | environment)
    messages = []
    try:
        for code in cells:
            client.execute(code)
        while not messages or last not in str(messages[-1]["content"]):
            messages.append(client.get_iopub_msg(timeout=60))
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    return messages


WIDGET = "application/vnd.jupyter.widget-view+json"
VOILA = """
import matplotlib.pyplot as plt
from mha_utils import widgets
from mha_utils.widgets.examples import EXAMPLES
view = EXAMPLES["HeadExplorer"]()
view.column = 0
@widgets.follow(view)
def chosen():
    print("column", view.column)
    plt.subplots()
"""


@pytest.mark.parametrize("given", [(), (3,), (toy_explorer,)])
def test_what_can_not_be_followed_is_named(given):
    with pytest.raises(ValueError, match=r"^follow needs one or more live views, got \("):
        widgets.follow(*given)


def test_linked_views_move_together():
    first, second = toy_explorer(row=7), toy_explorer(row=2)
    widgets.link(first, second, "row", "temperature")
    assert second.row == first.row == 7
    first.row = 5
    assert second.row == 5
    second.temperature = 0.5
    assert first.temperature == 0.5
    second.column = 4
    assert first.column == 0


def test_what_can_not_be_linked_is_named():
    message = "link needs names of what SoftmaxScale has ("
    with pytest.raises(ValueError, match="^" + re.escape(message)) as caught:
        widgets.link(toy_explorer(), widgets.SoftmaxScale(), "row")
    assert ", query, " in str(caught.value)
    assert str(caught.value).endswith("), got row")
    with pytest.raises(ValueError, match=r"got none$"):
        widgets.link(toy_explorer(), toy_explorer())
