"""Tasks whose right answer, and the position where it stands, are known for every query.

A task draws a `Batch`, says how wrong a model's outputs are (`loss`) and how many answers of
each relation are right (`score`). Everything is drawn from a generator: nothing is stored.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Int
from torch import Tensor

from mha_utils.experiments.scores import at_offset, marked

IGNORED = -100  # the target of a position that is not scored


@dataclass(frozen=True)
class Batch:
    """Inputs and what should come out of them.

    Attributes:
        inputs: real vectors (B, T, D), or symbols (B, T, F) whose F vectors are added up.
        targets: real vectors, or classes (B, T, slots), `IGNORED` where nothing is scored.
        sources: (B, T, R): where the answer of relation r stands, -1 where r is not scored.
    """

    inputs: Tensor
    targets: Tensor
    sources: Int[Tensor, "B T R"]


class Lookups:
    """Every position needs the vectors of m others at once; they are white noise of width 8.

    Args:
        offsets: how far back they stand, around a circle of `seq_len` positions.
    """

    num_symbols, width, seq_len, placed_values, waves = 0, 8, 12, False, True

    def __init__(self, offsets: tuple[int, ...] = (1, 2, 3, 5)):
        self.offsets = offsets
        self.relations = tuple(f"{offset} back" for offset in offsets)
        self.out_dim = self.width * len(offsets)

    def draw(self, batch_size: int, generator: torch.Generator) -> Batch:
        values = torch.randn(batch_size, self.seq_len, self.width, generator=generator)
        targets = [values.roll(offset, dims=1) for offset in self.offsets]
        here = torch.arange(self.seq_len)
        sources = torch.stack([(here - offset) % self.seq_len for offset in self.offsets], dim=-1)
        return Batch(values, torch.cat(targets, dim=-1), sources.expand(batch_size, -1, -1))

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return F.mse_loss(outputs, targets)

    def score(self, outputs: Tensor, batch: Batch) -> dict[str, float]:
        """R^2: the share of the targets' variance that is explained; 1 is all of it."""
        wrong = (outputs - batch.targets).square().unflatten(-1, (-1, self.width))
        total = batch.targets.square().unflatten(-1, (-1, self.width))
        each = 1 - wrong.mean(dim=(0, 1, 3)) / total.mean(dim=(0, 1, 3))
        named = dict(zip(self.relations, each.tolist()))
        return named | {"all": (1 - wrong.mean() / total.mean()).item()}


class Classes:
    """Tasks whose answers are classes: cross-entropy, and the share of right answers.

    `places` says where a head would have to look: name -> True at those keys, (B, T, S).
    """

    num_classes: int
    placed_values = waves = True
    relations: tuple[str, ...]

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        logits = outputs.unflatten(-1, (-1, self.num_classes))
        flat, labels = logits.flatten(0, -2), targets.flatten()
        return F.cross_entropy(flat, labels, ignore_index=IGNORED)

    def right(self, outputs: Tensor, batch: Batch) -> Tensor:
        """(B, T, slots), boolean: where the most likely class is the target."""
        return outputs.unflatten(-1, (-1, self.num_classes)).argmax(dim=-1) == batch.targets

    def places(self, batch: Batch) -> dict[str, Tensor]:
        keys = batch.inputs.shape[1]
        return {n: marked(batch.sources[..., r], keys) for r, n in enumerate(self.relations)}

    def score(self, outputs: Tensor, batch: Batch) -> dict[str, float]:
        """The share of right answers of each relation, and of positions with all right."""
        right, scored = self.right(outputs, batch), batch.sources >= 0
        each = [right.expand_as(scored)[..., r][scored[..., r]] for r in range(scored.shape[-1])]
        named = {name: r.float().mean().item() for name, r in zip(self.relations, each)}
        everything = right.all(dim=-1)[scored.any(dim=-1)]
        return named | {"all": everything.float().mean().item()}


class ThreeRelations(Classes):
    """Every position needs three values: the previous one, the one it names, the first one.

    A position holds a value (of 16), a name of its own and the name of some position.
    """

    seq_len, num_classes, num_symbols, out_dim = 16, 16, 48, 48
    relations = ("previous", "named", "first")

    def draw(self, batch_size: int, generator: torch.Generator) -> Batch:
        shape = (batch_size, self.seq_len)
        values = torch.randint(16, shape, generator=generator)
        names = torch.rand(shape, generator=generator).argsort(dim=-1)
        target = torch.randint(self.seq_len, shape, generator=generator)
        inputs = torch.stack([values, 16 + names, 32 + names.gather(1, target)], dim=-1)
        previous = (torch.arange(self.seq_len) - 1) % self.seq_len
        sources = torch.stack([previous.expand(shape), target, torch.zeros_like(target)], dim=-1)
        answers = values[:, None].expand(-1, self.seq_len, -1).gather(2, sources)
        return Batch(inputs, answers, sources)


class OneOfThree(ThreeRelations):
    """The same three relations, but each position carries a flag and asks for one of them."""

    num_symbols, out_dim = 51, 16

    def draw(self, batch_size: int, generator: torch.Generator) -> Batch:
        every = super().draw(batch_size, generator)
        flag = torch.randint(3, (batch_size, self.seq_len, 1), generator=generator)
        inputs = torch.cat([every.inputs, 48 + flag], dim=-1)
        sources = every.sources.where(flag == torch.arange(3), -1)
        return Batch(inputs, every.targets.gather(2, flag), sources)


class RepeatedBlock(Classes):
    """A block of distinct symbols, over and over: from its second copy on it can be predicted.

    The answer stands right after the last place where the present symbol stood before.
    """

    seq_len, num_classes, num_symbols, out_dim, placed_values = 32, 32, 32, 32, False
    relations = ("repeat",)

    def draw(self, batch_size: int, generator: torch.Generator) -> Batch:
        period = torch.randint(8, 17, (batch_size, 1), generator=generator)
        symbols = torch.rand(batch_size, self.num_symbols, generator=generator).argsort(dim=-1)
        place = torch.arange(self.seq_len + 1)
        sequence = symbols.gather(1, place % period)
        place = place[:-1]
        sources = torch.where(place >= period, place - period + 1, -1)
        answers = sequence[:, 1:].where(sources >= 0, IGNORED)
        return Batch(sequence[:, :-1, None], answers[..., None], sources[..., None])

    def places(self, batch: Batch) -> dict[str, Tensor]:
        """The previous symbol (in the first copy), and what followed the same symbol before."""
        symbols, length = batch.inputs[..., 0], batch.inputs.shape[1]
        previous = at_offset(length, -1).repeat(len(symbols), 1, 1)
        previous[:, 8:] = False  # copies start at 8 or later, and nobody needs it there
        follows = F.pad(symbols[:, :-1], (1, 0), value=-1)
        induction = (symbols[..., None] == follows[:, None]).tril()
        return {"previous": previous, "induction": induction}
