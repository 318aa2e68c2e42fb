"""Exercises about positions: rows that look back, a bias by distance, a test's own answers."""

import numpy as np

from mha_utils.checks.numbers import Numbers
from mha_utils.checks.tensors import Tensors


def _back(rates, steps, signs=(1, -1), exchanged=False):
    cos, sin = np.diag(np.cos(steps * rates)), np.diag(np.sin(steps * rates))
    if exchanged:
        cos, sin = sin, cos
    return np.block([[cos, signs[0] * sin], [signs[1] * sin, cos]])


def _side_by_side(rates, steps):
    order = np.arange(2 * len(rates)).reshape(2, -1).T.flatten()
    return _back(rates, steps)[np.ix_(order, order)]


check_look_back = Tensors(
    asks=(
        "`answer(rates, steps)`: (2n, 2n); the row of place i (n sines, then n cosines) times "
        "it is the row of place i - steps."
    ),
    constants=lambda sizes, random: {
        "rates": random.uniform(0.1, 1.5, sizes.Dh).astype(np.float32),
        "steps": 3,
    },
    solve=_back,
    mistakes={
        "that looks forward, to place i + steps: the signs of the two sines are exchanged": (
            lambda rates, steps: _back(rates, steps, (-1, 1))
        ),
        "both sines with a plus: that is no turn, lengths change": lambda rates, steps: _back(
            rates, steps, (1, 1)
        ),
        "both sines with a minus: that is no turn, lengths change": lambda rates, steps: _back(
            rates, steps, (-1, -1)
        ),
        "sine and cosine exchanged": lambda rates, steps: _back(rates, steps, exchanged=True),
        "one step only: the angles are rates times steps": lambda rates, steps: _back(rates, 1),
        "sines and cosines in turns: all sines come first": _side_by_side,
        "the identity matrix looks at the place itself": lambda rates, steps: np.eye(
            2 * len(rates)
        ),
    },
)


def _alibi(num_heads, seq_len, slope=lambda h, n: 2.0 ** (-8 * (h + 1) / n), sign=-1, far=abs):
    place = np.arange(seq_len)
    slopes = np.array([slope(h, num_heads) for h in range(num_heads)])
    return sign * slopes[:, None, None] * far(place[:, None] - place).astype(float)


check_alibi = Tensors(
    asks=(
        "`answer(num_heads, seq_len)`: (H, T, T), minus slope times |i - j|; the slopes are "
        "2^(-8/H), 2^(-16/H), ..., 2^(-8)."
    ),
    constants=lambda sizes, random: {"num_heads": sizes.H, "seq_len": sizes.T + 1},
    solve=_alibi,
    mistakes={
        "far keys rewarded: the sign is missing": lambda h, t: _alibi(h, t, sign=1),
        "slopes that start at 2^0: the first one is 2^(-8/H)": lambda h, t: _alibi(
            h, t, lambda n, heads: 2.0 ** (-8 * n / heads)
        ),
        "the same slope for every head": lambda h, t: _alibi(h, t, lambda n, heads: 2.0**-8),
        "i - j instead of its size: later keys are rewarded": lambda h, t: _alibi(
            h, t, far=lambda d: d
        ),
        "j - i instead of its size: earlier keys are rewarded": lambda h, t: _alibi(
            h, t, far=lambda d: -d
        ),
        "slopes 2^-1, 2^-2, ... whatever H is": lambda h, t: _alibi(
            h, t, lambda n, heads: 2.0 ** -(n + 1)
        ),
        "slopes in the opposite order": lambda h, t: _alibi(h, t)[::-1].copy(),
    },
)


def _followers(tokens) -> list[int]:
    return [j for j in range(1, len(tokens)) if tokens[j - 1] == tokens[-1]]


check_earliest_answer = Numbers(
    asks="`answer(tokens)`: the first place at which the last token's follower stands, else -1.",
    tried=(
        ([5, 7, 9, 5],),
        ([1, 4, 2, 4, 3, 4],),
        ([8, 8, 6, 8],),
        ([3, 1, 2],),
        ([2, 6, 2, 6, 2, 6, 2],),
        ([4],),
    ),
    solve=lambda tokens: min(_followers(tokens), default=-1),
    mistakes={
        "the last place, not the first": lambda tokens: max(_followers(tokens), default=-1),
        "the place of the token itself: its follower stands one further": lambda tokens: (
            tokens.index(tokens[-1])
        ),
        "the follower's symbol, not its place": lambda tokens: next(
            (tokens[j] for j in _followers(tokens)), -1
        ),
        "the question counted as its own earlier copy": lambda tokens: tokens.index(tokens[-1]) + 1,
        "how many places there are, not the first": lambda tokens: len(_followers(tokens)),
    },
)
