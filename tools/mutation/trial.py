"""Try mutants: which test notices one, and if none does, which chapter?

Every verdict is a line of a log, so that a run which is cut off goes on where it stopped.
"""

import contextlib
import functools
import json
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tools import bundle
from tools.mutation.calls import ARGUMENTS, calls_of, calls_of_chapter, calls_of_tests
from tools.mutation.choice import choose_tests, views_of
from tools.mutation.python import Mutant
from tools.planting import ROOT, changed, copy_project
from tools.planting.witnesses import by_chapter, by_tests, preload

CACHE = ROOT / "artifacts" / "mutants"
NOT_TRIED = "project notebooks faults mutants site nbval_strict speed trained survey browser "
NOT_TRIED += "experiments museum hunt suite_report setup tools roundings versions "
NOT_TRIED += "bug_hunt_view dropout_draws head_views memory_ribbon mask_painter "
NOT_TRIED += "softmax_scale widgets plots data lab planting threads view_inputs "
NOT_TRIED += "javascript tweaks facts_can_fail prose lesson routes imports theme following "
NOT_TRIED += "published_walks tweaks_second tweaks_third"
FILES = 5  # of tests, which are collected at a time
SECONDS = {"tests": 200, "chapters": 60}  # for one mutant, as they take without a fault
MOST = 1200  # seconds of one child: what takes longer has noticed


class Trial:
    """A copy of the project that nobody else uses, and the witnesses in it."""

    def __init__(self, folder: Path, log: Path, cache: Path = CACHE):
        self.folder, self.log, self.cache, self.unreliable = folder, log, cache, set()
        left_out = {f"test_{name}.py" for name in NOT_TRIED.split()}
        found = [p for p in sorted((folder / "tests").glob("test_*.py")) if p.name not in left_out]
        self.browser = [path for path in found if is_browser(path)]
        self.plain = [path for path in found if path not in self.browser]

    @functools.cached_property
    def tests(self) -> dict[str, dict]:
        return calls_of(self.folder, self.plain, calls_of_tests, self.cache / "tests.json")

    @functools.cached_property
    def chapters(self) -> dict[str, dict]:
        paths = sorted((self.folder / "notebooks").glob("[0-9][0-9]_*.ipynb"))
        return calls_of(self.folder, paths, calls_of_chapter, self.cache / "chapters.json")

    def run(self, mutants: list[Mutant]) -> dict[str, str | None]:
        """What noticed each of them: a test, a chapter, or nothing."""
        lines = self.log.read_text("utf-8").splitlines() if self.log.exists() else []
        known = {row["mutant"]: row["by"] for row in map(json.loads, lines)}
        for mutant in mutants:
            if mutant.name not in known:
                known[mutant.name] = self.verdict(mutant)
                row = {"mutant": mutant.name, "by": known[mutant.name]}
                with self.log.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")
        return known

    def verdict(self, mutant: Mutant) -> str | None:
        """What notices a mutant; a test that is red without it as well does not count."""
        is_script = mutant.file.endswith(".js")
        names = [] if is_script else choose_tests(mutant, self.tests, SECONDS["tests"])
        with self.planted(mutant):
            by = self.by_views(mutant) if is_script else self.by_tests(names)
        is_test = by is not None and "::" in by  # not what a child without end says
        if is_test and self.first_red([by], [by]):
            self.unreliable.add(by)
            return self.verdict(mutant)
        return by or (None if is_script else self.by_chapters(mutant))

    @contextlib.contextmanager
    def planted(self, mutant: Mutant):
        """The copy with the mutant in it; a browser gets what is built of it."""
        package = self.folder / "mha_utils"
        with contextlib.ExitStack() as until_then:
            until_then.enter_context(changed(package / mutant.file, mutant.plant))
            for name in views_with(mutant):
                text = bundle.bundle(name, package / "widgets" / "js")
                built = package / "widgets" / "built" / f"{name}.js"
                until_then.enter_context(changed(built, lambda _, text=text: text))
            yield

    def by_views(self, mutant: Mutant) -> str | None:
        """The first browser test that is red, of the view whose script is changed."""

        def choose(items):
            return self.reliable(views_of(mutant, items))

        arguments = [*ARGUMENTS, *map(str, self.browser)]
        return by_tests(self.folder, arguments, choose, seconds=MOST)

    def by_tests(self, names: list[str]) -> str | None:
        """The first of these tests that is red."""
        files = list(dict.fromkeys(name.split("::")[0] for name in names))
        batches = (files[n : n + FILES] for n in range(0, len(files), FILES))
        return next(filter(None, (self.first_red(few, names) for few in batches)), None)

    def first_red(self, files: Iterable[str], names: list[str]) -> str | None:
        """The first of these tests that is red, of those in these files."""
        place = {name: number for number, name in enumerate(names)}

        def choose(items):
            mine = [item for item in items if item.nodeid in place]
            return self.reliable(sorted(mine, key=lambda item: place[item.nodeid]))

        return by_tests(self.folder, [*ARGUMENTS, *files], choose, seconds=MOST)

    def reliable(self, items: list) -> list:
        return [item for item in items if item.nodeid not in self.unreliable]

    def by_chapters(self, mutant: Mutant) -> str | None:
        """The first chapter that differs, of those that call what is changed."""
        names = choose_tests(mutant, self.chapters, SECONDS["chapters"])
        with self.planted(mutant):
            for name in names:
                if red := by_chapter(self.folder, self.folder / "notebooks" / name):
                    return f"{name}, {red}"
        return None


def views_with(mutant: Mutant) -> list[str]:
    """The views that are built with what is changed: one, or all of what they share."""
    if not mutant.file.endswith(".js"):
        return []
    folder, names = Path(mutant.file).parent.name, bundle.names()
    return [folder] if folder in names else names


def is_browser(path: Path) -> bool:
    return bool(re.search("needs_browser|import evaluate", path.read_text("utf-8")))


def run_sample(mutants: list[Mutant], log: Path) -> dict[str, str | None]:
    """What noticed each mutant, in a copy of the project that is deleted afterwards."""
    log.parent.mkdir(parents=True, exist_ok=True)
    preload()
    with tempfile.TemporaryDirectory() as folder:
        copy_project(Path(folder))
        return Trial(Path(folder), log).run(mutants)
