"""The numbers of chapter 13 about two published models: scores of heads, losses without some."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from mha_utils.experiments.scores import at_offset, chosen_on_half, mass_on
from mha_utils.trained import survey
from mha_utils.trained.agreement import decoder_difference, encoder_difference
from mha_utils.trained.decoder import Decoder
from mha_utils.trained.encoder import HEAD_NAMES, Encoder
from mha_utils.trained.sentences import (
    ANTECEDENT_BY_GENDER,
    ANTECEDENT_BY_MEANING,
    BETWEEN_NOUNS,
    RELATIONS,
    Example,
)
from mha_utils.trained.word_classes import place_among_nouns, rule_accuracy

EXAMPLE_SENTENCE = "The cat sat on the mat because it was tired ."
SHOWN_HEADS = ("5.11", "3.1")
BLOCK, SEEDS, TOP = 25, (0, 1, 2), 5
# Ordinary text, as the decoder's tokens after a start token:
# The old clock in the hall stopped at noon. Nobody noticed until the evening, when the
# children came home from school and asked why dinner was so late. Their mother laughed,
# looked at her phone, and put the soup on the stove. It was a cold day in March, and the wind
# from the sea moved the curtains in the kitchen.
# fmt: off
ORDINARY = (
    0, 504, 1573, 9191, 281, 260, 9516, 8976, 418, 27616, 30, 32304, 7062, 1793, 260, 9053,
    28, 645, 260, 1122, 2422, 1478, 429, 1125, 284, 3413, 1701, 11494, 436, 588, 3008, 30,
    3855, 3379, 31058, 28, 5328, 418, 874, 5460, 28, 284, 1830, 260, 14562, 335, 260, 23588,
    30, 657, 436, 253, 4011, 1194, 281, 3903, 28, 284, 260, 2251, 429, 260, 3426, 4935, 260,
    34269, 281, 260, 9902, 30,
)
# fmt: on


def measure_encoder(encoder: Encoder, tokenizer) -> dict:
    """Every score of all 72 heads, over the marked sentences."""
    relations, twins, maps, sentences = {}, {}, [], []
    for name, text in RELATIONS.items():
        own_maps, own = survey.all_maps(encoder, tokenizer, text)
        right = survey.words_hit(own_maps, own)
        relations[name] = {
            "sentences": len(own),
            "accuracy": _rounded(right.float().mean(dim=0)),
            "right, signs": signs(right.int() * 2 - 1),
            "held-out half": round(chosen_on_half(right).item(), 3),
            "best offset": round(survey.best_offset(own), 3),
            "word class": round(rule_accuracy(name, own), 3),
        }
        maps, sentences = maps + own_maps, sentences + own
    for name, text in (("gender", ANTECEDENT_BY_GENDER), ("meaning", ANTECEDENT_BY_MEANING)):
        twin_maps, both = survey.all_maps(encoder, tokenizer, text)
        twins[name] = measure_twins(survey.preference(twin_maps, both))
        ids = {w: tokenizer.token_to_id(w) for example in both for w in example.words}
        passed_on, _ = survey.all_maps(encoder, tokenizer, text, passed_on=True)
        twins[name]["passed on, signs"] = signs(survey.preference(passed_on, both))
        twins[name]["word vectors"] = word_vectors_alone(encoder.words.weight, ids, both)
    simple = survey.simple_scores(maps, sentences)
    between_maps, between = survey.all_maps(encoder, tokenizer, BETWEEN_NOUNS)
    return {
        "relations": relations,
        "between nouns": {
            "right, signs": signs(survey.words_hit(between_maps, between).int() * 2 - 1),
            "nouns, target": [place_among_nouns(example) for example in between],
            "place, distance": [(e.target, e.target - e.query) for e in between],
        },
        "twins": twins,
        "example sentence": {
            end: looks_at_cat(encoder, tokenizer, EXAMPLE_SENTENCE.replace("tired", end))
            for end in ("tired", "soft")
        },
        "largest difference": encoder_difference(encoder),
        "simple": {name: _rounded(scores) for name, scores in simple.items()},
        "queries": len(sentences),
        "sentences": len({tuple(example.words) for example in sentences}),
    }


def measure_twins(difference: Tensor) -> dict:
    """Scores of (N, A) preferences for the right noun; rows 2n and 2n + 1 are twins."""
    shifts = survey.shifts(difference)
    right_by_chance, p_right = survey.best_by_chance(difference, rows_per_coin=2)
    shifted_by_chance, p_shifted = survey.best_by_chance(shifts, rows_per_coin=1)
    return {
        "pairs": len(shifts),
        "right": _rounded((difference > 0).float().mean(dim=0)),
        "margin": _rounded(difference.mean(dim=0)),
        "right by chance": round(right_by_chance, 3),
        "p of right": round(p_right, 4),
        "held-out half": round(chosen_on_half(difference > 0, together=2).item(), 3),
        "shifted": _rounded((shifts > 0).float().mean(dim=0)),
        "shifted by chance": round(shifted_by_chance, 3),
        "p of shifted": round(p_shifted, 4),
        "right, signs": signs(difference),
        "shifted, signs": signs(shifts),
    }


def signs(values: Tensor) -> list[str]:
    """The signs of (N, A) numbers, a text of "+", "-" and "0" for each row."""
    return ["".join("-0+"[sign + 1] for sign in row) for row in values.sign().int().tolist()]


@torch.no_grad()
def word_vectors_alone(vectors: Tensor, ids: dict[str, int], sentences: list[Example]) -> dict:
    """The scores of twins by static word vectors (V, D), without attention."""
    difference = survey.vector_preference(vectors, ids, sentences)
    shifts = survey.shifts(difference)
    scores = {"right": difference, "shifted": shifts}
    found = {name: round((x > 0).float().mean().item(), 3) for name, x in scores.items()}
    return found | {f"{name}, signs": "".join(signs(x)) for name, x in scores.items()}


@torch.no_grad()
def looks_at_cat(encoder: Encoder, tokenizer, sentence: str) -> dict:
    """What "it" and the other words give to "cat" in every head, and what "it" gives to "mat".

    Of the heads that are shown, the whole row of "it": the weights, and the shares of what is
    passed on, which is weight times length of value.
    """
    encoded = tokenizer.encode(sentence)
    states, maps = encoder(torch.tensor([encoded.ids]))
    it, cat, mat = map(encoded.tokens.index, ("it", "cat", "mat"))
    maps = maps[:, 0].flatten(0, 1)
    passed_on = maps[:, it] * encoder.lengths_of_values(states)[:, 0].flatten(0, 1)
    kinds = {"row": maps[:, it], "passed on": passed_on / passed_on.sum(dim=-1, keepdim=True)}
    rows = {
        kind: {name: _rounded(of_all[HEAD_NAMES.index(name)]) for name in SHOWN_HEADS}
        for kind, of_all in kinds.items()
    }
    others = [i for i in range(1, len(encoded.tokens) - 2) if i not in (it, cat)]
    looks = {"it": maps[:, it, cat], "others": maps[:, others, cat].mean(dim=-1)}
    looks["mat"] = maps[:, it, mat]
    return {name: _rounded(x) for name, x in looks.items()} | rows


@torch.no_grad()
def queries_and_keys(
    encoder: Encoder, tokenizer, sentence: str = EXAMPLE_SENTENCE
) -> tuple[list[str], Tensor, Tensor]:
    """The pieces of a sentence, and q and k of all heads, (A, T, Dh)."""
    encoded = tokenizer.encode(sentence)
    states, _ = encoder(torch.tensor([encoded.ids]))
    q, k = encoder.queries_and_keys(states)
    return encoded.tokens, q[:, 0].flatten(0, 1), k[:, 0].flatten(0, 1)


def repeated_tokens(seed: int, rows: int = 2, vocabulary: int = 40_000) -> Tensor:
    """A start token, random tokens, and the same tokens again: (rows, 1 + 2 x BLOCK)."""
    generator = torch.Generator().manual_seed(seed)
    block = torch.randint(100, vocabulary, (rows, BLOCK), generator=generator)
    return torch.cat([torch.zeros(rows, 1, dtype=torch.long), block, block], dim=1)


def copy_losses(decoder: Decoder, ids: Tensor, without=()) -> tuple[float, float, Tensor]:
    """Mean loss in nats on the first and on the second copy, and the maps (A, B, T, T)."""
    logits, maps = decoder(ids, without)
    losses = F.cross_entropy(logits[:, :-1].transpose(1, 2), ids[:, 1:], reduction="none")
    first, second = losses[:, :BLOCK].mean().item(), losses[:, BLOCK + 1 :].mean().item()
    return first, second, maps.transpose(1, 2).flatten(0, 1)


def ordinary_loss(decoder: Decoder, without=()) -> float:
    """Mean loss in nats on a few sentences in which nothing long is repeated."""
    ids = torch.tensor(ORDINARY)
    logits, _ = decoder(ids[None], without)
    return F.cross_entropy(logits[0, :-1], ids[1:]).item()


def measure_decoder(decoder: Decoder, removed_for: tuple[int, ...] = SEEDS) -> dict:
    """Losses on repeated random tokens, with all heads and without some of them."""
    batches = [repeated_tokens(seed) for seed in SEEDS]
    first, second, maps = zip(*(copy_losses(decoder, ids) for ids in batches))
    by_batch = torch.cat(maps, dim=1)[:, :, 1:].transpose(0, 1)
    length = by_batch.shape[-1]
    places = {
        "previous token": at_offset(length, -1)[:, 1:],
        "induction": at_offset(length, 1 - BLOCK)[:, 1:],
        "first token": (torch.arange(length) == 0).expand(1, length, -1)[:, 1:],
    }
    scores = {name: _rounded(mass_on(by_batch, where)) for name, where in places.items()}
    removed = heads_to_remove(decoder, scores)
    losses = {
        name: [round(copy_losses(decoder, batches[s], [head])[1], 2) for s in removed_for]
        for name, head in removed.items()
    }
    strongest = [name for name in removed if " 1: " in name]
    ordinary = {"all heads": ordinary_loss(decoder)}
    ordinary |= {name: ordinary_loss(decoder, [removed[name]]) for name in strongest}
    return {
        "largest difference": decoder_difference(decoder),
        **scores,
        "first copy": [round(loss, 2) for loss in first],
        "second copy": [round(loss, 2) for loss in second],
        "without": losses,
        "ordinary text": {name: round(loss, 2) for name, loss in ordinary.items()},
    }


def heads_to_remove(decoder: Decoder, scores: dict) -> dict[str, tuple[int, int]]:
    """The heads of the highest scores, first as previous-token heads, then as induction heads."""
    removed = {}
    for name, kind in (("previous-token", "previous token"), ("induction", "induction")):
        order = np.argsort(scores[kind])[::-1][:TOP]
        for n, place in enumerate(order.tolist(), 1):
            layer, head = divmod(place, decoder.num_heads)
            removed[f"{name} head {n}: {layer}.{head}"] = (layer, head)
    return removed


def _rounded(values: Tensor) -> list[float]:
    return [round(value, 3) for value in values.tolist()]
