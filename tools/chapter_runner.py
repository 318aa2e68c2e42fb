"""Run a chapter's cells in this process and compare what they print with what is stored.

Much faster than a kernel for each chapter; for `tools.faults`, not a replacement of nbval.
`python -m tools.chapter_runner [02 13 ...]` says for each chapter "as stored" or what differs.
"""

import functools
import io
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import nbformat

from tools.comparing import same_text
from tools.notebooks import LIVE
from tools.planting import in_a_fork

FOLDER = Path(__file__).parents[1] / "notebooks"
DAY = 24 * 60 * 60


def first_difference(path: Path) -> str | None:
    """What the first cell that raises or prints something else says; None if all is as stored.

    Pictures, widgets and what a `live` cell prints are not looked at.
    """
    import matplotlib.pyplot as plt
    from IPython.core.interactiveshell import InteractiveShell

    os.chdir(FOLDER)
    shell = InteractiveShell.instance()
    for number, cell in enumerate(code_cells(path), start=1):
        printed, value, error = run(shell, cell.source)
        plt.close("all")
        if error is not None:
            return f"cell {number}: {type(error).__name__}: {str(error).splitlines()[:1]}"
        if LIVE in cell.metadata.get("tags", []):
            continue
        stored_printed, stored_value = stored_texts(cell)
        if not same_text(printed, stored_printed):
            return f"cell {number} prints something else"
        if stored_value is not None and not same_text(value or "", stored_value):
            return f"cell {number} gives something else"
    return None


def run(shell, source: str) -> tuple[str, str | None, BaseException | None]:
    """What a cell prints, the text of its value, and what it raises."""
    printed = io.StringIO()
    for hook in ("write_output_prompt", "write_format_data", "finish_displayhook"):
        setattr(shell.displayhook, hook, lambda *arguments: None)  # values are read below
    with redirect_stdout(printed), redirect_stderr(io.StringIO()):
        result = shell.run_cell(source, store_history=False)
    value = None
    if result.result is not None:
        is_view = hasattr(result.result, "finding")  # without a kernel there is no widget
        formatted = shell.display_formatter.format
        value = repr(result.result) if is_view else formatted(result.result)[0].get("text/plain")
    return printed.getvalue(), value, result.error_before_exec or result.error_in_exec


def stored_texts(cell) -> tuple[str, str | None]:
    """The stored stream, and the stored text of the value."""
    printed = "".join(o.text for o in cell.outputs if o.output_type == "stream")
    values = [o.data for o in cell.outputs if o.output_type == "execute_result"]
    return printed, values[0].get("text/plain") if values else None


def code_cells(path: Path) -> list:
    cells = nbformat.read(path, as_version=4).cells
    return [c for c in cells if c.cell_type == "code"]


def main(wanted: list[str]) -> None:
    """Each chapter in a process of its own, forked when torch is imported."""
    import mha_utils.plots  # noqa: F401  takes seconds, emulated minutes

    for path in sorted(FOLDER.glob("*.ipynb")):
        if not wanted or path.name[:2] in wanted:
            play = functools.partial(first_difference, path)
            found = in_a_fork(FOLDER, play, seconds=DAY, fresh=False)
            print(f"{path.stem}: {found or 'as stored'}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
