"""One example of every live view, for a page of its own: `python -m mha_utils.widgets`."""

from collections.abc import Callable

import torch

from mha_utils import data, widgets
from mha_utils.core.steps import causal_mask
from mha_utils.museum import MUSEUM, with_numbers


def _toy_head(num_words: int) -> tuple:
    """The first words of the series' sentence, and their q, k and v in the toy head."""
    vocabulary, words = data.toy_vocabulary(), data.split_words(data.SENTENCE)[:num_words]
    x = data.toy_word_vectors(vocabulary)[vocabulary.encode(" ".join(words))]
    return words, *(x @ weight for weight in data.toy_head_weights())


def _explorer() -> widgets.HeadExplorer:
    vocabulary = data.toy_vocabulary()
    words = data.toy_word_vectors(vocabulary)
    W_q, W_k, _ = data.toy_head_weights()
    options = {"sentence": data.SENTENCE, "row": 7, "column": 1}
    return widgets.HeadExplorer(list(vocabulary.words), words @ W_q, words @ W_k, **options)


def _painter() -> widgets.MaskPainter:
    words, q, k, v = _toy_head(7)
    return widgets.MaskPainter(q, k, v, words, causal_mask(7))


def _dropout() -> widgets.DropoutDraws:
    painter = _painter()
    return widgets.DropoutDraws(painter.weights(), painter.tokens)


def _budget() -> widgets.HeadBudget:
    """What theory allows, in the place of trained models."""
    sizes = (1, 2, 3, 4, 6, 8, 12)
    limits = {(h, dh): min(1.0, h * min(8, dh) / 32) for h in sizes for dh in sizes if h * dh <= 48}
    rows = [
        {"num_heads": h, "head_dim": dh, "scores": [0.98 * limit, 0.99 * limit]}
        for (h, dh), limit in limits.items()
    ]
    options = {"num_heads": 4, "head_dim": 6}
    return widgets.HeadBudget(
        rows, "share of the ceiling", 24, lambda h, dh: limits[h, dh], **options
    )


def _film() -> widgets.TrainingFilm:
    """Two heads that turn from equal shares to the token before, and to the first one."""
    place, steps = torch.arange(6), [0, 10, 20, 30]
    goals = torch.stack([torch.eye(6).roll(1, dims=0), (place == 0).float().expand(6, 6)])
    shares = torch.tensor(steps)[:, None, None, None] / 30
    maps = (1 - shares) / 6 + shares * goals
    sources = {"previous": ((place - 1) % 6).expand(2, 6), "first": torch.zeros(2, 6).long()}
    return widgets.TrainingFilm(
        steps,
        maps[:, None].expand(-1, 2, -1, -1, -1),
        labels=[list("abcdef"), list("fedcba")],
        heads=["head 0", "head 1"],
        curves={"previous": [0.1, 0.3, 0.8, 1.0], "first": [0.2, 0.9, 1.0, 1.0]},
        sources=sources,
    )


def _staircase() -> widgets.TrainingStaircase:
    """Two runs as they might have gone: one to its end, one stopped."""
    view = widgets.TrainingStaircase(steps=40)
    view.runs = [[1, 12, 4, 40, 0.2475], [2, 12, 4, 30, 0.4512]]
    view.curve = [[10, 1.25, -0.125], [20, 0.75, 0.25], [30, 0.5625, 0.4512]]
    return view


def _hunt() -> widgets.BugHunt:
    """The whole museum and two of chapter 12's probes."""
    x = torch.randn(2, 5, 8, generator=torch.Generator().manual_seed(0))
    order = torch.tensor([3, 1, 4, 0, 2])

    def knows_places(module):
        return not torch.allclose(module(x)[:, order], module(x[:, order]), atol=1e-3)

    def sequences_meet(module):
        return not torch.allclose(module(x)[:1], module(x[:1]), atol=1e-3)

    suspects = {piece.name: with_numbers(piece.module) for piece in MUSEUM}
    found = {n: [knows_places(m), sequences_meet(m)] for n, m in suspects.items()}
    return widgets.BugHunt(
        found, ["knows places", "sequences meet"], ["the", "cat", "sat", "on", "it"]
    )


def _dials() -> widgets.PositionDials:
    generator = torch.Generator().manual_seed(0)
    q, k = torch.randn(2, 8, generator=generator, dtype=torch.float32)
    return widgets.PositionDials(q, k)


def _shelf() -> widgets.CacheShelf:
    words = data.split_words(data.SENTENCE)
    return widgets.CacheShelf(words, length=6)


EXAMPLES: dict[str, Callable[[], widgets.LiveView]] = {
    "BugHunt": _hunt,
    "CacheShelf": _shelf,
    "DropoutDraws": _dropout,
    "HeadBudget": _budget,
    "HeadExplorer": _explorer,
    "LayerCost": widgets.LayerCost,
    "MaskPainter": _painter,
    "MemoryRibbon": widgets.MemoryRibbon,
    "PositionDials": _dials,
    "ProcessTiles": widgets.ProcessTiles,
    "ShapeLetters": widgets.ShapeLetters,
    "SoftmaxScale": widgets.SoftmaxScale,
    "TrainingFilm": _film,
    "TrainingStaircase": _staircase,
    "WriterAtWork": widgets.WriterAtWork,
}
