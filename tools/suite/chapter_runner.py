"""Run a chapter's cells in this process and compare what they print with what is stored.

Much faster than a kernel for each chapter; for `tools.faults`, not a replacement of nbval.
`python -m tools.suite.chapter_runner [02 13 ...]` says of each: "as stored", or what differs.
"""

import functools
import io
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import nbformat

from tools.notebooks import FOLDER, LIVE
from tools.planting import in_a_fork
from tools.suite.comparing import same_text

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
        is_live = LIVE in cell.metadata.get("tags", [])
        for new, stored in zip((printed, value), stored_texts(cell)):
            if stored is not None and not is_live and not same_text(new, stored):
                return f"cell {number} gives something else"
    return None


def run(shell, source: str, cell_id: str | None = None) -> tuple[str, str, BaseException | None]:
    """What a cell prints, the text of its value, and what it raises."""
    printed = io.StringIO()
    for hook in ("write_output_prompt", "write_format_data", "finish_displayhook"):
        setattr(shell.displayhook, hook, lambda *arguments: None)  # values are read below
    with redirect_stdout(printed), redirect_stderr(io.StringIO()):
        result = shell.run_cell(source, store_history=False, cell_id=cell_id)
    value = "" if result.result is None else repr(result.result)
    if value and not hasattr(result.result, "finding"):  # without a kernel there is no widget
        value = shell.display_formatter.format(result.result)[0].get("text/plain", "")
    return printed.getvalue(), value, result.error_before_exec or result.error_in_exec


def stored_texts(cell) -> tuple[str, str | None]:
    """The stored stream, and the stored text of the value."""
    printed = "".join(o.text if o.output_type == "stream" else displayed(o) for o in cell.outputs)
    values = [o.data for o in cell.outputs if o.output_type == "execute_result"]
    return printed, values[0].get("text/plain") if values else None


def displayed(output) -> str:
    """What a shell without a kernel prints in the place of what is displayed."""
    text = output.data["text/plain"] if output.output_type == "display_data" else ""
    return "" if text.startswith("<Figure") or not text else f"{text}\n"  # a figure it closes


def code_cells(path: Path) -> list:
    cells = nbformat.read(path, as_version=4).cells
    return [c for c in cells if c.cell_type == "code"]


def main(numbers: list[str]) -> None:
    """Each chapter in a process of its own, forked when torch is imported."""
    import mha_utils.plots  # noqa: F401  takes seconds, emulated minutes

    for path in sorted(FOLDER.glob("*.ipynb")):
        if not numbers or path.name[:2] in numbers:
            play = functools.partial(first_difference, path)
            found = in_a_fork(FOLDER, play, seconds=DAY, fresh=False)
            print(f"{path.stem}: {found or 'as stored'}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
