"""Attention maps while a model learns: drag through the training steps."""

import numpy as np
import torch
import traitlets
from torch import Tensor

from mha_utils.widgets.kit.base import LiveView, refuses
from mha_utils.widgets.kit.still import Grid, picture, share_cell
from mha_utils.widgets.kit.values import require_places, rounded


class TrainingFilm(LiveView):
    """Maps of every head and scores of every relation, at steps of one training run.

    Args:
        steps: the S training steps that were kept, in order.
        maps: attention weights at these steps, (S, E, H, T, T), of E example sequences.
        labels: E lists of T words.
        heads: H names.
        curves: name -> S scores between 0 and 1.
        sources: relation -> (E, T): the key that answers each query, -1 for none.

    Raises:
        ValueError: if the sizes do not fit each other, or a weight is not in [0, 1].
    """

    script = "training_film"

    steps = traitlets.List(traitlets.Int()).tag(sync=True)
    shape = traitlets.List(traitlets.Int()).tag(sync=True)  # S, E, H, T
    maps = traitlets.Bytes().tag(sync=True)  # weights x 255, rounded
    labels = traitlets.List().tag(sync=True)
    heads = traitlets.List(traitlets.Unicode()).tag(sync=True)
    curves = traitlets.List().tag(sync=True)  # [name, S scores]
    sources = traitlets.List().tag(sync=True)  # [name, E lists of T places]
    example = traitlets.Int(0).tag(sync=True)
    frame = traitlets.Int(0).tag(sync=True)
    marks = traitlets.Bool(True).tag(sync=True)

    def __init__(
        self,
        steps: list[int],
        maps: Tensor,
        labels: list[list[str]],
        heads: list[str],
        curves: dict[str, list[float]],
        sources: dict[str, Tensor],
    ):
        maps = torch.as_tensor(maps)
        _require_fit(steps, maps, labels, heads, curves, sources)
        super().__init__(
            steps=list(steps),
            shape=list(maps.shape[:4]),
            maps=(maps * 255).round().to(torch.uint8).numpy().tobytes(),
            labels=[list(words) for words in labels],
            heads=list(heads),
            curves=[[n, [round(float(v), 3) for v in values]] for n, values in curves.items()],
            sources=[[n, torch.as_tensor(places).int().tolist()] for n, places in sources.items()],
            frame=len(steps) - 1,
        )

    @refuses("frame", "example")
    def _keep_range(self, name, place):
        require_places(self.shape[name == "example"], **{name: place})

    def weights(self) -> np.ndarray:
        """The weights that are shown now, (H, T, T), to within 1/510."""
        every, examples, heads, length = self.shape
        bytes_ = np.frombuffer(self.maps, np.uint8)
        maps = bytes_.reshape(every, examples, heads, length, length)
        return maps[self.frame, self.example] / 255

    def mass(self) -> np.ndarray:
        """The mean share that each head gives to the source of each relation, (H, R)."""
        weights, found = self.weights(), []
        for _, places in self.sources:
            asked = [(i, j) for i, j in enumerate(places[self.example]) if j >= 0]
            found.append(np.mean([weights[:, i, j] for i, j in asked], axis=0))
        return np.stack(found, axis=-1)

    def finding(self) -> str:
        # one decimal: what training gives is not the same to two on every machine
        scores = ", ".join(f"{name} {rounded(values[self.frame])}" for name, values in self.curves)
        looks = []
        for head, row in zip(self.heads, self.mass()):
            best = int(row.argmax())
            looks.append(f"{head} gives {rounded(row[best])} to “{self.sources[best][0]}”")
        return f"Step {self.steps[self.frame]}. Right: {scores}. Here {', '.join(looks)}."

    def still(self):
        words = self.labels[self.example]
        cells = [[list(map(share_cell, row)) for row in head] for head in self.weights().tolist()]
        grids = [Grid(head, rows, words, words) for head, rows in zip(self.heads, cells)]
        return picture(self.finding(), grids)


def _require_fit(steps, maps, labels, heads, curves, sources) -> None:
    if maps.ndim != 5 or maps.shape[3] != maps.shape[4] or 0 in maps.shape:
        raise ValueError(f"maps must be (S, E, H, T, T), got {tuple(maps.shape)}")
    if not ((maps >= 0) & (maps <= 1)).all():
        raise ValueError("maps must hold weights from 0 to 1, some are not")
    every, examples, num_heads, length, _ = maps.shape
    for name, given, expected in (
        ("steps", len(steps), every),
        ("labels", len(labels), examples),
        ("heads", len(heads), num_heads),
        *((f"labels[{i}]", len(words), length) for i, words in enumerate(labels)),
        *((f"curves[{name!r}]", len(values), every) for name, values in curves.items()),
    ):
        if given != expected:
            raise ValueError(f"{name} must have {expected} entries, got {given}")
    for name, places in sources.items():
        got = tuple(torch.as_tensor(places).shape)
        if got != (examples, length):
            raise ValueError(f"sources[{name!r}] must be {(examples, length)}, got {got}")
