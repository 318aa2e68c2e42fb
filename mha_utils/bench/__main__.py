"""`python -m mha_utils.bench`: measure this machine and write a record."""

import argparse
import os
import sys
from pathlib import Path

import torch

from mha_utils.bench.cases import cases_for
from mha_utils.bench.limits import PARTS
from mha_utils.bench.record import default_path, describe_machine, save_record
from mha_utils.bench.run import NAMES, WRONG, measure
from mha_utils.machine import threads
from mha_utils.records import require_writable


def read_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line; wrong values end the program with one clear line."""
    parser = argparse.ArgumentParser(prog="python -m mha_utils.bench", description=__doc__)
    found = "cuda" if torch.cuda.is_available() else "cpu"
    parser.add_argument("--device", choices=("cpu", "cuda"), default=found)
    parser.add_argument("--quick", action="store_true", help="three small cases, under a minute")
    parser.add_argument("--seconds", type=float, default=5.0, help="for each case (default: 5)")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads (default: 1)")
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=NAMES, default=NAMES)
    parser.add_argument("--out", type=Path, help="where the record goes: FILE.json")
    given = parser.parse_args(arguments)
    if given.device == "cuda" and found == "cpu":
        parser.error("--device cuda: this machine has no GPU that torch can use")
    if given.threads < 1 or given.seconds <= 0:
        parser.error("--threads and --seconds must be above 0")
    return given


def with_progress(cases: list):
    """The cases, with a progress bar where tqdm is installed, else with a line for each."""
    try:
        from tqdm import tqdm
    except ImportError:
        for number, case in enumerate(cases, start=1):
            print(f"{number}/{len(cases)} {case.label}", file=sys.stderr, flush=True)
            yield case
        return
    bar = tqdm(cases, unit="case")
    for case in bar:
        bar.set_description(case.label)
        yield case


def print_case(case: dict) -> None:
    """A case as a table, fastest first."""
    rate = {name: case["flops"] / row["seconds"] / 1e9 for name, row in case["rows"].items()}
    print(f"\n{case['label']}\n{'':34} ratio to parts   GFLOP/s   extra MiB")
    for name in sorted(case["rows"], key=lambda name: case["rows"][name]["ratio"]["median"]):
        row = case["rows"][name]
        low, median, high = (row["ratio"][key] for key in ("low", "median", "high"))
        memory = f"{row['peak_bytes'] / 2**20:9.1f}" if "peak_bytes" in row else ""
        print(f"{name:32} {median:5.2f} ({low:.2f} to {high:.2f}) {rate[name]:9.1f}   {memory}")
    for name, reason in case["left_out"].items():
        print(f"{name:32}     - {reason}")


def with_threads_of_numpy(number: int) -> None:
    """Start again if NumPy, which reads the number at its start, was given another one."""
    wanted = {"OMP_NUM_THREADS": str(number)}
    if os.environ.get("OMP_NUM_THREADS") != wanted["OMP_NUM_THREADS"]:
        command = [sys.executable, "-m", "mha_utils.bench", *sys.argv[1:]]
        os.execve(sys.executable, command, os.environ | wanted)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, write; the exit status is 1 if a contestant computes something else."""
    given = read_arguments(arguments)
    with_threads_of_numpy(given.threads)
    path = given.out or default_path(describe_machine(given.device))
    try:
        require_writable(path)  # before hours of measuring
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    cases = cases_for(given.device, given.quick)
    with threads(given.threads):
        record = measure(with_progress(cases), given.only, given.seconds)
    save_record(record, path)
    for case in record["cases"]:
        print_case(case)
    print(f"\nThe limit is {PARTS!r}: the products and the kernel alone. Written: {path}")
    left_out = [set(case["left_out"].items()) for case in record["cases"]]
    wrong = sorted({name for name, why in set().union(*left_out) if why.startswith(WRONG)})
    if wrong:
        print(f"NOT COMPARED, wrong numbers: {', '.join(wrong)}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
