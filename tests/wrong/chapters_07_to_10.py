"""Wrong answers to the exercises about softmax, dropout, merging and the whole module."""

import math

import torch

from mha_utils import MultiHeadAttention, attention_scores, attention_weights, split_heads


def shares(powers, dim=-1):
    return powers / powers.sum(dim=dim, keepdim=True)


def project_in_a_loop(heads, W_out):
    for h, columns in enumerate(W_out.chunk(heads.shape[1], dim=1)):
        out = heads[:, h] @ columns.T
    return out


def return_in_the_loop(heads, W_out):  # noqa: RET503
    for h, columns in enumerate(W_out.chunk(heads.shape[1], dim=1)):
        return heads[:, h] @ columns.T


def in_place_of_the_input(heads, W_out):
    out = heads.new_zeros(1)
    for h, columns in enumerate(W_out.chunk(heads.shape[1], dim=1)):
        out += heads[:, h] @ columns.T
    return out


def contributions(heads, W_out, dim=1):
    columns = W_out.chunk(heads.shape[1], dim=dim)
    return [head @ (w.T if dim == 1 else w) for head, w in zip(heads.unbind(dim=1), columns)]


def merged_heads(heads):
    return heads.transpose(1, 2).flatten(2)


def layer(returns, own=lambda x, context: x if context is None else context, of=lambda x, _: x):
    """A class whose `forward` makes q, k, v and weights, and returns what `returns` says."""

    class MyAttention(MultiHeadAttention):
        def forward(self, x, context=None, mask=None):
            context = own(x, context)
            q = split_heads(self.q_proj(of(x, context)), self.num_heads)
            k = split_heads(self.k_proj(context), self.num_heads)
            v = split_heads(self.v_proj(context), self.num_heads)
            weights = attention_weights(attention_scores(q, k), mask)
            return returns(self, q, k, v, weights)

    return MyAttention


def interleaved(heads, group):
    return heads.repeat_interleave(group, dim=1)


