"""How often is called, what a case is labelled, where it was: without measuring anything."""

import platform

import pytest
import torch

from mha_utils.bench import record, timing
from mha_utils.bench.cases import Case

LABELS = {
    Case((2, 7, 12, 3)): "(2, 7, 12, 3) float32 causal forward",
    Case((2, 7, 12, 3), "bfloat16", is_causal=False): "(2, 7, 12, 3) bfloat16 no mask forward",
    Case((2, 7, 12, 3), is_training=True): "(2, 7, 12, 3) float32 causal forward + backward",
    Case((1, 2, 4, 1), is_training=True, dropout=0.1): (
        "(1, 2, 4, 1) float32 causal forward + backward, dropout 0.1"
    ),
}


@pytest.mark.parametrize("case", LABELS, ids=LABELS.get)
def test_what_a_case_is_called(case):
    assert case.label == LABELS[case]


@pytest.mark.parametrize(
    ("first", "is_enough"),
    [(0.1, False), (0.19, False), (0.21, True), (4.9, True), (5.0, False), (5.5, False)],
)
def test_a_first_call_counts_if_it_is_neither_short_nor_long(monkeypatch, first, is_enough):
    taken = iter([first, 0.3])
    monkeypatch.setattr(timing, "_seconds_of_one", lambda function: next(taken))
    assert timing._seconds_when_warm(print) == (first if is_enough else 0.3)


# Seconds of one call, seconds there are, most rounds -> repeats of one call, rounds.
ROUNDS = [
    ((0.001, 0.1, 30), (5, 20)),
    ((0.0011, 0.056, 30), (5, 10)),
    ((0.005, 0.1, 30), (1, 20)),
    ((0.004, 0.1, 30), (1, 25)),
    ((0.01, 5.0, 30), (1, 30)),
    ((2.0, 5.0, 30), (1, 5)),
    ((2.0, 10.0, 30), (1, 5)),
    ((2.0, 12.0, 30), (1, 6)),
    ((90.0, 5.0, 30), (1, 5)),
    ((90.0, 5.0, 1), (1, 1)),
]


@pytest.mark.parametrize(("given", "expected"), ROUNDS, ids=str)
def test_how_often_is_called(monkeypatch, given, expected):
    (once, seconds, most), asked = given, []
    monkeypatch.setattr(timing, "_seconds_when_warm", lambda function: once)
    monkeypatch.setattr(timing, "time_call", lambda *how: asked.append(how) or 7.0)
    times = timing.time_in_turns({"a": print}, "cpu", seconds=seconds, rounds=most)
    repeats, rounds = expected
    assert times == {"a": [7.0] * rounds}
    assert asked == [(print, "cpu", repeats)] * rounds


def test_all_share_the_seconds_and_take_turns(monkeypatch):
    calls = {"a": abs, "b": max, "c": min}
    once, asked = {abs: 0.02, max: 0.03, min: 0.001}, []
    monkeypatch.setattr(timing, "_seconds_when_warm", once.get)
    monkeypatch.setattr(timing, "time_call", lambda function, *how: asked.append(function) or 1.0)
    timing.time_in_turns(calls, seconds=0.55)  # a round takes 0.02 + 0.03 + 5 x 0.001
    assert len(asked) == 30
    turns = [tuple(asked[n : n + 3]) for n in range(0, 30, 3)]
    assert {frozenset(turn) for turn in turns} == {frozenset(once)}
    assert len(set(turns)) > 2


@pytest.mark.parametrize("clock", ["process_time", "perf_counter"])
def test_a_time_is_that_of_one_call(monkeypatch, clock):
    ticks = iter([3.0, 5.0])
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1 if clock == "process_time" else 2)
    monkeypatch.setattr(timing.time, clock, lambda: next(ticks))
    calls = []
    assert timing.time_call(lambda: calls.append(1), repeats=4) == 0.5
    assert len(calls) == 4


@pytest.mark.parametrize(
    ("known", "processor", "name"),
    [({"cpu_name": "A"}, "B", "A"), ({}, "B", "B"), ({"cpu_name": ""}, "", "C")],
)
def test_what_names_a_processor(monkeypatch, known, processor, name):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: known, raising=False)
    monkeypatch.setattr(platform, "processor", lambda: processor)
    monkeypatch.setattr(platform, "machine", lambda: "C")
    monkeypatch.setattr(record.os, "cpu_count", lambda: 3)
    assert record._cpu_name() == f"{name}, 3 cores"


def test_events_of_a_gpu_stand_around_the_calls(monkeypatch):
    """What is timed is all calls and nothing else, once the queue before them is empty."""
    done = []

    class Event:
        def __init__(self, enable_timing):
            assert enable_timing
            self.place = None

        def record(self):
            self.place = len(done)
            done.append("event")

        def elapsed_time(self, other):
            assert done[-1] == "synchronize"
            return 1000.0 * (other.place - self.place - 1)

    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: done.append("synchronize"))
    assert timing.time_on_gpu(lambda: done.append("call"), repeats=3) == 1.0
    assert done == ["synchronize", "event", "call", "call", "call", "event", "synchronize"]
