"""`python -m mha_utils.bench`: measure this machine and write a record."""

import argparse
import contextlib
import os
import sys
from pathlib import Path

import torch

from mha_utils.bench.cases import cases_for
from mha_utils.bench.claims import print_claims
from mha_utils.bench.limits import PARTS
from mha_utils.bench.race import measure_race
from mha_utils.bench.record import default_path, describe_machine, save_record
from mha_utils.bench.run import NAMES, WRONG, measure
from mha_utils.bench.tasks import tasks_for
from mha_utils.machine import threads
from mha_utils.records import require_writable


def read_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line; wrong values end the program with one clear line."""
    parser = argparse.ArgumentParser(prog="python -m mha_utils.bench", description=__doc__)
    found = "cuda" if torch.cuda.is_available() else "cpu"
    parser.add_argument("--device", choices=("cpu", "cuda"), default=found)
    parser.add_argument("--quick", action="store_true", help="a few small cases, about a minute")
    parser.add_argument(
        "--everyday", action="store_true", help="small cases and all everyday tasks"
    )
    parser.add_argument("--seconds", type=float, default=5.0, help="for each case (default: 5)")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads (default: 1)")
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=NAMES, default=NAMES)
    parser.add_argument("--out", type=Path, help="where the record goes: FILE.json")
    chosen = parser.parse_args(arguments)
    if chosen.device == "cuda" and found == "cpu":
        parser.error("--device cuda: this machine has no GPU that torch can use")
    if chosen.threads < 1 or chosen.seconds <= 0:
        parser.error("--threads and --seconds must be above 0")
    return chosen


def with_progress(cases: list):
    """The cases or tasks; says on the standard error which one is measured now."""
    for number, case in enumerate(cases, start=1):
        print(f"{number}/{len(cases)} {case.label}", file=sys.stderr, flush=True)
        yield case


def print_case(case: dict) -> None:
    """A case as a table, fastest first; of everyday tasks the calls by second stand for FLOPs."""
    work = case.get("flops", 1e9)
    rate = {name: work / row["seconds"] / 1e9 for name, row in case["rows"].items()}
    print(f"\n{case['label']}\n{'':34} ratio to parts   GFLOP/s   extra MiB")
    for name in sorted(case["rows"], key=lambda name: case["rows"][name]["ratio"]["median"]):
        row = case["rows"][name]
        low, median, high = (row["ratio"][key] for key in ("low", "median", "high"))
        memory = f"{row['peak_bytes'] / 2**20:9.1f}" if "peak_bytes" in row else ""
        print(f"{name:32} {median:5.2f} ({low:.2f} to {high:.2f}) {rate[name]:9.1f}   {memory}")
    for name, reason in case["left_out"].items():
        print(f"{name:32}     - {reason}")


def restart_with_threads(number: int) -> None:
    """NumPy reads the number of threads only when it starts: if it was another, start again."""
    if os.environ.get("OMP_NUM_THREADS") != str(number):
        command = [sys.executable, "-m", "mha_utils.bench", *sys.argv[1:]]
        os.execve(sys.executable, command, os.environ | {"OMP_NUM_THREADS": str(number)})


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, write; the exit status is 1 if a contestant computes something else."""
    chosen = read_arguments(arguments)
    restart_with_threads(chosen.threads)
    path = chosen.out or default_path(describe_machine(chosen.device))
    try:
        require_writable(path)  # before hours of measuring
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    cases = cases_for(chosen.device, chosen.quick or chosen.everyday)
    tasks = with_progress(tasks_for(chosen.device, chosen.quick))
    with threads(chosen.threads):
        record = measure(with_progress(cases), chosen.only, chosen.seconds, tasks)
        with contextlib.suppress(KeyboardInterrupt):  # what was measured before is kept
            record |= {"race": measure_race(chosen.device, chosen.quick, chosen.seconds)}
    save_record(record, path)
    for case in (*record["cases"], *record["everyday"]):
        print_case(case)
    print_claims(record)
    print(f"\nThe limit is {PARTS!r}: the products and the kernel alone. Written: {path}")
    measured = (*record["cases"], *record["everyday"])
    left_out = [set(case["left_out"].items()) for case in measured]
    wrong = sorted({name for name, why in set().union(*left_out) if why.startswith(WRONG)})
    if wrong:
        print(f"NOT COMPARED, wrong numbers: {', '.join(wrong)}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
