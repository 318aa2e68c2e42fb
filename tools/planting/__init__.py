"""Plant a fault: a copy of the project with one change, and what is run in it."""

import contextlib
import io
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from multiprocessing import forkserver
from pathlib import Path

from tools.planting.fault_list import Fault

ROOT = Path(__file__).parents[2]
BUG = '''

def _plant(name):
    """Let MultiHeadAttention compute what a bug of the museum, or "Steps", computes."""
    import copy
    import functools

    import torch

    from mha_utils.core import masks
    from mha_utils.museum import MUSEUM, Steps

    wrong = {b.name: b.module for b in MUSEUM}.get(name, Steps)
    right, right_window = MultiHeadAttention.forward, sliding_window_mask

    def is_beyond(self, x):  # what no bug of the museum knows
        tracing = torch.compiler.is_compiling() or x.device.type == "meta"
        return tracing or isinstance(self, FusedMultiHeadAttention)

    def twice_as_long(cache):  # that a cache is full is for the steps to say
        if not isinstance(cache, KeyValueCache):
            return cache
        twin = copy.copy(cache)
        twin.keys, twin.values = (torch.cat((t, t), dim=2) for t in (cache.keys, cache.values))
        return twin

    @functools.wraps(right)
    def forward(self, x, *args, cache=None, **options):
        if is_beyond(self, x):
            return right(self, x, *args, cache=cache, **options)
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            right(self, x, *args, cache=twice_as_long(cache), **options)  # raises what it has to
        twin = object.__new__(wrong)
        twin.__dict__ = self.__dict__
        return wrong.forward(twin, x, *args, cache=cache, **options)

    @functools.wraps(right_window)
    def window_mask(query_len, key_len=None, *, window, sinks=0, device=None):
        seen = right_window(query_len, key_len, window=window, sinks=sinks, device=device)
        return object.__new__(wrong).window(*seen.shape, window, sinks).to(seen.device)

    MultiHeadAttention.forward = forward
    masks.sliding_window_mask = globals()["sliding_window_mask"] = window_mask


_plant(NAME)
'''


def copy_project(folder: Path) -> None:
    """What chapters and tests need: the package, notebooks, tests, tools."""
    for part in ("mha_utils", "notebooks", "tests", "tools", "media", "benchmarks"):
        if (ROOT / part).exists():
            ignored = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints")
            shutil.copytree(ROOT / part, folder / part, ignore=ignored, dirs_exist_ok=True)
    for name in ("conftest.py", "pyproject.toml", "README.md", "CONTRIBUTING.md", "Makefile"):
        shutil.copy(ROOT / name, folder / name)


@contextlib.contextmanager
def changed(path: Path, change: Callable[[str], str]):
    """A file with another text, for as long as the context lasts."""
    source = path.read_text("utf-8")
    path.write_text(change(source), "utf-8")
    try:
        yield
    finally:
        path.write_text(source, "utf-8")


def planted(folder: Path, fault: Fault | str):
    """The copy in `folder` with a fault of the list, or a bug of the museum by its name."""
    if isinstance(fault, str):
        path = folder / "mha_utils" / "__init__.py"
        return changed(path, lambda source: source + BUG.replace("NAME", repr(fault)))
    return changed(folder / "mha_utils" / fault.file, fault.plant)


def in_a_fork(
    folder: Path, play: Callable[[], str | None], seconds: int = 120, fresh: bool = True
) -> str | None:
    """What play() returns in a child process that imports the package from `folder`.

    If `fresh`, nothing may be imported from `mha_utils` before play() runs.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _be_the_child(folder, play, writing, seconds, fresh)
    os.close(writing)
    with open(reading, encoding="utf-8") as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    return text or (f"ended with status {status}" if status else None)


def _be_the_child(folder: Path, play: Callable, writing: int, seconds: int, fresh: bool) -> None:
    signal.alarm(seconds)
    _start_no_process_of(forkserver._forkserver)
    status = 1
    try:
        os.chdir(folder)
        if fresh:
            forget_the_package(folder)
        with open(os.devnull) as nothing:
            os.dup2(nothing.fileno(), 0)  # nobody answers questions
        try:
            with (
                contextlib.redirect_stdout(io.StringIO()),
                contextlib.redirect_stderr(io.StringIO()),
            ):
                text = play()
        except BaseException as error:
            text = f"{type(error).__name__}: {error}"
        with open(writing, "w", encoding="utf-8") as pipe:
            pipe.write(text or "")
        status = 0
    finally:
        os._exit(status)


def _start_no_process_of(server: forkserver.ForkServer) -> None:
    """A fork has no children: the server that its parent starts processes with is not its own."""
    server._forkserver_pid = server._forkserver_alive_fd = server._forkserver_address = None


def forget_the_package(folder: Path) -> None:
    """Import it anew, from `folder` and without type checks, when somebody asks for it."""
    sys.path[:0] = [str(folder)]
    os.environ["PYTHONPATH"] = str(folder)  # of what is started from here
    for name in [n for n in sys.modules if n.split(".")[0] in ("mha_utils", "tools")]:
        del sys.modules[name]
    sys.meta_path[:] = [f for f in sys.meta_path if "jaxtyping" not in type(f).__module__]
    sys.dont_write_bytecode = True


def where() -> dict:
    """The machine, the date and the commit that faults were planted on."""
    from mha_utils.bench.record import describe_machine

    command = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip()
    return {"commit": commit, "machine": describe_machine("cpu")}
