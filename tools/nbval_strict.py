"""Make nbval a regression suite: a pytest plugin that closes the holes of nbval 0.11.

nbval alone lets pass: a cell that was never run, pictures that are missing.
nbval alone fails though right: the last printed digit on another processor, a trailing `;`.
"""

import re
from decimal import Decimal

from nbval.kernel import RunningKernel
from nbval.plugin import IPyNbCell

from tools.notebooks import LIVE

FLOAT = re.compile(r"(?<![\d.])-?\d+\.\d+(?!\d|\.\d)")
TEXTS = ("text/plain", "text/html", "text/markdown")

_run, _compare = IPyNbCell.runtest, IPyNbCell.compare_outputs


def same_text(new: str, stored: str) -> bool:
    """Equal, but each printed decimal number may be off by 1 unit of its last place."""
    if new == stored:
        return True
    if _without_numbers(new) != _without_numbers(stored):
        return False
    pairs = zip(FLOAT.findall(new), FLOAT.findall(stored), strict=True)
    return all(_same_number(a, b) for a, b in pairs)


def _without_numbers(text: str) -> str:
    return re.sub(r"\s+", " ", FLOAT.sub(" # ", text))


def _same_number(new: str, stored: str) -> bool:
    places = len(stored.split(".")[1])
    same_places = len(new.split(".")[1]) == places
    return same_places and abs(Decimal(new) - Decimal(stored)) <= Decimal(10) ** -places


def _runtest(cell: IPyNbCell) -> None:
    if cell.cell.source.strip() and cell.cell.execution_count is None:
        cell.raise_cell_error("Stored without having been run: use `make notebooks`")
    _run(cell)


def _compare_outputs(cell: IPyNbCell, test, ref, skip_compare=None) -> bool:
    if LIVE in cell.cell.metadata.get("tags", []):
        return True  # what it measures belongs to the machine; its asserts have run
    if _pictures(test) != _pictures(ref):
        cell.comparison_traceback = [f"{_pictures(ref)} pictures stored, {_pictures(test)} came"]
        return False
    for new, stored in zip(test, ref, strict=False):
        _forgive_last_digits(new, stored, ("text",))
        _forgive_last_digits(new.get("data", {}), stored.get("data", {}), TEXTS)
    return _compare(cell, test, ref, skip_compare)


def _pictures(outputs) -> int:
    return sum("image/png" in output.get("data", {}) for output in outputs)


def _forgive_last_digits(new, stored, keys: tuple[str, ...]) -> None:
    for key in keys:
        if key in new and key in stored and same_text(new[key], stored[key]):
            new[key] = stored[key]


def _execute_cell_input(kernel: RunningKernel, source: str, allow_stdin=None) -> str:
    return kernel.kc.execute(
        source, store_history=True, allow_stdin=allow_stdin, stop_on_error=False
    )


IPyNbCell.runtest = _runtest
IPyNbCell.compare_outputs = _compare_outputs
RunningKernel.execute_cell_input = _execute_cell_input
