"""Check multi-head attention from a shell: `python -m mha_utils.check path.to:Class`.

`path.to` is a module to import (from the current folder or an installed package) or a file
`path/to/file.py`. The exit status is 0 if everything is right, 1 if not, and 2 if it could not be
tried: then one line on standard error says why. What the file itself prints goes there, too.
"""

import argparse
import contextlib
import importlib
import importlib.util
import signal
import sys
from pathlib import Path

from mha_utils import checks
from mha_utils.checks.module.calling import MEANINGS
from mha_utils.checks.report import RAISED, in_short, raised, shown

EXAMPLE = """
A class that is not recognised needs an adapter: --adapter mine.py:adapter

  from mha_utils.checks import Adapter

  adapter = Adapter(
      build=lambda embed_dim, num_heads, dropout, bias: Mine(embed_dim, num_heads),
      load=lambda module, ours: {
          "matrices": torch.stack([ours[f"{name}.weight"].T for name in ("q", "k", "v", "out")])
      },
      call=lambda module, x, context, mask, is_causal, need_weights: module(x),
      takes=frozenset(),
  )

help(mha_utils.checks.Adapter) says what each of them gets.
"""


class NotFoundError(ValueError):
    """What was asked for is not there or cannot be imported; the text says why."""


class TookTooLong(BaseException):
    """No `except Exception` of an answer stops it."""


def find(target: str):
    """The class, module or function that `path.to:name` names.

    Raises:
        NotFoundError: if the text has another form, there is nothing of that name, or it cannot
            be imported.
    """
    place, _, name = target.rpartition(":")
    if not place or not name:
        raise NotFoundError(f"expected path.to:Class or path/to/file.py:Class, got {target!r}")
    try:
        found = load(place)
    except NotFoundError:
        raise
    except RAISED as error:
        raise NotFoundError(f"{place} {raised(error)}") from error
    for part in name.split("."):
        if not hasattr(found, part):
            raise NotFoundError(f"{place} has no {part!r}{names_of(found)}")
        found = getattr(found, part)
    return found


def find_adapter(target: str) -> checks.Adapter:
    """The Adapter that `path/to/file.py:NAME` names.

    Raises:
        NotFoundError: if there is none.
    """
    adapter = find(target)
    if not isinstance(adapter, checks.Adapter):
        raise NotFoundError(f"{target} should be an Adapter, got {shown(adapter)}")
    return adapter


def names_of(module) -> str:
    """What a module defines itself, for a message."""
    name, own = getattr(module, "__name__", ""), getattr(module, "__dict__", {})
    found = [n for n, v in own.items() if getattr(v, "__module__", "") == name]
    return f"; it has {', '.join(found)}" if found else ""


def load(place: str):
    """Import a module by its dotted name or by its file, beside which other modules are found.

    Raises:
        NotFoundError: if there is no such module or file.
    """
    if place.endswith(".py"):
        return load_file(Path(place))
    sys.path.insert(0, str(Path.cwd()))
    try:
        module = importlib.import_module(place)
    except ModuleNotFoundError as error:
        if error.name and f"{place}.".startswith(f"{error.name}."):
            raise NotFoundError(f"there is no module {place!r}: {in_short(error)}") from None
        raise  # something that it imports is missing
    if getattr(module, "__file__", None) is None and hasattr(module, "__path__"):
        raise NotFoundError(f"{place} is a folder; expected path/to/file.py:Class")
    return module


def load_file(path: Path):
    if not path.is_file():
        raise NotFoundError(f"there is no file {path}")
    sys.path.insert(0, str(path.resolve().parent))
    name = path.stem if path.stem not in sys.modules else f"{path.stem} of {path}"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses and pickle look for it
    spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def at_most(seconds: int):
    """Raise TookTooLong after so many seconds, where the system has an alarm (not on Windows)."""

    def stop(number, frame):
        raise TookTooLong

    if not hasattr(signal, "SIGALRM"):
        yield
        return
    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def read_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="mha_utils.check",
        description=__doc__.splitlines()[0],
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("target", help="path.to:Class, or path/to/file.py:Class")
    parser.add_argument(
        "--causal",
        action="store_const",
        const=True,
        help="it always hides the future, unasked",
    )
    parser.add_argument(
        "--true-means",
        choices=MEANINGS,
        help="what True says in its mask, or: it is numbers, added to the scores",
    )
    parser.add_argument(
        "--no-empty-rows",
        dest="empty_rows",
        action="store_const",
        const=False,
        help="its masks leave every query something to attend to",
    )
    parser.add_argument(
        "--adapter", help="path/to/file.py:NAME of an Adapter, which says how to build and call it"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the random numbers")
    parser.add_argument("--seconds", type=int, default=300, help="give up after (default: 300)")
    options = parser.parse_args(arguments)
    if options.seed < 0 or options.seconds < 1:
        parser.error("--seed must be at least 0, --seconds at least 1")
    return options


def main(arguments: list[str] | None = None) -> int:
    options = read_arguments(arguments)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # a terminal without ✓
    given = {name: getattr(options, name) for name in ("causal", "true_means", "empty_rows")}
    said = {name: value for name, value in given.items() if value is not None}
    try:
        with contextlib.redirect_stdout(sys.stderr), at_most(options.seconds):
            adapter = find_adapter(options.adapter) if options.adapter else None
            answer = find(options.target)
            report = checks.check_multi_head_attention(answer, adapter, options.seed, **said)
    except ValueError as error:
        return not_tried(str(error).partition("\n")[0])
    except TookTooLong as error:
        what = raised(error).partition("TookTooLong")[2].rpartition(":")[0]
        return not_tried(f"it took more than {options.seconds} seconds{what}")
    except KeyboardInterrupt:
        return not_tried("stopped")
    except RAISED as error:
        return not_tried(f"{options.target} {raised(error)}")
    print(report)
    return 0 if report else 1


def not_tried(why: str) -> int:
    print(f"could not be tried: {why}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
