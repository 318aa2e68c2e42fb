"""Wrong answers to the exercises about writing token by token."""

import torch


def fits(each=4, layers=True, kv_heads=True, width=True):
    def answer(memory, num_layers, num_kv_heads, head_dim):
        factors = (num_layers, layers), (num_kv_heads, kv_heads), (head_dim, width)
        for factor, counts in factors:
            memory //= factor if counts else 1
        return memory // each

    return answer


def rounded_up(memory, num_layers, num_kv_heads, head_dim):
    token = 4 * num_layers * num_kv_heads * head_dim
    return (memory + token - 1) // token


def after_sinks(place):
    return lambda t, window, sinks: t if t < sinks else place(t, window, sinks)


def chunk(corner="lower right", order=None, join=None, scale=1.0):
    order = order or (lambda shared, group: shared.repeat_interleave(group, dim=1))
    join = join or (lambda new, old: torch.cat([old, new], dim=2))

    def answer(q, k, v, old_k, old_v):
        keys, values = join(k, old_k), join(v, old_v)
        group = q.shape[1] // k.shape[1]
        keys, values = order(keys, group), order(values, group)
        scores = scale * q @ keys.mT / q.shape[-1] ** 0.5
        far = {"lower right": keys.shape[2] - q.shape[2], "upper left": 0}
        far["itself hidden"] = far["lower right"] - 1
        if corner in far:
            seen = torch.ones(scores.shape[-2:]).tril(far[corner]).bool()
            scores = scores.masked_fill(~seen, -torch.inf)
        return scores.softmax(dim=-1).nan_to_num() @ values

    return answer


def unscaled(q, *others):
    return chunk()(q * q.shape[-1] ** 0.5, *others)


CHAPTERS = {
    "15": {
        "check_tokens_that_fit": [
            (fits(each=2), "keys without values"),
            (fits(each=1), "one byte for a number, and keys without values"),
            (fits(each=8), "four bytes for a number"),
            (fits(each=32), "bits instead of bytes"),
            (fits(layers=False), "one layer"),
            (fits(kv_heads=False), "one KV head"),
            (fits(width=False), "the width is missing"),
            (rounded_up, "rounded up"),
        ],
        "check_place_in_ring": [
            (lambda t, window, sinks: t % (window + sinks), "as if there were no sinks"),
            (after_sinks(lambda t, w, s: s + t % w), "not counted off"),
            (after_sinks(lambda t, w, s: (t - s) % w), "the window begins at place 0"),
            (after_sinks(lambda t, w, s: s + (t - s) % (w + 1)), "one place too many"),
            (after_sinks(lambda t, w, s: s + (t - s) % max(1, w - s)), "holds its sinks, too"),
            (lambda t, window, sinks: sinks + (t - sinks) % window, "the sinks are moved along"),
            (lambda t, window, sinks: t, "it never comes round"),
        ],
        "check_chunk": [
            (chunk("upper left"), "top-left causal with a cache"),
            (chunk("none"), "no mask"),
            (chunk(order=lambda s, group: s.repeat(1, group, 1, 1)), "groups repeated"),
            (chunk(join=lambda new, old: new), "the old tokens are forgotten"),
            (chunk(join=lambda new, old: torch.cat([new, old], dim=2)), "stand before the old"),
            (chunk("itself hidden"), "a token does not see itself"),
            (unscaled, "not divided by √Dh"),
        ],
    }
}
