"""The net under a reader's edits: which cells are changed, and cells below that no longer fit.

Such a cell says why it is left out, and Run All goes on with the next one. A changed cell that
raises, raises as ever. A cell's id is the digest of the text that it was published with, so the
kernel knows which texts have been changed: in JupyterLab, which tells it the id, and elsewhere.
"""

import ast
import contextlib
import functools
import hashlib
import html
import json
import os
import symtable
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from IPython.display import display

SWITCH = "MHA_EDITS"  # in the environment: "raise" lets every cell raise, as tests need it
SERIES = Path(__file__).parents[1] / "notebooks"


def digest(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()[:8]


def is_changed(info) -> bool:
    """Whether the text is neither the one that the id belongs to nor that of a published cell."""
    text = digest(info.raw_cell)
    return text != (info.cell_id or "").split("-")[0] and text not in published(Path.cwd())


@functools.cache
def published(folder: Path) -> frozenset[str]:
    """Digests of all cells of the notebooks in a folder and of the series; an edit keeps them."""
    ids: set[str] = set()
    for path in (*folder.glob("*.ipynb"), *SERIES.glob("*.ipynb")):
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):  # not to be read
            ids |= {cell.get("id", "") for cell in json.loads(path.read_text("utf-8"))["cells"]}
    return frozenset(name.split("-")[0] for name in ids)


@dataclass(frozen=True)
class Names:
    """The names that a cell makes, each with its first line; those it changes; those it reads."""

    made: dict[str, int] = field(default_factory=dict)
    touched: frozenset[str] = frozenset()
    read: frozenset[str] = frozenset()


def names_of(source: str) -> Names:
    """No names at all if the cell is not plain Python, as with %%time."""
    try:
        table, tree = symtable.symtable(source, "cell", "exec"), ast.parse(source)
    except SyntaxError:
        return Names()
    own = {s.get_name() for s in table.get_symbols() if s.is_assigned() and not s.is_imported()}
    made: dict[str, int] = {}
    for node in ast.walk(tree):
        name = getattr(node, "id", None) or getattr(node, "name", None)
        if name in own and not isinstance(getattr(node, "ctx", None), ast.Load):
            made[name] = min(node.lineno, made.get(name, node.lineno))
    augmented = [n.target for n in ast.walk(tree) if isinstance(n, ast.AugAssign)]
    counted = {target.id for target in augmented if isinstance(target, ast.Name)}
    return Names(made, frozenset(touched_in(tree)), frozenset({*read_in(table), *counted}))


def touched_in(tree: ast.Module) -> Iterator[str]:
    """`x` of `x[0] = 1`, of `x.data = y`, and of a line that is nothing but `x.zero_()`."""
    stored = [n for n in ast.walk(tree) if isinstance(getattr(n, "ctx", None), ast.Store)]
    lines = [s.value for s in tree.body if isinstance(s, ast.Expr)]
    called = [line.func for line in lines if isinstance(line, ast.Call)]
    for part in [*stored, *called]:
        while isinstance(part, ast.Attribute | ast.Subscript):
            part = part.value
            if isinstance(part, ast.Name):
                yield part.id


def read_in(table: symtable.SymbolTable) -> Iterator[str]:
    """Names of the notebook that a cell, or a function that it makes, looks up."""
    for symbol in table.get_symbols():
        if symbol.is_referenced() and (table.get_type() == "module" or symbol.is_global()):
            yield symbol.get_name()
    for child in table.get_children():
        yield from read_in(child)


@dataclass(frozen=True)
class LeftOut:
    """Why a cell is left out, and the error that it would have ended with."""

    why: str
    error: str
    whole: str

    def __repr__(self) -> str:
        return f"This cell is left out. {self.why}\n{self.error}\nThe cells below go on."

    def _repr_html_(self) -> str:
        why, error, whole = (html.escape(part) for part in (self.why, self.error, self.whole))
        return (
            '<div style="border-left: 3px solid #E69F00; padding: .2em .9em">'
            f"<b>This cell is left out.</b> {why}<br>{error}<br>The cells below go on."
            f"<details><summary>the whole error</summary><pre>{whole}</pre></details></div>"
        )


