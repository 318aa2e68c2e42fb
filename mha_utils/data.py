"""Sentences, words and hand-made numbers that the chapters compute with. Nothing is downloaded."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mha_utils.vocabulary import Vocabulary, few, split_words

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

# Printed by a walk-through of multi-head attention (manual_seed 42, x (2, 4, 9), 3 heads): the
# queries of sequence 0 after split and transpose; scores and causal weights of sequence 1.
WALK_QUERIES = """
    -0.1936 -0.1699 0.1577 -1.3494 0.1358 -0.4783 -0.0148 -0.5717 0.0037 0.2234 -0.3064 -0.5063
    0.1638 -0.0595 0.2435 0.5134 0.2944 0.9202 -0.1530 0.1878 -0.7437 -0.3977 -0.7100 -0.6491
    -0.0672 -1.8729 1.1167 -0.0991 -0.0460 1.0454 0.4609 0.6065 -0.0997 -0.0332 -1.4115 0.9683
"""
WALK_SCORES = """
    0.2569 -0.2507 0.0530 0.0344 0.0221 -0.5462 -0.1012 0.1261
    -0.2866 -0.0408 -0.2315 -0.1548 -0.6317 -0.2327 -0.2567 0.1943
    0.4582 0.8343 1.8337 -0.7559 0.0463 0.6201 0.7675 -0.1347
    0.1563 -0.1418 -0.5324 0.1354 0.2650 0.9619 -0.3649 0.4824
    -0.0670 -0.0365 -0.0631 -0.4189 0.2537 0.5420 0.5959 1.8983
    0.2429 -0.4177 -0.3470 0.4181 0.2617 0.0530 0.0512 0.6890
"""
WALK_WEIGHTS = """
    1.0000 0.0000 0.0000 0.0000 0.5813 0.4187 0.0000 0.0000
    0.3140 0.3619 0.3241 0.0000 0.1956 0.2463 0.2429 0.3152
    1.0000 0.0000 0.0000 0.0000 0.4179 0.5821 0.0000 0.0000
    0.3978 0.3349 0.2673 0.0000 0.2313 0.3458 0.1607 0.2622
    1.0000 0.0000 0.0000 0.0000 0.4585 0.5415 0.0000 0.0000
    0.4177 0.2852 0.2971 0.0000 0.2468 0.2188 0.2186 0.3159
"""
# Its dropout (p = 0.4) kept these weights of sequence 1 and printed these context vectors. The mask
# was drawn by an older torch and cannot be drawn again; what follows from it can be computed.
WALK_KEPT = """
    0 0 0 0 1 0 0 0 1 1 0 0 1 0 0 0
    1 0 0 0 0 1 0 0 1 1 1 0 0 1 0 1
    1 0 0 0 1 1 0 0 0 1 0 0 1 0 0 0
"""
WALK_CONTEXT = """
    0.0000 0.0000 0.0000 0.5083 0.6182 0.3072 0.4235 0.4775 -0.2888 0.1710 0.2080 0.1034
    1.4620 0.1345 -1.6095 0.1398 -0.9007 -0.8149 0.9255 -0.4715 -1.2611 -0.2885 -0.5021 0.0798
    0.3246 0.7681 0.8544 1.0397 1.1539 0.8462 0.4692 0.4223 0.2394 0.0801 0.1896 0.2109
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


def learn_word(word: str, *features: str) -> None:
    """Give a word hand-made features, in place of any it had: `learn_word("banana", "thing")`.

    From then on `toy_vocabulary` and `toy_word_vectors` know it; without a feature it is forgotten.

    Raises:
        ValueError: if it is not one word, or a feature is none of `FEATURES`.
    """
    words = split_words(word)
    if len(words) != 1:
        raise ValueError(f"word must be one word, got {word!r}")
    unknown = [feature for feature in features if feature not in FEATURES]
    if unknown:
        raise ValueError(f"features must be some of {FEATURES}, got {unknown}")
    for feature, known in WORD_FEATURES.items():
        others = [other for other in known.split() if other != words[0]]
        WORD_FEATURES[feature] = " ".join(others + words * (feature in features))


def toy_vocabulary(text: str = "") -> Vocabulary:
    """The words that have hand-made vectors, 28 at first, and those of `text`."""
    return Vocabulary(" ".join([*WORD_FEATURES.values(), text]))


def toy_word_vectors(vocabulary: Vocabulary, strict: bool = True) -> Float[Tensor, "V D"]:
    """One row for each word, D = 6: 1 where the word has the feature, else 0.

    Real models learn these numbers; ours are set by hand so that they can be read.

    Args:
        strict: whether a word without hand-made features is an error, or a row of zeros.

    Raises:
        ValueError: if the vocabulary has a word without hand-made features, and `strict`.
    """
    with_features = [set(words.split()) for words in WORD_FEATURES.values()]
    unknown = [w for w in vocabulary.words if not any(w in words for words in with_features)]
    if unknown and strict:
        known = toy_vocabulary().words
        raise ValueError(f"no hand-made vector for {few(unknown)}; there are vectors for {known}")
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


def walk_projections(seed: int = 42) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """x (2, 4, 9) of the walk-through and its q, k and v before the heads are split, (2, 4, 9)."""
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed)
        x = torch.randn(2, 4, 9, dtype=torch.float32)  # in float64 other numbers would be drawn
        made = x, *(torch.nn.Linear(9, 9, dtype=torch.float32)(x) for _ in range(3))
        return tuple(tensor.to(torch.get_default_dtype()) for tensor in made)


def published(numbers: str) -> Float[Tensor, " N"]:
    """Printed numbers, separated by spaces, as a tensor."""
    return torch.tensor([float(number) for number in numbers.split()])


def _rows(by_feature: dict[str, list[int]], width: int) -> Tensor:
    rows = [by_feature.get(feature, [0] * width) for feature in FEATURES]
    return torch.tensor(rows, dtype=torch.get_default_dtype())
