"""Which tests are tried against a mutant, and in which order."""

import ast
import functools
import itertools
import re
from pathlib import Path

from tools.mutations import Mutant

MOST = 60  # browser tests for one mutant


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
    """Tests that call the function which is changed; then those beside them, then of its file.

    What is remembered (a fixture, a cache) is called by one test and used by others: hence those
    beside. Each of the three kinds may take so many seconds in all.
    """

    def calls(row: dict) -> bool:
        names = [q.replace(".<locals>", "") for f, q in row["calls"] if f == mutant.file]
        return any(f"{name}.".startswith(f"{mutant.scope}.") for name in names)

    near = {t: r for t, r in rows.items() if mutant.scope and calls(r)}
    files = {t.split("::")[0] for t in near}
    beside = {t: r for t, r in rows.items() if t.split("::")[0] in files}
    of_file = {t: r for t, r in rows.items() if any(f == mutant.file for f, _ in r["calls"])}
    chosen = [within(diverse(kind), rows, seconds) for kind in (near, beside, of_file)]
    return list(dict.fromkeys(itertools.chain(*chosen)))


def within(names: list[str], rows: dict[str, dict], seconds: float) -> list[str]:
    """The first of these tests, as many as take no longer; one at least."""
    spent = itertools.accumulate(rows[name]["seconds"] for name in names)
    return [name for name, so_far in zip(names, spent) if so_far <= seconds or name == names[0]]


def views_of(mutant: Mutant, items: list) -> list[str]:
    """Browser tests of the view whose JavaScript is changed; of all views for what they share."""
    from mha_utils.widgets.kit.base import LiveView

    names = {v.script: v.__name__ for v in LiveView.__subclasses__()}
    view = names.get(Path(mutant.file).stem)
    mine = [item for item in items if view is None or shows(item, view, set(names.values()))]
    rows = {item.nodeid: {"seconds": "_views" not in item.nodeid} for item in mine}
    chosen = diverse(rows)[:MOST]
    return [item.nodeid for item in mine if item.nodeid in chosen]  # a file at a time: one browser


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
