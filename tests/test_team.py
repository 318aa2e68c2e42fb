"""A team of processes: what is sent to it, how it fails, and that nobody is left behind."""

import os
import re
import signal
import subprocess
import sys
import threading
import time

import psutil
import pytest
import torch
from teams import P, from_notebook, team

from mha_utils.distributed import LostProcessError, Team
from mha_utils.distributed import team as team_module

__all__ = ["team"]  # a fixture


def pids(team) -> list[int]:
    return [process.pid for process, _ in team._members]


def alive(numbers) -> list[int]:
    """Those that still run; a zombie does not."""
    found = [psutil.Process(n) for n in numbers if psutil.pid_exists(n)]
    return [p.pid for p in found if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]


FUNCTIONS = {
    "itself": ("def f(n): return 1 if n < 2 else n * f(n - 1)", 24),
    "another one": ("def g(n): return math.sqrt(n)\ndef f(n): return g(n) + 2", 4.0),
    "a value": ("size = 7\ndef f(n, more=1): return size + n + more", 12),
    "what is inside": ("def make(k):\n    def f(n): return k * n\n    return f\nf = make(5)", 20),
    "a class": (
        "class Twice:\n    def of(self, n): return 2 * n\ndef f(n): return Twice().of(n)",
        8,
    ),
    "a name that is an attribute": ("data = open\nview = iter([])\ndef f(n): return n.real", 4),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_a_notebook_goes_there_with_what_it_names(team, name):
    source, expected = FUNCTIONS[name]
    assert team.run(from_notebook(source, "f"), 4) == [expected] * P


def test_what_a_function_prints_comes_back_behind_its_rank(team, capsys):
    assert team.run(print, "hello\nthere") == [None] * P
    said = [f"{rank}: {line}" for rank in range(P) for line in ("hello", "there")]
    assert capsys.readouterr().out.splitlines() == said


def test_the_default_dtype_goes_along(team):
    torch.set_default_dtype(torch.float64)
    try:
        assert team.run(torch.get_default_dtype) == [torch.float64] * P
    finally:
        torch.set_default_dtype(torch.float32)
    assert team.run(torch.get_default_dtype) == [torch.float32] * P


@pytest.mark.parametrize("size", [0, True])
def test_a_team_has_a_size(size):
    with pytest.raises(ValueError, match=r"^size must be an integer of at least 1, got"):
        Team(size)


STUMBLE = """
def stumble(how):
    if dist.get_rank() == 1:
        if how == "raises":
            raise KeyError("lost")
        if how == "is killed":
            os.kill(os.getpid(), signal.SIGTERM if os.name == "nt" else 9)
        if how == "leaves":
            os._exit(3)
        while how == "hangs":
            pass
    dist.barrier()
"""
ENDS = {
    "raises": r"stumble: rank 1 failed with KeyError: 'lost'",
    "is killed": r"stumble: rank 1 ended \((killed by signal 9|exit code \d+)\)",
    "leaves": r"stumble: rank 1 ended \(exit code 3\)",
    "hangs": r"stumble: no answer from rank 0, 1, 2 in 1 seconds. Do all processes .* order\?",
}


def test_who_ended_is_named_and_not_who_waited_for_it(team):
    """Rank 0 fails because rank 2 is gone; its answer may arrive first."""
    source = "def wait():\n    if dist.get_rank() == 2: os._exit(7)\n    dist.barrier()"
    for _ in range(5):
        with pytest.raises(LostProcessError) as caught:
            team.run(from_notebook(source, "wait", os=os))
        assert str(caught.value) == "wait: rank 2 ended (exit code 7)"


def test_the_limit_of_the_group_is_longer_than_ours_which_names_who_is_lost():
    assert 100 * Team(1).seconds < team_module.FOREVER


@pytest.mark.parametrize("how", ENDS)
def test_if_one_is_lost_all_are_ended_and_the_next_call_starts_new_ones(team, how):
    stumble = from_notebook(STUMBLE, "stumble", os=os, signal=signal)
    team.run(abs, 1)
    before, start = pids(team), time.monotonic()
    team.seconds = 1 if how == "hangs" else 60
    with pytest.raises(LostProcessError) as caught:
        team.run(stumble, how)
    team.seconds = 60
    assert re.fullmatch(ENDS[how], str(caught.value))
    assert time.monotonic() - start < 10
    assert alive(before) == []
    assert team.run(abs, -2) == [2] * P
    assert not set(pids(team)) & set(before)


def test_after_a_call_that_is_late_the_next_is_given_up_sooner(team):
    stumble = from_notebook(STUMBLE, "stumble", os=os, signal=signal)
    for seconds in ("1.5", "0.5"):
        team.seconds = 1.5
        with pytest.raises(LostProcessError, match=f"no answer .* in {seconds} seconds"):
            team.run(stumble, "hangs")
    team.seconds = 60
    team.run(abs, 1)
    assert not team.was_late


def test_an_interrupt_ends_all(team):
    team.run(abs, 1)
    before = pids(team)
    sleep = from_notebook("def sleep(): time.sleep(60)", "sleep", time=time)
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have ignored it
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        team.run(sleep)
    signal.signal(signal.SIGINT, usual)
    assert alive(before) == []


def test_a_team_that_nobody_holds_ends(team):
    other = Team(1)
    other.run(abs, 1)
    numbers = pids(other)
    del other
    assert alive(numbers) == []


LEFT = """
import os, time
from mha_utils.distributed import Team
team = Team(2)
print(*team.run(os.getpid), flush=True)
team.run(time.sleep, 60)
"""


def test_a_killed_notebook_leaves_no_process():
    """And a script needs no `if __name__ == "__main__"` around it."""
    with subprocess.Popen([sys.executable, "-c", LEFT], stdout=subprocess.PIPE) as notebook:
        numbers = [int(n) for n in notebook.stdout.readline().split()]
        assert len(alive(numbers)) == 2
        notebook.kill()
    deadline = time.monotonic() + 10
    while alive(numbers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert alive(numbers) == []


def test_processes_that_are_spawned_as_on_windows_and_macos(monkeypatch):
    monkeypatch.setattr(team_module.sys, "platform", "elsewhere")
    spawned = Team(2)
    double = from_notebook("def double(x): return 2 * x + dist.get_rank()", "double")
    assert spawned.run(double, 4) == [8, 9]
    spawned.stop()


def shouts():
    os.write(1, b"to the notebook")
    os.write(2, b"to the notebook")


def test_what_libraries_write_does_not_reach_the_notebook(capfd):
    Team(2).run(shouts)
    assert capfd.readouterr() == ("", "")
