"""Wrong answers to the exercises about positions."""

import torch


def back(first=1, second=-1, exchanged=False, step=1):
    def answer(rates, steps):
        angles = rates * (steps if step else 1)
        cos, sin = angles.cos().diag(), angles.sin().diag()
        if exchanged:
            cos, sin = sin, cos
        return torch.cat([torch.cat([cos, first * sin], 1), torch.cat([second * sin, cos], 1)])

    return answer


def in_turns(rates, steps):
    order = torch.arange(2 * len(rates)).view(2, -1).T.flatten()
    return back()(rates, steps)[order][:, order]


def bias(slopes=lambda h: 2.0 ** (-8 * torch.arange(1, h + 1) / h), far=torch.abs, sign=-1):
    def answer(num_heads, seq_len):
        place = torch.arange(seq_len)
        return sign * slopes(num_heads)[:, None, None] * far(place[:, None] - place)

    return answer


def followers(tokens):
    return [j for j in range(1, len(tokens)) if tokens[j - 1] == tokens[-1]]


CHAPTERS = {
    "14": {
        "check_look_back": [
            (back(-1, 1), "that looks forward"),
            (back(1, 1), "both sines with a plus"),
            (back(-1, -1), "both sines with a minus"),
            (back(exchanged=True), "sine and cosine exchanged"),
            (back(step=0), "one step only"),
            (in_turns, "sines and cosines in turns"),
            (lambda rates, steps: torch.eye(2 * len(rates)), "the identity matrix"),
        ],
        "check_alibi": [
            (bias(sign=1), "far keys rewarded"),
            (bias(lambda h: 2.0 ** (-8 * torch.arange(h) / h)), "slopes that start at 2^0"),
            (bias(lambda h: torch.full((h,), 2.0**-8)), "the same slope for every head"),
            (bias(far=lambda d: d), "later keys are rewarded"),
            (bias(far=torch.neg), "earlier keys are rewarded"),
            (bias(lambda h: 2.0 ** -torch.arange(1.0, h + 1)), "whatever H is"),
            (bias(lambda h: 2.0 ** (-8 * torch.arange(h, 0, -1) / h)), "the opposite order"),
        ],
        "check_earliest_answer": [
            (lambda tokens: max(followers(tokens), default=-1), "the last place, not the first"),
            (lambda tokens: tokens.index(tokens[-1]), "the place of the token itself"),
            (lambda tokens: tokens.index(tokens[-1]) + 1, "the question counted"),
            (lambda tokens: len(followers(tokens)), "how many places there are"),
            (
                lambda tokens: next((tokens[j] for j in followers(tokens)), -1),
                "the follower's symbol",
            ),
        ],
    }
}
