"""The numbers on the way of one query through attention, and tables of them as text."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from mha_utils.core.steps import attention_weights
from mha_utils.widgets.kit.values import fixed


class Numbers(NamedTuple):
    """What one query makes of one key, of all keys, and of all values."""

    query: Float[Tensor, " Dh"]
    key: Float[Tensor, " Dh"]
    products: Float[Tensor, " Dh"]
    scores: Float[Tensor, " T"]
    masked: Float[Tensor, " T"]
    lowered: Float[Tensor, " T"]
    powers: Float[Tensor, " T"]
    weights: Float[Tensor, " T"]
    values: Float[Tensor, "T Dv"]
    parts: Float[Tensor, "T Dv"]
    out: Float[Tensor, " Dv"]


def numbers_of(
    q: Float[Tensor, "T Dh"],
    k: Float[Tensor, "T Dh"],
    v: Float[Tensor, "T Dv"],
    allowed: Bool[Tensor, " T"],
    i: int,
    j: int,
) -> Numbers:
    """All numbers of query i; `products` are those with key j."""
    scores = k @ q[i] / math.sqrt(q.shape[1])
    masked = scores.masked_fill(~allowed, -torch.inf)
    lowered = (masked - scores[allowed].max()) if allowed.any() else masked
    weights = attention_weights(scores[None], allowed[None])[0]
    parts = weights[:, None] * v
    softmax = (masked, lowered, lowered.exp(), weights)
    return Numbers(q[i], k[j], q[i] * k[j], scores, *softmax, v, parts, parts.sum(dim=0))


def table_of(step: int, words: list[str], numbers: Numbers, j: int) -> list[list[str]]:
    """The numbers of one step (1 to 6) as text, a header first."""
    if step <= 3:
        return products_table(numbers, j)[: len(numbers.query) + step]
    return (mask_table, softmax_table, values_table)[step - 4](words, numbers)


def products_table(numbers: Numbers, j: int) -> list[list[str]]:
    head_dim, score = len(numbers.query), numbers.scores[j]
    places = [*map(str, range(head_dim)), "sum = q · k", f"÷ √{head_dim} = score"]
    columns = [[*aligned(vector), "", ""] for vector in (numbers.query, numbers.key)]
    columns.append(aligned([*numbers.products, numbers.products.sum(), score]))
    return _table(["d", "q", "k", "q × k"], places, *columns)


def mask_table(words: list[str], numbers: Numbers) -> list[list[str]]:
    columns = (aligned(numbers.scores), aligned(numbers.masked))
    return _table(["key", "score", "after the mask"], words, *columns)


def softmax_table(words: list[str], numbers: Numbers) -> list[list[str]]:
    before = ([*aligned(x), ""] for x in (numbers.masked, numbers.lowered))
    after = (aligned([*x, x.sum()]) for x in (numbers.powers, numbers.weights))
    header = ["key", "score", "− largest", "exp", "÷ sum = weight"]
    return _table(header, [*words, "sum"], *before, *after)


def values_table(words: list[str], numbers: Numbers) -> list[list[str]]:
    weights, columns = aligned(numbers.weights), []
    for values, parts in zip(numbers.values.T, numbers.parts.T):
        *products, total = aligned([*parts, parts.sum()])
        factors = zip(weights, aligned(values), products)
        columns.append([*(f"{w} × {x} = {p}" for w, x, p in factors), total])
    header = ["key", "weight", *(f"× v[{d}]" for d in range(len(numbers.out)))]
    return _table(header, [*words, "sum = out"], [*weights, ""], *columns)


def _table(header: list[str], *columns: list[str]) -> list[list[str]]:
    return [header, *map(list, zip(*columns))]


def trimmed(number: float) -> str:
    """With at most two decimals, none of them a zero at the end."""
    text = fixed(number)
    return text.rstrip("0").rstrip(".") if "." in text else text


def aligned(numbers: Tensor | list) -> list[str]:
    """A column of numbers: whole ones without decimals, all others with four."""
    numbers = [float(number) for number in numbers]
    four = [fixed(number, 4) for number in numbers]
    is_whole = all(text.endswith((".0000", "∞")) for text in four)
    return [text.removesuffix(".0000") for text in four] if is_whole else four
