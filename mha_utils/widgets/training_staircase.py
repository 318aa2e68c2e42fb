"""Train small models with a press of a button: each lands on the staircase R² = h / m."""

from collections.abc import Iterator
from dataclasses import replace

import traitlets

from mha_utils import theme
from mha_utils.core.guards import require_sizes
from mha_utils.experiments.model import Shape, SmallModel
from mha_utils.experiments.record import EXPERIMENTS, recorded
from mha_utils.experiments.tasks import Lookups
from mha_utils.experiments.train import Training, evaluate
from mha_utils.widgets.kit.base import LiveView
from mha_utils.widgets.kit.judged import choice, size
from mha_utils.widgets.kit.slices import Slices, at_once
from mha_utils.widgets.kit.still import Cell, Grid, picture, share_cell
from mha_utils.widgets.kit.values import count, fixed, joined

RECIPE = EXPERIMENTS["lookups"].recipe
OFFSETS = (1, 2, 3, 5, 4, 6)  # how far back the vectors stand, the first of them first
MOST_HEADS, WIDTHS = 12, (1, 2, 3, 4, 6, 8, 12, 16, 24, 48)
SETTINGS = ("num_heads", "head_dim", "num_lookups")
EVERY = 10  # steps, until R² is measured again


def ceiling(num_heads: int, head_dim: int, num_lookups: int) -> float:
    """The most R² that theory allows: a head brings at most 8 of the 8 m numbers."""
    return min(1.0, num_heads * min(Lookups.width, head_dim) / (Lookups.width * num_lookups))


