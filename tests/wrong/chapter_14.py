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


def turn(back=1, apart=False, exchanged=False, woven=True):
    def answer(q, positions, rates):
        angles = positions[:, None] * rates
        cos, sin = angles.cos(), back * angles.sin()
        if exchanged:
            cos, sin = sin, cos
        a, b = q.chunk(2, -1) if apart else (q[:, ::2], q[:, 1::2])
        turned = a * cos - b * sin, a * sin + b * cos
        return torch.cat(turned, -1) if apart or not woven else torch.stack(turned, -1).flatten(1)

    return answer


def bias(slopes=lambda h: 2.0 ** (-8 * torch.arange(1, h + 1) / h), far=torch.abs, sign=-1):
    def answer(num_heads, seq_len):
        place = torch.arange(seq_len)
        return sign * slopes(num_heads)[:, None, None] * far(place[:, None] - place)

    return answer


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
        "check_turn_pairs": [
            (turn(apart=True), "the two halves are paired"),
            (turn(back=-1), "turned the other way"),
            (turn(exchanged=True), "sine and cosine exchanged"),
            (turn(woven=False), "neighbours have to stand together again"),
            (lambda q, p, rates: turn()(q, p, rates[:1].expand_as(rates)), "the rate of the first"),
            (lambda q, p, rates: turn()(q, torch.ones_like(p), rates), "the same turn"),
            (lambda q, p, rates: q, "nothing is turned"),
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
    }
}
