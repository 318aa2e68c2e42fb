"""Run the chapters under simulated roundings: `make roundings`, `python -m tools.roundings`.

Every chapter is run under several seeds of `rounding_mode.Rounding`, and what it prints is compared
with what is stored by the rule of the suite. With --machines, chapters are run as older and newer
processors and other numbers of threads would run them: forced by the environment, one at a time.
The result is printed and stored in `benchmarks/roundings.json`.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import torch

from tools.notebooks import chapters
from tools.planting import ROOT, in_a_fork, witnesses
from tools.suite.rounding_mode import Rounding

TABLE = ROOT / "benchmarks" / "roundings.json"
MACHINES = (  # what stands for another processor, or another number of threads
    *("OMP_NUM_THREADS=1", "OMP_NUM_THREADS=2", "OMP_NUM_THREADS=4"),
    *("ATEN_CPU_CAPABILITY=default", "ATEN_CPU_CAPABILITY=avx2", "ATEN_CPU_CAPABILITY=avx512"),
    *("ONEDNN_MAX_CPU_ISA=SSE41", "ONEDNN_MAX_CPU_ISA=AVX2", "ONEDNN_MAX_CPU_ISA=AVX512_CORE"),
    *("MKL_ENABLE_INSTRUCTIONS=SSE4_2", "MKL_CBWR=COMPATIBLE"),
)


def trains(path: Path) -> bool:
    """Whether a chapter trains a model before the reader's eyes."""
    training = r"from mha_utils\.experiments\.train import [^\\]*\b(train|Recipe)\b|\.train_small\("
    return bool(re.search(training, path.read_text()))


def difference(path: Path, seed: int | None = None, seconds: int = 3600) -> str | None:
    """What a chapter does otherwise than stored, under a seed of roundings; None if nothing."""

    def play():
        from tools.suite.chapter_runner import first_difference

        if seed is None:
            return first_difference(path)
        with Rounding(seed):
            return first_difference(path)

    return in_a_fork(ROOT, play, seconds)


def preload() -> None:
    """What every child needs; the mode is used once, for what PyTorch imports when it is."""
    witnesses.preload()
    with Rounding(0):
        print(end=repr(torch.randn(16).softmax(dim=-1))[:0])


def under_seeds(path: Path, number: int | None) -> dict[str, str | None]:
    """The differences under each seed: five of them, three where something is trained."""
    seeds = range((3 if trains(path) else 5) if number is None else number)
    return {str(seed): difference(path, seed) for seed in seeds}


def as_machine(setting: str, paths: list[Path]) -> dict[str, str | None]:
    """The differences with a variable of the environment, in a process of its own; {}: not here."""
    code = "import json, sys; from pathlib import Path; from tools.roundings import *; preload();"
    code += "print(json.dumps({Path(p).stem: difference(Path(p)) for p in sys.argv[1:]}))"
    environment = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
    environment |= dict([setting.split("=")]) | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code, *map(str, paths)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=ROOT)
    if done.returncode == -signal.SIGILL:
        return {}  # a processor without these instructions: nothing was tried
    failed = done.stderr[-300:] or f"ended with {done.returncode}"
    return {"all": failed} if done.returncode else json.loads(done.stdout)


def keep(part: str, name: str, found: dict[str, str | None]) -> None:
    """Print what was found, and put it into the table; of what was not tried, nothing."""
    if not found:
        print(f"{name:28} not on this processor", flush=True)
        return
    from mha_utils.bench.record import describe_machine

    failed = [f"{key}: {text}" for key, text in found.items() if text]
    print(f"{name:28} {len(found) - len(failed)} of {len(found)}", *failed, sep="\n  ", flush=True)
    table = json.loads(TABLE.read_text("utf-8")) if TABLE.exists() else {}
    rows = table.get(part, {})
    rows[name] = rows.get(name, {}) | found if part == "machines" else found
    machine = describe_machine("cpu")
    table |= {"machine": machine, part: dict(sorted(rows.items()))}  # of the newest row
    table.setdefault("measured", {})[name] = f"{machine['date']}, {machine['hardware']}"
    TABLE.write_text(json.dumps(table, indent=1, ensure_ascii=False) + "\n", "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chapters", nargs="*", help="numbers such as 02; all when left out")
    parser.add_argument("--seeds", type=int, help="for each; 0: none; left out: 5, or 3")
    parser.add_argument("--machines", action="store_true", help="forced flags and threads, too")
    chosen = parser.parse_args()
    paths = [p for p in chapters() if not chosen.chapters or p.name[:2] in chosen.chapters]
    preload()
    failed = False
    for path in paths if chosen.seeds != 0 else ():
        found = under_seeds(path, chosen.seeds)
        keep("seeds", path.stem, found)
        failed |= any(found.values())
    for setting in MACHINES if chosen.machines else ():
        found = as_machine(setting, paths)
        keep("machines", setting, found)
        failed |= any(found.values())
    sys.exit(failed)


if __name__ == "__main__":
    main()
