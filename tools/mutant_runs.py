"""Which test notices a mutant first? Tests are collected once; each mutant is a fork of that.

A mutant that changes nothing but the body of functions is put into the fork by exchanging their
code, and written to the copy of the project, where scripts and browsers find it. Anything else
(constants, defaults, tables) is imported anew. Which functions a test calls is found out once.
"""

import ast
import functools
import gc
import hashlib
import importlib
import json
import re
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

    def pytest_collection(self):
        self.trace()

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


def collect_coverage(paths: list[str]) -> dict:
    """For every test: seconds, and the functions of the package that it calls.

    A test of which one run is red, slow or skipped is left out.
    """
    rows: dict[str, dict] = {}

    def play(killer, session):
        rows["import"] = {"seconds": 0, "calls": sorted(killer.imported)}
        for item, after in zip(session.items, [*session.items[1:], None]):
            killer.called, killer.failed = set(), None
            begin = time.process_time(), time.perf_counter()
            killer.trace()
            red = killer.run(session, item, after)
            sys.settrace(None)
            seconds = time.process_time() - begin[0]
            if not red:
                row = {"seconds": round(seconds, 3), "calls": sorted(killer.called)}
                rows[item.nodeid] = row | {"wall": round(time.perf_counter() - begin[1], 2)}

    import pytest

    pytest.main([*FLAGS, "-k", "not compile", *paths], plugins=[Killer(play)])
    return rows


def coverage_of(folder: Path, paths: list[Path], cache: Path) -> dict:
    """What `collect_coverage` finds, file by file; files that did not change are not run again."""
    known = json.loads(cache.read_text()) if cache.exists() else {}
    target = folder / "rows.json"
    for path in paths:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        if known.get(path.name, {}).get("digest") != digest:

            def play(path=path):
                target.write_text(json.dumps(collect_coverage([str(path)])))

            in_a_fork(folder, play, seconds=1800)
            known[path.name] = {"digest": digest, "rows": json.loads(target.read_text())}
            cache.parent.mkdir(exist_ok=True)
            cache.write_text(json.dumps(known))
            print(f"{path.name}: {len(known[path.name]['rows']) - 1} tests", flush=True)
    return {path.name: known[path.name]["rows"] for path in paths}


# ---- exchange the code of a running function -------------------------------------------


def is_function(code: CodeType) -> bool:
    return bool(code.co_flags & 1) and code.co_name not in ("<listcomp>", "<genexpr>", "<dictcomp>")


