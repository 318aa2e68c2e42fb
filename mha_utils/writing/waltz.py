"""Waltzes for chapter 12: how they are drawn, how a model learns to hum them, how well it hums."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Int
from torch import Tensor, nn

from mha_utils.machine import threads

BEATS = 3  # of a bar: where a waltz keeps time, a note repeats the one three places before


@dataclass(frozen=True)
class Waltz:
    """Rows of notes that mostly repeat the note three places before; dice choose the rest."""

    num_notes: int = 8
    length: int = 17
    keeps: float = 0.8

    def draw(self, number: int, dice: torch.Generator) -> Int[Tensor, "B T"]:
        """So many new waltzes; notes count from 0."""
        notes = torch.randint(self.num_notes, (number, self.length), generator=dice)
        keeps_time = torch.rand(number, self.length, generator=dice) < self.keeps
        for i in range(BEATS, self.length):
            notes[:, i] = notes[:, i - BEATS].where(keeps_time[:, i], notes[:, i])
        return notes

    def surprise_of_a_knower(self) -> float:
        """The mean loss of a listener who gives every note its true chance."""
        rare = (1 - self.keeps) / self.num_notes  # how often it is a certain other note
        kept = self.keeps + rare  # the dice may choose the repeated note, too
        return -kept * math.log(kept) - (self.num_notes - 1) * rare * math.log(rare or 1)


def surprise(model: nn.Module, notes: Int[Tensor, "B T"]) -> Tensor:
    """The mean loss at the fourth note and all that follow, the whole waltz on the table."""
    guesses = model(notes[:, :-1])[:, BEATS - 1 :]
    return F.cross_entropy(guesses.flatten(0, 1), notes[:, BEATS:].flatten())


@threads(1)  # the models are small
def learn(model: nn.Module, waltz: Waltz, steps: int, seed: int = 0) -> tuple[nn.Module, list]:
    """Train on new waltzes in every step; the model in evaluation mode, and its losses."""
    dice, losses = torch.Generator().manual_seed(seed), []
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(steps):
        loss = surprise(model, waltz.draw(32, dice))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return model.eval(), losses


@torch.no_grad()
def hum_on(model: nn.Module, notes: list[int], length: int) -> list[int]:
    """Go on with the note that the model holds for the likeliest, until there are `length`."""
    while len(notes) < length:
        notes = [*notes, model(torch.tensor([notes]))[0, -1].argmax().item()]
    return notes


def print_losses(titles: Sequence[str], *rows: Sequence) -> None:
    """Print a table of losses: a name and its numbers in each row."""
    print(" " * 27, *(f"{title:>17}" for title in titles))
    for name, *losses in rows:
        print(f"{name:27}", *(f"{loss:17.1f}" for loss in losses))
