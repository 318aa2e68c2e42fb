"""A small made-up language in which four words of each sentence follow from earlier ones.

    bob told eve : the old aunt near the monks found herself thinking while looking only
    at the cats near the small dog and it barked . bob

- agreement: "herself" goes with the subject (aunt), not with whoever is beside it (monks);
- previous: "at" goes with the verb before "only" (looking), not with the other one (thinking);
- pronoun: "barked" is what the animal that "it" stands for does (dog), not what the cats do;
- first: the last word repeats the first one (bob), not the other name (eve).

Each relation has two candidates. Knowing which words have been said, and not where, leaves two
answers that are equally likely. For the pronoun the words decide, as "it" is the single animal;
but who only adds up what each word says cannot put the two together, and is at 1/2 there, too.
"""

import random

import torch
from torch import Tensor

from mha_utils.experiments.tasks import IGNORED, Batch, Classes

NAMES = ["ann", "bob", "cleo", "dan", "eve", "finn", "gus", "hal"]
PEOPLE = {
    "herself": ["aunt", "nun", "queen"],
    "himself": ["uncle", "monk", "king"],
    "themselves": ["aunts", "monks", "twins"],
}
ANIMALS = "dog/barked cat/purred cow/mooed duck/quacked horse/neighed pig/grunted"
VERBS = "looking/at waiting/for talking/to thinking/about relying/on playing/with"
ADJECTIVES = ["old", "young", "tall", "small", "kind", "quiet", "proud", "busy"]
GLUE = ["told", ":", "the", "near", "found", "while", "only", "and", "it", "they", ".", "<end>"]
RELATIONS = ("agreement", "previous", "pronoun", "first")


def _pairs(words: str) -> list[list[str]]:
    return [word.split("/") for word in words.split()]


class Grammar(Classes):
    """Sentences of the language above; the four words that follow from others are asked for."""

    seq_len, relations, waves = 29, RELATIONS, False

    def __init__(self):
        self.animals, self.verbs = _pairs(ANIMALS), _pairs(VERBS)
        people = [word for group in PEOPLE.values() for word in group]
        animals = [word for one, action in self.animals for word in (one, one + "s", action)]
        verbs = [word for pair in self.verbs for word in pair]
        self.words = (*NAMES, *ADJECTIVES, *PEOPLE, *people, *animals, *verbs, *GLUE)
        self.ids = {word: i for i, word in enumerate(self.words)}
        self.num_symbols = self.num_classes = self.out_dim = len(self.words)

    def sentence(self, seed: int) -> tuple[list[str], dict[str, tuple[int, int]]]:
        """A random sentence, and for each relation (place of the answer, place of its source)."""
        dice = random.Random(seed)
        (speaker, listener), (other, verb) = dice.sample(NAMES, 2), dice.sample(self.verbs, 2)
        own, beside = dice.sample(sorted(PEOPLE), 2)  # two groups, so the words differ
        subject, neighbour = dice.choice(PEOPLE[own]), dice.choice(PEOPLE[beside])
        (one, does), (others, they_do) = dice.sample(self.animals, 2)
        animals = [(one, "it", does), (others + "s", "they", they_do)]
        dice.shuffle(animals)
        meant, pronoun, action = dice.choice(animals)
        words = [speaker, "told", listener, ":", *_phrase(dice, subject), "near"]
        words += [*_phrase(dice, neighbour), "found", own, other[0], "while", verb[0], "only"]
        words += [verb[1], *_phrase(dice, animals[0][0]), "near", *_phrase(dice, animals[1][0])]
        words += ["and", pronoun, action, ".", speaker]
        places = {
            "agreement": (words.index(own), words.index(subject)),
            "previous": (words.index(verb[1]), words.index(verb[0])),
            "pronoun": (words.index(action), words.index(meant)),
            "first": (len(words) - 1, 0),
        }
        return words, places

    def encode(self, *sentences: list[str]) -> Tensor:
        """Numbers of the words (B, T + 1), padded with the number of "<end>"."""
        padded = [[*words, *["<end>"] * (self.seq_len + 1 - len(words))] for words in sentences]
        return torch.tensor([[self.ids[word] for word in words] for words in padded])

    def draw(self, batch_size: int, generator: torch.Generator) -> Batch:
        seeds = torch.randint(2**40, (batch_size,), generator=generator)
        drawn = [self.sentence(seed) for seed in seeds.tolist()]
        ids = self.encode(*(words for words, _ in drawn))
        pairs = torch.tensor([[places[name] for name in RELATIONS] for _, places in drawn])
        sources = torch.full((batch_size, self.seq_len, len(RELATIONS)), -1)
        queries = pairs[:, None, :, 0] - 1  # the query is the word before the answer
        sources.scatter_(1, queries, pairs[:, None, :, 1])
        targets = ids[:, 1:].where((sources >= 0).any(dim=-1), IGNORED)
        return Batch(ids[:, :-1, None], targets[..., None], sources)


def _phrase(dice: random.Random, noun: str) -> list[str]:
    """ "the", often an adjective, and the noun: so that places differ from sentence to sentence."""
    return ["the", *dice.sample(ADJECTIVES, dice.choice((0, 1))), noun]
