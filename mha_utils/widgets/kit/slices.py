"""Long work of a view: done between the messages of the kernel, ended by an interrupt."""

import signal
import threading
import time
from collections.abc import Callable, Iterator

from IPython import get_ipython

from mha_utils.machine import threads

SLICE = 0.03  # seconds of work, until the kernel may run a cell or answer another view


def kernel_loop():
    """The loop of the kernel, in whose thread cells run; None where there is no kernel."""
    return getattr(getattr(get_ipython(), "kernel", None), "io_loop", None)


class Interrupts:
    """While it is entered, an interrupt calls `stop` and raises nothing."""

    def __init__(self, stop: Callable[[], None]):
        self.stop, self.before = stop, signal.SIG_IGN

    def __call__(self, number, frame) -> None:
        self.stop()

    def __enter__(self) -> None:
        self.before = signal.getsignal(signal.SIGINT)
        self._set(self)

    def __exit__(self, *error) -> None:
        if signal.getsignal(signal.SIGINT) is self:  # a cell may have put in its own
            self._set(self.before)

    def enter_between_cells(self) -> None:
        """A kernel ignores interrupts between cells; in a cell they are left to the cell."""
        now = signal.getsignal(signal.SIGINT)
        if now is signal.SIG_IGN or isinstance(now, Interrupts):
            self._set(self)

    def _set(self, handler) -> None:
        if threading.current_thread() is threading.main_thread():  # no other may do it
            signal.signal(signal.SIGINT, handler)


def at_once(work: Iterator[None], stop: Callable[[], None]) -> None:
    """Do all of the work now; an interrupt calls `stop`, which has to end it."""
    with Interrupts(stop), threads(1):
        for _ in work:
            pass


class Slices:
    """Do work bit by bit in the loop of the kernel; where there is none, at once.

    Args:
        work: goes on a little whenever it is asked for the next item.
        stop: called by an interrupt; it has to end the work soon.
        done: called at the end, with the text of an error or with nothing.
    """

    def __init__(self, work: Iterator[None], stop: Callable, done: Callable[[str], None]):
        self.work, self.done, self.interrupts = work, done, Interrupts(stop)
        self.loop = kernel_loop()
        if self.loop is None:
            self.go_on(lambda: at_once(work, stop))
        else:
            self.loop.add_callback(self.go_on)

    def go_on(self, work: Callable | None = None) -> None:
        """One slice; the next one when the loop has done what else is waiting."""
        problem = ""
        try:
            if (work or self._slice)():
                self.loop.add_callback(self.go_on)
                return
        except KeyboardInterrupt:  # of a cell that was waiting meanwhile
            pass
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        self.interrupts.__exit__()
        self.done(problem)

    def _slice(self) -> bool:
        """Whether there is more to do."""
        self.interrupts.enter_between_cells()
        end = time.monotonic() + SLICE
        with threads(1):
            for _ in self.work:
                if time.monotonic() > end:
                    return True
        return False
