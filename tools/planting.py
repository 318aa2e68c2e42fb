"""Copies of the project with one fault in them, and what is run in them."""

import contextlib
import io
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from tools.fault_list import Fault

ROOT = Path(__file__).parents[1]
MUTATION = '''

def _plant(name):
    """Let MultiHeadAttention compute what a piece of the museum computes."""
    import torch

    from mha_utils.museum import mutant

    piece, right = mutant(name).module, MultiHeadAttention.forward

    def forward(self, *args, **options):
        if torch.compiler.is_compiling():
            return right(self, *args, **options)
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            right(self, *args, **options)  # raises what it has to raise
        twin = object.__new__(piece)
        twin.__dict__ = self.__dict__
        return piece.forward(twin, *args, **options)

    MultiHeadAttention.forward = forward


_plant({name!r})
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
def planted(folder: Path, fault: Fault | str):
    """The copy in `folder` with a fault of the list, or a piece of the museum by its name."""
    path = folder / "mha_utils" / ("__init__.py" if isinstance(fault, str) else fault.file)
    source = path.read_text()
    if isinstance(fault, str):
        path.write_text(source + MUTATION.replace("{name!r}", repr(fault)))
    else:
        if source.count(fault.old) != 1:
            raise ValueError(f"{fault.name}: {fault.old!r} should stand once in {fault.file}")
        path.write_text(source.replace(fault.old, fault.new))
    try:
        yield
    finally:
        path.write_text(source)


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
    if status and not text:
        return f"ended with status {status}"
    return text or None


def _be_the_child(folder: Path, play: Callable, writing: int, seconds: int, fresh: bool) -> None:
    import signal

    signal.alarm(seconds)
    status = 1
    try:
        os.chdir(folder)
        if fresh:
            _forget_the_package(folder)
        with open(os.devnull) as nothing:
            os.dup2(nothing.fileno(), 0)  # nobody answers questions
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            text = play()
        os.write(writing, (text or "").encode()[:4000])
        status = 0
    except BaseException as error:
        os.write(writing, f"{type(error).__name__}: {error}".encode()[:4000])
        status = 0
    finally:
        os._exit(status)


def _forget_the_package(folder: Path) -> None:
    sys.path[:0] = [str(folder)]
    for name in [n for n in sys.modules if n.split(".")[0] in ("mha_utils", "tools")]:
        del sys.modules[name]
    sys.meta_path[:] = [f for f in sys.meta_path if "jaxtyping" not in type(f).__module__]
    sys.dont_write_bytecode = True
