"""The model and training loop that chapter 02 shows and runs, as plainly as they can be.

`SmallModel` and `train` compute the same for many seeds and shapes at once; a test compares them.
"""

import torch
from torch import nn

from mha_utils.core.steps import attention
from mha_utils.experiments.progress import progress
from mha_utils.machine import threads


class LookingHead(nn.Module):
    """The head of chapter 01, and a matrix that brings its result back to the width of x."""

    def __init__(self, embed_dim: int, head_dim: int):
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj = (
            nn.Linear(embed_dim, head_dim, bias=False) for _ in range(3)
        )
        self.out_proj = nn.Linear(head_dim, embed_dim, bias=False)

    def forward(self, x):
        past = torch.ones(x.shape[-2], x.shape[-2]).tril().bool()  # no word sees a later one
        found, weights = attention(self.q_proj(x), self.k_proj(x), self.v_proj(x), past)
        return self.out_proj(found), weights


class WordModel(nn.Module):
    """Vectors of words and places, one layer of heads, a skip connection, a readout."""

    def __init__(self, num_words: int, num_places: int, embed_dim: int, num_heads: int):
        super().__init__()
        self.words = nn.Embedding(num_words, embed_dim)
        self.places = nn.Embedding(num_places, embed_dim)
        width = embed_dim // num_heads
        self.heads = nn.ModuleList([LookingHead(embed_dim, width) for _ in range(num_heads)])
        self.readout = nn.Linear(embed_dim, num_words)

    def forward(self, tokens):
        x = self.words(tokens[..., 0]) + self.places.weight  # which word, and where it stands
        results = [head(x) for head in self.heads]  # every head reads all of x
        found = sum(found for found, _ in results)
        maps = torch.stack([weights for _, weights in results], dim=1)
        return self.readout(x + found), maps  # "x +" is the skip connection


@threads(1)  # with matrices this small, several would mostly wait for each other
def learn(model, task, recipe, seed: int = 0):
    """Guess, see how wrong that was, move every weight a little; many times."""
    optimizer, schedule = recipe.optimizer(model.parameters())  # Adam; up, then slowly down
    dice = torch.Generator().manual_seed(seed)
    for _ in progress(recipe.steps, "training"):
        batch = task.draw(recipe.batch_size, dice)  # new sentences in every step
        outputs, _ = model(batch.inputs)
        loss = task.loss(outputs, batch.targets)  # cross-entropy of the four answers
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return model.eval()


def first_weights(model: nn.Module, recipe, seed: int, uniform: bool = False) -> nn.Module:
    """Random numbers to start from; small ones for queries and keys: at first, look everywhere.

    Args:
        uniform: all zeros for queries and keys, which then stay zero: the model looks nowhere.
    """
    look = 0.0 if uniform else recipe.start * recipe.look
    sizes = {"q_proj": look, "k_proj": look, "v_proj": recipe.start, "out_proj": recipe.start}
    generator = torch.Generator().manual_seed(seed)
    unit = model.words.embedding_dim**-0.5
    for name, weight in model.named_parameters():
        size = sizes.get(name.split(".")[-2], 2.0)
        if not name.startswith("readout"):
            weight.data.normal_(generator=generator).mul_(size * unit)
    return model
