"""How many generated faults does the suite notice? `make mutants`, `python -m tools.mutants`.

A seeded sample of changes (a comparison, a constant, a sign, an argument, a statement, ...) that
nobody chose, with a share for each group of files. Each is tried against the tests that call what
is changed, until one is red; what survives them against the chapters that call it. A survivor is
a hole in the tests, or no test can notice it: then `mutants_equivalent.json` says why.
"""

import argparse
import contextlib
import hashlib
import json
import random
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from tools.faults import preload
from tools.mutant_runs import (
    FLAGS,
    Killer,
    chapter_calls,
    exchange,
    run_tests,
    tests_for,
    views_of,
)
from tools.mutations import Mutant, python_mutants
from tools.mutations_js import js_mutants
from tools.planting import ROOT, copy_project, in_a_fork

PACKAGE = ROOT / "mha_utils"
REASONS = Path(__file__).with_name("mutants_equivalent.json")
CACHE = ROOT / "artifacts" / "mutants_coverage.json"
GROUPS = {  # files, and their share of a sample
    "core": (
        "attention modules fused ways contracts masks porting probes reference reference_heads "
        "ladder",
        0.36,
    ),
    "checks": ("check checks checking* cases answers tasks* module_check/*", 0.24),
    "bench": (
        "costs bench/limits bench/memory bench/timing bench/record bench/cases "
        "bench/contestants bench/run",
        0.14,
    ),
    "models": ("scores synthetic grammar small_model training", 0.1),
    "views": ("widgets/*.js", 0.16),
}
TESTS = "project notebooks faults mutants site nbval_strict speed trained survey lab browser"
SLOW = 25  # seconds of tests for one mutant, as they take without a fault


def files_of(group: str) -> list[Path]:
    patterns = [p if p.endswith(".js") else f"{p}.py" for p in GROUPS[group][0].split()]
    return sorted(path for pattern in patterns for path in PACKAGE.glob(pattern))


def mutants_of(path: Path) -> list[Mutant]:
    find = js_mutants if path.suffix == ".js" else python_mutants
    return find(str(path.relative_to(PACKAGE)), path.read_text("utf-8"))


def draw(files: Iterable[list[Mutant]], count: int, generator: random.Random) -> list[Mutant]:
    """A sample without repetition: a file by its size, then an operator, then a place."""
    left = [list(mutants) for mutants in files if mutants]
    chosen = []
    while left and len(chosen) < count:
        mutants = generator.choices(left, [len(m) ** 0.5 for m in left])[0]
        operator = generator.choice(sorted({m.operator for m in mutants}))
        chosen.append(generator.choice([m for m in mutants if m.operator == operator]))
        mutants.remove(chosen[-1])
        left = [m for m in left if m]
    return chosen


def sample(seed: int, count: int, groups: Iterable[str] = GROUPS) -> dict[str, list[Mutant]]:
    """Mutants for each group, in proportion to its share; the same for the same seed."""
    shares = {group: GROUPS[group][1] for group in groups}
    generator = random.Random(seed)
    counts = {g: round(count * share / sum(shares.values())) for g, share in shares.items()}
    return {g: draw(map(mutants_of, files_of(g)), n, generator) for g, n in counts.items()}


@contextlib.contextmanager
def planted(folder: Path, mutant: Mutant):
    """The copy of the project in `folder` with this mutant in it; gives right and wrong source."""
    path = folder / "mha_utils" / mutant.file
    source = path.read_text("utf-8")
    wrong = source[: mutant.start] + mutant.new + source[mutant.end :]
    path.write_text(wrong, "utf-8")
    try:
        yield source, wrong
    finally:
        path.write_text(source, "utf-8")


# ---- run -------------------------------------------------------------------------------


def test_files(folder: Path) -> tuple[list[Path], list[Path]]:
    """Those of the package and those in a browser, without those that compare texts."""
    left_out = {f"test_{name}.py" for name in TESTS.split()}
    paths = [p for p in sorted((folder / "tests").glob("test_*.py")) if p.name not in left_out]
    is_browser = {p: "needs_browser" in p.read_text("utf-8") for p in paths}
    return [p for p in paths if not is_browser[p]], [p for p in paths if is_browser[p]]


