"""How many planted faults does the suite notice? `make faults`, or `python -m tools.faults`.

Every bug of the museum and every fault of `fault_list.py` is planted in a copy of the project.
Then the chapters are run against their stored outputs, and, separately, pytest without chapters.
In every chapter one stored number is changed, and nbval has to go red. The result is printed and
stored in `benchmarks/faults.json`; with names, only their rows are made anew.
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.planting import ROOT, copy_project, planted, where
from tools.planting.fault_list import FAULTS, Fault
from tools.planting.witnesses import by_chapter, by_tests, preload

TABLE = ROOT / "benchmarks" / "faults.json"
EQUIVALENT: dict[str, str] = {}  # name -> why no test can notice it
TESTS = [  # those that know nothing of the museum; not the compilations, which take half a minute
    f"tests/test_{name}.py"
    for name in (
        *("multi_head", "attention", "modules", "fused", "ladder", "probes", "checks"),
        *("layer_matrix", "layer_numbers", "layer_options", "mask_painter", "published_walks"),
    )
]
OF_BUGS = "10 12 15"  # chapters that judge bugs of the museum: 11 only measures other steps
NUMBER = re.compile(r"(?<![\w.])\d+\.\d+(?![\w.])")


def chapters_first(folder: Path, numbers: str) -> list[Path]:
    """All chapters, those with these numbers first."""
    paths = sorted((folder / "notebooks").glob("[0-9][0-9]_*.ipynb"))
    return sorted(paths, key=lambda p: p.name[:2] not in numbers.split())


def by_chapters(folder: Path, numbers: str, only: bool = False) -> str | None:
    """The first chapter that prints something else than what is stored, and where; or None."""
    for path in chapters_first(folder, numbers):
        if only and path.name[:2] not in numbers.split():
            break
        if found := by_chapter(folder, path):
            return f"{path.stem}, {found}"
    return None


def by_pytest(folder: Path) -> str | None:
    """The first test that fails; or None."""
    return by_tests(folder, ["-k", "not compile", *TESTS])


def tamper(path: Path, seed: int = 0) -> str:
    """Change one stored number of a chapter by far more than its last place; say which."""
    notebook = json.loads(path.read_text("utf-8"))
    texts = [
        (holder, key)
        for cell in notebook["cells"]
        for output in cell.get("outputs", [])
        for holder, key in ((output, "text"), (output.get("data", {}), "text/plain"))
        if key in holder and NUMBER.search("".join(holder[key]))
    ]
    holder, key = random.Random(seed).choice(texts)
    text = "".join(holder[key])
    number = random.Random(seed).choice(list(NUMBER.finditer(text)))
    changed = f"{float(number[0]) + 0.5:.{len(number[0].split('.')[1])}f}"
    holder[key] = text[: number.start()] + changed + text[number.end() :]
    path.write_text(json.dumps(notebook, ensure_ascii=False), "utf-8")
    return f"{number[0]} -> {changed}"


def is_red(folder: Path, path: Path) -> bool:
    """Whether nbval fails for a chapter."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", str(path)]
    environment = os.environ | {"PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    return result.returncode == 1 and "FAILED" in result.stdout


def museum_names() -> list[str]:
    """Without importing the package here: every child has to import its own copy."""
    code = "from mha_utils.museum import MUSEUM; print(*(m.name for m in MUSEUM), sep='\\n')"
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    return result.stdout.splitlines()


def title(fault: Fault | str) -> str:
    return f"museum: {fault}" if isinstance(fault, str) else fault.name


def run_matrix(folder: Path, faults: list[Fault | str]) -> dict:
    table = {}
    for fault in faults:
        name, is_bug = title(fault), isinstance(fault, str)
        with planted(folder, fault):
            chapters = OF_BUGS if is_bug else fault.chapters
            row = {"chapters": by_chapters(folder, chapters, only=is_bug)}
            row["pytest"] = by_pytest(folder)
        table[name] = row
        line = f"{name:58} {row['chapters'] or 'SURVIVES':44.44}  {row['pytest'] or 'SURVIVES'}"
        print(line, flush=True)
    return table


def summary(table: dict, tampered: dict) -> str:
    lines = []
    for oracle in ("chapters", "pytest"):
        alive = [n for n, row in table.items() if not row[oracle] and n not in EQUIVALENT]
        lines.append(f"{oracle:9} killed {len(table) - len(alive)} of {len(table)} {alive or ''}")
    red = sum(row["red"] for row in tampered.values())
    return "\n".join([*lines, f"tampered  red {red} of {len(tampered)}"])


def tamper_all(folder: Path) -> dict:
    """Change a stored number of every chapter, one after the other: does nbval go red?"""
    table = {}
    for path in chapters_first(folder, ""):
        stored = path.read_text("utf-8")
        change = tamper(path)
        table[path.stem] = {"change": change, "red": is_red(folder, path)}
        path.write_text(stored, "utf-8")
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="faults and bugs to plant; all when left out")
    parser.add_argument("--tamper-only", action="store_true", help="plant none, change numbers")
    chosen = parser.parse_args()
    preload()
    name_of = {title(fault): fault for fault in [*museum_names(), *FAULTS]}
    faults = [name_of[n] for n in chosen.names] or list(name_of.values())
    table = json.loads(TABLE.read_text("utf-8")) if TABLE.exists() else {"faults": {}}
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        copy_project(folder)
        red = by_chapters(folder, "") or by_pytest(folder)
        with planted(folder, "Steps"):  # the right steps, put in as bugs of the museum are
            red = red or by_chapters(folder, OF_BUGS, only=True) or by_pytest(folder)
        if red:
            sys.exit(f"red without any fault: {red}")
        rows = table["faults"] | ({} if chosen.tamper_only else run_matrix(folder, faults))
        table["faults"] = {name: rows[name] for name in name_of if name in rows}
        if not chosen.names:
            table["tampered"] = tamper_all(folder)
    print(summary(table["faults"], table.get("tampered", {})))
    TABLE.parent.mkdir(exist_ok=True)
    TABLE.write_text(json.dumps(where() | table, indent=1) + "\n")


if __name__ == "__main__":
    main()
