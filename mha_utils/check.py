"""Check multi-head attention from a shell: `python -m mha_utils.check path.to:Class`.

`path.to` is a module to import (from the current folder or an installed package) or a file
`path/to/file.py`. The exit status is 0 if everything is right, 1 if not, and 2 if it could not be
tried.
"""

import argparse
import importlib
import importlib.util
import sys
from pathlib import Path

from mha_utils import checks


class NotFoundError(ValueError):
    """What was asked for is not there; the text says what is."""


def find(target: str):
    """The class, module or function that `path.to:name` names.

    Raises:
        NotFoundError: if the text has another form, or there is nothing of that name.
    """
    place, _, name = target.partition(":")
    if not place or not name:
        raise NotFoundError(f"expected path.to:Class or path/to/file.py:Class, got {target!r}")
    found = load(place)
    for part in name.split("."):
        if not hasattr(found, part):
            own = [
                n for n, v in vars(found).items() if getattr(v, "__module__", "") == found.__name__
            ]
            raise NotFoundError(f"{place} has no {part!r}; it has {', '.join(own) or 'nothing'}")
        found = getattr(found, part)
    return found


def load(place: str):
    """Import a module by its dotted name or by its file.

    Raises:
        NotFoundError: if there is no such module or file.
    """
    if place.endswith(".py"):
        if not Path(place).is_file():
            raise NotFoundError(f"there is no file {place}")
        spec = importlib.util.spec_from_file_location(Path(place).stem, place)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module
    sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(place)
    except ModuleNotFoundError as error:
        if not place.startswith(str(error.name)):
            raise  # something that it imports is missing
        raise NotFoundError(f"there is no module {place!r}: {error}") from None


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="mha_utils.check", description=__doc__.splitlines()[0])
    parser.add_argument("target", help="path.to:Class, or path/to/file.py:Class")
    parser.add_argument("--causal", action="store_true", help="it always hides the future, unasked")
    parser.add_argument(
        "--true-means",
        default="may attend",
        choices=("may attend", "not allowed"),
        help="what True says in its mask",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the random numbers")
    given = parser.parse_args(arguments)
    try:
        answer = find(given.target)
        options = {"causal": given.causal, "true_means": given.true_means}
        report = checks.check_multi_head_attention(answer, seed=given.seed, **options)
    except ValueError as error:
        print(f"could not be tried: {error}", file=sys.stderr)
        return 2
    print(report)
    return 0 if report else 1


if __name__ == "__main__":
    sys.exit(main())
