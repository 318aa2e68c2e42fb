"""Exercises about writing token by token: what fits, where it stays (chapter 15)."""

import numpy as np

from mha_utils.checks.numbers import Numbers
from mha_utils.checks.tensors import Tensors
from mha_utils.museum import bug
from mha_utils.reference import attention_batched, attention_gradients


def _fits(memory, layers, kv_heads, width, each=4):
    return memory // (each * layers * kv_heads * width)


check_tokens_that_fit = Numbers(
    asks=(
        "`answer(memory, num_layers, num_kv_heads, head_dim)`: how many whole tokens fit into so "
        "many bytes, if a number takes two."
    ),
    tried=((2**30, 32, 8, 128), (10**9, 2, 1, 64), (1000, 3, 2, 8), (10, 1, 1, 4)),
    solve=_fits,
    mistakes={
        "keys without values, or one byte for a number: each token has both, and a number two": (
            lambda *a: _fits(*a, each=2)
        ),
        "one byte for a number, and keys without values": lambda *a: _fits(*a, each=1),
        "four bytes for a number: these have 16 bits, not 32": lambda *a: _fits(*a, each=8),
        "bits instead of bytes": lambda *a: _fits(*a, each=32),
        "one layer: each has a cache of its own": lambda m, n, heads, dh: _fits(m, 1, heads, dh),
        "one KV head": lambda m, layers, heads, dh: _fits(m, layers, 1, dh),
        "one number for a key: the width is missing": lambda m, n, heads, dh: _fits(m, n, heads, 1),
        "rounded up: the last token does not fit": lambda *a: -_fits(-a[0], *a[1:]),
    },
)


def _place(t, window, sinks):
    return t if t < sinks else sinks + (t - sinks) % window


check_place_in_ring = Numbers(
    asks="`answer(t, window, sinks)`: the place of token t where only the oldest give way.",
    tried=(
        *((t, 4, 2) for t in (0, 1, 2, 5, 6, 7, 13)),
        *((9, 3, 0), (1000, 1, 4), (3, 5, 1)),
    ),
    solve=_place,
    mistakes={
        "as if there were no sinks: token `window` takes the place of a sink": lambda t, w, s: (
            t % (w + s)
        ),
        "the sinks are skipped, but not counted off: t % window begins elsewhere": (
            lambda t, w, s: t if t < s else s + t % w
        ),
        "the window begins at place 0, where the sinks are": lambda t, w, s: (
            t if t < s else (t - s) % w
        ),
        "a window that holds its sinks, too: it is `window` wide besides them": lambda t, w, s: (
            t if t < s else s + (t - s) % max(1, w - s)
        ),
        "one place too many: the window is one token wider": lambda t, w, s: (
            t if t < s else s + (t - s) % (w + 1)
        ),
        "it never comes round: t grows without end": lambda t, w, s: t,
        "the sinks are moved along, too": lambda t, w, s: s + (t - s) % w,
    },
)


def _lower_right(t, s):
    return np.arange(s) <= np.arange(t)[:, None] + s - t


def _upper_left(t, s):
    return np.arange(s) <= np.arange(t)[:, None]


def _written_out(shared, heads):
    return np.repeat(shared, heads // shared.shape[1], axis=1)


def _in_turn(shared, heads):
    return np.tile(shared, (1, heads // shared.shape[1], 1, 1))


def _joined(k, v, old_k, old_v):
    return np.concatenate([old_k, k], axis=2), np.concatenate([old_v, v], axis=2)


def _chunk(q, *keys_and_values, mask=_lower_right, order=_written_out, join=_joined):
    k, v = (order(a, q.shape[1]) for a in join(*keys_and_values))
    return attention_batched(q, k, v, mask(q.shape[2], k.shape[2]))[0]


def _chunk_gradients(q, k, v, old_k, old_v, grad_out):
    past, (heads, kv_heads) = old_k.shape[2], (q.shape[1], k.shape[1])
    every = [_written_out(a, heads) for a in _joined(k, v, old_k, old_v)]
    mask = _lower_right(q.shape[2], every[0].shape[2])
    of_q, *copies = attention_gradients(q, *every, grad_out, mask)
    of_k, of_v = (c.reshape(len(c), kv_heads, -1, *c.shape[2:]).sum(axis=2) for c in copies)
    return of_q, of_k[:, :, past:], of_v[:, :, past:], of_k[:, :, :past], of_v[:, :, :past]


check_chunk = Tensors(
    asks=(
        "`answer(q, k, v, old_k, old_v)`: what new tokens gather, each from all old tokens and "
        "from the new ones up to itself; heads of q share those of k and v."
    ),
    inputs=("q", "k", "v", "old_k", "old_v"),
    shapes={"q": "B BH T Dh", **dict.fromkeys("kv", "B H T Dh")}
    | dict.fromkeys(("old_k", "old_v"), "B H S Dh"),
    solve=_chunk,
    gradients=_chunk_gradients,
    mistakes={
        bug("top-left causal with a cache").label: lambda *a: _chunk(*a, mask=_upper_left),
        "no mask: a new token sees the new tokens after it": lambda *a: _chunk(
            *a, mask=lambda t, s: np.full((t, s), True)
        ),
        bug("groups repeated instead of interleaved").label: lambda *a: _chunk(*a, order=_in_turn),
        "the old tokens are forgotten": lambda *a: _chunk(
            *a, join=lambda k, v, old_k, old_v: (k, v)
        ),
        "the new tokens stand before the old ones": lambda *a: _chunk(
            *a, join=lambda k, v, old_k, old_v: _joined(old_k, old_v, k, v)
        ),
        "not divided by √Dh": lambda q, *a: _chunk(q * q.shape[-1] ** 0.5, *a),
        "a token does not see itself": lambda *a: _chunk(
            *a, mask=lambda t, s: np.arange(s) < np.arange(t)[:, None] + s - t
        ),
    },
)
