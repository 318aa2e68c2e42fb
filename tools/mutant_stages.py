"""Run a sample of mutants: first against collected tests, then imported anew, then chapters.

Every verdict is a line of a log, so that a run which is cut off goes on where it stopped.
"""

import contextlib
import hashlib
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tools.faults import preload
from tools.mutant_runs import FLAGS, Killer, coverage_of, exchange, run_tests
from tools.mutant_tests import tests_for, views_of
from tools.mutations import Mutant
from tools.planting import ROOT, copy_project, in_a_fork

CACHE = ROOT / "artifacts" / "mutants"
NOT_TRIED = "project notebooks faults mutants site nbval_strict speed trained survey browser "
NOT_TRIED += "experiments museum hunt suite_report setup tools roundings versions "
NOT_TRIED += "bug_hunt_view cell_steps dropout_draws head_views memory_ribbon mask_painter "
NOT_TRIED += "pipeline_view softmax_scale widgets plots data lab planting threads view_inputs"
FILES = 5  # of tests, which are collected at a time for one mutant alone
SECONDS = {"tests": 20, "chapters": 60}  # for one mutant, as they take without a fault


class Stages:
    """The stages, in a copy of the project that nobody else uses."""

    def __init__(self, folder: Path, log: Path, cache: Path = CACHE):
        self.folder, self.log, self.cache, self.stage = folder, log, cache, "tests"
        left_out = {f"test_{name}.py" for name in NOT_TRIED.split()}
        found = sorted((folder / "tests").glob("test_*.py"))
        paths = {p: is_browser(p) for p in found}
        self.browser = [p for p, b in paths.items() if b and p.name not in left_out]
        self.plain = [p for p, b in paths.items() if not b and p.name not in left_out]

    def verdicts(self) -> dict[str, dict]:
        """The last line of the log for each mutant."""
        lines = self.log.read_text("utf-8").splitlines() if self.log.exists() else []
        return {row["mutant"]: row for row in map(json.loads, lines)}

    def tell(self, mutant: Mutant, by: str | None, tests: int) -> None:
        row = {"mutant": mutant.name, "stage": self.stage, "by": by, "tests": tests}
        with self.log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")

    def run(self, mutants: list[Mutant]) -> dict[str, str | None]:
        """What noticed each of them: a test, a chapter, or nothing."""
        known = self.verdicts()
        scripts = [m for m in mutants if m.file.endswith(".js")]
        python = [m for m in mutants if m not in scripts]
        self.hot([m for m in scripts if m.name not in known], {}, self.browser)
        if python:
            rows = coverage_of(self.folder, self.plain, self.cache / "tests.json")
            self.hot([m for m in python if m.name not in known], rows, self.plain)
            self.cold(python, rows)
            self.chapters(python)
        return {name: row["by"] for name, row in self.verdicts().items()}

    def hot(self, mutants: list[Mutant], rows: dict, paths: list[Path]) -> None:
        """All against tests that are collected once; "cold" if that cannot be done."""
        if not mutants:
            return

        def play(killer, session):
            for mutant in mutants:
                if rows:
                    names = tests_for(mutant, rows, SECONDS["tests"])
                else:
                    names = views_of(mutant, session.items)
                self.tell(mutant, self.tried(mutant, names, killer, session), len(names))

        files = {t.split("::")[0] for m in mutants for t in tests_for(m, rows, SECONDS["tests"])}
        self.pytest([p for p in paths if not rows or f"tests/{p.name}" in files], play)

    def tried(self, mutant, names, killer, session) -> str | None:
        """The first of these tests that is red with the mutant, and green without it."""
        path = self.folder / "mha_utils" / mutant.file

        def noticed(names=names):
            if not exchange(mutant, path, *sources, killer.imported):
                return "cold"
            return run_tests(killer, session, names)

        with self.planted(mutant) as sources:
            by = self.fork(noticed)
        if by in names and self.fork(lambda: run_tests(killer, session, [by])):
            others = [name for name in names if name != by]
            return self.tried(mutant, others, killer, session)
        return by

    def pytest(self, arguments: list, play: Callable) -> str | None:
        """pytest with `play` in the place of its loop: the test that failed."""

        def session():
            import pytest

            killer = Killer(play)
            pytest.main([*FLAGS, *map(str, arguments)], plugins=[killer])
            return killer.failed

        return in_a_fork(self.folder, session, seconds=100_000)

    def fork(self, play: Callable) -> str | None:
        """In a fork of this process; a loop without end is cut off by its processor time."""

        def limited():
            import resource

            seconds = int(time.process_time()) + 90
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
            return play()

        return in_a_fork(self.folder, limited, seconds=3600, fresh=False)

    def cold(self, mutants: list[Mutant], rows: dict) -> None:
        """Those that change what runs at import: in a process of their own."""
        known, self.stage = self.verdicts(), "cold"
        for mutant in [m for m in mutants if known[m.name]["by"] == "cold"]:
            names = tests_for(mutant, rows, SECONDS["tests"])
            files = list(dict.fromkeys(name.split("::")[0] for name in names))
            some = [files[n : n + FILES] for n in range(0, len(files), FILES)]
            with self.planted(mutant):
                found = (
                    self.pytest(few, lambda k, s, names=names: run_tests(k, s, names))
                    for few in some
                )
                by = next(filter(None, found), None)
            self.tell(mutant, by, len(names))

    def chapters(self, mutants: list[Mutant]) -> None:
        """Those that no test noticed."""
        known = self.verdicts()
        left = [m for m in mutants if not known[m.name]["by"]]
        left = [m for m in left if known[m.name]["stage"] != "chapters"]
        rows = self.chapter_calls() if left else {}
        self.stage = "chapters"
        for mutant in left:
            with self.planted(mutant):
                names = tests_for(mutant, rows, SECONDS["chapters"])
                found = ((name, self.chapter(name)) for name in names)
                by = next((f"{name}, {red}" for name, red in found if red), None)
            self.tell(mutant, by, len(names))

    def chapter(self, name: str) -> str | None:
        def play():
            from tools.chapter_runner import first_difference

            return first_difference(self.folder / "notebooks" / name)

        return in_a_fork(self.folder, play, seconds=600)

    def chapter_calls(self) -> dict:
        """What each green chapter calls; those that did not change are not run again."""
        cache = self.cache / "chapters.json"
        known = json.loads(cache.read_text()) if cache.exists() else {}
        for path in sorted((self.folder / "notebooks").glob("[0-9][0-9]_*.ipynb")):
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            if known.get(path.name, {}).get("digest") != digest:
                known[path.name] = self.calls_of(path) | {"digest": digest}
                cache.write_text(json.dumps(known))
        return {name: row for name, row in known.items() if not row["red"]}

    def calls_of(self, path: Path) -> dict:
        target = self.folder / "rows.json"

        def play():
            from tools.chapter_runner import first_difference

            killer, begin = Killer(print), time.process_time()
            killer.trace()
            red = first_difference(path)
            sys.settrace(None)
            row = {"seconds": time.process_time() - begin, "red": red}
            target.write_text(json.dumps(row | {"calls": sorted(killer.called)}))

        in_a_fork(self.folder, play, seconds=900)
        return json.loads(target.read_text())

    @contextlib.contextmanager
    def planted(self, mutant: Mutant):
        """The copy with this mutant in it; gives the right and the wrong source."""
        path = self.folder / "mha_utils" / mutant.file
        source = path.read_text("utf-8")
        if source[mutant.start : mutant.end] != mutant.old:
            raise ValueError(f"{mutant.name}: expected {mutant.old!r} at {mutant.start}")
        wrong = source[: mutant.start] + mutant.new + source[mutant.end :]
        path.write_text(wrong, "utf-8")
        try:
            yield source, wrong
        finally:
            path.write_text(source, "utf-8")


def is_browser(path: Path) -> bool:
    return "browser" in path.name or "needs_browser" in path.read_text("utf-8")


def run_sample(mutants: list[Mutant], log: Path) -> dict[str, str | None]:
    """What noticed each mutant, in a copy of the project that is deleted afterwards."""
    log.parent.mkdir(parents=True, exist_ok=True)
    preload()
    with tempfile.TemporaryDirectory() as folder:
        copy_project(Path(folder))
        return Stages(Path(folder), log).run(mutants)
