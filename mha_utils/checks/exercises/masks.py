"""Exercises about masks (chapter 06): who may look at whom, a row without a key."""

import numpy as np

from mha_utils.checks.exercises.one_head import softmax
from mha_utils.checks.museum_mistakes import Uncovered, museum_mistakes
from mha_utils.checks.tensors import Tensors
from mha_utils.museum import bug

OFF_BY_ONE = (
    "causal off by one: a token cannot see itself",
    "causal off by one: the next token is seen",
)


def _window(query_len, key_len, window):
    causal = np.tri(query_len, key_len, key_len - query_len, dtype=bool)
    return causal & ~np.tri(query_len, key_len, key_len - query_len - window, dtype=bool)


def _causal(query_len, key_len):
    return _window(query_len, key_len, key_len)


def _causal_by(layer, query_len, key_len):
    return layer(1, 1).causal(query_len, key_len)


def _window_by(layer, query_len, key_len, window):
    """The window of a layer whose causal mask has a bug."""
    too_old = np.tri(query_len, key_len, key_len - query_len - window, dtype=bool)
    seen = _causal_by(layer, query_len, key_len)
    return seen & ~seen.new_tensor(too_old)


def _window_along(layer, query_len, key_len, window):
    """The window that starts where the causal mask of the layer ends."""
    seen = _causal_by(layer, query_len, key_len)
    too_old = np.pad(seen[:, window:], ((0, 0), (0, min(window, key_len))))
    return seen & ~seen.new_tensor(too_old)


def _draw_window(sizes, random) -> dict:
    key_len = sizes.T + sizes.S - 1
    return {"query_len": sizes.T, "key_len": key_len, "window": max(1, min(3, key_len - 2))}


check_window_mask = Tensors(
    asks=(
        "`answer(query_len, key_len, window)`: boolean (T, S), True = may attend, S >= T. Each "
        "query sees the last `window` keys up to its own; the last query is aligned with the "
        "last key."
    ),
    constants=_draw_window,
    solve=_window,
    mistakes={
        "True where a query may NOT look": lambda t, s, w: ~_window(t, s, w),
        "causal without a window: old keys are still seen": lambda t, s, w: _causal(t, s),
        "a window without an end: later keys are seen": lambda t, s, w: (
            ~np.tri(t, s, s - t - w, dtype=bool)
        ),
        "one key too many: the query's own key counts as one of the window": lambda t, s, w: (
            _window(t, s, w + 1)
        ),
        "one key too few: the query's own key is one of the window": lambda t, s, w: _window(
            t, s, w - 1
        ),
        "a window to both sides: later keys are seen": lambda t, s, w: (
            np.tri(t, s, s - t + w - 1, dtype=bool) & ~np.tri(t, s, s - t - w, dtype=bool)
        ),
        **museum_mistakes(
            _window_by,
            *OFF_BY_ONE,
            "causal upside down",
        ),
        **museum_mistakes(_window_along, "top-left causal with a cache"),
    },
)


def _packed(documents):
    return _same(documents) & _causal(len(documents), len(documents))


def _same(documents):
    return documents[:, None] == documents


check_packed_mask = Tensors(
    asks=(
        "`answer(documents)`: boolean (T, T), True = may attend: a query sees the tokens of its "
        "own document, up to itself."
    ),
    constants=lambda sizes, random: {"documents": _draw_documents(sizes.T + 2, random)},
    solve=_packed,
    mistakes={
        "True where a query may NOT look": lambda d: ~_packed(d),
        "later tokens of the same document are seen": _same,
        "causal alone: earlier documents are seen": lambda d: _causal(len(d), len(d)),
        "either is enough: combine the two with `&`, not with `|`": lambda d: (
            _same(d) | _causal(len(d), len(d))
        ),
        "numbers compared with >=: documents with smaller numbers are seen": lambda d: (
            (d[:, None] >= d) & _causal(len(d), len(d))
        ),
        "a token cannot see itself": lambda d: _same(d) & ~np.eye(len(d), dtype=bool) & _packed(d),
        "a token sees itself and the future of its document, not the past": lambda d: _packed(d).T,
    },
)


def _draw_documents(length, random):
    """Runs of equal numbers, and the numbers are in no order."""
    starts = np.sort(random.integers(0, length, size=2))
    return random.permutation([7, 2, 4])[(np.arange(length)[:, None] >= starts).sum(axis=1)]


def _mask_with_an_empty_row(sizes, random) -> dict:
    mask = random.random((sizes.T, sizes.S)) < 0.6
    mask[-1] = False
    mask[0, 0] = True
    return {"mask": mask}


def _masked_weights(scores, mask):
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(softmax(np.where(mask, scores.astype(np.float64), -np.inf)))


def _weigh_by(layer, scores, mask):
    made = layer(1, 1)
    return made.weigh(scores, made.join(mask, False, *scores.shape[-2:]))


check_masked_weights = Tensors(
    asks="`answer(scores, mask)`: softmax over the allowed keys, zeros for an empty row.",
    inputs=("scores",),
    constants=_mask_with_an_empty_row,
    solve=_masked_weights,
    mistakes={
        **museum_mistakes(
            _weigh_by,
            *("NaN rows", "-1e9 fill", "mask inverted", "mask ignored", "mask after the softmax"),
            *("float 0/1 mask added", "mask multiplied into the scores"),
            "softmax over the queries",
        ),
        **museum_mistakes(
            _weigh_by,
            "mask inverted",
            base=Uncovered,
            note="\n  And rows that may attend to nothing are NaN",
        ),
        **museum_mistakes(
            _weigh_by,
            "mask inverted",
            base=bug("-1e9 fill").module,
            note="\n  And rows that may attend to nothing get equal shares (a fill like -1e9)",
        ),
    },
)
