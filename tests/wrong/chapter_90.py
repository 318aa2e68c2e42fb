"""Wrong answers to the exercises about published pages."""


def as_heads(merged, num_heads):
    B, T, D = merged.shape
    return merged.reshape(B, num_heads, T, D // num_heads)


def there_and_back(merged, num_heads):
    return as_heads(merged, num_heads).reshape(merged.shape)


def slip_again(merged, num_heads):
    B, T, D = merged.shape
    heads = merged.view(B, T, num_heads, D // num_heads).transpose(1, 2)
    return heads.reshape(B, T, D)


def with_view(merged, num_heads):
    return as_heads(merged, num_heads).transpose(1, 2).view(merged.shape)


def zeros(rows):
    return sum(row.count(0) for row in rows)


def with_sums(page, is_full):
    return zeros(row for row in page if is_full(sum(row), max(map(sum, page))))


CHAPTERS = {
    "90": {
        "check_unscramble": [
            (there_and_back, "a view there and back moves nothing"),
            (lambda merged, num_heads: merged, "every number where it was"),
            (slip_again, "the slip a second time, on top of the first"),
            (as_heads, "should have shape (5, 2, 12), got (5, 4, 2, 3)"),
            (with_view, "Use .reshape(...) instead"),
            (lambda m, H: as_heads(m, H).flip(1).transpose(1, 2).flatten(2), "the last head first"),
        ],
        "check_surely_hidden": [
            (zeros, "all empty places: in a row that lost something"),
            (lambda page: with_sums(page, lambda s, most: s == most), "in the last digit"),
            (lambda page: with_sums(page, lambda s, most: s > 1), "and still be above 1"),
            (lambda page: with_sums(page, lambda s, most: s > 0), "a row may have lost a part"),
            (lambda page: zeros([max(page, key=max)]), "need not stand in a full row"),
            (lambda page: zeros(r[i + 1 :] for i, r in enumerate(page)), "need not be causal"),
            (lambda page: page.sum(dim=-1), "raised AttributeError"),
        ],
    }
}
