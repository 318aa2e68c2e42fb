"""Which functions of the package a test or a chapter calls, found out once for each file."""

import contextlib
import hashlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType

import pytest

from tools.planting import in_a_fork
from tools.planting.witnesses import FLAGS

PACKAGE = "mha_utils"
TYPES = (
    "--jaxtyping-packages=mha_utils,"
    "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))"
)
# No witnesses: they take long, or measure times, so that they may be red by themselves.
CHOSEN = ("-k", "not compile and not case_measured and not where_and_when and not takes_longer")
ARGUMENTS = (*FLAGS[1:], TYPES, *CHOSEN)


@contextlib.contextmanager
def traced() -> Iterator[dict]:
    """A row: file and name of every function of the package that is called, and the seconds."""
    seen, row, begin = {}, {}, time.process_time()

    def look(frame, event, argument):
        seen[id(frame.f_code)] = frame.f_code  # by its id, which is quick

    sys.settrace(look)
    try:
        yield row
    finally:
        sys.settrace(None)
        seconds = time.process_time() - begin
        calls = {place_of(code) for code in seen.values() if f"/{PACKAGE}/" in code.co_filename}
        row |= {"seconds": round(seconds, 3), "calls": sorted(calls)}


def place_of(code: CodeType) -> tuple[str, str]:
    return code.co_filename.split(f"/{PACKAGE}/")[-1], code.co_qualname


class Tracer:
    """A pytest plugin that traces every test."""

    def __init__(self):
        self.rows: dict[str, dict] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        with traced() as self.rows[item.nodeid]:
            return (yield)

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.rows[report.nodeid]["red"] = True


def calls_of_tests(path: Path) -> dict[str, dict]:
    """A row for each test of a file."""
    tracer = Tracer()
    pytest.main([*ARGUMENTS, str(path)], plugins=[tracer])
    return tracer.rows


def calls_of_chapter(path: Path) -> dict[str, dict]:
    """The row of a chapter."""
    from tools.suite.chapter_runner import first_difference

    with traced() as row:
        red = first_difference(path)
    return {path.name: row | {"red": bool(red)}}


def calls_of(folder: Path, paths: list[Path], find: Callable, cache: Path) -> dict[str, dict]:
    """The rows of all files that are not red; a file that did not change is not run again."""
    known = json.loads(cache.read_text()) if cache.exists() else {}
    rows: dict[str, dict] = {}
    for path in paths:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        if known.get(path.name, {}).get("digest") != digest:
            found = in_a_fork(folder, lambda path=path: json.dumps(find(path)), seconds=1800)
            known[path.name] = {"digest": digest, "rows": json.loads(found)}
            cache.parent.mkdir(parents=True, exist_ok=True)
            cache.write_text(json.dumps(known))
        rows |= known[path.name]["rows"]
    return {name: row for name, row in rows.items() if not row.get("red")}
