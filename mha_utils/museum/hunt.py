"""The cast of chapter 12: levels of its game, birds with wrong layers, layers to compare."""

import torch

from mha_utils.core.modules import MultiHeadAttention
from mha_utils.museum.probes import NEAR, draw
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
WRONG_LINES = {  # of its suspects: the line -> exhibits that give the same numbers
    "F.softmax": ("softmax over the heads", "softmax over the queries", "no softmax"),
    "the mask and its place": ("mask after the softmax", "causal skipped without a mask"),
    "the scale": ("no scale", "scale by sqrt(D)", "scale by Dh"),
    "the merge": ("merge without transpose", "merge with the heads as the fast dimension"),
}


def four_layers() -> dict[str, type]:
    """Bird -> the class of its attention layer: one of the four is right."""
    return {name: bug(what).module if what else MultiHeadAttention for name, what in BIRDS.items()}


def wrong_line(kind, **options) -> str:
    """Which line of a suspect is wrong, by the numbers that it gives; in words if none is known.

    Args:
        kind: a class of layers like `MultiHeadAttention`.
        options: of each call, as `is_causal=True`.
    """

    def is_like(other) -> bool:
        out, expected = (with_numbers(k)(x, **options) for k in (kind, other))
        return out.shape == expected.shape and torch.allclose(out, expected, atol=NEAR)

    x = draw(3, 5, 8)
    if is_like(MultiHeadAttention):
        return "none: it is right"
    lines = (line for line, names in WRONG_LINES.items() for n in names if is_like(bug(n).module))
    return next(lines, "a line that no exhibit has: it is not the right layer")


def with_numbers(kind, dropout=0.0, seed=0, embed_dim=8, num_heads=4, **options):
    """A layer of class `kind` in evaluation, its parameters drawn anew: biases are not small."""
    module = kind(embed_dim, num_heads, dropout, **options)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return module.eval()
