"""Wrong answers to the exercises about one head, many heads and stacked heads."""

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


def attention_with_numpy(q, k, v):
    scores = torch.tensor((q @ k.transpose(-2, -1)).tolist()) / q.shape[-1] ** 0.5
    return scores.softmax(dim=-1) @ v


def look_ahead(offsets, seq_len):
    weights = torch.zeros(len(offsets), seq_len, seq_len)
    for head, offset in enumerate(offsets):
        for query in range(seq_len):
            weights[head, query, query + offset] = 1
    return weights


def without_circle(offsets, seq_len):
    return torch.stack([torch.diag(torch.ones(seq_len - n), -n) for n in offsets])


def heads_of(x, W_q, W_k, W_v, scale=None):
    q, k, v = x @ W_q, x @ W_k, x @ W_v
    scores = q @ k.transpose(-2, -1) / (scale or W_q.shape[-1] ** 0.5)
    return scores.softmax(dim=-1) @ v


def heads_with_T(x, W_q, W_k, W_v):
    q, k, v = x @ W_q, x @ W_k, x @ W_v
    scores = q @ k.T / q.shape[-1] ** 0.5
    return torch.cat(list(scores.softmax(dim=-1) @ v), dim=-1)


def side_by_side(heads):
    return torch.cat(list(heads), dim=-1)


CHAPTER_01 = {
    "check_attention_weights": [
        (lambda s: s.exp() / s.exp().sum(dim=-1), "keepdim=True keeps"),
        (lambda s: s.exp() / s.exp().sum(), "divided by the sum of all numbers"),
        (lambda s: s.exp() / s.exp().sum(dim=-2, keepdim=True), "softmax over the queries"),
        (lambda s: s.exp() / s.exp().sum(dim=1, keepdim=True), "only without a batch"),
        (lambda s: s / s.sum(dim=-1, keepdim=True), "without exp"),
        (softmax_in_place, "no gradient can be computed"),
        (softmax_in_place, "`/=` and names with a final `_` change a tensor in place"),
    ],
    "check_attention": [
        (attention_of(scale=lambda q: 1), "attention without the division by sqrt(Dh)"),
        (attention_of(scale=lambda q: q.shape[-1]), "divided by Dh, not by its square root"),
        (attention_of(scale=lambda q: q.shape[-2] ** 0.5), "sqrt(T), the number of queries"),
        (attention_of(scale=lambda q: q.shape[1] ** 0.5), "the width only without a batch"),
        (attention_of(dim=-2), "softmax over the queries"),
        (attention_of(dim=1), "the keys only without a batch"),
        (lambda q, k, v: (q @ k.T / q.shape[-1] ** 0.5).softmax(-1) @ v, "turns all dimensions"),
        (lambda q, k, v: q @ k.mT / q.shape[-1] ** 0.5 @ v, "the softmax is missing"),
        (
            lambda q, k, v: (q @ k.transpose(1, 2) / q.shape[-1] ** 0.5).softmax(-1) @ v,
            "Count dimensions from the end",
        ),
        (lambda q, k, v: (q @ k.mT).softmax() @ v, "softmax() "),
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
    "check_lookup_weights": [
        (
            lambda offsets, n: torch.stack([torch.eye(n).roll(o, dims=1) for o in offsets]),
            "the tokens that come after, not before",
        ),
        (
            lambda offsets, n: torch.stack([torch.eye(n).roll(-o) for o in offsets]),
            "`roll` without `dims`",
        ),
        (
            lambda offsets, n: [torch.eye(n).roll(-o, dims=1) for o in offsets],
            "should return a tensor, got list",
        ),
        (
            lambda offsets, n: torch.cat([torch.eye(n).roll(-o, dims=1) for o in offsets]),
            "should have shape (3, 5, 5), got (15, 5)",
        ),
        (without_circle, "the circle is cut"),
        (look_ahead, "in your line `weights[head, query, query + offset] = 1`"),
    ],
    "check_mean_mass": [
        (lambda w, s: w[torch.arange(len(s)), s].mean(), "as if it were the last key (index -1)"),
        (lambda w, s: w[s >= 0].max(dim=-1).values.mean(), "the largest weight of each row"),
        (lambda w, s: w[s >= 0][:, s[s >= 0]].mean(), "pair each row with its own column"),
        (lambda w, s: w[:, s].mean(), "-1 among them"),
        (lambda w, s: w[torch.arange(len(s)), s][s >= 0].sum(), "the sum, not the mean"),
        (lambda w, s: w[torch.arange(len(s)), s][s >= 0].sum() / len(s), "by all queries"),
        (
            lambda w, s: w[torch.arange(len(s)), s][s >= 0],
            "should be one number",
        ),
        (lambda w, s: w[torch.arange(len(s)), s].mean().item(), "a tensor, got float"),
    ],
}
CHAPTER_03 = {
    "check_parameter_count": [
        (lambda D, H, Dh: H * D * Dh, "one of the three matrices"),
        (lambda D, H, Dh: 3 * D * Dh, "a single head"),
        (lambda D, H, Dh: 3 * D * D, "right only where H x Dh = D"),
        (lambda D, H, Dh: 3 * H * (D + 1) * Dh, "with a bias"),
        (lambda D, H, Dh: 4 * H * D * Dh, "1.333 times the right result"),
    ],
    "check_stacked_heads": [
        (lambda x, *w: heads_of(x, *w).reshape(len(x), -1), "cut into T rows as they lie"),
        (lambda x, *w: heads_of(x, *w), "heads not put side by side: (H, T, Dv)"),
        (lambda x, *w: torch.cat(list(heads_of(x, *w))), "heads on top of each other"),
        (lambda x, *w: side_by_side(heads_of(x, *w, scale=1)), "without the division by sqrt(Dh)"),
        (
            lambda x, *w: side_by_side(heads_of(x, *w, scale=x.shape[-1] ** 0.5)),
            "sqrt(D), not by sqrt(Dh)",
        ),
        (heads_with_T, "`.T` turns all dimensions around"),
    ],
}
CHAPTERS = {
    "00": {
        "check_count": [
            (lambda B, T, D: T * D, "the batch is missing"),
            (lambda B, T, D: B + T + D, "added, not multiplied"),
            (lambda B, T, D: B * 4 * T * D, "4 times the right result"),
            (lambda B, T, D: B * T * D / 1, "a whole number (int), got 24.0"),
            (lambda B, T, D: print(B * T * D), "is there a `return`?"),
            (lambda B, T: B * T, "takes 2 positional arguments but 3 were given"),
        ]
    },
    "01": CHAPTER_01,
    "02": CHAPTER_02,
    "03": CHAPTER_03,
}
