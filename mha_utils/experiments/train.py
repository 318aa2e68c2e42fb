"""One small training loop: many seeds at once, one thread, the same numbers in every run."""

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import functional_call, stack_module_state, vmap

from mha_utils.experiments.model import Shape, SmallModel
from mha_utils.experiments.progress import progress
from mha_utils.machine import threads


@dataclass(frozen=True)
class Recipe:
    """How long and how fast to learn: Adam, warm-up, then a cosine down to `end` x `lr`.

    `start` is the size of the first attention weights, in units of 1 / sqrt(inputs).
    """

    steps: int
    lr: float = 1e-2
    batch_size: int = 32
    warm_up: int = 50
    end: float = 0.05
    start: float = 1.0

    def pace(self, step: int) -> float:
        """The share of `lr` that is used in this step."""
        done = max(0.0, (step - self.warm_up) / max(1, self.steps - self.warm_up))
        cosine = self.end + (1 - self.end) * (1 + math.cos(math.pi * min(1.0, done))) / 2
        return min((step + 1) / self.warm_up, 1.0) * cosine


@threads(1)  # with matrices this small, several would mostly wait for each other
def train(
    task,
    shape: Shape,
    recipe: Recipe,
    seeds: tuple[int, ...] = (0,),
    watch: Callable | None = None,
    every: int = 50,
) -> list[SmallModel]:
    """Train one model for each seed, all in one go; a seed fixes its weights and its data.

    Args:
        task: draws batches and says how wrong outputs are; see `synthetic.py`.
        watch: called as watch(step, models) before the first step, after every `every` steps
            and after the last one.

    Returns:
        the trained models, one for each seed, in evaluation mode.
    """
    models = [_fresh(task, shape, recipe.start, seed) for seed in seeds]
    parameters, buffers = stack_module_state(models)
    blank = copy.deepcopy(models[0]).to("meta")
    run = vmap(lambda p, b, inputs: functional_call(blank, (p, b), (inputs,))[0])
    optimizer = torch.optim.Adam(parameters.values(), recipe.lr, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, recipe.pace)
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    for step in progress(recipe.steps, "training"):
        if watch and step % every == 0:
            watch(step, _load(models, parameters))
        batches = [task.draw(recipe.batch_size, generator) for generator in generators]
        outputs = run(parameters, buffers, torch.stack([b.inputs for b in batches]))
        loss = sum(task.loss(o, b.targets) for o, b in zip(outputs, batches))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    models = _load(models, parameters)
    if watch:
        watch(recipe.steps, models)
    return models


def _fresh(task, shape: Shape, start: float, seed: int) -> SmallModel:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = SmallModel(task, shape)
    for layer in model.layers:
        for weight in layer.attention.parameters():
            weight.data.mul_(start)
    return model


def _load(models: list[SmallModel], parameters: dict[str, Tensor]) -> list[SmallModel]:
    for i, model in enumerate(models):
        model.load_state_dict({name: p[i].detach() for name, p in parameters.items()}, strict=False)
    return [model.eval() for model in models]


@torch.no_grad()
def evaluate(model: SmallModel, task, num_sequences: int = 256, seed: int = 1_000_000):
    """The scores on fresh sequences, and the weights of every layer on them."""
    batch = task.draw(num_sequences, torch.Generator().manual_seed(seed))
    outputs, maps = model(batch.inputs)
    return task.score(outputs, batch), batch, maps
