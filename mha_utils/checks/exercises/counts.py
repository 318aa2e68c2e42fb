"""Tasks that ask for a number or a tuple of numbers: counts, places, probabilities."""

from mha_utils.checks.numbers import Numbers

check_head_dim = Numbers(
    asks="`answer(embed_dim, num_heads)`: the width Dh of one head.",
    tried=((12, 3), (8, 8), (5, 1), (512, 8), (768, 12)),
    solve=lambda embed_dim, num_heads: embed_dim // num_heads,
)
check_count = Numbers(
    asks="`answer(B, T, D)`: how many numbers a tensor (B, H, T, Dh) holds.",
    tried=((2, 3, 4), (3, 5, 12), (32, 128, 512), (1, 1, 1)),
    solve=lambda b, t, d: b * t * d,
    mistakes={
        "one sequence: the batch is missing": lambda b, t, d: t * d,
        "one number for each token: the width is missing": lambda b, t, d: b * t,
        "the sizes added, not multiplied": lambda b, t, d: b + t + d,
        "D counted twice": lambda b, t, d: b * t * d * d,
        "T counted twice": lambda b, t, d: b * t * t * d,
    },
)
check_parameter_count = Numbers(
    asks="`answer(embed_dim, num_heads, head_dim)`: numbers in W_q, W_k, W_v of all heads.",
    tried=((6, 2, 4), (512, 8, 64), (768, 12, 64), (1, 1, 1)),
    solve=lambda d, h, dh: 3 * h * d * dh,
    mistakes={
        "one of the three matrices of every head": lambda d, h, dh: h * d * dh,
        "the three matrices of a single head": lambda d, h, dh: 3 * d * dh,
        "two matrices of every head: W_v is missing": lambda d, h, dh: 2 * h * d * dh,
        "square matrices: head_dim is not used": lambda d, h, dh: 3 * h * d * d,
        "three matrices (D, D): right only where H x Dh = D": lambda d, h, dh: 3 * d * d,
        "the two sizes of a matrix added, not multiplied": lambda d, h, dh: 3 * h * (d + dh),
        "with a bias, and there is none": lambda d, h, dh: 3 * h * (d + 1) * dh,
    },
)
check_storage_place = Numbers(
    asks="`answer(t, h, d, num_heads, head_dim)`: where x.view(T, H, Dh)[t, h, d] is stored.",
    tried=((1, 0, 0, 3, 4), (0, 2, 1, 3, 4), (0, 0, 0, 1, 1), (5, 7, 63, 8, 64)),
    solve=lambda t, h, d, heads, dh: (t * heads + h) * dh + d,
    mistakes={
        "counted from 1": lambda t, h, d, heads, dh: (t * heads + h) * dh + d + 1,
        "a token as wide as one head: num_heads is not used": lambda t, h, d, heads, dh: (
            (t + h) * dh + d
        ),
        "a head as wide as one number: h is not multiplied by head_dim": (
            lambda t, h, d, heads, dh: t * heads * dh + h + d
        ),
        "t and h not multiplied by head_dim": lambda t, h, d, heads, dh: t * heads + h + d,
        "columns dealt out like cards: column d of every head side by side": (
            lambda t, h, d, heads, dh: t * heads * dh + d * heads + h
        ),
        "t multiplied by num_heads, h by head_dim: how wide is a token?": (
            lambda t, h, d, heads, dh: t * heads + h * dh + d
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
        "T counted once: every query meets every key": lambda b, t, d: 4 * b * t * d,
        "T and D exchanged: D counted twice, as in a projection": lambda b, t, d: 4 * b * t * d * d,
        "one sequence: the batch is missing": lambda b, t, d: 4 * t * t * d,
    },
)
check_map_bytes = Numbers(
    asks="`answer(B, H, T, number_bytes)`: bytes of one tensor of attention weights.",
    tried=((2, 3, 5, 2), (1, 12, 4096, 4), (8, 16, 2048, 2), (1, 1, 1, 4)),
    solve=lambda b, h, t, size: b * h * t * t * size,
    mistakes={
        "how many weights, not how many bytes": lambda b, h, t, size: b * h * t * t,
        "one head: every head has weights of its own": lambda b, h, t, size: b * t * t * size,
        "T counted once: every query meets every key": lambda b, h, t, size: b * h * t * size,
        "one sequence: the batch is missing": lambda b, h, t, size: h * t * t * size,
        "4 bytes for every number: number_bytes is not used": lambda b, h, t, size: (
            4 * b * h * t * t
        ),
        "MiB, not bytes": lambda b, h, t, size: b * h * t * t * size / 2**20,
        "bits, not bytes": lambda b, h, t, size: 8 * b * h * t * t * size,
    },
)
check_module_parameter_count = Numbers(
    asks="`answer(embed_dim, num_heads)`: numbers in the four projections, biases included.",
    tried=((12, 3), (512, 8), (512, 64), (1, 1)),
    solve=lambda d, h: 4 * d * (d + 1),
    mistakes={
        "the weights alone: the biases are missing": lambda d, h: 4 * d * d,
        "three projections: the output projection is missing": lambda d, h: 3 * d * (d + 1),
        "one projection of the four": lambda d, h: d * (d + 1),
        "multiplied by the number of heads: they share the columns": lambda d, h: (
            4 * h * d * (d + 1)
        ),
        "one bias for all four projections": lambda d, h: 4 * d * d + d,
        "a bias of one number: every output has its own": lambda d, h: 4 * (d * d + 1),
        "matrices (D, Dh), one for each projection: only one head": lambda d, h: (
            4 * (d * (d // h) + d // h)
        ),
    },
)
