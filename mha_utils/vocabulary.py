"""Words of a text, in any script, and their numbers."""

import unicodedata

import torch
from jaxtyping import Int
from torch import Tensor


class Vocabulary:
    """Words and their numbers: 0 to len - 1, no holes, no duplicates, upper case ignored.

    Args:
        text: any text; its distinct words, sorted, become the vocabulary.

    Raises:
        ValueError: if the text has no word.
    """

    def __init__(self, text: str):
        self.words: tuple[str, ...] = tuple(sorted(set(split_words(text))))
        if not self.words:
            raise ValueError(f"text must contain at least one word, got {text!r}")
        self._ids = {word: i for i, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, text: str) -> Int[Tensor, " T"]:
        """The number of every word of `text`.

        Raises:
            ValueError: if the text has no word, or one that is not in the vocabulary.
        """
        words = split_words(text)
        unknown = sorted(set(words) - set(self.words))
        if unknown:
            raise ValueError(f"unknown words {few(unknown)}; the vocabulary is {few(self.words)}")
        if not words:
            raise ValueError(f"text must contain at least one word, got {text!r}")
        return torch.tensor([self._ids[word] for word in words])

    def decode(self, ids: Int[Tensor, " T"]) -> list[str]:
        """The words behind the numbers.

        Raises:
            ValueError: if a number is not between 0 and len - 1.
        """
        found = ids.tolist()
        wrong = [i for i in found if type(i) is not int or not 0 <= i < len(self)]
        if wrong:
            raise ValueError(f"ids must be between 0 and {len(self) - 1}, got {few(wrong)}")
        return [self.words[i] for i in found]


def split_words(text: str) -> list[str]:
    """The words of a text in lower case, without punctuation, in any script.

    A word is a run of letters, marks and digits; an apostrophe may stand inside. Scripts without
    spaces between words come as one word for each run.
    """
    text = unicodedata.normalize("NFC", text.lower())
    kept = (c if unicodedata.category(c)[0] in "LMN" or c in "'’" else " " for c in text)
    return [word for run in "".join(kept).split() if (word := run.strip("'’"))]


def few(items) -> list:
    """All of a list, or of a long one the first thirty and how many there are."""
    items = list(items)
    return items if len(items) <= 30 else [*items[:30], f"... {len(items)} in all"]