def grouped(repeat=interleaved, scale=lambda q: q.shape[-1], values=lambda W_k, W_v: W_v):
    """The layer with shared heads, with one thing changed."""

    def answer(x, W_q, W_k, W_v, W_out, num_heads, num_kv_heads):
        cut = {"q": (W_q, num_heads), "k": (W_k, num_kv_heads)}
        cut["v"] = (values(W_k, W_v), num_kv_heads)
        q, k, v = ((x @ W.T).unflatten(-1, (h, -1)).transpose(1, 2) for W, h in cut.values())
        k, v = (repeat(t, num_heads // num_kv_heads) for t in (k, v))
        weights = (q @ k.transpose(-2, -1) / scale(q) ** 0.5).softmax(dim=-1)
        return (weights @ v).transpose(1, 2).flatten(2) @ W_out.T

    return answer


def with_view(heads):
    B, H, T, Dh = heads.shape
    return heads.transpose(1, 2).view(B, T, H * Dh)


def rows_mixed(heads):
    B, H, T, Dh = heads.shape
    return heads.reshape(B, T, H * Dh)


def merged(counts):
    """The averages of machines, weighted by `counts(largest, total)`."""
    return lambda average, largest, total: (
        shares(counts(largest, total))[..., None] * average
    ).sum(dim=-2)


def corrected(largest, total, sign=1, dim=-1):
    return total * (sign * (largest - largest.amax(dim=dim, keepdim=True))).exp()


def kept_of(before, after):
    return [b / a for b, a in zip(before, after) if a > 0]


CHAPTER_07 = {
    "check_merged_poll": [
        (lambda average, largest, total: average.mean(dim=-2), "the plain mean"),
        (merged(lambda largest, total: total), "weighted by total alone"),
        (merged(lambda largest, total: largest.softmax(dim=-1)), "total is not used"),
        (merged(lambda largest, total: total * largest.exp()), "subtract the largest of all first"),
        (merged(lambda largest, total: corrected(largest, total, sign=-1)), "old votes grow"),
        (merged(lambda largest, total: corrected(largest, total, dim=0)), "one largest for all"),
        (
            lambda a, largest, total: (corrected(largest, total)[..., None] * a).sum(dim=-2),
            "a sum and not an average",
        ),
        (
            lambda a, largest, total: (
                (corrected(largest, total)[..., None] * a).sum(dim=-2)
                / total.sum(dim=-1, keepdim=True)
            ),
            "before the correction",
        ),
        (
            lambda a, largest, total: shares(corrected(largest, total)) * a,
            "raised RuntimeError",
        ),
    ],
    "check_stable_softmax": [
        (lambda s: shares(s.exp()), "without taking off the largest"),
        (lambda s: shares((s - s.max()).exp()), "each row has its own"),
        (lambda s: shares((s - s.amax(dim=-2, keepdim=True)).exp()), "rows must sum to 1"),
        (lambda s: shares((s / s.amax(dim=-1, keepdim=True)).exp()), "that changes the shares"),
        (lambda s: shares((s - s.max(dim=-1).values).exp()), "keepdim=True"),
        (lambda s: shares((s - s.max(dim=-1, keepdim=True)).exp()), "`.values` are the values"),
        (lambda s: shares(s.clamp(max=80).exp()), "cut off at a limit"),
    ],
    "check_scale": [
        (lambda Dh, q_std, k_std: Dh == q_std * k_std, "should be a number (float), got False"),
        (lambda Dh, q_std, k_std: Dh**0.5, "q_std and k_std are not used"),
        (lambda Dh, q_std, k_std: Dh * q_std * k_std, "variances do that"),
        (lambda Dh, q_std, k_std: Dh * q_std**2 * k_std**2, "the variance of q · k"),
        (lambda Dh, q_std, k_std: (Dh * q_std * k_std) ** 0.5, "the root of q_std and k_std"),
        (lambda Dh, q_std, k_std: torch.tensor(Dh).sqrt() * q_std * k_std, "a number (float), got"),
    ],
}
CHAPTER_08 = {
    "check_p_of": [
        (lambda before, after: after.count(0) / len(after), "is luck"),
        (lambda before, after: kept_of(before, after)[0], "how likely a weight is kept"),
        (
            lambda before, after: 1 / kept_of(before, after)[0],
            "by how much a weight was multiplied",
        ),
        (lambda before, after: 1 / kept_of(before, after)[0] - 1, "and not to 1 + p"),
        (lambda before, after: 1 - sum(before) / sum(after), "the sums compared"),
        (lambda before, after: 1 - max(before) / max(after), "the largest weights compared"),
        (lambda before, after: 1 - before[0] / after[0], "raised ZeroDivisionError"),
        (lambda before, after: 1 - before / after, "raised TypeError"),
    ],
    "check_sum_varies_by": [
        (lambda row, p: sum(row) * (p / (1 - p)) ** 0.5, "standard deviations added up"),
        (lambda row, p: sum(w**2 for w in row) * p / (1 - p), "take its square root"),
        (lambda row, p: (sum(w**2 for w in row) * p * (1 - p)) ** 0.5, "without the division"),
        (lambda row, p: max(row) * (p / (1 - p)) ** 0.5, "the others vary, too"),
        (lambda row, p: (sum(w**2 for w in row) * p) ** 0.5, "divided by 1 - p"),
        (lambda row, p: (row**2 * p / (1 - p)) ** 0.5, "raised TypeError"),
    ],
    "check_some_row_lost": [
        (lambda p, T: math.prod(1 - p**n for n in range(1, T + 1)), "that no row is empty"),
        (lambda p, T: 1 - (1 - p) ** T, "word n looks at n words"),
        (lambda p, T: sum(p**n for n in range(1, T + 1)), "the probabilities added"),
        (lambda p, T: p**T, "the last row is empty"),
        (lambda p, T: p, "the first row alone"),
        (lambda p, T: 1 - math.prod(1 - p**n for n in range(T)), "should be 0.625"),
    ],
}
CHAPTER_09 = {
    "check_tokens_in_row_0": [
        (lambda T, H: H, "are there so many tokens?"),
        (lambda T, H: T, "is there room for them"),
        (lambda T, H: 1, "what belongs into row 0"),
        (lambda T, H: T // H, "should be 2, got 5"),
        (lambda T, H: min(T, H) - 1, "numbered from 0"),
        (lambda T, H: math.ceil(T / H), "how many rows head 0 fills"),
        (lambda T, H: max(T, H), "either can run out first"),
    ],
    "check_merge_heads": [
        (rows_mixed, "merge without transpose (chapter 09, section 2)"),
        (with_view, "Use .reshape(...) instead"),
        (lambda heads: heads.transpose(1, 2), "should have shape (5, 2, 12), got (5, 2, 4, 3)"),
        (lambda heads: heads.permute(0, 2, 3, 1).flatten(2), "column 0 of every head first"),
        (lambda heads: torch.cat(list(heads), dim=-1), "the sequences of the batch side by side"),
        (lambda heads: heads.sum(dim=1), "should have shape (5, 2, 12), got (5, 2, 3)"),
    ],
    "check_project_heads": [
        (project_in_a_loop, "the last head alone"),
        (return_in_the_loop, "is the `return` inside the loop?"),
        (
            lambda heads, W: sum(contributions(heads, W, dim=0)),
            "nn.Linear stores (outputs, inputs), so it has to be weight.T",
        ),
        (lambda heads, W: contributions(heads, W), "a tensor, got list"),
        (lambda heads, W: torch.stack(contributions(heads, W)), "got (4, 5, 2, 12)"),
        (lambda heads, W: torch.stack(contributions(heads, W)).mean(dim=0), "not their sum"),
        (in_place_of_the_input, "in your line `out += heads[:, h] @ columns.T`"),
    ],
}
CHAPTER_10 = {
    "check_grouped_heads": [
        (grouped(lambda t, G: t.repeat(1, G, 1, 1)), "groups repeated instead of interleaved"),
        (grouped(lambda t, G: t[:, :1].repeat(1, G * t.shape[1], 1, 1)), "the first head of"),
        (grouped(scale=lambda q: q.shape[1] * q.shape[-1]), "the width of all heads"),
        (grouped(scale=lambda q: 1), "not divided by √Dh"),
        (grouped(lambda t, G: t), "must match the size"),
        (grouped(values=lambda W_k, W_v: W_k), "the values made with W_k"),
    ],
    "check_forward": [
        (layer(lambda s, q, k, v, w: w @ v), "`merge_heads` puts them side by side"),
        (layer(lambda s, q, k, v, w: w), "the weights still have to gather v"),
        (
            layer(lambda s, q, k, v, w: (merged_heads(w @ v), w)),
            "should return a tensor, got tuple",
        ),
        (layer(lambda s, q, k, v, w: s.out_proj(w @ v)), "cannot be multiplied"),
        (layer(lambda s, q, k, v, w: None), "not solved yet (it returned None"),
        (layer(lambda s, q, k, v, w: w @ v, own=lambda x, context: context), "forward(x) raised"),
        (
            layer(lambda s, q, k, v, w: merged_heads(w @ v), of=lambda x, context: context),
            "which of the three is made of x?",
        ),
        (lambda x, mask=None: x, "should make a layer with a forward, got 8"),
    ],
    "check_question": [
        (lambda: (4, 12, 3), "“by H” is wrong, too"),
        (lambda: (4, 24, 4), "How wide must a head be"),
        (lambda: (4, 16, 2), "How wide must a head be"),
        (lambda: (1, 12, 3), "A single token gives itself the weight 1"),
        (lambda: (1, 8, 2), "A single token gives itself the weight 1"),
        (lambda: (3, 1, 1), "all columns that A deals out end up in one hand"),
        (lambda: (4, 8, 3), "3 heads do not divide 8 features"),
        (lambda: (1, 4, 4), "A gives each head its own column, in order"),
        (lambda: (4, 512, 8), "D from 1 to 24, H from 1 to 24; got"),
        (lambda: (4, 8), "should return three numbers"),
        (lambda: (1, 0, 2), "whole numbers, please: T from 1 to 100"),
    ],
}
CHAPTERS = {"07": CHAPTER_07, "08": CHAPTER_08, "09": CHAPTER_09, "10": CHAPTER_10}
