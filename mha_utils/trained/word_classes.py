"""A control for syntax: what would a rule reach that only knows nouns and verbs?"""

from mha_utils.trained.sentences import TEXTS, Example

NOUNS, VERBS = set(TEXTS["nouns"].split()), set(TEXTS["verbs"].split())
RULES = {  # relation -> (direction, class): the target is the first word of the class that way
    "determiner → noun": (1, NOUNS),
    "verb → subject": (-1, NOUNS),
    "subject → verb": (1, VERBS),
    "verb → object": (1, NOUNS),
    "pronoun → antecedent": (-1, NOUNS),
}


def rule_accuracy(relation: str, sentences: list[Example]) -> float:
    """How often the rule of a relation, "the next noun" for example, finds the target.

    Raises:
        ValueError: if there is no rule for the relation.
    """
    if relation not in RULES:
        raise ValueError(f"relation must be one of {list(RULES)}, got {relation!r}")
    direction, words = RULES[relation]
    found = [first_of(words, example, direction) for example in sentences]
    return sum(f == e.target for f, e in zip(found, sentences)) / len(sentences)


def place_among_nouns(example: Example) -> tuple[int, int]:
    """How many nouns stand before the query, and which of them, from 0, is the target.

    Raises:
        ValueError: if the target is none of them.
    """
    places = [i for i, word in enumerate(example.words[: example.query]) if word in NOUNS]
    if example.target not in places:
        raise ValueError(f"the target must be a noun before the query, got {example}")
    return len(places), places.index(example.target)


def first_of(words: set[str], example: Example, direction: int) -> int | None:
    """The place of the first of these words after the query (1) or before it (-1)."""
    ends = {1: len(example.words), -1: -1}
    places = range(example.query + direction, ends[direction], direction)
    return next((place for place in places if example.words[place] in words), None)
