"""Is this machine ready for the series?"""

import importlib.metadata
import platform

import torch

TESTED = {
    "torch": "2.13.0",
    "numpy": "2.4.6",
    "matplotlib": "3.11.2",
    "jupyterlab": "4.6.6",
    "ipywidgets": "8.1.9",
    "anywidget": "0.11.0",
}


class MachineReport:
    """What is installed, compared with the versions that the stored outputs come from.

    Prints the same text on every machine that is ready; only the last two lines,
    `threads:` and `GPU:`, may differ.
    """

    def __repr__(self) -> str:
        lines = [_line("python", "3.11 to 3.13", _python_problem())]
        lines += [_line(name, version, _problem(name, version)) for name, version in TESTED.items()]
        lines.append(f"threads: torch uses {torch.get_num_threads()}")
        return "\n".join([*lines, f"GPU: {_gpu()}"])


def _line(name: str, expected: str, problem: str) -> str:
    return f"{name:11} {expected:13} {problem or '✓'}"


def _python_problem() -> str:
    version = platform.python_version()
    return "" if (3, 11) <= tuple(map(int, version.split(".")[:2])) <= (3, 13) else f"✗ {version}"


def _problem(name: str, expected: str) -> str:
    try:
        version = importlib.metadata.version(name).split("+")[0]
    except importlib.metadata.PackageNotFoundError:
        return "✗ not installed"
    return "" if version == expected else f"✗ {version}: last printed digits may differ"


def _gpu() -> str:
    if torch.cuda.is_available():
        return f"{torch.cuda.get_device_name()} (chapter 11 will use it)"
    if torch.backends.mps.is_available():
        return "Apple MPS (chapter 11 will use it)"
    return "none found, and none is needed: every chapter runs on the CPU"
