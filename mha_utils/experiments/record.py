"""Run every experiment of chapters 02, 13, 14 and 15; write and read `experiments.json`.

Recorded: the scores of every configuration and seed on fresh data, where heads look, and what
is lost when one of them is removed. `make experiments` measures them anew.
"""

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from mha_utils.experiments.grammar import Grammar
from mha_utils.experiments.model import Shape
from mha_utils.experiments.positions import KINDS, LateRepeat, PlacedShape, ask_later
from mha_utils.experiments.scores import mass_on, without_head
from mha_utils.experiments.sharing import WANTED, Fetches, SharingShape, sharing
from mha_utils.experiments.tasks import Lookups, OneOfThree, RepeatedBlock, ThreeRelations
from mha_utils.experiments.train import Recipe, evaluate, train
from mha_utils.records import read_record, require_writable, write_text

RECORD = Path(__file__).parent / "experiments.json"
BUDGET = 48  # columns that the heads share
SEEDS = tuple(range(10))
FEW_SEEDS = (0, 1, 2)
HEADS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 48)


@dataclass(frozen=True)
class Experiment:
    """A task, how it is learned, the shapes of the models that try it, and how they are judged."""

    task: object
    recipe: Recipe
    shapes: tuple[Shape, ...]
    measure: Callable | None = None  # `measure` below, when left out


