"""Wrong answers to the exercises about splitting, transposing and masks."""

import torch


def sizes_of_the_example(x, num_heads):
    return x.view(1, 4, 3, 2)


def with_true_division(x, num_heads):
    B, T, D = x.shape
    return x.view(B, T, num_heads, D / num_heads)


def with_B_and_T_swapped(x, num_heads):
    T, B, D = x.shape
    return x.view(B, T, num_heads, D // num_heads)


def cards(x, num_heads):
    B, T, D = x.shape
    return x.view(B, T, D // num_heads, num_heads).transpose(-2, -1)


def direct_view(x, num_heads):
    B, T, D = x.shape
    return x.reshape(B, num_heads, T, D // num_heads)


def by_token(x, num_heads):
    return x.view(*x.shape[:2], num_heads, -1)


def from_0(query_len, key_len):
    return torch.arange(query_len)[:, None] >= torch.arange(key_len)


def position(query_len, key_len):
    return torch.arange(key_len - query_len, key_len)[:, None]


def mask_loop(query_len, key_len):
    mask = torch.zeros(query_len, key_len, dtype=torch.bool)
    for query in range(query_len):
        mask[query, : key_len - query_len + query] = True
    return mask


def masked(scores, mask, fill=-torch.inf):
    return scores.masked_fill(~mask, fill).softmax(dim=-1)


def masked_in_place(scores, mask):
    scores.masked_fill_(~mask, -torch.inf)
    return scores.softmax(dim=-1).masked_fill(~mask, 0.0)


def mask_added(scores, mask):
    forbidden = torch.where(mask, 0.0, -torch.inf)
    return (scores + forbidden).softmax(dim=-1).nan_to_num()


def rows_again_to_one(scores, mask):
    weights = scores.softmax(dim=-1) * mask
    return weights / weights.sum(dim=-1, keepdim=True)


def empty_rows_filled(scores, mask):
    weights = masked(scores, mask)
    return torch.where(weights.isnan(), torch.zeros(()), weights.detach())


CHAPTER_04 = {
    "check_storage_place": [
        (lambda t, h, d, H, Dh: t * Dh + h * Dh + d, "num_heads is not used"),
        (lambda t, h, d, H, Dh: t * H * Dh + h + d, "h is not multiplied by head_dim"),
        (lambda t, h, d, H, Dh: t * H + h * Dh + d, "how wide is a token?"),
        (lambda t, h, d, H, Dh: t * H * Dh + d * H + h, "columns dealt out like cards"),
        (lambda t, h, d, H, Dh: t * H * Dh + h * Dh + d + 1, "counted from 1"),
    ],
    "check_split": [
        (direct_view, "should have shape (5, 2, 4, 3), got (5, 4, 2, 3)"),
        (direct_view, "The same sizes in another order"),
        (lambda x, H: direct_view(x, H).transpose(1, 2), "the direct view(B, H, T, Dh)"),
        (cards, "head h takes every H-th column"),
        (with_true_division, "`/` gives a float, `//` a whole number"),
        (with_B_and_T_swapped, "The same sizes in another order"),
        (sizes_of_the_example, "in your line `return x.view(1, 4, 3, 2)`"),
        (lambda x, H: x.chunk(H, dim=-1), "a tensor, got tuple"),
    ],
    "check_one_projection": [
        (lambda W: W.reshape(W.shape[1], -1), "cut into D rows as they lie"),
        (lambda W: torch.cat(list(W)), "the matrices on top of each other"),
        (lambda W: W.permute(1, 2, 0).flatten(1), "column 0 of every head first"),
        (lambda W: W.transpose(0, 1).view(W.shape[1], -1), "Use .reshape(...) instead"),
        (lambda W: torch.cat(W, dim=-1), "must be tuple of Tensors, not Tensor"),
        (lambda W: torch.cat(list(W), dim=-1).T, "The same sizes in another order"),
    ],
}
CHAPTER_05 = {
    "check_split_heads": [
        (direct_view, "the direct view(B, H, T, Dh): rows of a head come from one token"),
        (by_token, "should have shape (5, 4, 2, 3), got (5, 2, 4, 3)"),
        (lambda x, H: by_token(x, H).transpose(2, 3), "The same sizes in another order"),
        (lambda x, H: cards(x, H).transpose(1, 2), "head h takes every H-th column"),
        (with_true_division, "`/` gives a float, `//` a whole number"),
    ],
    "check_strides": [
        (lambda B, T, H, Dh: (T * H * Dh, H * Dh, Dh, 1), "before the transpose"),
        (lambda B, T, H, Dh: (H * T * Dh, T * Dh, Dh, 1), "a transpose moves no number"),
        (lambda B, T, H, Dh: (B, H, T, Dh), "the shape, not the strides"),
        (lambda B, T, H, Dh: [T * H * Dh, Dh, H * Dh, 1], "should be a tuple, got [24, 2, 6, 1]"),
        (lambda B, T, H, Dh: (4 * T * H * Dh, 4 * Dh, 4 * H * Dh, 4), "strides count numbers"),
    ],
}
CHAPTER_06 = {
    "check_causal_mask": [
        (from_0, "aligned top left: with more keys than queries the last key is hidden"),
        (lambda T, S: position(T, S) > torch.arange(S), "a token cannot see itself"),
        (lambda T, S: position(T, S) <= torch.arange(S), "the future instead of the past"),
        (lambda T, S: position(T, S) < torch.arange(S), "True where a query may NOT look"),
        (lambda T, S: torch.ones(T, S).triu(1).bool(), "triu(diagonal=1)"),
        (lambda T, S: torch.ones(T, S).tril(S - T), "boolean (torch.bool), got torch.float32"),
        (lambda T, S: torch.ones(S, S).tril().bool(), "should have shape (2, 5), got (5, 5)"),
        (lambda T, S: torch.ones(T, S / 1).tril().bool(), "`//` a whole number"),
        (mask_loop, "a token cannot see itself"),
    ],
    "check_masked_weights": [
        (masked, "rows that may attend to nothing are NaN"),
        (lambda s, mask: masked(s, mask, -1e9), "a fill like -1e9"),
        (lambda s, mask: masked(s, ~mask), "the mask upside down"),
        (lambda s, mask: s.softmax(dim=-1) * mask, "mask applied after the softmax"),
        (lambda s, mask: masked(s, mask, 0.0), "a score of 0 is not forbidden"),
        (lambda s, mask: (s + mask).softmax(dim=-1), "it forbids nothing"),
        (rows_again_to_one, "rows that may attend to nothing are NaN"),
        (masked_in_place, "`a = a / b` makes a new one"),
        (mask_added, "It is NaN: a NaN on the way spoils it"),
        (empty_rows_filled, "no gradient flows back"),
    ],
}
CHAPTERS = {"04": CHAPTER_04, "05": CHAPTER_05, "06": CHAPTER_06}
