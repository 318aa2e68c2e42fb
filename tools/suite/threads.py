"""The threads that a reader's kernel has, for the chapters that the suite runs."""

import os
from unittest import mock


def of_a_reader() -> dict[str, str]:
    """The environment that `make lab` would give; or `MHA_THREADS` threads, if that is set.

    Threads that wait sleep here: spinning, they would take the cores from the other tests.
    """
    environment = os.environ | {"OMP_WAIT_POLICY": "passive"}
    environment.pop("OMP_NUM_THREADS", None)
    if number := os.environ.get("MHA_THREADS"):
        environment["OMP_NUM_THREADS"] = number
    return environment


def inherited():
    """Processes that are started in this context have a reader's threads."""
    return mock.patch.dict(os.environ, of_a_reader(), clear=True)
