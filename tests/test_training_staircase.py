"""Training in a live view: what it learns, how it stops, and what it leaves to other cells."""

import re
import signal

import pytest
import torch
from jupyter_client.manager import start_new_kernel
from test_following import Loop

from mha_utils import widgets
from mha_utils.experiments.train import evaluate
from mha_utils.widgets import training_staircase
from mha_utils.widgets.kit import slices

ORDER = {"do": "train", "num_heads": 1, "head_dim": 8, "num_lookups": 2}


def make(**sizes) -> widgets.TrainingStaircase:
    return widgets.TrainingStaircase(**{"steps": 25} | sizes)


@pytest.fixture
def loop(monkeypatch):
    loop = Loop()
    kernel = type("Kernel", (), {"io_loop": loop})
    monkeypatch.setattr(slices, "get_ipython", lambda: type("Shell", (), {"kernel": kernel}))
    monkeypatch.setattr(slices, "SLICE", -1.0)  # one step in each slice
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as a kernel does between cells
    yield loop
    signal.signal(signal.SIGINT, before)


def test_nothing_is_trained_by_itself():
    view = make()
    assert (view.results, view.r2, view.model, view.task) == ([], None, None, None)
    assert view.finding() == (
        "2 heads of width 12, 4 vectors: theory allows R² 0.500 at most. Nothing is trained yet."
    )


def test_a_model_lands_on_the_staircase():
    view = make(num_heads=1, head_dim=8, num_lookups=2, steps=200)
    view.train()
    assert 0.48 < view.r2 < 0.505
    (result,) = view.results
    settings = {"num_heads": 1, "head_dim": 8, "num_lookups": 2, "steps": 200, "ceiling": 0.5}
    assert result == settings | {"r2": view.r2}
    said = f"Run 1 (1 head of width 8, 2 vectors): R² {view.r2:.3f} after 200 steps."
    assert view.finding().endswith(said)


def test_model_and_task_are_there_to_compute_with():
    view = make(num_heads=3, head_dim=4, num_lookups=2)
    view.train()
    assert view.r2 == round(evaluate(view.model, view.task)[0]["all"], 4)
    assert view.task.offsets == (1, 2)
    assert view.model.layers[0].attention.num_heads == 3
    assert not view.model.training


def test_loss_and_r2_are_kept_every_ten_steps_and_at_the_end():
    view = make()
    view.train()
    assert [step for step, _, _ in view.curve] == [10, 20, 25]
    assert view.curve[-1][2] == view.runs[-1][4] == view.r2
    assert all(0 < loss < 3 for _, loss, _ in view.curve)


def test_runs_stay_and_have_different_seeds():
    view = make(steps=10)
    view.train()
    view.train()
    view.num_heads = 3
    view.train()
    assert [run[:4] for run in view.runs] == [[2, 12, 4, 10], [2, 12, 4, 10], [3, 12, 4, 10]]
    assert view.runs[0][4] != view.runs[1][4]
    again = make(steps=10)
    again.train()
    assert again.runs == view.runs[:1]


def test_the_ceiling_counts_what_arrives():
    assert training_staircase.ceiling(2, 12, 4) == 0.5
    assert training_staircase.ceiling(2, 4, 4) == 0.25
    assert training_staircase.ceiling(12, 8, 4) == 1.0
    assert training_staircase.ceiling(1, 8, 3) == pytest.approx(1 / 3)


def test_an_interrupt_ends_a_training_without_an_error():
    view, before = make(steps=500), signal.getsignal(signal.SIGINT)
    view.observe(lambda _: signal.raise_signal(signal.SIGINT), "curve")
    view.train()
    assert view.runs == [[2, 12, 4, 10, view.r2]]
    assert not view.training
    assert view.finding().endswith("after 10 steps of 500: it was stopped.")
    assert signal.getsignal(signal.SIGINT) is before


def test_the_button_trains_what_it_says():
    view = make(steps=10)
    view._asked(view, ORDER, [])
    assert view.runs == [[1, 8, 2, 10, view.r2]]
    assert (view.training, view.problem) == (False, "")


def test_other_work_of_the_kernel_is_done_in_between(loop):
    view, threads = make(steps=30), torch.get_num_threads()
    view._asked(view, ORDER, [])
    assert (view.training, view.runs, view.curve) == (True, [], [])
    for _ in range(12):
        loop.soon.pop(0)()
        assert len(loop.soon) == 1  # what others add comes before the next slice
        assert torch.get_num_threads() == threads
    assert view.runs == [[1, 8, 2, 10, view.r2]]
    assert "is at step 10 of 30: R²" in view.finding()
    loop.run()
    assert (view.training, view.runs) == (False, [[1, 8, 2, 30, view.r2]])


