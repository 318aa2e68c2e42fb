"""What a head does, as a number: pure functions of weights (B, H, T, S)."""

import copy

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mha_utils.core.guards import checked, require_finite


def marked(sources: Int[Tensor, "B T"], key_len: int) -> Bool[Tensor, "B T S"]:
    """True at the source of every query; a row of False where the source is -1."""
    return sources[..., None] == torch.arange(key_len)


def at_offset(length: int, offset: int) -> Bool[Tensor, "1 T T"]:
    """True where the key stands `offset` positions after the query; before it if negative."""
    place = torch.arange(length)
    return (place[None, :] - place[:, None] == offset)[None]


@checked
def mass_on(
    weights: Float[Tensor, "B H T S"], where: Bool[Tensor, "#B T S"]
) -> Float[Tensor, " H"]:
    """The mean share of its attention that each head gives to the marked keys.

    Args:
        weights: (B, H, T, S).
        where: True at the keys that count; queries without any True are left out.

    Raises:
        ValueError: if no key is marked at all, or a weight is NaN or infinite.
    """
    require_finite(weights=weights)
    where = where.expand(len(weights), -1, -1)
    counted = where.any(dim=-1)
    if not counted.any():
        raise ValueError("where marks no key: there is nothing to measure")
    share = (weights * where[:, None]).sum(dim=-1).movedim(1, -1)
    return share[counted].mean(dim=0)


@checked
def entropy_share(weights: Float[Tensor, "B H T S"]) -> Float[Tensor, " H"]:
    """Mean entropy of the rows over that of uniform ones: 1 is undecided, 0 is one key.

    Only keys with some weight count, so a causal row is compared with what it may see.

    Raises:
        ValueError: if a weight is NaN or infinite.
    """
    require_finite(weights=weights)
    seen = (weights > 0).sum(dim=-1).clamp(min=2)
    return (torch.special.entr(weights).sum(dim=-1) / seen.log()).mean(dim=(0, 2))


def chosen_on_half(
    right: Bool[Tensor, "N H"], splits: int = 200, seed: int = 0, together: int = 1
) -> Float[Tensor, ""]:
    """Accuracy of the head that is best on a random half, measured on the other half.

    The best of many heads looks good by luck; here luck on one half does not help on the other.
    `together`: so many rows in a row, twins for example, go to the same half.
    """
    groups = right.float().unflatten(0, (-1, together)).mean(dim=1)
    generator, half = torch.Generator().manual_seed(seed), len(groups) // 2
    scored = []
    for _ in range(splits):
        order = torch.randperm(len(groups), generator=generator)
        best = groups[order[:half]].mean(dim=0).argmax()
        scored.append(groups[order[half:], best].mean())
    return torch.stack(scored).mean()


def without_head(model, layer: int, head: int):
    """A copy of the model in which one head of one layer contributes nothing."""
    model = copy.deepcopy(model)
    attention = [part for part in model.modules() if hasattr(part, "out_proj")][layer]
    width = attention.out_proj.in_features // attention.num_heads
    with torch.no_grad():
        attention.out_proj.weight[:, head * width : (head + 1) * width] = 0
    return model


def without_notes(model, part: int):
    """A copy whose last layer gets queries (part 0), keys (1) or values (2) without any notes.

    They are made of the tokens as they were before the first layer, its positions included.
    """
    model, seen = copy.deepcopy(model), {}
    first, last = model.layers[0], model.layers[-1]

    def forget(_, given):
        x, positions = seen["start"]
        fresh = last.norm(x) + (positions if part < 2 else 0)
        return *given[:part], fresh, *given[part + 1 :]

    first.register_forward_pre_hook(lambda _, given: seen.update(start=given))
    last.attention.register_forward_pre_hook(forget)
    return model
