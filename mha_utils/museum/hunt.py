"""The cast of chapter 12: levels of its game, birds with wrong layers, layers to compare."""

import torch

from mha_utils.core.modules import MultiHeadAttention
from mha_utils.museum.rooms import bug

LEVELS = {  # of the game: the rooms of its suspects
    1: ("projecting", "weighing"),
    2: ("masking",),
    3: ("dropping",),
    4: ("extending",),
}
BIRDS = {  # of chapter 12, and what their layers are; here, so that no cell tells
    "Lark": "merge without transpose",
    "Robin": "q and k swapped",
    "Thrush": "detached scores",
    "Wren": "",
}
WRONG_LINES = {"X": "F.softmax", "Y": "none: it is right", "Z": "masked_fill"}  # of its suspects


def four_layers() -> dict[str, type]:
    """Bird -> the class of its attention layer: one of the four is right."""
    return {name: bug(what).module if what else MultiHeadAttention for name, what in BIRDS.items()}


def with_numbers(kind, dropout=0.0, seed=0, embed_dim=8, num_heads=4, **options):
    """A layer of class `kind` in evaluation, its parameters drawn anew: biases are not small."""
    module = kind(embed_dim, num_heads, dropout, **options)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return module.eval()
