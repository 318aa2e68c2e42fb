"""Number of heads and head width against what a model learns, on stored results."""

from collections.abc import Iterable

import traitlets

from mha_utils import theme
from mha_utils.core.guards import require_sizes
from mha_utils.widgets.kit.base import LiveView, refuses
from mha_utils.widgets.kit.still import Cell, Grid, picture, share_cell
from mha_utils.widgets.kit.values import count, joined, require_one_of


class HeadBudget(LiveView):
    """Choose heads and width on a grid of trained models, and see what each has learned.

    Args:
        results: rows with `num_heads`, `head_dim` and `scores`, one number in [0, 1] a seed.
        measure: what a score is, in a few words.
        budget: the number of columns whose models are framed; they cost the same.
        ceiling: (num_heads, head_dim) -> the highest score that theory allows, if known.
        num_heads, head_dim: the model chosen at first.

    Raises:
        ValueError: if there are no results, a score is not in [0, 1], or the chosen model is none
            of them.
    """

    script = "head_budget"

    cells = traitlets.List().tag(sync=True)  # [heads, width, mean, lowest, highest, seeds, ceiling]
    heads = traitlets.List(traitlets.Int()).tag(sync=True)
    widths = traitlets.List(traitlets.Int()).tag(sync=True)
    measure = traitlets.Unicode("").tag(sync=True)
    budget = traitlets.Int(1).tag(sync=True)
    num_heads = traitlets.Int(1).tag(sync=True)
    head_dim = traitlets.Int(1).tag(sync=True)

    def __init__(
        self,
        results: Iterable[dict],
        measure: str,
        budget: int,
        ceiling=None,
        *,
        num_heads: int,
        head_dim: int,
    ):
        require_sizes(budget=budget, num_heads=num_heads, head_dim=head_dim)
        cells = [_cell(row, ceiling) for row in results]
        if [num_heads, head_dim] not in [cell[:2] for cell in cells]:
            raise ValueError(f"no result for {num_heads} heads of width {head_dim}")
        super().__init__(
            cells=cells,
            heads=sorted({cell[0] for cell in cells}),
            widths=sorted({cell[1] for cell in cells}),
            measure=measure,
            budget=budget,
            num_heads=num_heads,
            head_dim=head_dim,
        )

    @refuses("num_heads", "head_dim")
    def _keep_known(self, name, size):
        known = self.heads if name == "num_heads" else self.widths
        require_one_of(known, joined(known), **{name: size})

    def finding(self) -> str:
        columns = self.num_heads * self.head_dim
        heads = count(self.num_heads, "head")
        chosen = f"{heads} of width {self.head_dim} ({columns} columns): "
        if (self.num_heads, self.head_dim) not in self._known:
            return f"{chosen}not tried."
        mean, low, high, seeds, limit = self._known[self.num_heads, self.head_dim]
        bound = "" if limit is None else f" Theory allows at most {limit:.3f}."
        return (
            f"{chosen}{self.measure} {mean:.3f}, "
            f"from {low:.3f} to {high:.3f} over {seeds} seeds.{bound}"
        )

    def still(self):
        widths = self.widths[::-1]
        cells = [[self._still_cell(heads, width) for heads in self.heads] for width in widths]
        rows = [f"width {width}" for width in widths]
        columns = [f"H = {heads}" for heads in self.heads]
        title = f"{self.measure}; empty: not tried"
        grid = Grid(title, cells, rows, columns, widths.index(self.head_dim), (40, 30))
        return picture(self.finding(), [grid])

    @property
    def _known(self) -> dict[tuple[int, int], list]:
        return {(heads, width): rest for heads, width, *rest in self.cells}

    def _still_cell(self, num_heads: int, head_dim: int) -> Cell:
        mean, *_ = self._known.get((num_heads, head_dim), [None])
        marked = num_heads * head_dim == self.budget
        return Cell(theme.PAPER) if mean is None else share_cell(mean, marked)


def _cell(row: dict, ceiling) -> list:
    scores = row["scores"]
    if not scores or not all(0 <= score <= 1 for score in scores):
        raise ValueError(f"scores must be numbers from 0 to 1, at least one, got {scores}")
    numbers = (sum(scores) / len(scores), min(scores), max(scores))
    limit = None if ceiling is None else round(ceiling(row["num_heads"], row["head_dim"]), 3)
    kept = [round(number, 3) for number in numbers]
    return [row["num_heads"], row["head_dim"], *kept, len(scores), limit]