def run_hot(folder: Path, mutants: list[Mutant], rows: dict, paths: list[Path], tell: Callable):
    """All mutants against tests that are collected once."""

    def play(killer, session):
        imported = {tuple(call) for r in rows.values() for call in r.get("imported", [])}
        for mutant in mutants:
            is_js = mutant.file.endswith(".js")
            names = views_of(mutant, session.items) if is_js else tests_for(mutant, rows, SLOW)

            def noticed(mutant=mutant, names=names):
                if not exchange(mutant, folder / "mha_utils" / mutant.file, *sources, imported):
                    return "cold"
                return run_tests(killer, session, names)

            with planted(folder, mutant) as sources:
                tell(mutant, in_a_fork(folder, noticed, seconds=300, fresh=False), len(names))

    def session():
        import pytest

        pytest.main([*FLAGS, *map(str, paths)], plugins=[Killer(play)])

    failed = in_a_fork(folder, session, seconds=100_000)
    if failed:
        sys.exit(failed)


def run_cold(folder: Path, mutant: Mutant, rows: dict) -> tuple[str | None, int]:
    """One mutant, with the package imported anew."""
    names = tests_for(mutant, rows, SLOW)

    def noticed():
        import pytest

        killer = Killer(lambda killer, session: run_tests(killer, session, names))
        pytest.main([*FLAGS, *sorted(names, key=lambda n: n.split("::")[0])], plugins=[killer])
        return killer.failed

    with planted(folder, mutant):
        return (in_a_fork(folder, noticed, seconds=300) if names else None), len(names)


def chapters_of(folder: Path, cache: Path) -> dict:
    """What each chapter calls; chapters that did not change are not run again."""
    known = json.loads(cache.read_text()) if cache.exists() else {}
    for path in sorted((folder / "notebooks").glob("[0-9][0-9]_*.ipynb")):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        if known.get(path.name, {}).get("digest") != digest:
            known[path.name] = chapter_calls(folder, path) | {"digest": digest}
            print(f"{path.name}: {known[path.name]['red'] or 'as stored'}", flush=True)
            cache.write_text(json.dumps(known))
    return known


def run_python(folder: Path, mutants: list[Mutant], paths: list[Path], tell: Callable) -> None:
    """Exchange what can be exchanged, import the rest anew; then chapters for what survives."""
    of_file = coverage_of(folder, paths, CACHE)
    rows = {test: row for found in of_file.values() for test, row in found.items()}
    rows["import"] = {
        "calls": [],
        "seconds": 0,
        "imported": [call for found in of_file.values() for call in found["import"]["calls"]],
    }
    verdicts: dict[str, tuple] = {}
    run_hot(folder, mutants, rows, paths, lambda m, by, n: verdicts.update({m.name: (by, n)}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--groups", nargs="*", default=list(GROUPS), choices=GROUPS)
    parser.add_argument("--files", nargs="*", help="as modules.py or widgets/pipeline.js")
    parser.add_argument("--list", action="store_true", help="name the mutants and stop")
    parser.add_argument("--store", action="store_true", help="keep in benchmarks/mutants.json")
    given = parser.parse_args()
    if given.files:
        found = [mutants_of(PACKAGE / name) for name in given.files]
        chosen = {"files": draw(found, given.count, random.Random(given.seed))}
    else:
        chosen = sample(given.seed, given.count, given.groups)
    if given.list:
        sys.exit("\n".join(m.name for mutants in chosen.values() for m in mutants))
    table = run(chosen, ROOT / "artifacts" / f"mutants_{given.seed}.jsonl")
    print(summary(chosen, table))


def run(chosen: dict[str, list[Mutant]], log: Path) -> dict[str, str | None]:
    """What noticed each mutant; what the log says already is not done again."""
    log.parent.mkdir(exist_ok=True)
    done = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    table = {row["mutant"]: row["by"] for row in done}
    left = [m for mutants in chosen.values() for m in mutants if m.name not in table]

    def tell(mutant: Mutant, by: str | None, tests: int) -> None:
        if by != "cold":
            print(f"{by or 'SURVIVES'} of {tests} tests | {mutant.name}", flush=True)
        with log.open("a") as file:
            file.write(json.dumps({"mutant": mutant.name, "by": by, "tests": tests}) + "\n")

    preload()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        copy_project(folder)
        plain, browser = test_files(folder)
        scripts = [m for m in left if m.file.endswith(".js")]
        if scripts:
            run_hot(folder, scripts, {}, browser, tell)
        python = [m for m in left if m not in scripts]
        if python:
            run_python(folder, python, plain, tell)
    return {row["mutant"]: row["by"] for row in map(json.loads, log.read_text().splitlines())}


def summary(chosen: dict, table: dict) -> str:
    reasons = json.loads(REASONS.read_text("utf-8"))
    lines = []
    for group, mutants in chosen.items():
        counted = [m.name for m in mutants if m.name not in reasons]
        killed = sum(bool(table.get(name)) for name in counted)
        equivalent = len(mutants) - len(counted)
        lines.append(f"{group:8} killed {killed} of {len(counted)}, {equivalent} equivalent")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
