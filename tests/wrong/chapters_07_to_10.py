"""Wrong answers to the exercises about softmax, dropout, merging and the whole module."""

import torch
import torch.nn.functional as F


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


def multi_head(scale=None, mask_of=lambda mask: mask, turn=lambda W: W.T, merge=None, dim=-1):
    """The whole layer, with one thing changed."""

    def answer(x, W_q, W_k, W_v, W_out, num_heads, mask):
        B, T, D = x.shape
        cut = (B, T, num_heads, D // num_heads)
        q, k, v = ((x @ turn(W)).view(cut).transpose(1, 2) for W in (W_q, W_k, W_v))
        scores = q @ k.transpose(-2, -1) / (scale(D, num_heads) if scale else q.shape[-1] ** 0.5)
        weights = scores.masked_fill(~mask_of(mask), -torch.inf).softmax(dim=dim)
        heads = weights @ v
        merged = merge(heads) if merge else heads.transpose(1, 2).reshape(B, T, D)
        return merged @ turn(W_out)

    return answer


def without_out(x, W_q, W_k, W_v, W_out, num_heads, mask):
    return multi_head()(x, W_q, W_k, W_v, torch.eye(x.shape[-1]), num_heads, mask)


def values_from_keys(x, W_q, W_k, W_v, W_out, num_heads, mask):
    return multi_head()(x, W_q, W_k, W_k, W_out, num_heads, mask)


def with_T(x, W_q, W_k, W_v, W_out, num_heads, mask):
    B, T, D = x.shape
    cut = (B, T, num_heads, D // num_heads)
    q, k = ((x @ W.T).view(cut).transpose(1, 2) for W in (W_q, W_k))
    return q @ k.T


def with_view(heads):
    B, H, T, Dh = heads.shape
    return heads.transpose(1, 2).view(B, T, H * Dh)


def rows_mixed(heads):
    B, H, T, Dh = heads.shape
    return heads.reshape(B, T, H * Dh)


CHAPTER_07 = {
    "check_stable_softmax": [
        (lambda s: shares(s.exp()), "take the largest off first"),
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
    "check_drop_weights": [
        (lambda w, p, draw: w * (draw >= p), "not divided by 1 - p"),
        (lambda w, p, draw: w * (draw < p) / (1 - p), "kept with probability p"),
        (lambda w, p, draw: w * (draw >= p) / p, "divided by p"),
        (lambda w, p, draw: w * (draw > p) / (1 - p), "a draw equal to p drops, too"),
        (lambda w, p, draw: w * (draw >= p) * (1 - p), "multiplied by 1 - p"),
        (lambda w, p, draw: shares(w * (draw >= p)), "rows made to sum to 1 again"),
        (lambda w, p, draw: w[draw >= p] / (1 - p), "picked out into one line"),
        (lambda w, p, draw: F.dropout(w, p), "draw no random numbers of your own"),
    ],
    "check_lost_row": [
        (lambda p, n: (1 - p) ** n, "the probability that all are kept"),
        (lambda p, n: 1 - (1 - p) ** n, "at least one is lost"),
        (lambda p, n: p * n, "the probabilities added"),
        (lambda p, n: 1 - p**n, "at least one is kept"),
        (lambda p, n: p, "num_keys is not used"),
    ],
}
CHAPTER_09 = {
    "check_merge_heads": [
        (rows_mixed, "merge without transposing back"),
        (with_view, "Use .reshape(...) instead"),
        (lambda heads: heads.transpose(1, 2), "should have shape (5, 2, 12), got (5, 2, 4, 3)"),
        (lambda heads: heads.permute(0, 2, 3, 1).flatten(2), "column 0 of every head first"),
        (lambda heads: torch.cat(list(heads), dim=-1), "the sequences of the batch side by side"),
        (lambda heads: heads.sum(dim=1), "should have shape (5, 2, 12), got (5, 2, 3)"),
    ],
    "check_project_heads": [
        (project_in_a_loop, "the last head alone"),
        (return_in_the_loop, "is the `return` inside the loop?"),
        (lambda heads, W: sum(contributions(heads, W, dim=0)), "W_out not transposed"),
        (lambda heads, W: contributions(heads, W), "a tensor, got list"),
        (lambda heads, W: torch.stack(contributions(heads, W)), "got (4, 5, 2, 12)"),
        (lambda heads, W: torch.stack(contributions(heads, W)).mean(dim=0), "not their sum"),
        (in_place_of_the_input, "in your line `out += heads[:, h] @ columns.T`"),
    ],
}
CHAPTER_10 = {
    "check_module_parameter_count": [
        (lambda D, H: 4 * D * D, "the biases are missing"),
        (lambda D, H: 3 * (D * D + D), "the output projection is missing"),
        (lambda D, H: 4 * H * (D * D + D), "multiplied by the number of heads"),
        (lambda D, H: 4 * D * D + D, "one bias for all four projections"),
        (lambda D, H: 4 * (D * (D // H) + D // H), "only one head"),
    ],
    "check_multi_head": [
        (multi_head(scale=lambda D, H: D**0.5), "sqrt(D), not by sqrt(Dh)"),
        (multi_head(scale=lambda D, H: 1.0), "scores not divided by sqrt(Dh)"),
        (multi_head(scale=lambda D, H: D / H), "divided by Dh, not by its square root"),
        (multi_head(mask_of=lambda mask: ~mask), "the mask upside down"),
        (multi_head(mask_of=torch.ones_like), "the mask is not used"),
        (multi_head(turn=lambda W: W), "x @ W instead of x @ W.T"),
        (multi_head(merge=rows_mixed), "merge without transposing back"),
        (multi_head(merge=with_view), "Use .reshape(...) instead"),
        (multi_head(dim=-2), "softmax over the queries"),
        (multi_head(dim=1), "softmax over the heads"),
        (without_out, "the output projection is missing"),
        (values_from_keys, "the values made with W_k"),
        (with_T, "`.T` turns all dimensions around"),
    ],
}
CHAPTERS = {"07": CHAPTER_07, "08": CHAPTER_08, "09": CHAPTER_09, "10": CHAPTER_10}
