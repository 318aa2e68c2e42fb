"""Own sentences with marked ground truth: which word should look at which.

`*word*` is the query and `_word_` its target. Distances vary, so that no fixed offset wins.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MARKED = re.compile(r"\*(?P<query>\w+)\*|_(?P<target>\w+)_|(?P<plain>\w+|[^\w\s])")
SECTION = re.compile(r"^# (.*)\n((?:.+\n)+)", re.MULTILINE)
TEXTS = dict(SECTION.findall(Path(__file__).with_suffix(".txt").read_text("utf-8")))
ANTECEDENT_BY_GENDER, ANTECEDENT_BY_MEANING = TEXTS["pronoun → antecedent"], TEXTS["by meaning"]
BETWEEN_NOUNS = TEXTS["verb → subject between nouns"]  # neither the first noun nor the nearest
RELATIONS = {
    "determiner → noun": TEXTS["determiner → noun"],
    "verb → subject": TEXTS["verb → subject"],
    "subject → verb": re.sub(
        r"\*(\w+)\*|_(\w+)_",
        lambda m: f"_{m[1]}_" if m[1] else f"*{m[2]}*",
        TEXTS["verb → subject"],
    ),
    "verb → object": TEXTS["verb → object"],
    "pronoun → antecedent": ANTECEDENT_BY_GENDER,
}


@dataclass(frozen=True)
class Example:
    """A sentence as words, with the places of the query and of its target."""

    words: list[str]
    query: int
    target: int


def examples(text: str) -> Iterator[Example]:
    """The sentences of a marked text, one a line."""
    for line in text.strip().splitlines():
        found = list(MARKED.finditer(line))
        kinds = [match.lastgroup for match in found]
        words = [match[match.lastgroup].lower() for match in found]
        yield Example(words, kinds.index("query"), kinds.index("target"))