class TrainingStaircase(LiveView):
    """Choose heads, their width and the number of vectors; train; see where the model lands.

    Every position needs `num_lookups` independent vectors of width 8 at once, the task `Lookups`.
    Trained is by the button, or by `train()`. An interrupt ends a training without an error and
    keeps what was learned.

    Args:
        num_heads: heads of the one attention layer, 1 to 12.
        head_dim: the width of each.
        num_lookups: m, 1 to 6.
        steps: how long a model learns.

    Attributes:
        runs: a list for each model: heads, width, vectors, steps, R² on fresh sequences.
        model, task: the last model and what it learned, for `evaluate(view.model, view.task)`;
            None before the first training.

    Raises:
        ValueError: if a size is not a positive integer, or not one that can be chosen.
    """

    script = "training_staircase"

    num_heads = size(2, MOST_HEADS)
    head_dim = choice(traitlets.Int, 12, WIDTHS, joined(WIDTHS))
    num_lookups = size(4, len(OFFSETS))
    steps = traitlets.Int(1).tag(sync=True)
    runs = traitlets.List().tag(sync=True)  # the last one may be going on
    curve = traitlets.List().tag(sync=True)  # of the last one: [step, loss, R²]
    training = traitlets.Bool(False).tag(sync=True)
    recorded = traitlets.List().tag(sync=True)  # [heads, width, mean R²], of four vectors

    def __init__(
        self,
        num_heads: int = 2,
        head_dim: int = 12,
        num_lookups: int = 4,
        *,
        steps: int = RECIPE.steps,
    ):
        require_sizes(steps=steps)
        sizes = dict(zip(SETTINGS, (num_heads, head_dim, num_lookups)))
        super().__init__(**sizes, steps=steps, recorded=_recorded())
        self.model: SmallModel | None = None
        self.task: Lookups | None = None
        self._stopped = False
        self.on_msg(self._asked)

    @property
    def results(self) -> list[dict]:
        """The runs by name, with the most that theory allows each."""
        names = (*SETTINGS, "steps", "r2")
        return [dict(zip(names, run)) | {"ceiling": ceiling(*run[:3])} for run in self.runs]

    @property
    def r2(self) -> float | None:
        """Of the last model, on fresh sequences; None before the first training."""
        return self.runs[-1][-1] if self.runs else None

    def train(self) -> None:
        """Train a model as it is chosen, now.

        Raises:
            ValueError: if another one is being trained.
        """
        if self.training:
            raise ValueError("a model is being trained: stop it, or wait until it has learned")
        self._begin()
        try:
            at_once(self._lessons(), self.stop)
        finally:
            self.training = False

    def stop(self) -> None:
        """End the training after its present step; what was learned is kept."""
        self._stopped = True

    def _asked(self, _, order: dict, buffers) -> None:
        """What the buttons ask for; this may run in another thread than the cells do."""
        if order["do"] == "stop":
            self.stop()
        elif not self.training:
            for name in SETTINGS:
                setattr(self, name, order[name])
            self._begin()
            Slices(self._lessons(), self.stop, self._end)

    def _begin(self) -> None:
        self._stopped, self.training, self.problem = False, True, ""

    def _end(self, problem: str) -> None:
        self.training, self.problem = False, problem

    def _lessons(self) -> Iterator[None]:
        """Train step by step; models that are chosen alike have different seeds."""
        chosen = [getattr(self, name) for name in SETTINGS]
        earlier, task = self.runs, Lookups(OFFSETS[: chosen[2]])
        seed, step = sum(run[:3] == chosen for run in earlier), 0
        recipe = replace(RECIPE, steps=self.steps)
        lessons = Training(task, Shape(*chosen[:2]), recipe, (seed,))
        self.curve, self.task = [], task
        while step < self.steps and not self._stopped:
            lessons.step()
            step += 1
            if step % EVERY == 0 or step == self.steps or self._stopped:
                self._report(lessons, [*earlier, [*chosen, step]])
            yield
        if step and self.runs[-1][3] != step:
            self._report(lessons, [*earlier, [*chosen, step]])

    def _report(self, lessons: Training, runs: list[list]) -> None:
        """Measure the model and show it; the R² of its run is still missing."""
        (self.model,) = lessons.models()
        r2 = round(evaluate(self.model, lessons.task)[0]["all"], 4)
        with self.hold_sync():
            self.curve = [*self.curve, [runs[-1][3], round(lessons.loss, 4), r2]]
            self.runs = [*runs[:-1], [*runs[-1], r2]]

    def finding(self) -> str:
        chosen = [getattr(self, name) for name in SETTINGS]
        return (
            f"{_named(*chosen)}: theory allows R² {fixed(ceiling(*chosen), 3)} at most. "
            f"{self._last()}"
        )

    def _last(self) -> str:
        if not self.runs:
            return "Nothing is trained yet."
        *chosen, done, r2 = self.runs[-1]
        who = f"Run {len(self.runs)} ({_named(*chosen)})"
        if self.training:
            return f"{who} is at step {done} of {self.steps}: R² {fixed(r2, 3)}."
        stopped = "" if done == self.steps else f" of {self.steps}: it was stopped"
        return f"{who}: R² {fixed(r2, 3)} after {count(done, 'step')}{stopped}."

    def still(self):
        every = range(1, MOST_HEADS + 1)
        alike = [run for run in self.runs if run[1:3] == [self.head_dim, self.num_lookups]]
        landed = {run[0]: run[-1] for run in alike}
        allowed = [ceiling(heads, self.head_dim, self.num_lookups) for heads in every]
        trained = [
            share_cell(max(landed[h], 0)) if h in landed else Cell(theme.PAPER) for h in every
        ]
        known = {h: mean for h, width, mean in self.recorded if width == self.head_dim}
        known = known if self.num_lookups == len(Lookups().offsets) else {}
        means = [share_cell(known[h]) if h in known else Cell(theme.PAPER) for h in every]
        rows = ["theory allows", "trained here", "recorded: mean"]
        columns = [f"H = {heads}" for heads in every]
        title = f"R² by number of heads: width {self.head_dim}, {self.num_lookups} vectors at once"
        cells = [list(map(share_cell, allowed)), trained, means]
        return picture(self.finding(), [Grid(title, cells, rows, columns)])


def _named(num_heads: int, head_dim: int, num_lookups: int) -> str:
    return f"{count(num_heads, 'head')} of width {head_dim}, {count(num_lookups, 'vector')}"


def _recorded() -> list[list]:
    """What ten seeds of `experiments.json` have reached, for pages where nothing can be trained."""
    rows = [row for row in recorded("lookups") if row["num_layers"] == 1 and not row["mlp"]]
    fits = [r for r in rows if r["num_heads"] <= MOST_HEADS and r["head_dim"] in WIDTHS]
    means = [sum(row["scores"]["all"]) / len(row["seeds"]) for row in fits]
    return [[r["num_heads"], r["head_dim"], round(mean, 3)] for r, mean in zip(fits, means)]