def budget(*heads: int) -> tuple[Shape, ...]:
    """Heads that share 48 columns: more heads are thinner heads, and all models cost the same."""
    return tuple(Shape(num_heads, BUDGET // num_heads) for num_heads in heads)


def grid(columns: int) -> tuple[Shape, ...]:
    """Any number of heads with any width, up to so many columns in all."""
    every = (Shape(heads, width) for heads in HEADS for width in HEADS)
    return tuple(s for s in every if s.num_heads * s.head_dim <= columns)


def _causal(heads: tuple[int, ...], layers: tuple[int, ...] = (1,), **options) -> tuple:
    return tuple(
        Shape(h, BUDGET // h, num_layers=n, causal=True, **options) for h in heads for n in layers
    )


def placed(kind: str) -> PlacedShape:
    """Four heads, two layers, and one way of saying where a token stands."""
    options = {"num_layers": 2, "causal": True, "norm": True}
    return PlacedShape(4, BUDGET // 4, BUDGET, **options, positions=kind)


WIDER_OR_DEEPER = (
    Shape(1, 192),
    Shape(1, 48, mlp=True),
    Shape(2, 24, mlp=True),
    Shape(1, 48, num_layers=2),
    Shape(1, 48, num_layers=3),
)
SHARED = tuple(
    sharing(width, *sets) for width in (12, 8) for sets in ((4, 4), (2, 2), (1, 1), (1, 4), (4, 1))
)
EXPERIMENTS = {
    "lookups": Experiment(Lookups(), Recipe(400, end=0.03), (*grid(2 * BUDGET), *WIDER_OR_DEEPER)),
    "relations": Experiment(
        ThreeRelations(),
        Recipe(1000, start=2.0),
        (*budget(1, 2, 3, 4, 6, 12, 24, 48), *WIDER_OR_DEEPER),
    ),
    "asked": Experiment(
        OneOfThree(),
        Recipe(1000, start=2.0),
        (*budget(1, 2, 3), Shape(1, 192), Shape(1, 48, mlp=True), Shape(1, 48, uniform=True)),
    ),
    "grammar": Experiment(
        Grammar(),
        Recipe(600, start=1.2, look=0.15),
        (*_causal((1, 4)), *_causal((1,), uniform=True)),
    ),
    "repeats": Experiment(
        RepeatedBlock(), Recipe(300, lr=5e-3), _causal((1, 2, 4), (1, 2), norm=True)
    ),
    "positions": Experiment(
        LateRepeat(), Recipe(1500, lr=5e-3), tuple(map(placed, KINDS)), ask_later
    ),
    **{wanted: Experiment(Fetches(wanted), Recipe(400), SHARED) for wanted in WANTED},
}
DIGITS = 4


def seeds_of(shape: Shape) -> tuple[int, ...]:
    """Ten seeds for the shapes that the chapters speak of, three for the rest of the grid."""
    on_budget = shape.num_heads * shape.head_dim == BUDGET
    of_a_chapter = on_budget or shape in WIDER_OR_DEEPER or isinstance(shape, SharingShape)
    return SEEDS if of_a_chapter else FEW_SEEDS


def run(name: str, shape: Shape, seeds: tuple[int, ...]) -> dict:
    """Train one shape with several seeds and measure it: one row of the record."""
    task, recipe = EXPERIMENTS[name].task, EXPERIMENTS[name].recipe
    models = train(task, shape, recipe, seeds)
    judge = EXPERIMENTS[name].measure or measure
    rows = [judge(model, task) for model in models]
    found = {"task": name, **asdict(shape), "seeds": list(seeds)}
    found["parameters"] = sum(p.numel() for p in models[0].parameters())
    found["scores"] = {n: [row["scores"][n] for row in rows] for n in rows[0]["scores"]}
    if "mass" in rows[0] and shape.num_heads <= 6 and len(seeds) > len(FEW_SEEDS):
        found["mass"] = [row["mass"] for row in rows]
        found["without_head"] = [scores_without_heads(model, task) for model in models]
    return found


def measure(model, task, num_sequences: int = 256) -> dict:
    """Scores on fresh sequences; for tasks with places also where each head looks."""
    scores, batch, maps = evaluate(model, task, num_sequences)
    measured = {"scores": {name: round(value, DIGITS) for name, value in scores.items()}}
    if hasattr(task, "places"):
        places = task.places(batch)
        measured["mass"] = [
            {name: _rounded(mass_on(weights, where)) for name, where in places.items()}
            for weights in maps
        ]
    return measured


def scores_without_heads(model, task) -> list[list[dict[str, float]]]:
    """The scores when one head is removed: [layer][head]."""
    return [
        [
            measure(without_head(model, layer, head), task)["scores"]
            for head in range(model.layers[layer].attention.num_heads)
        ]
        for layer in range(len(model.layers))
    ]


def _rounded(values) -> list[float]:
    return [round(value, DIGITS) for value in values.tolist()]


def recorded(task: str | None = None, path: Path = RECORD) -> list[dict]:
    """The stored rows, all or those of one task.

    Raises:
        ValueError: if the file is missing or broken, or nothing of that name was recorded.
    """
    if not path.exists():
        raise ValueError(f"no recorded results at {path.name}; make them with `make experiments`")
    rows = read_record(path, ["rows"])["rows"]
    if task is not None and task not in EXPERIMENTS:
        raise ValueError(f"task must be one of {list(EXPERIMENTS)}, got {task!r}")
    return [row for row in rows if task in (None, row["task"])]


def find(task: str, **settings) -> dict:
    """The one stored row of a task with these settings; the others are as in `Shape`.

    Raises:
        ValueError: if there is no such row.
    """
    shape = {**asdict(Shape(1, BUDGET // settings.get("num_heads", 1))), **settings}
    for row in recorded(task):
        if all(row[key] == value for key, value in shape.items()):
            return row
    raise ValueError(f"no recorded result for {task} with {settings}")


def same_size(task: str) -> dict[int, dict]:
    """The stored rows of one-layer models whose heads share `BUDGET` columns, by their number.

    All of them have equally many parameters: more heads are thinner heads.
    """
    other = ("mlp", "uniform")
    plain = [r for r in recorded(task) if r["num_layers"] == 1 and not any(r[k] for k in other)]
    shared = {r["num_heads"]: r for r in plain if r["num_heads"] * r["head_dim"] == BUDGET}
    return dict(sorted(shared.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tasks", nargs="*", choices=[*EXPERIMENTS, []], help="all when left out")
    parser.add_argument("--output", type=Path, default=RECORD)
    arguments = parser.parse_args()
    names = arguments.tasks or list(EXPERIMENTS)
    require_writable(arguments.output)
    kept = recorded(path=arguments.output) if arguments.output.exists() else []
    rows = [row for row in kept if row["task"] not in names]
    for name in names:
        for shape in dict.fromkeys(EXPERIMENTS[name].shapes):
            rows.append(run(name, shape, seeds_of(shape)))
            mean = sum(rows[-1]["scores"]["all"]) / len(rows[-1]["seeds"])
            print(f"{name}: {shape} {mean:.3f}", flush=True)
            save(rows, arguments.output)


def save(rows: list[dict], path: Path) -> None:
    """One row a line, so that a change can be read in a diff."""
    lines = ",\n".join(json.dumps(row) for row in rows)
    write_text(path, f'{{"torch": "{torch.__version__}", "rows": [\n{lines}\n]}}\n')
