"""The grammar of chapter 16: a generator of short stories, drawn with dice.

    Once there was a quiet fox called Ruth. One day she found a blue bell in the barn.
    She hid it in a box. That night Ruth and her bell sang all night.

The dice choose; the rest follows: the pronoun goes with the name, and the name and the thing that
was found come back in the last sentence. So no writer can be sure of more than `floor` allows.
"""

import math
import random
import re
from functools import cache

NAMES = {"she": ("Ruth", "Mia", "Nora", "Ella"), "he": ("Tom", "Ben", "Otto", "Hugo")}
HERS = {"she": "her", "he": "his"}
CHOICES = {
    "mood": ("quiet", "brave", "hungry", "sleepy"),
    "animal": ("fox", "hen", "cat", "goat", "mouse", "owl"),
    "colour": ("blue", "red", "green", "golden"),
    "thing": ("bell", "key", "hat", "kite", "drum", "lamp"),
    "place": ("in the barn", "by the river", "under a tree", "on the hill"),
    "taken": ("took it home", "hid it in a box", "gave it to a friend", "put it in a bag"),
    "wish": ("sang all night", "danced in the rain", "slept well", "smiled for a week"),
}
END = "\n"
TOLD = (
    "Once there was a {mood} {animal} called {name}. One day {she} found a {colour} {thing} "
    "{place}. {She} {taken}. That night {name} and {her} {thing} {wish}."
)
PARTS = re.compile(
    r"Once there was a \w+ \w+ called (?P<name>\w+)\. "
    r"One day (?P<she>\w+) found a \w+ (?P<thing>\w+) [\w ]+\. (?P<She>\w+) [\w ]+\. "
    r"That night (?P<again>\w+) and (?P<her>\w+) (?P<kept>\w+) [\w ]+\."
)
LONGEST = 163  # letters of the longest story, with its END


def story(dice: random.Random) -> str:
    """One story, without its END."""
    she = dice.choice(tuple(NAMES))
    chosen = {part: dice.choice(options) for part, options in CHOICES.items()}
    names = {"name": dice.choice(NAMES[she]), "she": she, "She": she.capitalize()}
    return TOLD.format(her=HERS[she], **names, **chosen)


def stories(number: int, seed: int = 0) -> list[str]:
    """So many stories; a seed always tells the same."""
    dice = random.Random(seed)
    return [story(dice) for _ in range(number)]


@cache
def number_of_stories() -> int:
    """How many different stories the dice can tell."""
    return sum(map(len, NAMES.values())) * math.prod(map(len, CHOICES.values()))


def floor(texts: list[str]) -> float:
    """The lowest mean loss that a writer can reach on these stories, in nats a letter.

    A story is one of N, all equally likely, so it holds ln N nats of surprise, however it is
    written; they are spread over its letters. (The first letter is given, the END is predicted.)
    """
    return len(texts) * math.log(number_of_stories()) / sum(map(len, texts))


@cache
def words() -> frozenset[str]:
    """Every word that occurs in a story."""
    parts = [TOLD, *HERS.values(), *NAMES, *(n for names in NAMES.values() for n in names)]
    parts += [option for options in CHOICES.values() for option in options]
    found = re.findall(r"(?<!{)\b\w+\b(?!})", " ".join(parts))
    return frozenset(found) | {she.capitalize() for she in NAMES}


def marks(text: str) -> dict[str, float]:
    """How good a story is, four shares from 0 to 1: what a reader would notice, as numbers.

    "words": the share of its words that exist; "pronoun": whether all of them fit the name;
    "name" and "thing": whether they come back in the last sentence. All but the first are 0 where
    the text does not have the form of a story.
    """
    said = re.findall(r"\w+", text)
    told = PARTS.fullmatch(text.strip())
    fits = {"pronoun": 0.0, "name": 0.0, "thing": 0.0}
    if told:
        she = next((s for s, names in NAMES.items() if told["name"] in names), None)
        pronouns = (told["she"], told["She"].lower(), told["her"])
        fits["pronoun"] = float(pronouns == (she, she, HERS.get(she)))
        fits["name"] = float(told["again"] == told["name"])
        fits["thing"] = float(told["kept"] == told["thing"])
    return {"words": sum(w in words() for w in said) / max(1, len(said))} | fits


def questions(text: str) -> dict[str, int]:
    """Where in a story a letter stands that only memory can tell.

    It is the first letter of the pronoun, and of the name and the thing that come back.

    Raises:
        ValueError: if the text is not a story.
    """
    told = _parts(text)
    return {"pronoun": told.start("she"), "name": told.start("again"), "thing": told.start("kept")}


def answers(text: str) -> dict[str, slice]:
    """Where in a story the word stands that answers each of its `questions`.

    Raises:
        ValueError: if the text is not a story.
    """
    told = _parts(text)
    words = {"pronoun": "name", "name": "name", "thing": "thing"}
    return {asked: slice(*told.span(word)) for asked, word in words.items()}


def _parts(text: str) -> re.Match:
    told = PARTS.fullmatch(text)
    if told is None:
        raise ValueError(f"expected a story, got {text!r}")
    return told


def mean_marks(texts: list[str]) -> dict[str, float]:
    """The mean of `marks` over several stories.

    Raises:
        ValueError: if there is none.
    """
    if not texts:
        raise ValueError("expected at least one story, got none")
    each = [marks(text) for text in texts]
    return {name: sum(m[name] for m in each) / len(each) for name in each[0]}
