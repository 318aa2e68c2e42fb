"""Exercises about what heads can do and what they have learned (chapters 02 and 13)."""

import numpy as np

from mha_utils.checks.numbers import Numbers
from mha_utils.checks.tensors import Tensors


def _wish(front, named, flag):
    return float(named if flag else front)


check_wish = Numbers(
    asks="`answer(front, named, flag)`: 1.0 for the child that the flag asks for, else 0.0.",
    tried=tuple((float(p), float(n), float(f)) for f in (0, 1) for n in (0, 1) for p in (0, 1)),
    solve=_wish,
    mistakes={
        "both wishes at once: the flag is not used": lambda p, n, f: p + n,
        "both wishes at once, and 1 for either: the flag is not used": lambda p, n, f: max(p, n),
        "the flag the wrong way round": lambda p, n, f: _wish(n, p, f),
        "the first question alone: where is the named child?": lambda p, n, f: max(0.0, p - f),
        "the second question alone: where is the child in front?": lambda p, n, f: max(
            0.0, n + f - 1
        ),
        "the flag is added: the same bonus for every child": lambda p, n, f: p + n + f,
        "the named child without its - 1: it is wished for whatever is asked": lambda p, n, f: (
            max(0.0, p - f) + max(0.0, n + f)
        ),
        "without a ReLU: below 0 nothing is cut off": lambda p, n, f: (p - f) + (n + f - 1),
    },
)


def _tokens(sizes, random) -> dict:
    return {"tokens": random.integers(0, max(2, sizes.S), size=sizes.T + sizes.S)}


def _before(tokens, first=-1):
    return np.concatenate([[first], tokens[:-1]])


def _same(queries, keys, diagonal=0):
    """(T, T), True where they are the same, up to this diagonal: 0 for the query's own place."""
    return (queries[:, None] == keys[None, :]) & np.tri(len(keys), k=diagonal, dtype=bool)


def _induction(tokens, first=-1):
    return _same(tokens, _before(tokens, first))


check_induction_places = Tensors(
    asks="`answer(tokens)`: boolean (T, T), True at what followed earlier copies of a token.",
    constants=_tokens,
    solve=_induction,
    mistakes={
        "the earlier copies themselves, not what followed them": lambda x: _same(x, x, -1),
        "places after the query, too: a causal head cannot see them": lambda x: _same(
            x, _before(x), len(x)
        ),
        "the last token taken to stand in front of the first (`roll` closes a circle)": lambda x: (
            _induction(x, first=x[-1])
        ),
        "0 taken to stand in front of the first token: 0 is a token, too": lambda x: _induction(
            x, first=0
        ),
        "the query's own place left out: it, too, may stand right after a copy": lambda x: (
            _induction(x) & ~np.eye(len(x), dtype=bool)
        ),
        "queries and keys exchanged": lambda x: _same(_before(x), x, len(x)),
        "queries and keys exchanged, and places after the query hidden": lambda x: _same(
            _before(x), x
        ),
        "the earlier copies and the query itself, not what followed": lambda x: _same(x, x),
        "the token before the earlier copy": lambda x: _same(x, np.append(x[1:], -1), -1),
    },
)
