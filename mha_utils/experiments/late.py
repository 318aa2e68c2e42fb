"""What is asked late: texts as a reader sees them, the recorded fifty models, and some to open."""

import functools
import string
from dataclasses import dataclass

import torch

from mha_utils.core.guards import require_choice
from mha_utils.experiments.positions import (
    KINDS,
    LateRepeat,
    PlacedModel,
    PlacedShape,
)
from mha_utils.experiments.record import BUDGET, recorded
from mha_utils.experiments.train import Recipe, train

SYMBOLS = string.ascii_letters + string.digits + "+-"
TESTS = {  # what each test is called in the record
    "late": "",
    "window": " in a window",
    "colleague's": " from start",
    "colleague's, start hidden": " start hidden",
}


@dataclass(frozen=True)
class Text:
    """A text of the task: a block is repeated to the end, and other symbols stand before it.

    Args:
        start: where the first copy of the block begins.
        period: how long the block is; what follows the last symbol stands so far before the end.
    """

    letters: str
    start: int
    period: int


def text_of(task: LateRepeat, seed: int = 0) -> Text:
    """One text of the task; of another length, with the same seed, the same block at its end."""
    batch = task.draw(1, torch.Generator().manual_seed(seed))
    letters = "".join(SYMBOLS[i] for i in batch.inputs[0, :, 0])
    period = len(letters) - batch.sources[0, -1, 0].item()
    start = len(letters) - period
    while start > 0 and letters[start - 1] == letters[start - 1 + period]:
        start -= 1
    return Text(letters, start, period)


def first_answers(task: LateRepeat, seed: int = 0, num_sequences: int = 200) -> torch.Tensor:
    """Where what follows the last symbol stands first, in each of many texts."""
    batch = task.draw(num_sequences, torch.Generator().manual_seed(seed))
    symbols = batch.inputs[..., 0]
    asked = symbols[:, :-1] == symbols[:, -1:]
    return asked.int().argmax(dim=1) + 1


@functools.cache
def _scores() -> dict[str, dict[str, list[float]]]:
    return {row["positions"]: row["scores"] for row in recorded("positions")}


def recorded_accuracies(kind: str, test: str = "late", length: int = 256) -> list[float]:
    """Those of the ten recorded models of this kind.

    Args:
        test: a name of `TESTS`, or how the record goes on after the length.
    """
    return list(_scores()[kind][f"{length}{TESTS.get(test, test)}"])


def recorded_accuracy(kind: str, test: str = "late", length: int = 256) -> float:
    """The mean of `recorded_accuracies`."""
    scores = recorded_accuracies(kind, test, length)
    return sum(scores) / len(scores)


@dataclass(frozen=True)
class OnOtherDials(PlacedShape):
    """Models whose rotary dials turn with another base."""

    base: float = 10_000.0

    def build(self, task) -> PlacedModel:
        model = super().build(task)
        for layer in model.layers:
            if layer.attention.rotary is not None:
                layer.attention.rotary.base = self.base
        return model


def train_small(
    kind: str, seed: int = 0, *, base: float = 10_000.0, steps: int = 300
) -> PlacedModel:
    """A model of two layers, learned quickly, whose tokens know their places in this way.

    It has one head a layer, but four with ALiBi, whose only slope would be the gentlest.

    Args:
        kind: "none", "learned", "sinusoidal", "rotary" or "alibi".
        seed: of the first weights.
        base: of the dials of "rotary"; the others have none.
        steps: of training.

    Raises:
        ValueError: if there is no such kind.
    """
    require_choice("kind", kind, KINDS)
    options = {"num_layers": 2, "causal": True, "norm": True, "positions": kind, "base": base}
    num_heads = 4 if kind == "alibi" else 1
    shape = OnOtherDials(num_heads, BUDGET // num_heads, BUDGET, **options)
    return train(LateRepeat(), shape, Recipe(steps, lr=5e-3), (seed,))[0]


@torch.no_grad()
def mean_scores(model: PlacedModel, num_places: int = 256) -> torch.Tensor:
    """The score of a key 0, 1, 2, ... places back in the first layer: the mean over all pairs.

    Of the symbols alone: only rotary dials are told the distance. No vector of a place is added,
    and no slope of ALiBi subtracted.

    Returns:
        (num_places, Dh / 2): what each dial (n, n + Dh / 2) adds, the mean over pairs of symbols
        and over the heads. The sum over the dials is the mean score.
    """
    layer, norm = model.layers[0].attention, model.layers[0].norm
    symbols = norm(model.embed.weight).unsqueeze(0)
    q, k, _ = layer.project(symbols, symbols, symbols)
    q, k = (heads.mean(dim=-2, keepdim=True) for heads in (q, k))  # products are linear in both
    q = q.expand(-1, -1, num_places, -1)
    if layer.rotary is not None:
        q = layer.rotary(q, torch.arange(num_places))
    products = (q * k)[0].mean(dim=0) / q.shape[-1] ** 0.5
    return products.unflatten(-1, (2, -1)).sum(dim=-2)
