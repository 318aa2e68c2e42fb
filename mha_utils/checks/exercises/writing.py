"""Exercises about a model that writes (chapter 16)."""

import numpy as np

from mha_utils.checks.built import Composed, composed, parts_of_a_block, slopes
from mha_utils.checks.tensors import Tensors


def _log_chances(scores):
    above = scores - scores.max(axis=-1, keepdims=True)
    return above - np.log(np.exp(above).sum(axis=-1, keepdims=True))


def _right(x, norm, attention, mlp_norm, mlp):
    x = x + attention(norm(x), is_causal=True)
    return x + mlp(mlp_norm(x))


def _gathered(x, norm, attention):
    return x + attention(norm(x), is_causal=True)


def _lost_at_attention(x, norm, attention, mlp_norm, mlp):
    x = attention(norm(x), is_causal=True)
    return x + mlp(mlp_norm(x))


def _lost_at_mlp(x, norm, attention, mlp_norm, mlp):
    return mlp(mlp_norm(_gathered(x, norm, attention)))


def _post_norm(x, norm, attention, mlp_norm, mlp):
    x = norm(x + attention(x, is_causal=True))
    return mlp_norm(x + mlp(x))


def _side_by_side(x, norm, attention, mlp_norm, mlp):
    return _gathered(x, norm, attention) + mlp(mlp_norm(x))


def _sees_all(x, norm, attention, mlp_norm, mlp):
    x = x + attention(norm(x))
    return x + mlp(mlp_norm(x))


def _adds_to_copies(x, norm, attention, mlp_norm, mlp):
    x = norm(x)
    x = mlp_norm(x + attention(x, is_causal=True))
    return x + mlp(x)


def _no_norms(x, norm, attention, mlp_norm, mlp):
    x = x + attention(x, is_causal=True)
    return x + mlp(x)


check_block = Composed(
    asks="`answer`: a class made of the four parts of a block; called with x (B, T, D).",
    inputs=("x",),
    shapes={"x": "B T D"},
    constants=parts_of_a_block,
    solve=composed(_right),
    gradients=slopes(_right),
    mistakes={
        "attention replaces x: it should add to x": composed(_lost_at_attention),
        "the MLP replaces x: it should add to x": composed(_lost_at_mlp),
        "the norms come after the sums (post-norm): each part should read a normed copy": (
            composed(_post_norm)
        ),
        "the MLP reads the x from before the attention: it should read what was gathered, too": (
            composed(_side_by_side)
        ),
        "letters see those after them: is_causal=True is missing": composed(_sees_all),
        "the sums begin with the normed copies: add to x itself": composed(_adds_to_copies),
        "both norms are missing": composed(_no_norms),
        "the two norms are exchanged": composed(
            lambda x, norm, attention, mlp_norm, mlp: _right(x, mlp_norm, attention, norm, mlp)
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
    shapes={"scores": "T S"},
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
