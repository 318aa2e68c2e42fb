"""Exercises that ask for a float: a scale, a probability, a share (02, 07, 08, 13)."""

import math

from mha_utils.checks.numbers import Numbers

check_scale = Numbers(
    asks="`answer(head_dim, q_std, k_std)`: what makes the scores' standard deviation 1.",
    tried=((64, 1.0, 1.0), (16, 2.0, 0.5), (9, 3.0, 2.0), (1, 1.0, 1.0)),
    solve=lambda dh, q_std, k_std: q_std * k_std * dh**0.5,
    mistakes={
        "q_std and k_std are not used": lambda dh, q, k: dh**0.5,
        "the variance of q · k: take its square root": lambda dh, q, k: (q * k) ** 2 * dh,
        "standard deviations added up: variances do that": lambda dh, q, k: q * k * dh,
        "q_std and k_std added, not multiplied": lambda dh, q, k: (q + k) * dh**0.5,
        "the root of q_std and k_std, too: they are roots of variances already": (
            lambda dh, q, k: (q * k * dh) ** 0.5
        ),
        "what to multiply by, not to divide by": lambda dh, q, k: 1 / (q * k * dh**0.5),
        "only the divisor of one product: head_dim is not used": lambda dh, q, k: q * k,
    },
)
check_some_row_lost = Numbers(
    asks="`answer(p, seq_len)`: the probability that at least one of the rows is empty.",
    tried=((0.5, 2), (0.1, 3), (0.9, 10), (0.4, 1)),
    solve=lambda p, seq_len: 1 - math.prod(1 - p**n for n in range(1, seq_len + 1)),
    mistakes={
        "the probability that no row is empty": lambda p, t: math.prod(
            1 - p**n for n in range(1, t + 1)
        ),
        "the probability that every row is empty": lambda p, t: p ** (t * (t + 1) // 2),
        "the probability that the last row is empty": lambda p, t: p**t,
        "the first row alone: the others can be empty, too": lambda p, t: p,
        "the probabilities added: two rows may be empty in one step": lambda p, t: sum(
            p**n for n in range(1, t + 1)
        ),
        "all rows as long as the first: word n looks at n words": lambda p, t: 1 - (1 - p) ** t,
        "all rows as long as the last: word n looks at n words": lambda p, t: 1 - (1 - p**t) ** t,
        "rows of 0 to seq_len - 1 words: the first word looks at itself": lambda p, t: (
            1 - math.prod(1 - p**n for n in range(1, t))
        ),
    },
)
check_sum_varies_by = Numbers(
    asks="`answer(row, p)`: standard deviation of the sum of a row of weights after dropout.",
    tried=(([1.0], 0.4), ([0.1] * 10, 0.4), ([0.7, 0.2, 0.1], 0.1), ([0.5, 0.5], 0.5)),
    solve=lambda row, p: (sum(w * w for w in row) * p / (1 - p)) ** 0.5,
    mistakes={
        "standard deviations added up: variances do that": lambda row, p: (
            sum(row) * (p / (1 - p)) ** 0.5
        ),
        "the variance: take its square root": lambda row, p: sum(w * w for w in row) * p / (1 - p),
        "without the division by 1 - p": lambda row, p: (
            (sum(w * w for w in row) * p * (1 - p)) ** 0.5
        ),
        "the average of the variances, not their sum": lambda row, p: (
            (sum(w * w for w in row) / len(row) * p / (1 - p)) ** 0.5
        ),
        "the largest weight alone: the others vary, too": lambda row, p: (
            max(row) * (p / (1 - p)) ** 0.5
        ),
        "p alone: the kept ones are divided by 1 - p": lambda row, p: (
            (sum(w * w for w in row) * p) ** 0.5
        ),
    },
)
check_p_of = Numbers(
    asks="`answer(before, after)`: p, from a row of weights before and after dropout.",
    tried=(
        ([0.5, 0.3, 0.2], [0.0, 0.5, 0.0]),
        ([1.0], [1.25]),
        ([0.25, 0.25, 0.25, 0.25], [0.5, 0.0, 0.5, 0.5]),
        ([0.6, 0.4, 0.0, 0.0], [0.8, 0.0, 0.0, 0.0]),
        ([0.7, 0.2, 0.1], [0.0, 0.0, 0.4]),
    ),
    solve=lambda before, after: next(1 - b / a for b, a in zip(before, after) if a > 0),
    mistakes={
        "the share of zeros: how many were dropped is luck, how much the others grew is not": (
            lambda before, after: after.count(0.0) / len(after)
        ),
        "the share of dropped weights: it is near p on average only": lambda before, after: (
            sum(a == 0 < b for b, a in zip(before, after)) / sum(b > 0 for b in before)
        ),
        "how likely a weight is kept: 1 - p": lambda before, after: next(
            b / a for b, a in zip(before, after) if a > 0
        ),
        "by how much a weight was multiplied: that is 1 / (1 - p)": lambda before, after: next(
            a / b for b, a in zip(before, after) if a > 0
        ),
        "the growth less 1: a weight grows to 1 / (1 - p), and not to 1 + p": (
            lambda before, after: next(a / b - 1 for b, a in zip(before, after) if a > 0)
        ),
        "the sums compared: what was dropped is missing in one of them": lambda before, after: (
            1 - sum(before) / sum(after)
        ),
        "the largest weights compared: they may stand at different places": (
            lambda before, after: 1 - max(before) / max(after)
        ),
    },
)
check_ceiling = Numbers(
    asks="`answer(num_heads, head_dim)`: the highest R^2 of 4 vectors of width 8 at once.",
    tried=((1, 48), (1, 4), (2, 24), (3, 16), (4, 12), (4, 1), (8, 6), (48, 1)),
    solve=lambda heads, dh: float(min(1.0, heads * min(8, dh) / 32)),
    mistakes={
        "more than 8 numbers from a wide head: an average of vectors has 8": lambda h, dh: min(
            1.0, h * dh / 32
        ),
        "above 1: R² cannot be": lambda h, dh: h * min(8, dh) / 32,
        "above 1, and more than 8 numbers from a wide head": lambda h, dh: h * dh / 32,
        "for one vector of width 8: there are four": lambda h, dh: min(1.0, h * min(8, dh) / 8),
        "heads counted, whatever their width": lambda h, dh: min(1.0, h / 4),
        "the width of one head: num_heads is not used": lambda h, dh: min(8, dh) / 32,
    },
)
check_best_offset = Numbers(
    asks="`answer(distances)`: the accuracy of the best rule “look n words away”.",
    tried=(
        ([1, 1, -2],),
        ([-1, 2, 3, 2],),
        ([3, -3],),
        ([0, -1, -1, -1, 5],),
        ([2, 1, 2, 1, 2],),
        ([1],),
    ),
    solve=lambda distances: max(map(distances.count, distances)) / len(distances),
    mistakes={
        "the best distance, not the accuracy that it reaches": lambda d: max(d, key=d.count),
        "how many are right, not which part of all": lambda d: max(map(d.count, d)),
        "left and right taken together: -3 and 3 are two rules": lambda d: (
            max(sum(abs(n) == abs(m) for m in d) for n in d) / len(d)
        ),
        "offsets from 0 upwards only: distances may be negative": lambda d: (
            max(d.count(n) for n in range(max(0, *d) + 1)) / len(d)
        ),
        "chance: one out of all distances that occur": lambda d: 1 / len(set(d)),
        "divided by how many different distances there are": lambda d: (
            max(map(d.count, d)) / len(set(d))
        ),
        "the rule of the first sentence, not the best one": lambda d: d.count(d[0]) / len(d),
        "the rule of the largest distance, not the best one": lambda d: d.count(max(d)) / len(d),
    },
)
