"""How many generated faults does the suite notice? `make mutants`, `python -m tools.mutants`.

A seeded sample of changes (a comparison, a constant, a sign, an argument, a statement, ...) that
nobody chose, with a share for each group of files. Each is tried against the tests that call what
is changed, until one is red; what survives them against the chapters that call it. A survivor is
a hole in the tests, or no test can notice it: then `mutants_equivalent.json` says why.
`--list` names the mutants of a sample without trying them.
"""

import argparse
import json
import random
import subprocess
import sys
from pathlib import Path

from tools.mutant_sample import GROUPS, PACKAGE, draw, mutants_of, sample
from tools.mutant_stages import CACHE, run_sample
from tools.mutations import Mutant
from tools.planting import ROOT

TABLE = ROOT / "benchmarks" / "mutants.json"
REASONS = Path(__file__).with_name("mutants_equivalent.json")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=180)
    parser.add_argument("--groups", nargs="*", default=list(GROUPS), choices=GROUPS)
    parser.add_argument("--files", nargs="*", help="as core/modules.py or widgets/pipeline.js")
    parser.add_argument("--list", action="store_true", help="name the mutants and stop")
    parser.add_argument("--store", action="store_true", help=f"keep the result in {TABLE.name}")
    given = parser.parse_args()
    if given.files:
        found = [mutants_of(PACKAGE / name) for name in given.files]
        chosen = {"files": draw(found, given.count, random.Random(given.seed))}
    else:
        chosen = sample(given.seed, given.count, given.groups)
    mutants = [mutant for group in chosen.values() for mutant in group]
    if given.list:
        sys.exit("\n".join(mutant.name for mutant in mutants))
    noticed = run_sample(mutants, CACHE / f"seed_{given.seed}.jsonl")
    result = result_of(chosen, noticed)
    print(summary(result))
    if given.store:
        store({"seed": given.seed} | where() | result)


def result_of(chosen: dict[str, list[Mutant]], noticed: dict[str, str | None]) -> dict:
    """Counts for each group, and every survivor with why no test can notice it, or "hole"."""
    reasons = json.loads(REASONS.read_text("utf-8"))
    survivors, groups = {}, {}
    for group, mutants in chosen.items():
        alive = [m.name for m in mutants if not noticed[m.name]]
        survivors |= {name: reasons.get(name, "hole") for name in alive}
        equivalent = sum(name in reasons for name in alive)
        killed = len(mutants) - len(alive)
        groups[group] = {"planted": len(mutants), "killed": killed, "equivalent": equivalent}
    return {"groups": groups, "survivors": survivors}


def rate(groups: dict[str, dict]) -> tuple[int, int]:
    """Killed, and how many could have been."""
    killed = sum(row["killed"] for row in groups.values())
    return killed, sum(row["planted"] - row["equivalent"] for row in groups.values())


def summary(result: dict) -> str:
    lines = [f"{verdict:40.40} {name}" for name, verdict in result["survivors"].items()]
    for name, row in (result["groups"] | {"all": None}).items():
        killed, of = rate(result["groups"] if row is None else {name: row})
        lines.append(f"{name:8} killed {killed} of {of}, {killed / max(of, 1):.0%}")
    return "\n".join(lines)


def where() -> dict:
    """The machine, the date and the commit that a sample was tried on."""
    from mha_utils.bench.record import describe_machine

    command = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip()
    return {"commit": commit, "machine": describe_machine("cpu")}


def store(row: dict) -> None:
    """Add a sample to the table; the same seed tried again on another commit is another row."""
    table = json.loads(TABLE.read_text("utf-8")) if TABLE.exists() else {"samples": []}
    kept = [r for r in table["samples"] if (r["seed"], r["commit"]) != (row["seed"], row["commit"])]
    table["samples"] = [*kept, row]
    TABLE.write_text(json.dumps(table, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
