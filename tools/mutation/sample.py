"""Which mutants: a seeded sample with a share for each group of files."""

import functools
import random
from collections.abc import Iterable
from pathlib import Path

from tools.mutation.javascript import js_mutants
from tools.mutation.python import Mutant, python_mutants
from tools.planting import ROOT

PACKAGE = ROOT / "mha_utils"
GROUPS = {  # files, and their share of a sample
    "core": (
        "core/[d-z]* core/cache distributed/* reference/*",
        0.36,
    ),
    "checks": ("checks/* checks/exercises/* checks/module/* checks/module/suspects/*", 0.24),
    "bench": (
        "core/costs bench/limits bench/memory bench/timing bench/record bench/cases "
        "bench/contestants bench/run",
        0.14,
    ),
    "models": (
        "experiments/scores experiments/tasks experiments/grammar experiments/model "
        "experiments/train experiments/p[ol]* experiments/sh* writing/*",
        0.1,
    ),
    "views": ("widgets/js/*.js widgets/js/*/*.js", 0.16),
}


def files_of(group: str) -> list[Path]:
    patterns = [p if p.endswith(".js") else f"{p}.py" for p in GROUPS[group][0].split()]
    return sorted(path for pattern in patterns for path in PACKAGE.glob(pattern))


@functools.cache
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
    return {
        group: draw(
            map(mutants_of, files_of(group)),
            round(count * GROUPS[group][1]),
            random.Random(f"{seed} {group}"),
        )
        for group in groups
    }