class ChangedCells:
    """Which names of a notebook go back to a change, in words such as `[7]: heads = 5`."""

    def __init__(self, shell):
        self.shell = shell
        self.running = None  # the cell that runs, if JupyterLab has announced it
        self.changes: dict[str, str] = {}  # of each changed cell, the latest last
        self.behind: dict[str, str] = {}
        self.published: dict[str, list[str]] = {}  # lines of cells that have run unchanged
        self.is_left_out = False

    def begin(self, info) -> None:
        self.running, self.is_left_out = info, False

    def show(self, shell, kind, error, trace, tb_offset=None) -> None:
        """The error as ever, or in its place why the cell is left out."""
        if not self.changes or not self.is_as_published():
            shell.showtraceback((kind, error, trace), tb_offset=tb_offset)
            return
        names = names_of(self.running.raw_cell)
        text = f"{kind.__name__}: {error}".splitlines()[0]
        whole = "".join(traceback.format_exception(kind, error, trace.tb_next))
        display(LeftOut(self.why(error, names), text, whole))
        self.forget_what_is_old(names, trace.tb_next.tb_lineno if trace.tb_next else 0)
        self.is_left_out = True

    def is_as_published(self) -> bool:
        return self.running is not None and not is_changed(self.running)

    def why(self, error: Exception, names: Names) -> str:
        missing = getattr(error, "name", None) if isinstance(error, NameError) else None
        latest = list(self.changes.values())[-1]
        if missing in self.behind:
            return f"No cell has made {missing} since you changed {self.behind[missing]}"
        if missing:
            return (
                f"No cell that has run to its end has made {missing}: run the cells above first, "
                f"or look at what you changed last, {latest}"
            )
        changes = dict.fromkeys(self.behind[n] for n in sorted(names.read) if n in self.behind)
        fits = "It does not fit" if changes else "It may not fit"
        return f"{fits} what you changed in {', or in '.join(changes or [latest])}"

    def forget_what_is_old(self, names: Names, line: int) -> None:
        """Take away what the cell would have made anew, so that no cell below shows the old."""
        for name, first in names.made.items():
            if first >= line and name not in names.read:
                self.shell.user_ns.pop(name, None)

    def end(self, result) -> None:
        """Note what goes back to a change; a cell that is left out does not stop Run All."""
        info, names = result.info, names_of(result.info.raw_cell)
        cell = info.cell_id or digest(info.raw_cell)
        self.running = None
        self.changes.pop(cell, None)
        if is_changed(info):
            self.changes[cell] = change = self.change(info, result.execution_count)
            self.note(names, change)
        else:
            self.published[cell] = info.raw_cell.splitlines()
            inherited = (self.behind[n] for n in sorted(names.read) if n in self.behind)
            self.note(names, next(inherited, None))
        if self.is_left_out:
            result.error_in_exec = None

    def change(self, info, count: int | None) -> str:
        """The cell's number, with the first line that is new where that is known."""
        lines = info.raw_cell.splitlines()
        before = self.published.get(info.cell_id, lines)
        new = [line.strip() for line in lines if line.strip() and line not in before]
        return f"[{count}]: {new[0]}" if new else f"[{count}]"

    def note(self, names: Names, change: str | None) -> None:
        touched = [n for n in names.touched if not self.is_module(n)]
        for name in [*names.made, *touched]:
            if change:
                self.behind[name] = change
            elif name in names.made:
                self.behind.pop(name, None)

    def is_module(self, name: str) -> bool:
        return isinstance(self.shell.user_ns.get(name), ModuleType)


def watch(shell) -> None:
    """From the next cell on; once, however often a chapter's first cell is run."""
    is_watched = isinstance(getattr(shell, "changed_cells", None), ChangedCells)
    if not is_watched and os.environ.get(SWITCH) != "raise":
        shell.changed_cells = cells = ChangedCells(shell)
        shell.events.register("pre_run_cell", cells.begin)
        shell.events.register("post_run_cell", cells.end)
        shell.set_custom_exc((Exception,), cells.show)
