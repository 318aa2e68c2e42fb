"""A pytest plugin that says what a run cost, what did not run, and what it changed.

At the end it prints wall and CPU minutes and the ten slowest, a notebook counting as one. Fails
the run if a file of the checkout is another one than before. The very last line says which tests
wait for a browser, and the one command that helps.
"""

import contextlib
import resource
import subprocess
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest

from tools.browser.chromium import NO_BROWSER, advice

CACHES = ("__pycache__", ".pytest_cache", ".ruff_cache", ".venv", ".egg-info")


def pytest_configure(config) -> None:
    is_worker = hasattr(config, "workerinput")
    config.pluginmanager.register(Worker() if is_worker else Report(config), "suite-report")


def cpu_seconds(whose: int) -> float:
    used = resource.getrusage(whose)
    return used.ru_utime + used.ru_stime


def own_seconds() -> float:
    """Of this process and of its children: those that have ended, and those that live."""
    used = cpu_seconds(resource.RUSAGE_SELF) + cpu_seconds(resource.RUSAGE_CHILDREN)
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.NoSuchProcess):  # it has ended just now
            used += sum(child.cpu_times()[:4])
    return used


class Worker:
    """Reports to the controller what this process of pytest-xdist used."""

    def pytest_sessionfinish(self, session) -> None:
        session.config.workeroutput["cpu"] = own_seconds()


class Report:
    """Adds up what tests took, and compares the checkout before and after."""

    def __init__(self, config):
        self.root, self.began = config.rootpath, time.monotonic()
        self.before, self.changed = state_of_checkout(self.root), []
        self.seconds, self.waiting, self.workers = Counter(), set(), []

    def pytest_runtest_logreport(self, report) -> None:
        self.seconds[report.nodeid.partition(".ipynb::")[0]] += report.duration
        if NO_BROWSER in str(report.longrepr or ""):
            self.waiting.add(report.nodeid)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node) -> None:
        self.workers.append(getattr(node, "workeroutput", {}).get("cpu", 0))

    def pytest_sessionfinish(self, session) -> None:
        after = state_of_checkout(self.root)
        if self.before is not None:
            self.changed = sorted({p for p, _ in self.before.items() ^ after.items()})
        if self.changed:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter) -> None:
        write = terminalreporter.write_line
        terminalreporter.section("what it cost")
        cpu = (
            cpu_seconds(resource.RUSAGE_SELF) + sum(self.workers) if self.workers else own_seconds()
        )
        wall = time.monotonic() - self.began
        write(f"wall {wall / 60:.1f} min, CPU {cpu / 60:.1f} min; the slowest (wall, s):")
        for name, seconds in self.seconds.most_common(10):
            write(f"{seconds:7.1f}  {name}")
        if self.before is None:
            write("Not a git checkout: changes of files go unnoticed.")
        for path in self.changed:
            write(f"Changed while the tests ran: {path}", red=True)

    def pytest_unconfigure(self, config) -> None:
        if self.waiting:
            reporter = config.pluginmanager.getplugin("terminalreporter")
            reporter.write_line(what_is_missing(len(self.waiting)), bold=True)


def what_is_missing(number: int) -> str:
    return (
        f"{number} TESTS IN A BROWSER DID NOT RUN (LIVE VIEWS, SITE, JUPYTERLAB): NO CHROMIUM WAS "
        f"FOUND. WHAT HELPS: {advice()}"
    )


def state_of_checkout(root: Path) -> dict[str, tuple] | None:
    """What git says of every file that is not as committed, and when it was written."""
    command = ["git", "status", "--porcelain", "-z", "--untracked-files=all", "--ignored=matching"]
    try:
        found = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    state = {}
    for line in found.stdout.split("\0"):
        path = root / line[3:]
        if line and not any(part.endswith(CACHES) for part in path.parts):
            written = path.stat().st_mtime_ns if path.exists() else None
            state[line[3:]] = (line[:2], written)
    return state
