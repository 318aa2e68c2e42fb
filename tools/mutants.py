"""How many generated faults does the suite notice? `make mutants`, `python -m tools.mutants`.

A seeded sample of changes (a comparison, a constant, a sign, an argument, a statement, ...) that
nobody chose, with a share for each group of files. Each is tried against the tests that call what
is changed, until one is red; what survives them against the chapters that call it. A survivor is
a hole in the tests, or no test can notice it: then `mutation/equivalent.json` says why.
`--list` names the mutants of a sample without trying them.
"""

import argparse
import json
import random
import sys

from tools.mutation.python import Mutant
from tools.mutation.sample import GROUPS, PACKAGE, draw, mutants_of, sample
from tools.mutation.trial import CACHE, run_sample
from tools.planting import ROOT, where

TABLE = ROOT / "benchmarks" / "mutants.json"
ENOUGH = 130  # faults of a sample whose rate is compared with others
REASONS = ROOT / "tools" / "mutation" / "equivalent.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=180)
    parser.add_argument("--groups", nargs="*", default=list(GROUPS), choices=GROUPS)
    parser.add_argument("--files", nargs="*", help="as core/modules.py or widgets/js/kit/grid.js")
    parser.add_argument("--list", action="store_true", help="name the mutants and stop")
    parser.add_argument("--store", action="store_true", help=f"keep the result in {TABLE.name}")
    options = parser.parse_args()
    if options.files:
        found = [mutants_of(PACKAGE / name) for name in options.files]
        chosen = {"files": draw(found, options.count, random.Random(options.seed))}
    else:
        chosen = sample(options.seed, options.count, options.groups)
    mutants = [mutant for group in chosen.values() for mutant in group]
    if options.list:
        sys.exit("\n".join(mutant.name for mutant in mutants))
    noticed = run_sample(mutants, CACHE / f"seed_{options.seed}.jsonl")
    result = result_of(chosen, noticed)
    print(summary(result))
    if options.store:
        store({"seed": options.seed} | where() | result)


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


def store(row: dict) -> None:
    """Add a sample to the table, a small one to the small ones.

    The same seed tried again on another commit is another row.
    """
    table = json.loads(TABLE.read_text("utf-8")) if TABLE.exists() else {"samples": []}
    planted = sum(group["planted"] for group in row["groups"].values())
    kind = "samples" if planted >= ENOUGH else "small"
    others = table.get(kind, [])
    kept = [r for r in others if (r["seed"], r["commit"]) != (row["seed"], row["commit"])]
    table[kind] = [*kept, row]
    TABLE.write_text(json.dumps(table, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
