"""Wrong answers to the exercises about several processes."""

import torch


def polls(shares):
    return lambda outs, lses: (shares(lses)[..., None] * outs).sum(dim=0)


def dealt(order=(2, 0, 1, 3, 4), one_by_one=False):
    def answer(tiles):
        size, tokens, heads, width = tiles.shape
        cut = (heads // size, size) if one_by_one else (size, heads // size)
        parts = tiles.reshape(size, tokens, *cut, width)
        parts = parts.transpose(2, 3) if one_by_one else parts
        return parts.permute(order).reshape(size, size * tokens, heads // size, width)

    return answer


def reshaped(tiles):
    size, tokens, heads, width = tiles.shape
    return tiles.reshape(size, size * tokens, heads // size, width)


CHAPTERS = {
    "17": {
        "check_partner": [
            (lambda rank, size: rank + size, "dealt out like cards"),
            (lambda rank, size: 2 * size - rank, "one too far"),
            (lambda rank, size: size - 1 - rank, "has this one already"),
            (lambda rank, size: rank + 1, "neighbours"),
            (lambda rank, size: 2 * rank + 1, "pairs in order"),
            (lambda rank, size: 2 * size - 1, "the same chunk for everybody"),
        ],
        "check_merge_polls": [
            (lambda outs, lses: outs.mean(dim=0), "the plain mean"),
            (lambda outs, lses: outs.sum(dim=0), "the plain sum"),
            (polls(lambda lses: lses.softmax(dim=1)), "shares over the tokens"),
            (polls(torch.exp), "not divided by their total"),
            (polls(lambda lses: lses / lses.sum(dim=0)), "e^lse is missing"),
            (polls(lambda lses: lses), "the logarithms as votes, and not divided"),
            (
                lambda outs, lses: outs[lses.argmax(dim=0), torch.arange(lses.shape[1])],
                "the loudest poll alone",
            ),
        ],
        "check_trade": [
            (reshaped, "only another shape"),
            (dealt(one_by_one=True), "heads dealt out one by one"),
            (dealt((2, 1, 0, 3, 4)), "tokens out of order"),
            (dealt((0, 2, 1, 3, 4)), "every process keeps its tokens"),
            (lambda tiles: tiles, "shape"),
        ],
    }
}
