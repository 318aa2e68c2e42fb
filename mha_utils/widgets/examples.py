"""One example of every live view, for a page of its own: `python -m mha_utils.widgets`."""

from collections.abc import Callable

import torch

from mha_utils import data
from mha_utils.core.steps import causal_mask
from mha_utils.museum import MUSEUM, with_numbers
from mha_utils.widgets.bug_hunt import BugHunt
from mha_utils.widgets.cell_steps import CellSteps
from mha_utils.widgets.dropout_draws import DropoutDraws
from mha_utils.widgets.head_budget import HeadBudget
from mha_utils.widgets.head_explorer import HeadExplorer
from mha_utils.widgets.kit.base import LiveView
from mha_utils.widgets.layer_cost import LayerCost
from mha_utils.widgets.mask_painter import MaskPainter
from mha_utils.widgets.memory_ribbon import MemoryRibbon
from mha_utils.widgets.pipeline import Pipeline
from mha_utils.widgets.shape_letters import ShapeLetters
from mha_utils.widgets.softmax_scale import SoftmaxScale
from mha_utils.widgets.training_film import TrainingFilm


def _explorer() -> HeadExplorer:
    vocabulary = data.toy_vocabulary()
    words = data.toy_word_vectors(vocabulary)
    W_q, W_k, _ = data.toy_head_weights()
    options = {"sentence": data.SENTENCE, "row": 7, "column": 1}
    return HeadExplorer(list(vocabulary.words), words @ W_q, words @ W_k, **options)


def _painter() -> MaskPainter:
    vocabulary, words = data.toy_vocabulary(), data.split_words(data.SENTENCE)[:7]
    x = data.toy_word_vectors(vocabulary)[vocabulary.encode(" ".join(words))]
    q, k, v = (x @ weight for weight in data.toy_head_weights())
    return MaskPainter(q, k, v, words, causal_mask(7))


def _steps() -> CellSteps:
    vocabulary, words = data.toy_vocabulary(), data.split_words(data.SENTENCE)
    x = data.toy_word_vectors(vocabulary)[vocabulary.encode(data.SENTENCE)]
    q, k, v = (x @ weight for weight in data.toy_head_weights())
    return CellSteps(words, q, k, v, query=words.index("it"), key=words.index("cat"))


def _dropout() -> DropoutDraws:
    painter = _painter()
    return DropoutDraws(painter.weights(), painter.tokens)


def _budget() -> HeadBudget:
    """What theory allows, in the place of trained models."""
    sizes = (1, 2, 3, 4, 6, 8, 12)
    limits = {(h, dh): min(1.0, h * min(8, dh) / 32) for h in sizes for dh in sizes if h * dh <= 48}
    rows = [
        {"num_heads": h, "head_dim": dh, "scores": [0.98 * limit, 0.99 * limit]}
        for (h, dh), limit in limits.items()
    ]
    options = {"num_heads": 4, "head_dim": 6}
    return HeadBudget(rows, "share of the ceiling", 24, lambda h, dh: limits[h, dh], **options)


def _film() -> TrainingFilm:
    """Two heads that turn from equal shares to the token before, and to the first one."""
    place, steps = torch.arange(6), [0, 10, 20, 30]
    goals = torch.stack([torch.eye(6).roll(1, dims=0), (place == 0).float().expand(6, 6)])
    shares = torch.tensor(steps)[:, None, None, None] / 30
    maps = (1 - shares) / 6 + shares * goals
    sources = {"previous": ((place - 1) % 6).expand(2, 6), "first": torch.zeros(2, 6).long()}
    return TrainingFilm(
        steps,
        maps[:, None].expand(-1, 2, -1, -1, -1),
        labels=[list("abcdef"), list("fedcba")],
        heads=["head 0", "head 1"],
        curves={"previous": [0.1, 0.3, 0.8, 1.0], "first": [0.2, 0.9, 1.0, 1.0]},
        sources=sources,
    )


def _hunt() -> BugHunt:
    """The whole museum and two of chapter 12's probes."""
    x = torch.randn(2, 5, 8, generator=torch.Generator().manual_seed(0))
    order = torch.tensor([3, 1, 4, 0, 2])

    def knows_places(module):
        return not torch.allclose(module(x)[:, order], module(x[:, order]), atol=1e-3)

    def sequences_meet(module):
        return not torch.allclose(module(x)[:1], module(x[:1]), atol=1e-3)

    suspects = {piece.name: with_numbers(piece.module) for piece in MUSEUM}
    found = {n: [knows_places(m), sequences_meet(m)] for n, m in suspects.items()}
    return BugHunt(found, ["knows places", "sequences meet"], ["the", "cat", "sat", "on", "it"])


EXAMPLES: dict[str, Callable[[], LiveView]] = {
    "BugHunt": _hunt,
    "CellSteps": _steps,
    "DropoutDraws": _dropout,
    "HeadBudget": _budget,
    "HeadExplorer": _explorer,
    "LayerCost": LayerCost,
    "MaskPainter": _painter,
    "MemoryRibbon": MemoryRibbon,
    "Pipeline": Pipeline,
    "ShapeLetters": ShapeLetters,
    "SoftmaxScale": SoftmaxScale,
    "TrainingFilm": _film,
}
