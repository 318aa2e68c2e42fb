"""Exercises about a model that writes (chapter 16)."""

import numpy as np

from mha_utils.checks.tensors import Tensors


def _letters(sizes, random) -> dict:
    return {"letters": random.integers(0, sizes.S, size=sizes.T + 1)}


def _log_chances(scores):
    above = scores - scores.max(axis=-1, keepdims=True)
    return above - np.log(np.exp(above).sum(axis=-1, keepdims=True))


def _given(shares, targets):
    return shares[..., np.arange(len(targets)), targets]


check_next_letter_loss = Tensors(
    asks="`answer(scores, letters)`: scores[t] (T, V) predicts letters[t + 1]; the mean loss.",
    inputs=("scores",),
    constants=_letters,
    solve=lambda scores, letters: -_given(_log_chances(scores), letters[1:]).mean(),
    mistakes={
        "each letter is asked for itself, which the model has just read: shift by one": (
            lambda scores, letters: -_given(_log_chances(scores), letters[:-1]).mean()
        ),
        "the sum, not the mean": lambda scores, letters: (
            -_given(_log_chances(scores), letters[1:]).sum()
        ),
        "the sign: a loss is minus the logarithm": lambda scores, letters: _given(
            _log_chances(scores), letters[1:]
        ).mean(),
        "the softmax is missing": lambda scores, letters: -_given(scores, letters[1:]).mean(),
        "the logarithm is missing": lambda scores, letters: (
            -_given(np.exp(_log_chances(scores)), letters[1:]).mean()
        ),
        "softmax over the places, not over the letters": lambda scores, letters: (
            -_given(
                np.swapaxes(_log_chances(np.swapaxes(scores, -1, -2)), -1, -2), letters[1:]
            ).mean()
        ),
    },
)


def _some_k(sizes, random) -> dict:
    return {"k": int(random.integers(1, sizes.S + 1)) if sizes.S < 4 else 2}


def _top(scores, k):
    return np.argsort(np.argsort(-scores, axis=-1), axis=-1) < k


def _softmax(scores):
    return np.exp(_log_chances(scores))


def _only(scores, kept):
    return _softmax(np.where(kept, scores, -1e30))


check_top_k = Tensors(
    asks="`answer(scores, k)`: chances (T, V) over the k best letters of each row, 0 elsewhere.",
    inputs=("scores",),
    constants=_some_k,
    solve=lambda scores, k: _only(scores, _top(scores, k)),
    mistakes={
        "what is left does not sum to 1: cut before the softmax": lambda scores, k: (
            _softmax(scores) * _top(scores, k)
        ),
        "a score of 0 is not a chance of 0: -inf is": lambda scores, k: _softmax(
            scores * _top(scores, k)
        ),
        "the k worst, not the k best": lambda scores, k: _only(scores, _top(-scores, k)),
        "one letter too many: the k best, not k + 1": lambda scores, k: _only(
            scores, _top(scores, k + 1)
        ),
        "one letter too few: the k-th best belongs to them": lambda scores, k: _only(
            scores, _top(scores, max(1, k - 1))
        ),
        "k is not used: all letters keep a chance": lambda scores, k: _softmax(scores),
    },
)
