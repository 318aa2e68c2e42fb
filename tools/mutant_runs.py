"""Which test notices a mutant first? Tests are collected once; each mutant is a fork of that.

A mutant that changes nothing but the body of functions is put into the fork by exchanging their
code, and written to the copy of the project, where scripts and browsers find it. Anything else
(constants, defaults, tables) is imported anew. Which functions a test calls is found out once.
"""

import gc
import hashlib
import importlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType

from tools.mutations import Mutant
from tools.planting import in_a_fork

FLAGS = [
    *("-q", "-o", "addopts=", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:nbval"),
    "--jaxtyping-packages=mha_utils,"
    "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))",
]
PACKAGE = "mha_utils"


class Killer:
    """A pytest plugin that runs `play` in the place of the test loop."""

    def __init__(self, play: Callable):
        self.play, self.failed = play, None
        self.called: set[tuple[str, str]] = set()  # file and name of the package's functions
        self.trace()  # before pytest imports anything of the package

    def pytest_collection_finish(self, session):
        sys.settrace(None)
        self.imported, self.called = self.called, set()

    def pytest_runtestloop(self, session):
        self.play(self, session)
        return True

    def pytest_runtest_logreport(self, report):
        if report.failed and self.failed is None:
            self.failed = report.nodeid

    def pytest_collectreport(self, report):
        if report.failed and self.failed is None:
            self.failed = report.nodeid

    def trace(self) -> None:
        """Keep every function of the package that is called from now on."""

        def look(frame, event, argument):
            code = frame.f_code
            if f"/{PACKAGE}/" in code.co_filename:
                self.called.add((code.co_filename.split(f"/{PACKAGE}/")[-1], code.co_qualname))

        sys.settrace(look)

    def run(self, session, item, next_item=None) -> str | None:
        """Run one test; its name if it failed."""
        session.config.hook.pytest_runtest_protocol(item=item, nextitem=next_item)
        return self.failed


def collect_coverage(path: str, known: dict) -> dict:
    """For every test of a file: seconds, and the functions of the package that it calls.

    Tests in `known` are not run again; a test that is red is left out.
    """
    rows: dict[str, dict] = {}

    def play(killer, session):
        rows.update({i.nodeid: known[i.nodeid] for i in session.items if i.nodeid in known})
        items = [item for item in session.items if item.nodeid not in known]
        for item, after in zip(items, [*items[1:], None]):
            killer.called, killer.failed = set(), None
            begin = time.process_time()
            killer.trace()
            red = killer.run(session, item, after)
            sys.settrace(None)
            if not red:
                seconds = round(time.process_time() - begin, 3)
                rows[item.nodeid] = {"seconds": seconds, "calls": sorted(killer.called)}

    import pytest

    pytest.main([*FLAGS, "-k", "not compile", path], plugins=[Killer(play)])
    return rows


def coverage_of(folder: Path, paths: list[Path], cache: Path) -> dict:
    """What `collect_coverage` finds in all files; in files that changed, new tests are run."""
    known = json.loads(cache.read_text()) if cache.exists() else {}
    target = folder / "rows.json"
    for path in paths:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        old = known.get(path.name, {"digest": "", "rows": {}})
        if old["digest"] != digest:

            def play(path=path, old=old):
                target.write_text(json.dumps(collect_coverage(str(path), old["rows"])))

            in_a_fork(folder, play, seconds=1800)
            known[path.name] = {"digest": digest, "rows": json.loads(target.read_text())}
            cache.parent.mkdir(exist_ok=True)
            cache.write_text(json.dumps(known))
            print(f"{path.name}: {len(known[path.name]['rows'])} tests", flush=True)
    found = [known[path.name]["rows"] for path in paths]
    return {test: row for rows in found for test, row in rows.items()}


# ---- exchange the code of a running function -------------------------------------------


BESIDE = ("<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>")  # part of what they stand in


def parts_of(code: CodeType) -> tuple[list, list[CodeType]]:
    """What a piece of code does by itself, and the functions and classes that stand in it."""
    inner = [c for c in code.co_consts if isinstance(c, CodeType)]
    plain = [repr(c) for c in code.co_consts if not isinstance(c, CodeType)]
    own = [code.co_code, code.co_names, code.co_varnames, plain]
    own += [parts_of(c) for c in inner if c.co_name in BESIDE]
    return own, [c for c in inner if c.co_name not in BESIDE]


def exchanged(right: CodeType, wrong: CodeType) -> Iterator[tuple[CodeType, CodeType, bool]]:
    """Functions that differ, and whether they do by themselves or by what stands in them.

    Raises:
        LookupError: if something differs that runs at import.
    """
    (own, inner), (new_own, new_inner) = parts_of(right), parts_of(wrong)
    if len(inner) != len(new_inner) or (own != new_own and not right.co_flags & 1):
        raise LookupError("runs at import")
    if right.co_flags & 1:  # a function, not a class or module
        yield right, wrong, own != new_own
    for old, new in zip(inner, new_inner):
        if old != new:
            yield from exchanged(old, new)


def exchange(mutant: Mutant, path: Path, right: str, wrong: str, imported: set) -> bool:
    """Put the mutant into this process; False if it has to be imported anew."""
    if path.suffix == ".js":
        from mha_utils.widgets.kit.base import LiveView, assemble

        for view in LiveView.__subclasses__():
            view._esm = assemble(view.script)
        return True
    name = ".".join((PACKAGE, *Path(mutant.file).with_suffix("").parts)).removesuffix(".__init__")
    module = importlib.import_module(name)
    compiled = module.__spec__.loader.source_to_code
    try:
        codes = [compiled(text.encode(), str(path)) for text in (right, wrong)]
        pairs = list(exchanged(*codes))
        own = {(mutant.file, old.co_qualname) for old, _, by_itself in pairs if by_itself}
        if own & imported:
            return False
        functions = [f for f in gc.get_objects() if isinstance(f, FunctionType)]
        alive = [(f, new) for old, new, _ in pairs for f in functions if f.__code__ == old]
        for function, new in alive:
            function.__code__ = new
    except (LookupError, ValueError):
        return False
    return bool(alive)


def run_tests(killer: Killer, session, names: list[str]) -> str | None:
    """The first of these tests that fails."""
    of_name = {item.nodeid: item for item in session.items}
    items = [of_name[n] for n in names if n in of_name]
    killer.failed = None
    for item, after in zip(items, [*items[1:], None]):
        if killer.run(session, item, after):
            return killer.failed
    return None
