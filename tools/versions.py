"""Package tests and chapters on the lowest and the newest versions that pyproject.toml allows.

python -m tools.versions [--python 3.13] [--versions lowest] [tests ...]
"""

import argparse
import datetime
import json
import os
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

from mha_utils.bench.record import describe_machine, save_record

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "benchmarks" / "versions.json"
PYTHONS = ("3.11", "3.12", "3.13")
RESOLUTIONS = {"lowest": "lowest-direct", "newest": "highest"}
WITHOUT = ("browser*", "site*", "notebooks*", "*faults*", "*mutants*", "speed*")  # of tests/
NAMED = ("torch", "numpy", "matplotlib", "ipython", "ipywidgets", "anywidget", "nbval", "pytest")


def pythons() -> dict[str, str]:
    """The machine's Python for each allowed version: on the path, or of pyenv."""
    places = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = {}
    for version in PYTHONS:
        candidates = [sys.executable, shutil.which(f"python{version}")]
        candidates += sorted(places.glob(f"{version}.*/bin/python"), reverse=True)
        right = (str(c) for c in candidates if c and _version(c) == version)
        if path := next(right, None):
            found[version] = path
    return found


def _version(python: str | Path) -> str:
    code = "import sys; print('{}.{}'.format(*sys.version_info))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True).stdout.strip()


def environment(python: str, version: str, resolution: str, folder: Path) -> Path:
    """A fresh environment with the package and what it asks for; its Python."""
    made, pins = folder / "venv", folder / "pins.txt"
    _uv("venv", "--python", python, made)
    extras = ("--extra", "lab", "--extra", "test", "--only-binary", ":all:")
    choice = ("--resolution", resolution, "--python-version", version)
    _uv("pip", "compile", *choice, *extras, ROOT / "pyproject.toml", "-o", pins)
    _uv("pip", "install", "--python", made / "bin/python", "-r", pins)
    _uv("pip", "install", "--python", made / "bin/python", "--no-deps", "-e", ROOT)
    return made / "bin" / "python"


def _uv(*arguments: str | Path) -> None:
    subprocess.run([sys.executable, "-m", "uv", "--quiet", *arguments], check=True)


def run(python: Path, tests: list[str]) -> dict:
    """The environment's versions, what its tests said, and the chapters that differ, with how."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        without = [f"--ignore-glob=tests/test_{name}" for name in WITHOUT]
        command = [python, "-m", "pytest", "-q", *without, f"--junitxml={report}", *tests]
        subprocess.run(command, cwd=ROOT)
        cases = list(ET.parse(report).getroot().iter("testcase"))
    names = (f"{c.get('classname')}::{c.get('name')}" for c in cases if _outcome(c) == "failed")
    said = chapters(python)
    return {
        "date": datetime.date.today().isoformat(),
        "versions": versions(python),
        "tests": tests,
        "passed": sum(_outcome(case) == "passed" for case in cases),
        "failed": list(names),
        "chapters": len(said),
        "differ": {name: text for name, text in said.items() if text != "as stored"},
    }


def chapters(python: Path) -> dict[str, str]:
    """For each chapter "as stored", or how it differs."""
    command = [python, "-m", "tools.suite.chapter_runner"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return dict(line.split(": ", 1) for line in done.stdout.splitlines())


def _outcome(case: ET.Element) -> str:
    kinds = {child.tag for child in case}
    return "failed" if kinds & {"failure", "error"} else "skipped" if kinds else "passed"


def versions(python: Path) -> dict[str, str]:
    """The environment's versions of what outputs depend on."""
    code = f"from importlib.metadata import version; print(*map(version, {NAMED}))"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    return dict(zip(NAMED, done.stdout.split(), strict=True))


def each(chosen: argparse.Namespace) -> Iterator[tuple[str, dict]]:
    """The runs that were asked for, one environment after the other."""
    for version, python in pythons().items():
        for name, resolution in RESOLUTIONS.items():
            if chosen.python in (None, version) and chosen.versions in (None, name):
                with tempfile.TemporaryDirectory() as folder:
                    own = environment(python, version, resolution, Path(folder))
                    yield f"Python {version}, {name}", run(own, chosen.tests)


def main() -> str | None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", choices=PYTHONS)
    parser.add_argument("--versions", choices=RESOLUTIONS)
    parser.add_argument("tests", nargs="*", default=["tests"])
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {"runs": {}}
    red = []
    for name, result in each(parser.parse_args()):
        record["runs"][name] = result | {"machine": describe_machine("cpu")}
        save_record(record, RECORD)
        print(f"{name}: {result['passed']} passed, {len(result['failed'])} failed")
        red += [f"{name}: {what}" for what in [*result["failed"], *result["differ"].items()]]
    return "\n".join(red) or None


if __name__ == "__main__":
    sys.exit(main())
