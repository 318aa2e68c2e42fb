"""One small training loop: many seeds at once, one thread, the same numbers in every run."""

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from mha_utils.attention import split_heads
from mha_utils.contracts import require_sizes
from mha_utils.modules import MultiHeadAttention
from mha_utils.progress import progress


@dataclass(frozen=True)
class Shape:
    """What a `SmallModel` is made of.

    Args:
        num_heads: H, in every layer.
        head_dim: Dh, the width of each head; H x Dh may differ from `embed_dim`.
        embed_dim: D, the width of a token vector.
        num_layers: attention layers, one after the other.
        causal: whether a query sees only itself and what stands before it.
        mlp: whether each attention is followed by a two-layer network of width 4 D.
        norm: whether layer norm stands before each attention and before the readout.
    """

    num_heads: int
    head_dim: int
    embed_dim: int = 48
    num_layers: int = 1
    causal: bool = False
    mlp: bool = False
    norm: bool = False


class Layer(nn.Module):
    """Add to every token what its heads have gathered; positions steer only who looks at whom."""

    def __init__(self, shape: Shape):
        super().__init__()
        d, width = shape.embed_dim, shape.num_heads * shape.head_dim
        widths = {"qdim": d, "kdim": d, "vdim": d}
        self.attention = MultiHeadAttention(width, shape.num_heads, bias=False, **widths)
        for weight in self.attention.parameters():
            nn.init.normal_(weight, std=weight.shape[1] ** -0.5)
        self.narrow = nn.Identity() if width == d else nn.Linear(width, d, bias=False)
        self.norm = nn.LayerNorm(d) if shape.norm else nn.Identity()
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))
        if not shape.mlp:
            self.mlp = None
        self.causal = shape.causal

    def forward(self, x: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        values = self.norm(x)
        placed = values + positions
        options = {"is_causal": self.causal, "need_weights": True}
        out, weights = self.attention(placed, placed, values, **options)
        x = x + self.narrow(out)
        return (x if self.mlp is None else x + self.mlp(x)), weights


class SmallModel(nn.Module):
    """Embedding, attention layers, linear readout: the model of every experiment.

    Args:
        task: gives `seq_len`, `out_dim` and `num_symbols` (0: inputs are vectors of `width`).
        shape: heads, widths, layers.
    """

    def __init__(self, task, shape: Shape):
        super().__init__()
        require_sizes(num_heads=shape.num_heads, head_dim=shape.head_dim)
        d, waves = shape.embed_dim, fourier(task.seq_len)
        if task.num_symbols:
            self.embed = nn.Embedding(task.num_symbols, d)
        else:
            self.embed = nn.Linear(task.width, d, bias=False)
        self.place = nn.Linear(waves.shape[1], d, bias=False)
        nn.init.normal_(self.embed.weight, std=2 * d**-0.5)
        nn.init.normal_(self.place.weight, std=2 * d**-0.5 / (task.seq_len / 2) ** 0.5)
        self.layers = nn.ModuleList([Layer(shape) for _ in range(shape.num_layers)])
        self.norm = nn.LayerNorm(d) if shape.norm else nn.Identity()
        self.readout = nn.Linear(d, task.out_dim)
        self.register_buffer("waves", waves)
        self.placed_values = task.placed_values

    def forward(self, inputs: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Outputs (B, T, out_dim) and the weights (B, H, T, T) of every layer."""
        (x, positions), maps = self._start(inputs), []
        for layer in self.layers:
            x, weights = layer(x, positions)
            maps.append(weights)
        return self.readout(self.norm(x)), maps

    @torch.no_grad()
    def queries_keys_values(self, inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """q, k and v of the first layer, each (B, H, T, Dh)."""
        x, positions = self._start(inputs)
        values, layer = self.layers[0].norm(x), self.layers[0].attention
        placed = values + positions
        projected = layer.q_proj(placed), layer.k_proj(placed), layer.v_proj(values)
        return tuple(split_heads(x, layer.num_heads) for x in projected)

    def _start(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """The token vectors, and what is added to them for queries and keys only."""
        x, positions = self.embed(inputs), self.place(self.waves)
        if isinstance(self.embed, nn.Embedding):
            x = x.sum(dim=-2)  # a token of several symbols
        return (x + positions, torch.zeros(())) if self.placed_values else (x, positions)


def fourier(seq_len: int) -> Tensor:
    """Cosine and sine of every frequency, (T, T): what a model knows about a position."""
    angles = torch.arange(seq_len)[:, None] * torch.arange(1, seq_len // 2 + 1) * 2 * math.pi
    return torch.cat([(angles / seq_len).cos(), (angles / seq_len).sin()], dim=-1)


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
