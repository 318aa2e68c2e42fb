"""Exercises that ask for whole numbers: how many, and where (chapters 03 to 11)."""

from mha_utils.checks.numbers import Numbers

ONE_SEQUENCE = "one sequence: the batch is missing"
ONE_COUNT_OF_T = "T counted once: every query meets every key"

check_count = Numbers(
    asks="`answer(B, T, D)`: how many numbers a tensor (B, H, T, Dh) holds.",
    tried=((2, 3, 4), (3, 5, 12), (32, 128, 512), (1, 1, 1)),
    solve=lambda b, t, d: b * t * d,
    mistakes={
        ONE_SEQUENCE: lambda b, t, d: t * d,
        "one number for each token: the width is missing": lambda b, t, d: b * t,
        "the sizes added, not multiplied": lambda b, t, d: b + t + d,
        "D counted twice": lambda b, t, d: b * t * d * d,
        "T counted twice": lambda b, t, d: b * t * t * d,
    },
)
check_heads_and_width = Numbers(
    asks="`answer(embed_dim, seq_len, parameters, weights)`: (num_heads, head_dim) of a layer.",
    tried=((64, 10, 12288, 400), (768, 1024, 1769472, 12582912), (6, 10, 144, 200), (1, 1, 3, 1)),
    solve=lambda d, t, parameters, weights: (
        weights // t**2,
        parameters * t**2 // (3 * d * weights),
    ),
    mistakes={
        "the width D / H: heads need not share D": lambda d, t, parameters, weights: (
            weights // t**2,
            d * t**2 // weights,
        ),
        "a map of T weights: every word looks at every word": lambda d, t, parameters, weights: (
            weights // t,
            parameters * t // (3 * d * weights),
        ),
        "one matrix a head: there are three": lambda d, t, parameters, weights: (
            weights // t**2,
            parameters * t**2 // (d * weights),
        ),
        "two matrices a head: there are three": lambda d, t, parameters, weights: (
            weights // t**2,
            parameters * t**2 // (2 * d * weights),
        ),
        "the width of all heads together": lambda d, t, parameters, weights: (
            weights // t**2,
            parameters // (3 * d),
        ),
        "(head_dim, num_heads), the wrong way round": lambda d, t, parameters, weights: (
            parameters * t**2 // (3 * d * weights),
            weights // t**2,
        ),
    },
)
check_storage_place = Numbers(
    asks="`answer(t, h, d, num_heads, head_dim)`: where x.view(T, H, Dh)[t, h, d] is stored.",
    tried=((1, 0, 0, 3, 4), (0, 2, 1, 3, 4), (0, 0, 0, 1, 1), (5, 7, 63, 8, 64)),
    solve=lambda t, h, d, H, Dh: (t * H + h) * Dh + d,
    mistakes={
        "counted from 1": lambda t, h, d, H, Dh: (t * H + h) * Dh + d + 1,
        "a token as wide as one head: num_heads is not used": lambda t, h, d, H, Dh: (
            (t + h) * Dh + d
        ),
        "a head as wide as one number: h is not multiplied by head_dim": lambda t, h, d, H, Dh: (
            t * H * Dh + h + d
        ),
        "t and h not multiplied by head_dim": lambda t, h, d, H, Dh: t * H + h + d,
        "columns dealt out like cards: column d of every head side by side": (
            lambda t, h, d, H, Dh: t * H * Dh + d * H + h
        ),
        "t multiplied by num_heads, h by head_dim: how wide is a token?": (
            lambda t, h, d, H, Dh: t * H + h * Dh + d
        ),
    },
)
check_strides = Numbers(
    asks="`answer(B, T, H, Dh)`: strides of a contiguous x.view(B, T, H, Dh).transpose(1, 2).",
    tried=((1, 4, 3, 2), (2, 5, 4, 3), (32, 100, 8, 64)),
    solve=lambda b, t, h, dh: (t * h * dh, dh, h * dh, 1),
    mistakes={
        "the strides of the view before the transpose, for B, T, H, Dh": lambda b, t, h, dh: (
            (t * h * dh, h * dh, dh, 1)
        ),
        "the strides of a fresh (B, H, T, Dh): a transpose moves no number": lambda b, t, h, dh: (
            (h * t * dh, t * dh, dh, 1)
        ),
        "the shape, not the strides": lambda b, t, h, dh: (b, h, t, dh),
        "bytes: strides count numbers": lambda b, t, h, dh: (
            (4 * t * h * dh, 4 * dh, 4 * h * dh, 4)
        ),
        "the strides in the order of T, H, ...: the largest comes first, for B": (
            lambda b, t, h, dh: (h * dh, dh, 1, t * h * dh)
        ),
    },
)
check_tokens_in_row_0 = Numbers(
    asks="`answer(seq_len, num_heads)`: tokens in row 0 of heads merged without the transpose.",
    tried=((10, 2), (4, 3), (6, 6), (2, 8), (5, 1)),
    solve=min,
    mistakes={
        "one token for each head: are there so many tokens?": lambda t, h: h,
        "all tokens: is there room for them in a row of H x Dh numbers?": lambda t, h: t,
        "what belongs into row 0, not what the wrong merge puts there": lambda t, h: 1,
        "numbered from 0: the last token, not how many": lambda t, h: min(t, h) - 1,
        "how many rows head 0 fills, not how many tokens fill a row": lambda t, h: -(-t // h),
        "the larger one of the two: either can run out first": max,
    },
)
check_copied = Numbers(
    asks="`answer(B, T, H, Dh)`: numbers copied by joining B and H of heads that were only split.",
    tried=((2, 10, 2, 4), (1, 10, 2, 4), (3, 7, 1, 5), (2, 1, 3, 4), (32, 100, 8, 64)),
    solve=lambda b, t, h, dh: 0 if 1 in (b, t, h) else b * t * h * dh,
    mistakes={
        "always: with some sizes one step width leads through all": lambda b, t, h, dh: (
            b * t * h * dh
        ),
        "never: from one sentence to the next there is a jump over its words": (
            lambda b, t, h, dh: 0
        ),
        "free for one sentence only: with one head, is there anything to join?": (
            lambda b, t, h, dh: 0 if b == 1 else b * t * h * dh
        ),
        "free for one head only: with one sentence, is there anything to join?": (
            lambda b, t, h, dh: 0 if h == 1 else b * t * h * dh
        ),
        "not free for one word: how far is it then from the last head to the next sentence?": (
            lambda b, t, h, dh: 0 if 1 in (b, h) else b * t * h * dh
        ),
        ONE_SEQUENCE: lambda b, t, h, dh: 0 if 1 in (b, t, h) else t * h * dh,
    },
)
check_attention_flops = Numbers(
    asks="`answer(B, T, D)`: FLOPs of scores and averages, without a mask.",
    tried=((1, 7, 12), (2, 128, 512), (4, 4096, 768), (1, 1, 1)),
    solve=lambda b, t, d: 4 * b * t * t * d,
    mistakes={
        "half of it: only one of the two products, or a multiplication and an addition as one": (
            lambda b, t, d: 2 * b * t * t * d
        ),
        "a quarter of it: one product, and a multiplication and an addition as one": (
            lambda b, t, d: b * t * t * d
        ),
        ONE_COUNT_OF_T: lambda b, t, d: 4 * b * t * d,
        "T and D exchanged: D counted twice, as in a projection": lambda b, t, d: 4 * b * t * d * d,
        ONE_SEQUENCE: lambda b, t, d: 4 * t * t * d,
    },
)
check_operations_with_a_byte = Numbers(
    asks="`answer(b, g, number_bytes)`: operations of attention with each byte of keys and values.",
    tried=((64, 1, 2), (128, 4, 2), (1, 8, 4), (1, 1, 1), (1, 1, 4)),
    solve=lambda b, g, number_bytes: 2 * b * g / number_bytes,
    mistakes={
        "half of it: a multiplication and an addition are two": (
            lambda b, g, number_bytes: b * g / number_bytes
        ),
        "twice as much: the key's bytes or the value's are missing": (
            lambda b, g, number_bytes: 4 * b * g / number_bytes
        ),
        "two bytes for every number: number_bytes is not used": lambda b, g, number_bytes: (
            b * g / 1
        ),
        "one head: g of them use the same key": lambda b, g, number_bytes: 2 * b / number_bytes,
        "one query: b of them use the same key": lambda b, g, number_bytes: 2 * g / number_bytes,
        "the bytes of an operation, the wrong way round": (
            lambda b, g, number_bytes: number_bytes / (2 * b * g)
        ),
        "operations with a number, not with a byte": lambda b, g, number_bytes: 2.0 * b * g,
    },
)