def exchanged(right: CodeType, wrong: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """Outermost functions that differ.

    Raises:
        LookupError: if something differs that runs at import.
    """
    inner = [[c for c in code.co_consts if isinstance(c, CodeType)] for code in (right, wrong)]
    plain = [[c for c in code.co_consts if not isinstance(c, CodeType)] for code in (right, wrong)]
    if len(inner[0]) != len(inner[1]) or repr(plain[0]) != repr(plain[1]):
        raise LookupError("runs at import")
    if right.co_code != wrong.co_code or right.co_names != wrong.co_names:
        raise LookupError("runs at import")
    for old, new in zip(*inner):
        if old == new:
            continue
        if is_function(old):
            yield old, new
        elif old.co_flags & 1:
            raise LookupError("runs at import")
        else:
            yield from exchanged(old, new)


def exchange(mutant: Mutant, path: Path, right: str, wrong: str, imported: set) -> bool:
    """Put the mutant into this process; False if it has to be imported anew."""
    if path.suffix == ".js":
        from mha_utils.widgets.base import LiveView, assemble

        for view in LiveView.__subclasses__():
            view._esm = assemble(view.script)
        return True
    name = ".".join((PACKAGE, *Path(mutant.file).with_suffix("").parts)).removesuffix(".__init__")
    module = importlib.import_module(name)
    compiled = module.__spec__.loader.source_to_code
    try:
        codes = [compiled(text.encode(), str(path)) for text in (right, wrong)]
        pairs = list(exchanged(*codes))
        functions = [f for f in gc.get_objects() if isinstance(f, FunctionType)]
        for old, new in pairs:
            alive = [f for f in functions if f.__code__ == old]
            if not alive or (mutant.file, old.co_qualname) in imported:
                return False
            for function in alive:
                function.__code__ = new
    except (LookupError, ValueError):
        return False
    return bool(pairs)


# ---- one mutant, and the tests most likely to notice it ---------------------------------


def diverse(rows: dict[str, dict]) -> list[str]:
    """One case of every test first, quick ones before slow ones, then the second of every one."""
    rank: dict[str, int] = {}
    places = {}
    for test in sorted(rows, key=lambda t: rows[t]["seconds"]):
        function = test.split("[")[0]
        places[test] = rank.get(function, 0)
        rank[function] = places[test] + 1
    return sorted(rows, key=lambda t: (places[t], rows[t]["seconds"]))


def tests_for(mutant: Mutant, rows: dict[str, dict], seconds: float) -> list[str]:
    """Tests that call the function which is changed, or one of its file, for so long in all."""
    calling = {t: r for t, r in rows.items() if any(f == mutant.file for f, _ in r["calls"])}
    calling.pop("import", None)

    def in_scope(row: dict) -> bool:
        names = [q.replace(".<locals>", "") for f, q in row["calls"] if f == mutant.file]
        return any(f"{q}.".startswith(f"{mutant.scope}.") for q in names)

    near = {t: r for t, r in calling.items() if mutant.scope and in_scope(r)}
    chosen, spent = [], 0.0
    for test in diverse(near or calling):
        spent += rows[test]["seconds"]
        if spent > seconds and chosen:
            break
        chosen.append(test)
    return chosen


def views_of(mutant: Mutant, items: list) -> list[str]:
    """Browser tests of the view whose JavaScript is changed; of all views for what they share."""
    from mha_utils.widgets.base import LiveView

    names = {v.script: v.__name__ for v in LiveView.__subclasses__()}
    view = names.get(Path(mutant.file).stem)
    mine = [item for item in items if view is None or shows(item, view, set(names.values()))]
    return [item.nodeid for item in sorted(mine, key=lambda i: "_views" not in i.nodeid)]


def shows(item, view: str, views: set[str]) -> bool:
    """Whether a browser test is one of this view: by its id, or by what its source names."""
    case = set(re.split(r"[-\[\]]", item.nodeid))
    named = case & views or {v for v in views if v in text_of(item.path, item.function.__name__)}
    return view in named or not named


@functools.cache
def text_of(path: Path, name: str) -> str:
    """The source of a test and of everything in its file that it uses."""
    source = path.read_text()
    texts = {}
    for node in ast.parse(source).body:
        for part in ast.walk(node):
            is_name = isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
            if is_name or part is node:
                key = getattr(part, "id", getattr(part, "name", ""))
                texts[key] = ast.get_source_segment(source, node)
    used, todo = {}, [name]
    while todo:
        name = todo.pop()
        if name in texts and name not in used:
            used[name] = texts[name]
            todo += re.findall(r"[A-Za-z_]\w*", texts[name])
    return "\n".join(used.values())


def run_tests(killer: Killer, session, names: list[str]) -> str | None:
    """The first of these tests that fails."""
    of_name = {item.nodeid: item for item in session.items}
    items = [of_name[n] for n in names if n in of_name]
    killer.failed = None
    for item, after in zip(items, [*items[1:], None]):
        if killer.run(session, item, after):
            return killer.failed
    return None


# ---- chapters ----------------------------------------------------------------------------


def chapter_calls(folder: Path, path: Path) -> str:
    """What a chapter calls of the package, and whether it is as stored, as JSON."""

    def play():
        from tools.chapter_runner import first_difference

        killer = Killer(print)
        killer.trace()
        begin = time.process_time()
        red = first_difference(path)
        sys.settrace(None)
        row = {"seconds": time.process_time() - begin, "calls": sorted(killer.called), "red": red}
        (folder / "rows.json").write_text(json.dumps(row))

    in_a_fork(folder, play, seconds=600)
    return json.loads((folder / "rows.json").read_text())


def by_chapters(folder: Path, mutant: Mutant, rows: dict) -> str | None:
    """The first chapter that calls what is changed and prints something else; or None."""
    for name in tests_for(mutant, {n: r for n, r in rows.items() if not r["red"]}, 120):

        def play(name=name):
            from tools.chapter_runner import first_difference

            return first_difference(folder / "notebooks" / name)

        found = in_a_fork(folder, play, seconds=600)
        if found:
            return f"{name}, {found}"
    return None
