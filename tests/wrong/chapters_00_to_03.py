"""Wrong answers to the exercises about one head, many heads and stacked heads."""

import math

import torch


def softmax_in_place(scores):
    powers = scores.exp()
    powers /= powers.sum(dim=-1, keepdim=True)
    return powers


def attention_and_weights(q, k, v):
    weights = (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).softmax(dim=-1)
    return weights @ v, weights


def attention_of(scale=lambda q: q.shape[-1] ** 0.5, dim=-1):
    def attention(q, k, v):
        return (q @ k.transpose(-2, -1) / scale(q)).softmax(dim=dim) @ v

    return attention


def attention_by(softmax):
    return lambda q, k, v: softmax(q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5) @ v


def attention_with_numpy(q, k, v):
    scores = torch.tensor((q @ k.transpose(-2, -1)).tolist()) / q.shape[-1] ** 0.5
    return scores.softmax(dim=-1) @ v


def relu(z):
    return max(0.0, z)


def no_return(B, T, D):
    count = B * T * D  # noqa: F841


def no_return_for_one(B, T, D):  # noqa: RET503
    if B > 2:
        return B * T * D


def half_done(B, T, D):
    tokens = ...
    return tokens * D


CHAPTER_01 = {
    "check_equal_keys": [
        (lambda v: v.sum(dim=-2), "the sum of the values: shares sum to 1"),
        (lambda v: v.mean(dim=-1), "should have shape (5,), got (4,)"),
        (lambda v: v.mean(dim=0), "should have shape (2, 3), got (3, 3)"),
        (lambda v: v[..., 0, :], "equal keys get equal shares"),
        (lambda v: v, "a query gets one row, their average"),
        (lambda v: v.max(dim=-2).values, "no key is better than another"),
        (lambda v: v.median(dim=-2).values, "the median, not the average"),
        (lambda v: v.mean(), "should have shape (5,), got ()"),
        (lambda v: v.mean(dim=-2).tolist(), "should return a tensor, got list"),
    ],
    "check_score_needed": [
        (lambda n, share: math.log(share / (1 - share)), "there are num_tokens - 1 of them"),
        (lambda n, share: math.log(share * n / (1 - share)), "itself counted among the others"),
        (lambda n, share: math.log(share * (n - 1)), "not divided by 1 - share"),
        (lambda n, share: share * (n - 1) / (1 - share), "the logarithm is missing"),
        (lambda n, share: math.log10(share * (n - 1) / (1 - share)), "to base 10"),
        (lambda n, share: math.log((1 - share) * (n - 1) / share), "share exchanged"),
        (lambda n, share: math.log(share), "should be 4.39445, got -0.105361"),
        (lambda n, share: torch.tensor(share * n).log(), "a number (float), got tensor"),
    ],
    "check_attention": [
        (attention_of(scale=lambda q: 1), "The division by sqrt(Dh) is missing"),
        (attention_of(scale=lambda q: q.shape[-1]), "Divided by Dh, not by its root"),
        (attention_of(scale=lambda q: q.shape[-2] ** 0.5), "sqrt(T), the number of queries"),
        (attention_of(scale=lambda q: q.shape[1] ** 0.5), "the width only without a batch"),
        (attention_of(dim=-2), "softmax over the queries"),
        (attention_of(dim=1), "the keys only without a batch"),
        (lambda q, k, v: (q @ k.T / q.shape[-1] ** 0.5).softmax(-1) @ v, "turns all dimensions"),
        (lambda q, k, v: q @ k.mT / q.shape[-1] ** 0.5 @ v, "no softmax (chapter 01, section 4)"),
        (
            lambda q, k, v: (q @ k.transpose(1, 2) / q.shape[-1] ** 0.5).softmax(-1) @ v,
            "Count dimensions from the end",
        ),
        (lambda q, k, v: (q @ k.mT).softmax() @ v, "softmax() "),
        (attention_by(lambda s: s.exp() / s.exp().sum(dim=-1)), "keepdim=True keeps"),
        (attention_by(lambda s: s / s.sum(dim=-1, keepdim=True)), "without exp"),
        (attention_by(lambda s: s.exp() / s.exp().sum()), "by the sum of all numbers"),
        (attention_by(softmax_in_place), "no gradient can be computed"),
        (
            attention_by(softmax_in_place),
            "`/=` and names with a final `_` change a tensor in place",
        ),
        (attention_and_weights, "should return a tensor, got tuple"),
        (attention_with_numpy, "a wrong gradient for q"),
        (attention_with_numpy, "`torch.tensor(...)`"),
    ],
}
CHAPTER_02 = {
    "check_ceiling": [
        (lambda heads, width: min(1.0, heads * width / 32), "an average of vectors has 8"),
        (lambda heads, width: heads * min(8, width) / 32, "above 1: R² cannot be"),
        (lambda heads, width: min(1.0, heads * min(8, width) / 8), "there are four"),
        (lambda heads, width: heads * min(8, width) // 32, "should be a number (float), got 0"),
        (lambda heads, width: min(1, heads / 4), "whatever their width"),
    ],
    "check_wish": [
        (lambda front, named, flag: front + named, "the flag is not used"),
        (lambda p, n, f: relu(p + f - 1) + relu(n - f), "the flag the wrong way round"),
        (lambda p, n, f: relu(n + f - 1), "where is the child in front?"),
        (lambda p, n, f: relu(p - f), "where is the named child?"),
        (lambda p, n, f: relu(p - f) + relu(n + f), "the named child without its - 1"),
        (lambda p, n, f: p + n + f, "the same bonus for every child"),
        (lambda p, n, f: p - f + n + f - 1, "without a ReLU"),
        (lambda p, n, f: int(n), "should be a number (float), got 0"),
    ],
}
CHAPTER_03 = {
    "check_heads_and_width": [
        (lambda D, T, p, w: (w // T**2, D // (w // T**2)), "heads need not share D"),
        (lambda D, T, p, w: (w // T, p // (3 * D * (w // T))), "every word looks at every word"),
        (lambda D, T, p, w: (w // T**2, p // (D * (w // T**2))), "one matrix a head"),
        (lambda D, T, p, w: (w // T**2, p // (3 * D)), "the width of all heads together"),
        (lambda D, T, p, w: (p // (3 * D * (w // T**2)), w // T**2), "the wrong way round"),
        (lambda D, T, p, w: w // T**2, "should be a tuple, got 4"),
    ],
    "check_joined_scores": [
        (lambda a, b: a + b, "twice as wide, and its root is larger"),
        (lambda a, b: (a + b) / 2, "the width doubles, its root does not"),
        (lambda a, b: a * b, "a dot product of longer vectors is a sum"),
        (torch.maximum, "the larger score of the two"),
        (lambda a, b: torch.cat([a, b], dim=-1), "should have shape (2, 4), got (2, 8)"),
        (lambda a, b: torch.stack([a, b]), "should have shape (2, 4), got (2, 2, 4)"),
        (lambda a, b: (a + b) * 2**0.5, "instead of divided"),
    ],
    "check_disguise": [
        (lambda W_k, A: W_k @ A, "A is in every score twice"),
        (lambda W_k, A: W_k @ A.T, "that doubles the change"),
        (lambda W_k, A: W_k @ A.inverse(), "keys enter a score transposed"),
        (lambda W_k, A: W_k.clone(), "W_k as it was"),
        (lambda W_k, A: A.inverse().T @ W_k, "raised RuntimeError"),
    ],
}
CHAPTERS = {
    "00": {
        "check_count": [
            (lambda B, T, D: T * D, "the batch is missing"),
            (lambda B, T, D: B + T + D, "added, not multiplied"),
            (lambda B, T, D: B * 4 * T * D, "4 times the right result"),
            (lambda B, T, D: B * T * D / 1, "a whole number (int), got 24.0"),
            (lambda B, T, D: print(B * T * D), "`print` shows a value, `return` gives it back"),
            (no_return, "(it returned None; is there a `return`?)"),
            (no_return_for_one, "is there a `return` on every way?"),
            (half_done, "not solved yet (a `...` is left in it)"),
            (lambda B, T: B * T, "takes 2 positional arguments but 3 were given"),
        ]
    },
    "01": CHAPTER_01,
    "02": CHAPTER_02,
    "03": CHAPTER_03,
}
