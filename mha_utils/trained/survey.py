"""Score every head of the published encoder on sentences with marked ground truth."""

from collections.abc import Iterable

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from mha_utils.experiments.scores import at_offset, entropy_share, mass_on
from mha_utils.trained.encoder import Encoder
from mha_utils.trained.sentences import Example, examples


@torch.no_grad()
def maps_of(
    encoder: Encoder, tokenizer, example: Example, passed_on: bool = False
) -> Float[Tensor, "A T T"]:
    """The weights of all A = L x H heads for one sentence, "[CLS]" and "[SEP]" included.

    Args:
        passed_on: multiply each weight by the length of what it is a weight of.

    Raises:
        ValueError: if a word of the sentence is not one piece, so that places would shift.
    """
    encoded = tokenizer.encode(" ".join(example.words))
    if encoded.tokens[1:-1] != example.words:
        raise ValueError(f"every word must be one piece, got {encoded.tokens}")
    states, maps = encoder(torch.tensor([encoded.ids]))
    if passed_on:
        maps = maps * encoder.lengths_of_values(states)[..., None, :]
    return maps[:, 0].flatten(0, 1)


def simple_scores(maps: Iterable[Float[Tensor, "A _ _"]], sentences: list[Example]) -> dict:
    """What every head gives, on average over sentences, to plain places: name -> (A,)."""
    rows = [_simple(weights, example.words) for weights, example in zip(maps, sentences)]
    names = dict.fromkeys(name for row in rows for name in row)  # not every word comes twice
    return {n: torch.stack([r[n] for r in rows if n in r]).mean(dim=0) for n in names}


def _simple(weights: Tensor, words: list[str]) -> dict[str, Tensor]:
    """Rows are the words; columns also "[CLS]" (first) and "[SEP]" (last)."""
    length = len(words) + 2
    inner = torch.zeros(1, length, length, dtype=torch.bool)
    inner[:, 1:-1] = True
    tokens = ["[CLS]", *words, "[SEP]"]
    same = torch.tensor(
        [[a == b and i != j for j, b in enumerate(tokens)] for i, a in enumerate(tokens)]
    )
    column = torch.arange(length)
    places = {
        "previous word": at_offset(length, -1) & inner,
        "next word": at_offset(length, 1) & inner,
        "itself": at_offset(length, 0) & inner,
        "same word": same[None] & inner,
        "first token": (column == 0).expand(1, length, -1) & inner,
        "last token": (column == length - 1).expand(1, length, -1) & inner,
        "full stop": (column == length - 2).expand(1, length, -1) & inner,
    }
    found = {name: mass_on(weights[None], where) for name, where in places.items() if where.any()}
    return found | {"entropy": entropy_share(weights[None, :, 1:-1])}


def words_hit(
    maps: Iterable[Float[Tensor, "A _ _"]], sentences: list[Example]
) -> Bool[Tensor, "N A"]:
    """Is the marked target the *word* that each head looks at most, from the marked query?

    "[CLS]", "[SEP]" and the full stop do not take part, nor does the query itself.
    """
    rows = []
    for weights, example in zip(maps, sentences):
        row = weights[:, example.query + 1, 1:-1].clone()
        out = [i for i, w in enumerate(example.words) if i == example.query or not w.isalpha()]
        row[:, out] = -1.0
        rows.append(row.argmax(dim=-1) == example.target)
    return torch.stack(rows)


def best_offset(sentences: list[Example]) -> float:
    """The accuracy of the best rule "look n words ahead (or back)"."""
    offsets = [example.target - example.query for example in sentences]
    return max(offsets.count(offset) for offset in offsets) / len(offsets)


def preference(
    maps: Iterable[Float[Tensor, "A _ _"]], sentences: list[Example]
) -> Float[Tensor, "N A"]:
    """Weight on the marked target minus weight on the target of the sentence's twin.

    Sentences come in pairs that differ in who is meant; the twin's target is the competitor.
    """
    rows = []
    for i, (weights, example) in enumerate(zip(maps, sentences)):
        row, rival = weights[:, example.query + 1], sentences[i ^ 1].target
        rows.append(row[:, example.target + 1] - row[:, rival + 1])
    return torch.stack(rows)


def shifts(difference: Float[Tensor, "N A"]) -> Float[Tensor, "P A"]:
    """How far the hint moves each head towards the right noun: the mean over the two twins.

    A head that likes one noun, whatever the hint, gets 0: the twins cancel.
    """
    return difference.unflatten(0, (-1, 2)).mean(dim=1)


def vector_preference(
    vectors: Float[Tensor, "V D"], ids: dict[str, int], sentences: list[Example]
) -> Float[Tensor, "N 1"]:
    """As `preference`, without any attention: how much closer the hint is to the right noun.

    The hint is what a sentence has and its twin has not; closeness is the cosine of static word
    vectors, on average over the words of the hint.
    """
    rows = []
    for i, example in enumerate(sentences):
        twin = sentences[i ^ 1]
        hint = [ids[word] for word in example.words if word not in twin.words]
        nouns = [ids[example.words[place]] for place in (example.target, twin.target)]
        close = torch.cosine_similarity(vectors[hint][:, None], vectors[nouns][None], dim=-1)
        rows.append((close[:, 0] - close[:, 1]).mean())
    return torch.stack(rows)[:, None]


def best_by_chance(
    difference: Float[Tensor, "N A"], rows_per_coin: int, draws: int = 4000, seed: int = 0
) -> tuple[float, float]:
    """(95 % point, p) of the best head's share above 0, if coins swap right and wrong noun.

    p is the probability that the best of the A heads does as well by chance as it did here. One
    coin decides for all heads, so that heads which agree stay so, and for `rows_per_coin`
    neighbouring rows: 2 for sentences, since the nouns of twins can only be swapped together.
    """
    generator = torch.Generator().manual_seed(seed)
    coins = torch.randint(0, 2, (draws, len(difference) // rows_per_coin, 1), generator=generator)
    signs = (coins * 2 - 1).repeat_interleave(rows_per_coin, dim=1)
    best = (difference.sign() * signs > 0).float().mean(dim=1).amax(dim=-1)
    reached = (difference > 0).float().mean(dim=0).max()
    return best.quantile(0.95).item(), (best >= reached - 1e-6).float().mean().item()


def all_maps(
    encoder: Encoder, tokenizer, text: str, passed_on: bool = False
) -> tuple[list[Tensor], list[Example]]:
    """The maps of every marked sentence of a text, as `maps_of` gives them, and the sentences."""
    sentences = list(examples(text))
    return [maps_of(encoder, tokenizer, example, passed_on) for example in sentences], sentences
