"""Modules that are there already: copies with another dropout, and their sizes."""

import copy
from collections.abc import Callable

from torch import nn

from mha_utils.checks.module.naming import building, takes_argument
from mha_utils.checks.report import name_of


def copies_of(module: nn.Module) -> Callable:
    """Copies of one module, with another dropout."""

    def build(embed_dim, num_heads, dropout, bias):
        copied = building(f"a copy of {name_of(module)}", lambda: copy.deepcopy(module))
        for part in copied.modules():
            if isinstance(part, nn.Dropout):
                part.p = dropout
            elif isinstance(getattr(part, "dropout", None), float):
                part.dropout = dropout
        return copied

    return build


def can_drop(answer: Callable) -> bool:
    """Whether a dropout can be chosen: an argument of the class, or parts of the module."""
    if not isinstance(answer, nn.Module):
        return takes_argument(answer, "dropout")
    parts = list(answer.modules())
    return any(isinstance(getattr(p, "dropout", None), float | nn.Dropout) for p in parts)


def sizes_of(module: nn.Module) -> tuple[int, int]:
    """embed_dim and num_heads of a module, from its attributes and parameters.

    Raises:
        ValueError: if it has no attribute `num_heads` (or the like).
    """
    names = ("num_heads", "n_heads", "n_head", "heads", "nhead", "h")
    found = [getattr(module, n) for n in names if isinstance(getattr(module, n, None), int)]
    if not found:
        raise ValueError(f"the number of heads is not an attribute of the module: none of {names}")
    widths = {min(p.shape) for p in module.parameters() if p.ndim == 2}
    if len(widths) != 1:
        raise ValueError(f"all weights should have one side of embed_dim, found {sorted(widths)}")
    return widths.pop(), found[0]
