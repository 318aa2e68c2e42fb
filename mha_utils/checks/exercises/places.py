"""Exercises about positions: pairs that turn, a bias by distance (chapter 14)."""

import numpy as np

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


def _turn(q, positions, rates, back=1, apart=False, exchanged=False, woven=True):
    angles = positions[:, None] * rates
    cos, sin = np.cos(angles), back * np.sin(angles)
    if exchanged:
        cos, sin = sin, cos
    a, b = np.split(q, 2, axis=-1) if apart else (q[:, 0::2], q[:, 1::2])
    turned = (a * cos - b * sin, a * sin + b * cos)
    if apart or not woven:
        return np.concatenate(turned, axis=-1)
    return np.stack(turned, axis=-1).reshape(q.shape)


check_turn_pairs = Tensors(
    asks=(
        "`answer(q, positions, rates)`: q (T, 2n); the pair of features 2n and 2n + 1 turned by "
        "positions times rates[n]."
    ),
    constants=lambda sizes, random: {
        "q": random.standard_normal((sizes.T, 2 * (sizes.Dh + 1))).astype(np.float32),
        "positions": random.integers(1, 30, sizes.T),
        "rates": random.uniform(0.1, 1.5, sizes.Dh + 1).astype(np.float32),
    },
    solve=_turn,
    mistakes={
        "the two halves are paired, not neighbours": lambda q, p, r: _turn(q, p, r, apart=True),
        "turned the other way: one sine has the wrong sign in each line": lambda q, p, r: _turn(
            q, p, r, back=-1
        ),
        "sine and cosine exchanged": lambda q, p, r: _turn(q, p, r, exchanged=True),
        "all first features, then all second ones: neighbours have to stand together again": (
            lambda q, p, r: _turn(q, p, r, woven=False)
        ),
        "every pair turned at the rate of the first": lambda q, p, r: _turn(q, p, 0 * r + r[0]),
        "the same turn at every place": lambda q, p, r: _turn(q, 0 * p + 1, r),
        "nothing is turned": lambda q, p, r: q,
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
