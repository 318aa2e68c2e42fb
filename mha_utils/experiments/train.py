"""The training loop of the experiments: many seeds at once, one thread, repeatable."""

import copy
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from mha_utils.experiments.model import Shape
from mha_utils.experiments.progress import progress
from mha_utils.experiments.scores import mass_on
from mha_utils.machine import threads


@dataclass(frozen=True)
class Recipe:
    """How long and how fast to learn: Adam, warm-up, then a cosine down to `end` x `lr`.

    `start` is the size of the first attention weights, in units of 1 / sqrt(inputs); those of
    queries and keys are `look` times as large: a small `look` starts with nearly even weights.
    """

    steps: int
    lr: float = 1e-2
    batch_size: int = 32
    warm_up: int = 50
    end: float = 0.05
    start: float = 1.0
    look: float = 1.0

    def pace(self, step: int) -> float:
        """The share of `lr` that is used in this step."""
        done = max(0.0, (step - self.warm_up) / max(1, self.steps - self.warm_up))
        cosine = self.end + (1 - self.end) * (1 + math.cos(math.pi * min(1.0, done))) / 2
        return min((step + 1) / self.warm_up, 1.0) * cosine

    def optimizer(self, parameters: Iterable[Tensor]):
        """Adam, and the schedule that sets its pace."""
        adam = torch.optim.Adam(parameters, self.lr, betas=(0.9, 0.98))
        return adam, torch.optim.lr_scheduler.LambdaLR(adam, self.pace)


class Training:
    """Models of several seeds that learn side by side, one step at a time.

    Args:
        task: draws batches and says how wrong outputs are; see `tasks.py`.
        seeds: one model for each; a seed fixes its weights and its data.
    """

    def __init__(self, task, shape: Shape, recipe: Recipe, seeds: tuple[int, ...] = (0,)):
        self.task, self.recipe = task, recipe
        self.loss = math.nan  # of the last step, the mean over seeds
        self._models = [_fresh(task, shape, recipe, seed) for seed in seeds]
        self._parameters, self._buffers = stack_module_state(self._models)
        blank = copy.deepcopy(self._models[0]).to("meta")
        self._run = vmap(lambda p, b, inputs: functional_call(blank, (p, b), (inputs,))[0])
        self._optimizer, self._schedule = recipe.optimizer(self._parameters.values())
        self._generators = [torch.Generator().manual_seed(seed) for seed in seeds]

    def step(self) -> None:
        """Learn from one batch for each seed."""
        draw, size = self.task.draw, self.recipe.batch_size
        batches = [draw(size, generator) for generator in self._generators]
        inputs = torch.stack([b.inputs for b in batches])
        outputs = self._run(self._parameters, self._buffers, inputs)
        loss = sum(self.task.loss(o, b.targets) for o, b in zip(outputs, batches))
        self._optimizer.zero_grad()
        loss.backward()
        self._optimizer.step()
        self._schedule.step()
        self.loss = loss.item() / len(batches)

    def models(self) -> list[nn.Module]:
        """The models as they are now, in evaluation mode."""
        for i, model in enumerate(self._models):
            parameters = {name: p[i].detach() for name, p in self._parameters.items()}
            model.load_state_dict(parameters, strict=False)
        return [model.eval() for model in self._models]


@threads(1)  # with matrices this small, several would mostly wait for each other
def train(
    task,
    shape: Shape,
    recipe: Recipe,
    seeds: tuple[int, ...] = (0,),
    watch: Callable | None = None,
    every: int = 50,
) -> list[nn.Module]:
    """Train one model for each seed, all in one go; in a notebook a bar shows how it goes.

    Args:
        task: draws batches and says how wrong outputs are; see `tasks.py`.
        watch: called as watch(step, models) before the first step, after every `every` steps
            and after the last one.

    Returns:
        the trained models, one for each seed, in evaluation mode.
    """
    training = Training(task, shape, recipe, seeds)
    for step in progress(recipe.steps, "training", lambda: f"loss {training.loss:.3f}"):
        if watch and step % every == 0:
            watch(step, training.models())
        training.step()
    models = training.models()
    if watch:
        watch(recipe.steps, models)
    return models


def _fresh(task, shape: Shape, recipe: Recipe, seed: int) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = shape.build(task)
    for layer in model.layers:
        for weight in layer.attention.parameters():
            weight.data.mul_(recipe.start)
        for projection in (layer.attention.q_proj, layer.attention.k_proj):
            projection.weight.data.mul_(recipe.look)
    return model


@torch.no_grad()
def evaluate(model: nn.Module, task, num_sequences: int = 256, seed: int = 1_000_000):
    """The scores on fresh sequences, and the weights of every layer on them."""
    batch = task.draw(num_sequences, torch.Generator().manual_seed(seed))
    outputs, maps = model(batch.inputs)
    return task.score(outputs, batch), batch, maps


class Diary:
    """What is noted while a model learns: its accuracy, and the best score of a layer's heads.

    It is a `watch` of `train`; of several models it follows the first.

    Args:
        task: one that knows its `places`.
        marks: name -> (layer, name of the places where a head of this layer should look).
    """

    def __init__(self, task, marks: dict[str, tuple[int, str]]):
        self.task, self.marks = task, marks
        self.steps: list[int] = []
        self.accuracy: list[float] = []
        self.scores: dict[str, list[float]] = {name: [] for name in marks}

    def __call__(self, step: int, models: list[nn.Module]) -> None:
        scores, batch, maps = evaluate(models[0], self.task, 64)
        places = self.task.places(batch)
        self.steps.append(step)
        self.accuracy.append(scores["all"])
        for name, (layer, looked_for) in self.marks.items():
            self.scores[name].append(mass_on(maps[layer], places[looked_for]).max().item())
