"""The threads that a reader's kernel has, for the chapters that the suite runs."""

import contextlib
import os
from collections.abc import Iterator


def of_a_reader() -> dict[str, str]:
    """The environment that `make lab` would give; or `MHA_THREADS` threads, if that is set.

    Threads that wait sleep here: spinning, they would take the cores from the other tests.
    """
    environment = os.environ | {"OMP_WAIT_POLICY": "passive"}
    environment.pop("OMP_NUM_THREADS", None)
    if number := os.environ.get("MHA_THREADS"):
        environment["OMP_NUM_THREADS"] = number
    return environment


@contextlib.contextmanager
def inherited() -> Iterator[None]:
    """Processes that are started within have a reader's threads."""
    before, reader = dict(os.environ), of_a_reader()
    os.environ.clear()
    os.environ.update(reader)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
