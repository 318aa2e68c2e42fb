"""Several processes that a notebook starts, calls, and ends: `Team(4).run(function, x)`."""

import contextlib
import itertools
import multiprocessing
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator
from multiprocessing.connection import wait
from pathlib import Path

import torch
from cloudpickle import dumps, loads

from mha_utils.core.guards import require_positive, require_sizes
from mha_utils.distributed.worker import work

GLANCE = 0.2  # seconds of waiting after which an interrupt is heard, on every system
PATIENCE = 5.0  # seconds in which the system says how a process has ended
START = 120.0  # seconds in which all processes have to be there
FOREVER = 24 * 60 * 60.0  # seconds; the group's own limit, so that ours is the one that speaks


class LostProcessError(RuntimeError):
    """One process failed, ended, or gave no answer in time; none of its team is alive."""


class Team:
    """P processes that know each other (`torch.distributed`, gloo), started when first needed.

    Args:
        size: P, their number.
        seconds: how long a call may take. After one that took longer, the next has a third of it,
            until one is answered: a reader need not wait as long for every call with that fault.

    They live until `stop()`, until the last reference to the team is gone, or until this process
    ends. After an error or an interrupt all of them are ended, and the next call starts new ones.

    Raises:
        ValueError: if `size` is not an integer of at least 1 or `seconds` not a number above 0.
    """

    def __init__(self, size: int, seconds: float = 60.0):
        require_sizes(size=size)
        require_positive(seconds=seconds)
        self.size, self.seconds, self.was_late = size, seconds, False
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._starts = itertools.count()
        self._members: list = []
        self._end = weakref.finalize(self, end, self._members)

    def run(self, function: Callable, *arguments, **options) -> list:
        """What function(*arguments, **options) returns in each process, in the order of ranks.

        A function of a notebook goes there as it is now, with all that it calls by name; what it
        prints is printed here, behind its rank.

        Raises:
            LostProcessError: if it fails in one of them, one of them ends, or time is up.
        """
        call = dumps((function, arguments, options, torch.get_default_dtype()))
        try:
            self.start()
            for _, connection in self._members:
                connection.send_bytes(call)
            seconds = self.seconds / 3 if self.was_late else self.seconds
            answers = self.answers(getattr(function, "__name__", str(function)), seconds)
        except BaseException as error:  # an interrupt, too
            self.stop()
            if isinstance(error, BrokenPipeError | ConnectionResetError):
                raise LostProcessError("a process ended before it was called") from error
            raise
        self.was_late = False
        for rank, (printed, _) in enumerate(answers):
            for line in printed.splitlines():
                print(f"{rank}: {line}")
        return [value for _, value in answers]

    def start(self) -> None:
        """Start the processes unless they are running; they meet at a file, not at a port."""
        if self.alive() == self.size:
            return
        self.stop()
        is_linux = sys.platform == "linux"
        way = multiprocessing.get_context("forkserver" if is_linux else "spawn")
        if is_linux:  # torch is imported once, for all
            way.set_forkserver_preload([work.__module__, "torch.distributed.tensor.parallel"])
        meeting = str(Path(self._folder.name) / f"meeting {next(self._starts)}")
        with nameless_main():
            for rank in range(self.size):
                ours, theirs = way.Pipe()
                facts = rank, self.size, meeting, FOREVER, theirs
                process = way.Process(target=work, args=facts, daemon=True)
                process.start()
                theirs.close()
                self._members.append((process, ours))
        self.answers("start", START)

    def answers(self, name: str, seconds: float) -> list:
        """One answer of each process; an error as soon as one cannot answer, or time is up."""
        found, deadline = {}, time.monotonic() + seconds
        waiting = {connection: rank for rank, (_, connection) in enumerate(self._members)}
        while waiting:
            ready = wait(list(waiting), timeout=GLANCE)
            if not ready and time.monotonic() > deadline:
                self.was_late = True
                late = ", ".join(str(rank) for rank in waiting.values())
                raise LostProcessError(
                    f"{name}: no answer from rank {late} in {seconds:g} seconds. "
                    "Do all processes make the same calls, in the same order?"
                )
            for connection in ready:
                rank = waiting.pop(connection)
                found[rank] = self.received(name, rank, connection)
        return [found[rank] for rank in range(self.size)]

    def received(self, name: str, rank: int, connection):
        try:
            kind, value = loads(connection.recv_bytes())
        except (EOFError, ConnectionResetError) as error:
            raise self.loss(name, f"rank {rank} ended", PATIENCE) from error
        if kind == "failed":
            raise self.loss(name, f"rank {rank} failed with {value}", GLANCE)
        return value

    def loss(self, name: str, what: str, seconds: float) -> LostProcessError:
        """An error that names who has ended; if all are alive, it says what happened.

        Where one ends, all that wait for it fail, and one of them may be the first to say so.
        """
        wait([process.sentinel for process, _ in self._members], timeout=seconds)
        for rank, (process, _) in enumerate(self._members):
            if not process.is_alive():
                return LostProcessError(f"{name}: rank {rank} ended ({how(process)})")
        return LostProcessError(f"{name}: {what}")

    def alive(self) -> int:
        """How many processes are running."""
        return sum(process.is_alive() for process, _ in self._members)

    def stop(self) -> None:
        """End all processes; none is left when this returns."""
        end(self._members)


@contextlib.contextmanager
def nameless_main() -> Iterator[None]:
    """Inside, multiprocessing knows of no script that it should run again in every process."""
    main = sys.modules["__main__"]
    found = {name: getattr(main, name) for name in ("__file__", "__spec__") if hasattr(main, name)}
    vars(main).pop("__file__", None)
    main.__spec__ = None
    try:
        yield
    finally:
        vars(main).update(found)


def how(process) -> str:
    code = process.exitcode
    return f"killed by signal {-code}" if code and code < 0 else f"exit code {code}"


def end(members: list) -> None:
    """Kill every process and wait for it: whoever hangs in a collective hears nothing milder."""
    for process, _ in members:
        process.kill()
    for process, connection in members:
        process.join()
        connection.close()
    members.clear()
