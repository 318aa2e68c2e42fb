"""Sentences, words and hand-made numbers that the chapters compute with. Nothing is downloaded."""

import re

import torch
from jaxtyping import Float, Int
from torch import Tensor

SENTENCE = "The cat sat on the mat because it was tired"
NEWS_SENTENCE = "According to the news, it it hard to say Melbourne is safe now"

# Printed by https://www.kaggle.com/code/aisuko/coding-the-multi-head-attention (manual_seed 123):
# the context vector of the second token, and the output of its SelfAttention(16, 2, 1).
NEWS_CONTEXT = """
    -2.1845 -3.4618 -2.5052 -3.4871 -2.2224 -3.4605 -3.9543 -4.4065 -4.7564 -4.1877 -2.8166 -4.1730
    -3.3587 -3.0407 -4.5513 -4.7335 -1.3817 -2.6396 -2.3683 -2.7940 -3.4905 -4.4358 -5.2125 -4.3044
    -3.0761 -3.4201 -4.7494 -3.3475
"""
NEWS_COLUMN = """
    3.1373 -2.6629 3.2493 -2.4250 -2.3970 -2.3970 -2.6269 -2.6629 -2.4197 -2.4037 3.3277 -2.4113
    -2.6131
"""

# The output of its MultiHeadAttentionWrapper(16, 2, 1, num_heads=4), one row for each token, and
# the first four numbers of the three queries that it makes of the second token.
NEWS_FOUR_HEADS = """
    3.1373 2.1516 -1.6622 -1.1571 -2.6629 -1.9705 -2.2620 -3.2353 3.2493 -2.0611 -2.0625 -3.0395
    -2.4250 -1.9014 -2.1996 -3.3473 -2.3970 -1.8704 -2.0173 -3.3243 -2.3970 -1.8704 -2.0173 -3.3243
    -2.6269 -2.3509 -2.2068 -3.2777 -2.6629 -1.9705 -2.2620 -3.2353 -2.4197 -1.7686 -2.1098 -3.1776
    -2.4037 -1.2218 -0.3614 -3.1320 3.3277 2.1627 -0.5280 -2.0840 -2.4113 -1.7658 -2.2009 -3.4129
    -2.6131 -1.7475 -1.7935 -2.9953
"""
NEWS_THREE_QUERIES = """
    -3.8033 -1.8514 -3.0982 -1.6475 -4.1517 -4.6697 -1.6747 -1.1715 -1.6977 -1.6078 -3.5137 -4.9699
"""

FEATURES = ("thing", "alive", "action", "stands for", "state", "glue")
WORD_FEATURES = {
    "thing": "cat dog girl boy mat rug box",
    "alive": "cat dog girl boy she he",
    "action": "sat slept ran was is",
    "stands for": "it she he they",
    "state": "tired happy hungry soft new red",
    "glue": "the a on in because and",
}


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
            raise ValueError(f"unknown words {unknown}; the vocabulary is {list(self.words)}")
        if not words:
            raise ValueError(f"text must contain at least one word, got {text!r}")
        return torch.tensor([self._ids[word] for word in words])

    def decode(self, ids: Int[Tensor, " T"]) -> list[str]:
        """The words behind the numbers.

        Raises:
            ValueError: if a number is not between 0 and len - 1.
        """
        wrong = [i for i in ids.tolist() if not 0 <= i < len(self)]
        if wrong:
            raise ValueError(f"ids must be between 0 and {len(self) - 1}, got {wrong}")
        return [self.words[i] for i in ids.tolist()]


def split_words(text: str) -> list[str]:
    """The words of a text in lower case, without punctuation."""
    return re.findall(r"[a-z']+", text.lower())


def toy_vocabulary() -> Vocabulary:
    """The 29 words that have hand-made vectors."""
    return Vocabulary(" ".join(WORD_FEATURES.values()))


def toy_word_vectors(vocabulary: Vocabulary) -> Float[Tensor, "V D"]:
    """One row for each word, D = 6: 1 where the word has the feature, else 0.

    Real models learn these numbers; ours are set by hand so that they can be read.

    Raises:
        ValueError: if the vocabulary has a word without hand-made features.
    """
    with_features = [set(words.split()) for words in WORD_FEATURES.values()]
    unknown = [w for w in vocabulary.words if not any(w in words for words in with_features)]
    if unknown:
        raise ValueError(f"no hand-made vector for {unknown}")
    return torch.tensor(
        [[float(word in words) for words in with_features] for word in vocabulary.words]
    )


def toy_head_weights() -> tuple[
    Float[Tensor, "D Dh"], Float[Tensor, "D Dh"], Float[Tensor, "D Dv"]
]:
    """Hand-made projections W_q (6, 4), W_k (6, 4) and W_v (6, 3) over `FEATURES`.

    The four columns of W_q and W_k are about: a thing, something alive, an action, a state.
    """
    asks = {"action": [2, 1, 0, 0], "stands for": [2, 2, 0, 0], "state": [1, 2, 0, 0]}
    asks |= {"thing": [0, 0, 1, 1]}
    offers = {"thing": [2, 0, 0, 0], "alive": [0, 2, 0, 0], "action": [0, 0, 2, 0]}
    offers |= {"stands for": [1, 0, 0, 0], "state": [0, 0, 0, 2]}
    hands_over = {"thing": [1, 0, 0], "alive": [0, 1, 0], "action": [0, 0, 1]}
    return _rows(asks, 4), _rows(offers, 4), _rows(hands_over, 3)


def news_word_ids() -> tuple[list[str], Int[Tensor, " T"]]:
    """Words of `NEWS_SENTENCE` and the ids that a well-known notebook gives them.

    It numbers `enumerate(sorted(words))` with the repeated words left in, so the ids
    have holes. Kept as it is because its published numbers depend on it.
    """
    words = NEWS_SENTENCE.replace(",", "").split()
    ids = {word: i for i, word in enumerate(sorted(words))}
    return words, torch.tensor([ids[word] for word in words])


def published(numbers: str) -> Float[Tensor, " N"]:
    """Printed numbers, separated by spaces, as a tensor."""
    return torch.tensor([float(number) for number in numbers.split()])


def _rows(by_feature: dict[str, list[int]], width: int) -> Tensor:
    return torch.tensor([by_feature.get(f, [0] * width) for f in FEATURES], dtype=torch.float32)
