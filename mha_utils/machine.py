"""Which versions, devices and threads are here, and whether a chapter can be saved."""

import importlib.metadata
import os
import platform
import re
from collections.abc import Iterator
from contextlib import contextmanager

import torch

NEEDED = {  # the oldest that work, as in pyproject.toml
    "torch": "2.9",
    "numpy": "2.0",
    "matplotlib": "3.10",
    "jupyterlab": "4.4",
    "ipywidgets": "8.1.5",
    "anywidget": "0.9.21",
}


@contextmanager
def threads(number: int) -> Iterator[None]:
    """So many threads inside; as many as before afterwards, also after an error."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


NOT_SAVED = (
    "Changes are not saved here, because you may not write in this folder: choose "
    "File ▸ Save Notebook As, or open a copy of the series in a folder of your own, to keep them."
)


def is_saved_here() -> bool:
    """Whether the notebook of this kernel can be written where it lies.

    Jupyter's server names it in JPY_SESSION_NAME; a kernel starts in the folder of its notebook.
    """
    notebook = os.environ.get("JPY_SESSION_NAME", "")
    known = [notebook] if os.path.isfile(notebook) else []
    return all(os.access(path, os.W_OK) for path in [os.curdir, *known])


def is_voila() -> bool:
    """Whether the kernel was started by Voila, with the page or ahead of it: nothing is edited."""
    started = os.environ.get("SERVER_SOFTWARE", "").startswith("voila/")
    return started or "VOILA_PREHEAT" in os.environ


class MachineReport:
    """Whether what is installed is new enough.

    Prints the same text on every machine that is ready; only the last two lines,
    `threads:` and `GPU:`, may differ.
    """

    def __repr__(self) -> str:
        lines = [_line("python", "3.11 to 3.13", _python_problem())]
        lines += [
            _line(name, f"{version} or newer", _problem(name, version))
            for name, version in NEEDED.items()
        ]
        lines.append(f"threads: torch uses {torch.get_num_threads()}")
        return "\n".join([*lines, f"GPU: {_gpu()}"])


def _line(name: str, expected: str, problem: str) -> str:
    return f"{name:11} {expected:16} {problem or '✓'}"


def _python_problem() -> str:
    version = platform.python_version()
    return "" if (3, 11) <= tuple(map(int, version.split(".")[:2])) <= (3, 13) else f"✗ {version}"


def _problem(name: str, oldest: str) -> str:
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "✗ not installed"
    return "" if _numbers(version) >= _numbers(oldest) else f"✗ {version} is too old"


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version.split("+")[0])]


def _gpu() -> str:
    if torch.cuda.is_available():
        return f"{torch.cuda.get_device_name()} (chapter 11 will use it)"
    if torch.backends.mps.is_available():
        return "Apple MPS (chapter 11 will use it)"
    return "none found, and none is needed: every chapter runs on the CPU"
