"""What notices a fault: a chapter that prints something else than what is stored, or a test.

Both run in a child process that imports the package from a copy of the project.
"""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from tools.planting import in_a_fork

FLAGS = ("-x", "-q", "-o", "addopts=", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:nbval")
BROKEN = (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR)


def preload() -> None:
    """Import what every child needs and no fault changes."""
    os.environ |= {"MPLBACKEND": "agg", "OMP_NUM_THREADS": "1"}
    import anywidget
    import IPython
    import jaxtyping
    import matplotlib.pyplot
    import nbformat
    import torch

    assert all((anywidget, IPython, jaxtyping, matplotlib, nbformat, torch))


def by_chapter(folder: Path, path: Path, seconds: int = 600) -> str | None:
    """How a chapter differs from what is stored; None if it does not."""

    def play():
        from tools.suite.chapter_runner import first_difference

        return first_difference(path)

    return in_a_fork(folder, play, seconds)


class FirstFailure:
    """A pytest plugin that runs what `choose` keeps of the tests and remembers what fails first."""

    def __init__(self, choose: Callable[[list], list]):
        self.choose, self.failed = choose, None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        items[:] = self.choose(items)

    def pytest_runtest_logreport(self, report):
        self.failed = self.failed or (report.nodeid if report.failed else None)

    pytest_collectreport = pytest_runtest_logreport


def by_tests(
    folder: Path, arguments: Iterable[str], choose: Callable[[list], list] = list, seconds=600
) -> str | None:
    """The first test that fails; None if none does."""

    def play():
        first = FirstFailure(choose)
        code = pytest.main([*FLAGS, *arguments], plugins=[first])
        return first.failed or (f"pytest ends with {code!r}" if code in BROKEN else None)

    return in_a_fork(folder, play, seconds)
