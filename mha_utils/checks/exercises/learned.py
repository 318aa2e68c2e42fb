"""Exercises about what heads can do and what they have learned (chapters 02 and 13)."""

import numpy as np

from mha_utils.checks.tensors import Tensors


def _offsets(sizes, random) -> dict:
    seq_len = sizes.T + 3
    return {"offsets": random.integers(0, seq_len, size=sizes.Dh).tolist(), "seq_len": seq_len}


def _lookup_weights(offsets, seq_len):
    place = np.arange(seq_len)
    back = (place[:, None] - place[None, :]) % seq_len
    return (back[None] == np.array(offsets)[:, None, None]).astype(float)


check_lookup_weights = Tensors(
    asks="`answer(offsets, seq_len)`: (H, T, T), head h looks offsets[h] back, on a circle.",
    constants=_offsets,
    solve=_lookup_weights,
    mistakes={
        "the tokens that come after, not before": lambda offsets, t: _lookup_weights(
            [-n % t for n in offsets], t
        ),
        "one head for all offsets: its rows are shared between them": lambda offsets, t: np.repeat(
            _lookup_weights(offsets, t).mean(axis=0)[None], len(offsets), axis=0
        ),
        "the circle is cut: the first tokens look at nobody": lambda offsets, t: (
            _lookup_weights(offsets, t) * np.tri(t)
        ),
        "`roll` without `dims`: the rows are shifted as one long line": lambda offsets, t: np.stack(
            [np.roll(np.eye(t), -n) for n in offsets]
        ),
        "the token itself, for every head": lambda offsets, t: np.stack([np.eye(t)] * len(offsets)),
        "one place too far: offset 0 is the token itself": lambda offsets, t: _lookup_weights(
            [n + 1 for n in offsets], t
        ),
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
