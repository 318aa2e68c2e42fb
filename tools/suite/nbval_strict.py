"""Make nbval a regression suite: a pytest plugin that closes the holes of nbval 0.11.

nbval alone lets pass: a cell that was never run, pictures that are missing, all that comes after a
cell that took too long, a cell that gives something else when run again, or with more threads.
nbval alone fails though right: the last printed digit on another processor, a trailing `;`.

Every cell is run twice: with the threads that `make lab` gives, then, right after, with one.
`MHA_THREADS=4` runs both with four. What the chapters gave is kept until the end, for the site.
"""

import json
import os
import shutil
import tempfile
from pathlib import Path

import nbformat
import nbval.plugin
import pytest

from tools.notebooks import LIVE, STATE
from tools.suite import threads
from tools.suite.comparing import same_text

TEXTS = ("text/plain", "text/html", "text/markdown")
EXECUTED = "MHA_EXECUTED"  # a folder with the chapters as this run of the suite executed them
TORCH = "for torch in [__import__('sys').modules.get('torch')] if torch]"
KEEP, ONE = "setattr(torch, 'before', torch.get_num_threads())", "torch.set_num_threads(1)"
RUNS = {  # the two runs of a cell, and what the kernel does after each
    "its first run": f"[({KEEP}, {ONE}) {TORCH}",
    "its second run, right after the first": f"[torch.set_num_threads(torch.before) {TORCH}",
}
SAVE_VIEWS = """
import json as _json, ipywidgets as _widgets
with open({path!r}, "w") as _file:
    _json.dump(_widgets.Widget.get_manager_state(), _file)
"""


def pytest_configure(config) -> None:
    if hasattr(config, "workerinput"):
        return  # the folder is the controller's
    before, folder = os.environ.get(EXECUTED), tempfile.mkdtemp(prefix="executed-")
    os.environ[EXECUTED] = folder
    config.add_cleanup(lambda: shutil.rmtree(folder))
    config.add_cleanup(lambda: os.environ.update({EXECUTED: before or ""}))


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path, parent):
    collectors = yield
    is_notebook = [isinstance(collector, nbval.plugin.IPyNbFile) for collector in collectors]
    return [
        Chapter.from_parent(parent, path=file_path) if is_one else collector
        for collector, is_one in zip(collectors, is_notebook)
    ]


class Kernel(nbval.plugin.RunningKernel):
    """Counts cells as a notebook does, and changes the threads between two runs."""

    afterwards = ""

    def __init__(self, *given, **options):
        """Its ports are found free before it takes them: if another was quicker, begin again."""
        try:
            super().__init__(*given, **options)
        except RuntimeError:  # it died before the first cell
            super().__init__(*given, **options)

    def execute_cell_input(self, source: str, allow_stdin=None) -> str:
        fixed = os.environ.get("MHA_THREADS") or not self.afterwards
        expressions = {} if fixed else {"threads": self.afterwards}
        options = {"allow_stdin": allow_stdin, "stop_on_error": False}
        return self.kc.execute(source, user_expressions=expressions, **options)


class Chapter(nbval.plugin.IPyNbFile):
    """A notebook that keeps what its cells gave."""

    def collect(self):
        for cell in super().collect():
            known = {name: getattr(cell, name) for name in ("name", "cell_num", "cell", "options")}
            yield Cell.from_parent(self, **known)

    def setup(self) -> None:
        self.given: dict[int, list] = {}
        with threads.inherited():
            super().setup()

    def teardown(self) -> None:
        if self.kernel is not None:
            self._keep(Path(os.environ[EXECUTED]) / self.path.name)
        super().teardown()

    def _keep(self, path: Path) -> None:
        views = path.with_suffix(".json")
        if self.kernel.is_alive():
            self.kernel.afterwards = ""
            request = self.kernel.execute_cell_input(SAVE_VIEWS.format(path=str(views)))
            self.kernel.await_reply(request, timeout=60)
        notebook = self.nb.copy()
        for number, cell in enumerate(c for c in notebook.cells if c.cell_type == "code"):
            cell.outputs = self.given.get(number, [])
        if views.exists():
            notebook.metadata.widgets = {STATE: json.loads(views.read_text())}
        nbformat.write(notebook, path.with_suffix(".part"))
        path.with_suffix(".part").rename(path)  # whole, or not there


class Cell(nbval.plugin.IPyNbCell):
    """A cell that is run and compared twice."""

    def setup(self) -> None:
        """Not nbval's, which lets everything pass after a cell that took too long."""

    def runtest(self) -> None:
        if self.cell.source.strip() and self.cell.execution_count is None:
            self.raise_cell_error("Stored without having been run: use `make notebooks`")
        for run, afterwards in RUNS.items():
            self.parent.kernel.afterwards = afterwards
            try:
                super().runtest()
            except nbval.plugin.NbCellError as error:
                error.args = (f"{error} ({run})",)
                raise
        self.parent.given[self.cell_num] = self.test_outputs

    def compare_outputs(self, test, ref, skip_compare=None) -> bool:
        if LIVE in self.cell.metadata.get("tags", []):
            return True  # what it measures belongs to the machine; its asserts have run
        if _pictures(test) != _pictures(ref):
            stored, drawn = _pictures(ref), _pictures(test)
            self.comparison_traceback = [f"{stored} pictures stored, {drawn} drawn"]
            return False
        for new, stored in zip(test, ref, strict=False):
            _forgive_last_digits(new, stored, ("text",))
            _forgive_last_digits(new.get("data", {}), stored.get("data", {}), TEXTS)
        return super().compare_outputs(test, ref, skip_compare)


def _pictures(outputs) -> int:
    return sum("image/png" in output.get("data", {}) for output in outputs)


def _forgive_last_digits(new, stored, keys: tuple[str, ...]) -> None:
    for key in keys:
        if key in new and key in stored and same_text(new[key], stored[key]):
            new[key] = stored[key]


nbval.plugin.RunningKernel = Kernel
