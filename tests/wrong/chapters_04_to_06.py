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


def in_window(query_len, key_len, window, first=None):
    """The right answer, or another place for the first query."""
    i = torch.arange(query_len)[:, None] + (key_len - query_len if first is None else first)
    j = torch.arange(key_len)
    return (j <= i) & (j > i - window)


def as_if_stored_by_head(q, num_heads):
    B, T, D = q.shape
    Dh = D // num_heads
    return q.contiguous().as_strided((B, num_heads, T, Dh), (T * D, T * Dh, Dh, 1))


def as_if_stored_by_row(q, num_heads):
    B, T, D = q.shape
    Dh = D // num_heads
    return q.as_strided((B, num_heads, T, Dh), (T * D, Dh, D, 1))


def window_loop(query_len, key_len, window):
    mask = torch.zeros(query_len, key_len, dtype=torch.bool)
    for query in range(query_len):
        own = key_len - query_len + query
        mask[query, max(0, own - window + 1) : own] = True
    return mask


def places(documents):
    place = torch.arange(len(documents))
    return place[:, None], place


def alike(documents):
    return documents[:, None] == documents


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
        (
            lambda x, H: direct_view(x, H).transpose(1, 2),
            "The columns are viewed as (B, H, T, Dh) at once",
        ),
        (cards, "Head h gets every H-th column instead of Dh neighbours"),
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
        (lambda W: torch.cat(W, dim=-1), "raised TypeError"),
        (lambda W: torch.cat(list(W), dim=-1).T, "The same sizes in another order"),
    ],
}
CHAPTER_05 = {
    "check_split_heads": [
        (direct_view, "a head gets whole tokens, not columns"),
        (by_token, "should have shape (5, 4, 2, 3), got (5, 2, 4, 3)"),
        (lambda x, H: by_token(x, H).transpose(2, 3), "The same sizes in another order"),
        (
            lambda x, H: cards(x, H).transpose(1, 2),
            "Head h gets every H-th column instead of Dh neighbours",
        ),
        (with_true_division, "`/` gives a float, `//` a whole number"),
        (as_if_stored_by_head, "a head gets whole tokens, not columns"),
        (as_if_stored_by_row, "right for what is stored row by row"),
    ],
    "check_copied": [
        (lambda B, T, H, Dh: B * T * H * Dh, "one step width leads through all"),
        (lambda B, T, H, Dh: 0, "there is a jump over its words"),
        (lambda B, T, H, Dh: 0 if B == 1 else B * T * H * Dh, "free for one sentence only"),
        (lambda B, T, H, Dh: 0 if H == 1 else B * T * H * Dh, "free for one head only"),
        (lambda B, T, H, Dh: 0 if 1 in (B, H) else B * T * H * Dh, "not free for one word"),
        (lambda B, T, H, Dh: 0 if 1 in (B, T, H) else T * H * Dh, "the batch is missing"),
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
    "check_window_mask": [
        (
            lambda T, S, w: in_window(T, S, w, first=0),
            "With more keys than queries the first query is aligned with the first key",
        ),
        (lambda T, S, w: in_window(T, S, S), "causal without a window: old keys are still seen"),
        (lambda T, S, w: ~in_window(T, S, w), "True where a query may NOT look"),
        (lambda T, S, w: in_window(T, S, w + 1), "one key too many"),
        (lambda T, S, w: in_window(T, S, w - 1), "one key too few"),
        (
            lambda T, S, w: (torch.arange(S) - torch.arange(S - T, S)[:, None]).abs() < w,
            "a window to both sides",
        ),
        (
            lambda T, S, w: torch.arange(S) > torch.arange(S - T, S)[:, None] - w,
            "a window without an end",
        ),
        (lambda T, S, w: in_window(T, S, w).float(), "boolean (torch.bool), got torch.float32"),
        (lambda T, S, w: in_window(S, S, w), "should have shape (2, 5), got (5, 5)"),
        (lambda T, S, w: torch.ones(T, S / 1).tril().bool(), "`//` a whole number"),
        (window_loop, "a token cannot see itself"),
    ],
    "check_packed_mask": [
        (alike, "later tokens of the same document are seen"),
        (lambda d: places(d)[1] <= places(d)[0], "earlier documents are seen"),
        (lambda d: (d[:, None] >= d) & (places(d)[1] <= places(d)[0]), "compared with >="),
        (lambda d: alike(d) | (places(d)[1] <= places(d)[0]), "combine the two with `&`"),
        (lambda d: alike(d) & (places(d)[1] < places(d)[0]), "a token cannot see itself"),
        (lambda d: alike(d) & (places(d)[1] >= places(d)[0]), "the future of its document"),
        (lambda d: ~(alike(d) & (places(d)[1] <= places(d)[0])), "may NOT look"),
        (lambda d: d == d, "should have shape (4, 4), got (4,)"),
    ],
    "check_masked_weights": [
        (masked, "A row of nothing but -inf: the softmax gives NaN"),
        (lambda s, mask: masked(s, mask, -1e9), "equals: -1e9 fill (chapter 07, section 3)"),
        (lambda s, mask: masked(s, ~mask), 'read upside down: True as "not allowed"'),
        (lambda s, mask: masked(s, ~mask), "And rows that may attend to nothing are NaN"),
        (lambda s, mask: masked(s, ~mask, -1e9), "equal shares (a fill like -1e9)"),
        (lambda s, mask: s.softmax(dim=-1) * mask, "equals: mask after the softmax"),
        (lambda s, mask: masked(s, mask, 0.0), "Hidden scores become 0, and exp(0) = 1 is a share"),
        (lambda s, mask: (s + mask).softmax(dim=-1), "added to the scores: it hides nothing"),
        (rows_again_to_one, "equals: NaN rows (chapter 06, section 3)"),
        (masked_in_place, "`a = a / b` makes a new one"),
        (mask_added, "It is NaN: a NaN on the way spoils it"),
        (empty_rows_filled, "no gradient flows back"),
    ],
}
CHAPTERS = {"04": CHAPTER_04, "05": CHAPTER_05, "06": CHAPTER_06}
