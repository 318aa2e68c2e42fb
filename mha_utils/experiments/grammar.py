"""A small made-up language in which four words of each sentence are settled by earlier ones.

    bob : the old aunt near the nuns found herself looking only at the dog and it barked . bob

- agreement: "herself" goes with the subject (aunt), not with the noun beside it (nuns);
- previous: "at" goes with the word before "only" (looking);
- pronoun: "barked" is what the one that "it" stands for does (dog);
- first: the last word repeats the first one.
"""

import random

import torch
from torch import Tensor

from mha_utils.experiments.tasks import IGNORED, Batch, Classes

SPEAKERS = ["ann", "bob", "cleo", "dan", "eve", "finn", "gus", "hal"]
PEOPLE = {  # one, many, what they do
    "she": "aunt/aunts/sang nun/nuns/prayed girl/girls/giggled queen/queens/waved",
    "he": "uncle/uncles/snored monk/monks/chanted boy/boys/cried king/kings/frowned",
}
ANIMALS = "dog/barked cat/purred cow/mooed duck/quacked horse/neighed pig/grunted"
VERBS = "looking/at pointing/at waiting/for asking/for talking/to listening/to thinking/about"
ADJECTIVES = ["old", "young", "tall", "small", "kind", "quiet", "proud", "busy"]
SELVES = {"she": "herself", "he": "himself", "they": "themselves"}
GLUE = [*SELVES.values(), ":", "the", "near", "found", "only", "and", "it", ".", "<end>"]
RELATIONS = ("agreement", "previous", "pronoun", "first")


def _people() -> list[tuple[str, str, str]]:
    """(word, pronoun, action) of every person, alone and in the plural."""
    found = []
    for pronoun, words in PEOPLE.items():
        for one, many, action in (word.split("/") for word in words.split()):
            found += [(one, pronoun, action), (many, "they", action)]
    return found


def _pairs(words: str) -> list[tuple[str, str]]:
    return [tuple(word.split("/")) for word in words.split()]


class Grammar(Classes):
    """Sentences of the language above; the four words that are settled are to be foretold."""

    seq_len, relations = 24, RELATIONS

    def __init__(self):
        self.people, self.animals, self.verbs = _people(), _pairs(ANIMALS), _pairs(VERBS)
        used = [*SPEAKERS, *ADJECTIVES, *GLUE]
        for group in (self.people, self.animals, self.verbs):
            used += [word for entry in group for word in entry]
        self.words = tuple(dict.fromkeys(used))
        self.ids = {word: i for i, word in enumerate(self.words)}
        self.num_symbols = self.num_classes = self.out_dim = len(self.words)

    def sentence(self, seed: int) -> tuple[list[str], dict[str, tuple[int, int]]]:
        """A random sentence, and for each relation (place of the answer, place of its source)."""
        dice = random.Random(seed)
        pick = dice.choice

        def phrase(noun):
            return ["the", *dice.sample(ADJECTIVES, pick((0, 1, 2))), noun]

        subject, animal, verb = pick(self.people), pick(self.animals), pick(self.verbs)
        pronoun, action = pick((("it", animal[1]), subject[1:]))
        others = [p for p in self.people if p[1] not in (pronoun, "they")]  # nobody else is meant
        beside = pick(self.people if pronoun == "it" else others)
        words = [pick(SPEAKERS), ":", *phrase(subject[0])]
        at_subject = len(words) - 1
        words += ["near", *phrase(beside[0]), "found", SELVES[subject[1]]]
        words += [verb[0], "only", verb[1]]
        at_particle = len(words) - 1
        words += [*phrase(animal[0]), "and", pronoun, action, ".", words[0]]
        at_animal = len(words) - 6
        places = {
            "agreement": (at_particle - 3, at_subject),
            "previous": (at_particle, at_particle - 2),
            "pronoun": (len(words) - 3, at_animal if pronoun == "it" else at_subject),
            "first": (len(words) - 1, 0),
        }
        return words, places

    def encode(self, *sentences: list[str]) -> Tensor:
        """Numbers of the words (B, T + 1), filled up with the number of "<end>"."""
        filled = [[*words, *["<end>"] * (self.seq_len + 1 - len(words))] for words in sentences]
        return torch.tensor([[self.ids[word] for word in words] for words in filled])

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
