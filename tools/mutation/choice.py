"""Which tests are tried against a mutant, and in which order."""

import functools
import itertools
import re
from pathlib import Path

from tools.mutation.python import Mutant
from tools.planting import ROOT

MOST = 60  # browser tests for one mutant
ELSEWHERE = "distributed/"  # what is called in other processes is not traced


def diverse(rows: dict[str, dict]) -> list[str]:
    """One case of every test first, quick ones before slow ones, then the second of every one."""
    rank: dict[str, int] = {}
    places = {}
    for test in sorted(rows, key=lambda t: rows[t]["seconds"]):
        function = test.split("[")[0]
        places[test] = rank.get(function, 0)
        rank[function] = places[test] + 1
    return sorted(rows, key=lambda t: (places[t], rows[t]["seconds"]))


def near_to(place: str, rows: dict[str, dict]) -> dict[str, dict]:
    """Tests that call something in a file, or in a folder."""
    return {t: r for t, r in rows.items() if any(f.startswith(place) for f, _ in r["calls"])}


def choose_tests(mutant: Mutant, rows: dict[str, dict], seconds: float) -> list[str]:
    """Tests that call the function which is changed, then those that call another of its file.

    A test that names the function and starts a program is taken to call it. What is cached is
    called by one test and used by others: hence the second kind. What runs in other processes, and
    a file of which nothing is called, is tried by all tests of its folder. Each kind may take so
    many seconds in all.
    """

    def calls(row: dict) -> bool:
        names = [q.replace(".<locals>", "") for f, q in row["calls"] if f == mutant.file]
        return any(f"{name}.".startswith(f"{mutant.scope}.") for name in names)

    near = {
        test: row
        for test, row in rows.items()
        if mutant.scope and (calls(row) or starts_program_with(mutant.scope, test))
    }
    place = ELSEWHERE if mutant.file.startswith(ELSEWHERE) else mutant.file
    of_file = near_to(place, rows) or near_to(f"{mutant.file.rpartition('/')[0]}/", rows)
    chosen = [within(diverse(kind), rows, seconds) for kind in (near, of_file)]
    return list(dict.fromkeys(itertools.chain(*chosen)))


def starts_program_with(function: str, test: str) -> bool:
    """Whether the text of a test names the function and starts a program."""
    path, _, name = test.partition("::")
    if not (name and (ROOT / path).is_file()):
        return False
    found = re.search(
        rf"^def {name.split('[')[0]}\b.*?(?=^\S|\Z)", text_of(ROOT / path), re.M | re.S
    )
    body = found[0] if found else ""
    return "subprocess.run" in body and bool(re.search(rf"\b{function}\b", body))


def within(names: list[str], rows: dict[str, dict], seconds: float) -> list[str]:
    """The first of these tests, as many as take no longer; one at least."""
    spent = itertools.accumulate(rows[name]["seconds"] for name in names)
    return [name for name, so_far in zip(names, spent) if so_far <= seconds or name == names[0]]


def views_of(mutant: Mutant, items: list) -> list:
    """Browser tests of the view whose JavaScript is changed; of all views for what they share.

    A test is one of this view if its id names it, or names no view and its file does. First come
    tests without a browser that name the function, then what compares with recorded pictures.
    """
    names = {view.script: name for name, view in live_views().items()}
    view = names.get(Path(mutant.file).parent.name)

    def shows(item) -> bool:
        named = {name for name in names.values() if name in item.nodeid}
        return view in (named or text_of(item.path)) or (not named and item in recorded)

    recorded = [item for item in items if "test_recorded_views" in item.nodeid]
    mine = [item for item in items if view is None or shows(item)]
    units = [item for item in items if is_unit(mutant.scope, text_of(item.path))]
    first = units + [item for item in recorded if item in mine]
    rows = {item.nodeid: {"seconds": "_views" not in item.nodeid} for item in mine}
    chosen = diverse(rows)[:MOST]
    others = [item for item in mine if item.nodeid in chosen and item not in first]
    return first + others  # a file at a time: one browser


def is_unit(function: str, text: str) -> bool:
    """Whether these tests evaluate modules without a browser, and name the function."""
    return "import evaluate" in text and bool(function and re.search(rf"\b{function}\b", text))


def live_views() -> dict[str, type]:
    """The views by their names."""
    from mha_utils import widgets

    return {name: view for name, view in vars(widgets).items() if getattr(view, "script", "")}


@functools.cache
def text_of(path: Path) -> str:
    return path.read_text("utf-8")
