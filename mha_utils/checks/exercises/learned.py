"""Tasks about what heads can do and what they have learned (chapters 02 and 13)."""

import numpy as np

from mha_utils.checks.tensors import Tensors


def _offsets(lead, t, s, dh, dv, random) -> dict:
    return {"offsets": [int(n) for n in random.integers(0, t + 3, size=dh)], "seq_len": t + 3}


def _lookup_weights(offsets, seq_len):
    place = np.arange(seq_len)
    back = (place[:, None] - place[None, :]) % seq_len
    return (back[None] == np.array(offsets)[:, None, None]).astype(float)


check_lookup_weights = Tensors(
    asks="`answer(offsets, seq_len)`: (H, T, T), head h looks offsets[h] back, on a circle.",
    inputs=(),
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


def _some_sources(lead, t, s, dh, dv, random) -> dict:
    sources = random.integers(-1, s, size=t)
    sources[-1], sources[0] = -1, s - 1
    return {"sources": sources}


def _mean_mass(weights, sources):
    asked = sources >= 0
    return weights.astype(np.float64)[..., np.flatnonzero(asked), sources[asked]].mean()


check_mean_mass = Tensors(
    asks="`answer(weights, sources)`: mean weight (T, S) on sources (T,), -1 = none.",
    inputs=("weights",),
    constants=_some_sources,
    solve=_mean_mass,
    shapes=lambda lead, t, s, dh, dv: {"weights": (t, s)},
    mistakes={
        "queries without a source count as if it were the last key (index -1)": (
            lambda w, sources: w.astype(np.float64)[np.arange(len(sources)), sources].mean()
        ),
        "divided by all queries, not by those that have a source": lambda w, sources: (
            _mean_mass(w, sources) * (sources >= 0).mean()
        ),
        "the sum, not the mean": lambda w, sources: _mean_mass(w, sources) * (sources >= 0).sum(),
        "the mean of all weights: sources are not used": lambda w, sources: w.mean(),
        "the largest weight of each row, wherever it is": lambda w, sources: (
            w[sources >= 0].max(axis=-1).mean()
        ),
        "every query with the sources of all: pair each row with its own column": (
            lambda w, sources: w[sources >= 0][:, sources[sources >= 0]].mean()
        ),
        "every query with the sources of all, -1 among them": lambda w, sources: w[
            :, sources
        ].mean(),
    },
)


def _tokens(lead, t, s, dh, dv, random) -> dict:
    return {"tokens": random.integers(0, max(2, s), size=t + s)}


def _induction(tokens, first=-1):
    before = np.concatenate([[first], tokens[:-1]])
    place = np.arange(len(tokens))
    return (tokens[:, None] == before[None, :]) & (place[None, :] <= place[:, None])


check_induction_places = Tensors(
    asks="`answer(tokens)`: boolean (T, T), True at what followed earlier copies of a token.",
    inputs=(),
    constants=_tokens,
    solve=_induction,
    mistakes={
        "the earlier copies themselves, not what followed them": lambda x: (
            (x[:, None] == x[None, :]) & np.tri(len(x), k=-1, dtype=bool)
        ),
        "places after the query, too: a causal head cannot see them": lambda x: (
            x[:, None] == np.concatenate([[-1], x[:-1]])[None, :]
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
        "queries and keys exchanged": lambda x: (
            np.concatenate([[-1], x[:-1]])[:, None] == x[None, :]
        ),
        "queries and keys exchanged, and places after the query hidden": lambda x: (
            (np.concatenate([[-1], x[:-1]])[:, None] == x[None, :]) & np.tri(len(x), dtype=bool)
        ),
        "the earlier copies and the query itself, not what followed": lambda x: (
            (x[:, None] == x[None, :]) & np.tri(len(x), dtype=bool)
        ),
        "the token before the earlier copy": lambda x: (
            (x[:, None] == np.concatenate([x[1:], [-1]])[None, :])
            & np.tri(len(x), k=-1, dtype=bool)
        ),
    },
)