def test_a_second_press_does_not_train_twice(loop):
    view = make(steps=10)
    view._asked(view, ORDER, [])
    view._asked(view, ORDER, [])
    with pytest.raises(ValueError, match=r"^a model is being trained: stop it, or wait until"):
        view.train()
    loop.run()
    assert len(view.runs) == 1


@pytest.mark.parametrize("how", ["button", "interrupt"])
def test_a_stop_between_two_slices_keeps_what_was_learned(loop, how):
    view = make(steps=500)
    view._asked(view, ORDER, [])
    for _ in range(13):
        loop.soon.pop(0)()
    if how == "button":
        view._asked(view, {"do": "stop"}, [])
    else:
        signal.raise_signal(signal.SIGINT)
    loop.run()
    assert (view.training, [run[:4] for run in view.runs]) == (False, [[1, 8, 2, 13]])
    assert view.curve[-1][0] == 13
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_a_stop_before_the_first_step_leaves_no_run(loop):
    view = make()
    view._asked(view, ORDER, [])
    view.stop()
    loop.run()
    assert (view.training, view.runs, view.model) == (False, [], None)


def test_what_a_cell_does_with_interrupts_meanwhile_is_left_alone(loop):
    """A kernel sets its own handler when a cell starts, and puts back what was when it ends."""
    view = make(steps=3)
    view._asked(view, ORDER, [])
    loop.soon.pop(0)()
    saved = signal.signal(signal.SIGINT, signal.default_int_handler)
    loop.run()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, saved)
    signal.raise_signal(signal.SIGINT)  # nothing is left to stop, and nothing is raised
    view._asked(view, ORDER, [])
    loop.run()
    assert (len(view.runs), signal.getsignal(signal.SIGINT)) == (2, signal.SIG_IGN)


def test_an_interrupt_of_a_cell_that_waits_does_not_end_the_kernel(loop):
    view = make(steps=500)
    view._asked(view, ORDER, [])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    view.observe(lambda _: signal.raise_signal(signal.SIGINT), "runs")
    loop.run()
    assert (view.training, [run[3] for run in view.runs]) == (False, [10])


def test_an_error_is_shown_and_the_button_works_again(loop, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("no batch")

    view = make(steps=10)
    with monkeypatch.context() as patch:
        patch.setattr(training_staircase.Lookups, "draw", broken)
        view._asked(view, ORDER, [])
        loop.run()
    assert (view.training, view.problem) == (False, "ZeroDivisionError: no batch")
    view._asked(view, ORDER, [])
    loop.run()
    assert (len(view.runs), view.problem) == (1, "")


@pytest.mark.parametrize(
    ("sizes", "text"),
    [
        ({"num_heads": 0}, "num_heads must be an integer of at least 1, got 0"),
        ({"num_heads": 13}, "num_heads must be at most 12 to be drawn, got 13"),
        ({"head_dim": 5}, "head_dim must be one of 1, 2, 3, 4, 6, 8, 12, 16, 24, 48, got 5"),
        ({"num_lookups": 7}, "num_lookups must be at most 6 to be drawn, got 7"),
        ({"steps": 0}, "steps must be an integer of at least 1, got 0"),
    ],
)
def test_wrong_sizes_are_named(sizes, text):
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        make(**sizes)


def test_recorded_models_stand_below_the_ceiling():
    view = make()
    assert len(view.recorded) > 40
    for heads, width, r2 in view.recorded:
        assert r2 <= training_staircase.ceiling(heads, width, 4) + 0.005


def test_a_view_follows_a_training(capsys):
    view, seen = make(steps=10), []
    widgets.follow(view)(lambda: seen.append((len(view.runs), view.training)))
    view.train()
    assert seen[0] == (0, False)
    assert (1, True) in seen
    assert seen[-1] == (1, False)


KERNEL = """
import asyncio
from mha_utils import widgets
view = widgets.TrainingStaircase(steps=100_000)
view._asked(view, {order}, [])
"""
WAIT = """
while {reason}:
    await asyncio.sleep(0.01)
"""


def test_the_square_of_a_notebook_stops_a_training_between_cells():
    """In a real kernel: cells run meanwhile, an interrupt leaves no traceback and the kernel."""
    manager, client = start_new_kernel()
    told = []

    def run(code):
        answer = client.execute_interactive(code, output_hook=told.append, timeout=120)
        assert answer["content"]["status"] == "ok", answer["content"]

    try:
        run(KERNEL.format(order=ORDER))
        run(WAIT.format(reason="not view.runs"))
        run("assert view.training")
        manager.interrupt_kernel()
        run(WAIT.format(reason="view.training"))
        run("print('ended at', view.runs[-1][3] < 100_000, view.problem)")
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    printed = "".join(m["content"].get("text", "") for m in told if m["msg_type"] == "stream")
    assert printed == "ended at True \n"
    assert not [message for message in told if message["msg_type"] == "error"]
