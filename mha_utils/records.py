"""JSON and npz files of stored measurements: read with named errors, written whole."""

import json
import os
import zipfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np


def read_record(path: Path, keys: Iterable[str]) -> dict:
    """A JSON object with these keys.

    Raises:
        ValueError: if the file is something else, or cut off; the text names it.
    """
    keys = list(keys)
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise _not(path, f"JSON with {keys}", f"{type(error).__name__}: {error}") from error
    if not isinstance(found, dict):
        raise _not(path, f"JSON with {keys}", f"a {type(found).__name__}")
    if missing := [key for key in keys if key not in found]:
        raise _not(path, f"JSON with {keys}", f"an object without {missing}")
    return found


def read_arrays(path: Path, names: Iterable[str]) -> dict[str, np.ndarray]:
    """The arrays of these names in a file that `numpy.savez` wrote.

    Raises:
        ValueError: as `read_record`.
    """
    names = list(names)
    try:
        with np.load(path) as stored:
            return {name: stored[name] for name in names}
    except (OSError, ValueError, KeyError, EOFError, AttributeError, zipfile.BadZipFile) as error:
        raise _not(path, f"NumPy arrays {names}", f"{type(error).__name__}: {error}") from error


def write_text(path: Path, text: str) -> None:
    """Write a file as a whole or not at all: what stood there stays until the new one is complete.

    Raises:
        ValueError: if nothing can be written there.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f"{path.name}.{os.getpid()}.part")
        try:
            beside.write_text(text, "utf-8")
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise ValueError(f"cannot write {path}: {error.strerror or error}") from error


def require_writable(path: Path) -> None:
    """Before a long measurement: can its result be written there?

    Raises:
        ValueError: if not.
    """
    write_text(path.with_name(f"{path.name}.{os.getpid()}.try"), "")
    path.with_name(f"{path.name}.{os.getpid()}.try").unlink()


def _not(path: Path, expected: str, got: str) -> ValueError:
    return ValueError(f"{path} should hold {expected}, got {got}")
