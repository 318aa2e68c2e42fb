"""Tasks about what happens between scores and weights: masks, softmax, dropout."""

import numpy as np

from mha_utils.checks.tensors import Tensors


def _lengths(lead, t, s, dh, dv, random) -> dict:
    return {"query_len": t, "key_len": s + t - 1}


def _causal(query_len, key_len, diagonal=0):
    return np.tri(query_len, key_len, key_len - query_len + diagonal, dtype=bool)


check_causal_mask = Tensors(
    asks=(
        "`answer(query_len, key_len)`: boolean (T, S), True = may attend, S >= T. The last "
        "query is aligned with the last key."
    ),
    inputs=(),
    constants=_lengths,
    solve=_causal,
    mistakes={
        "True where a query may NOT look": lambda t, s: ~_causal(t, s),
        "triu(diagonal=1): True where a query may NOT look, and aligned top left": lambda t, s: (
            np.triu(np.ones((t, s), bool), 1)
        ),
        "strictly earlier keys only: a token cannot see itself": lambda t, s: _causal(t, s, -1),
        "one key too many: every query sees its successor": lambda t, s: _causal(t, s, 1),
        "aligned top left: with more keys than queries the last key is hidden": lambda t, s: np.tri(
            t, s, dtype=bool
        ),
        "the future instead of the past": lambda t, s: np.triu(np.ones((t, s), bool), s - t),
    },
)


def _square(wrong):
    """A wrong mask of (T, S) as an answer to scores (*B, T, T)."""
    return lambda scores: wrong(*scores.shape[-2:])


check_mask_beside = Tensors(
    asks="`answer(scores)`: the causal mask (T, T) of scores (*B, T, T), where they are.",
    inputs=("scores",),
    shapes=lambda lead, t, s, dh, dv: {"scores": (*lead, t, t)},
    on_devices=("cpu", "meta"),
    solve=_square(_causal),
    mistakes={
        "the mask the other way round: True = may attend": _square(lambda t, s: ~_causal(t, s)),
        "strictly earlier keys only: a token cannot see itself": _square(
            lambda t, s: _causal(t, s, -1)
        ),
        "one key too many: every query sees its successor": _square(lambda t, s: _causal(t, s, 1)),
        "the future instead of the past": _square(lambda t, s: np.triu(np.ones((t, s), bool))),
    },
)


def _mask_with_an_empty_row(lead, t, s, dh, dv, random) -> dict:
    mask = random.random((t, s)) < 0.6
    mask[-1] = False
    mask[0, 0] = True
    return {"mask": mask}


def _weights(scores, mask, fill=-np.inf):
    scores = np.where(mask, scores.astype(np.float64), fill)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def _masked_weights(scores, mask):
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(_weights(scores, mask))


check_masked_weights = Tensors(
    asks="`answer(scores, mask)`: softmax over the allowed keys, zeros for an empty row.",
    inputs=("scores",),
    constants=_mask_with_an_empty_row,
    solve=_masked_weights,
    mistakes={
        "rows that may attend to nothing are NaN": _weights,
        "rows that may attend to nothing get equal shares (a fill like -1e9)": lambda s, m: (
            _weights(s, m, -1e9)
        ),
        "the mask upside down: True read as forbidden": lambda s, m: _masked_weights(s, ~m),
        "the mask upside down, and full rows are NaN": lambda s, m: _weights(s, ~m),
        "the mask upside down, with a fill like -1e9": lambda s, m: _weights(s, ~m, -1e9),
        "the mask is not used": lambda s, m: _weights(s, np.ones_like(m)),
        "softmax over the queries": lambda s, m: np.swapaxes(
            _masked_weights(np.swapaxes(s, -2, -1), m.T), -2, -1
        ),
        "mask applied after the softmax: rows do not sum to 1": lambda s, m: (
            _weights(s, np.ones_like(m)) * m
        ),
        "the mask added as 0 and 1: it forbids nothing": lambda s, m: _weights(
            s + m, np.ones_like(m)
        ),
        "the mask multiplied in: a score of 0 is not forbidden": lambda s, m: _weights(
            s * m, np.ones_like(m)
        ),
    },
)


def _overflowing(scores):
    powers = np.exp(scores.astype(np.float32))
    return powers / powers.sum(axis=-1, keepdims=True)


def _without_the_largest(scores, axis):
    return _overflowing(scores - scores.max(axis=axis, keepdims=True))


check_stable_softmax = Tensors(
    asks="`answer(scores)`: a softmax over the last dimension for scores of several hundred.",
    inputs=("scores",),
    spread=200.0,
    solve=lambda scores: _weights(scores, np.ones(scores.shape, bool)),
    gradients=lambda scores, grad_out: (
        (w := _weights(scores, np.ones(scores.shape, bool)))
        * (grad_out - (w * grad_out).sum(axis=-1, keepdims=True)),
    ),
    mistakes={
        "exp of a large score is inf, and inf / inf is NaN: take the largest off first": (
            _overflowing
        ),
        "softmax over the queries": lambda scores: np.swapaxes(
            _weights(np.swapaxes(scores, -2, -1), True), -2, -1
        ),
        "scores divided by their largest: that changes the shares": lambda scores: _weights(
            scores / scores.max(axis=-1, keepdims=True), True
        ),
        "the largest of all scores taken off: each row has its own": lambda scores: (
            _without_the_largest(scores, None)
        ),
        "the largest of each column taken off: rows must sum to 1": lambda scores: (
            _without_the_largest(scores, -2)
        ),
        "scores cut off at a limit: that changes the shares": lambda scores: _weights(
            np.minimum(scores, 80.0), True
        ),
    },
)


def _draw_to_drop(lead, t, s, dh, dv, random) -> dict:
    draw = random.random((*lead, t, s)).astype(np.float32)
    draw.flat[-1], draw.flat[0] = 0.25, 0.9
    return {"p": 0.25, "draw": draw}


def _again_to_one(weights):
    return weights / weights.sum(axis=-1, keepdims=True)


check_drop_weights = Tensors(
    asks="`answer(weights, p, draw)`: weights dropped where the uniform draw is below p.",
    inputs=("weights",),
    constants=_draw_to_drop,
    solve=lambda weights, p, draw: weights * (draw >= p) / (1 - p),
    mistakes={
        "the kept weights are not divided by 1 - p": lambda w, p, draw: w * (draw >= p),
        "kept with probability p instead of dropped": lambda w, p, draw: w * (draw < p) / (1 - p),
        "a draw equal to p drops, too: below p is `<`": lambda w, p, draw: w * (draw > p) / (1 - p),
        "kept weights neither divided nor chosen right: dropped where the draw is above p": (
            lambda w, p, draw: w * (draw < p)
        ),
        "nothing dropped, everything divided by 1 - p": lambda w, p, draw: w / (1 - p),
        "rows made to sum to 1 again: divide by 1 - p, whatever was dropped": lambda w, p, draw: (
            _again_to_one(w * (draw >= p))
        ),
        "the kept weights picked out into one line: the dropped ones must be 0": (
            lambda w, p, draw: w[draw >= p] / (1 - p)
        ),
        "divided by p": lambda w, p, draw: w * (draw >= p) / p,
        "multiplied by 1 - p": lambda w, p, draw: w * (draw >= p) * (1 - p),
    },
)
