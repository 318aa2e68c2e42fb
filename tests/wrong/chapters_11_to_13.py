"""Wrong answers to the exercises about costs and devices, probes and learned heads."""

import copy

import torch


def future_probe(changed_token=-1, compared=slice(None, -1), clone=True, negate=True, causal=True):
    """A right probe of the future, with one thing changed."""

    def probe(module):
        torch.manual_seed(0)
        x = torch.randn(2, 5, 8)
        changed = x.clone() if clone else x
        changed[:, changed_token] += 1.0
        before, after = (module(t, is_causal=causal)[:, compared] for t in (x, changed))
        same = torch.allclose(before, after, atol=1e-5)
        return not same if negate else same

    return probe


def each_output_its_own_verdict(module):
    x = torch.randn(2, 5, 8)
    changed = torch.cat([x[:, :-1], x[:, -1:] + 1], dim=1)
    return module(x, is_causal=True)[:, :-1] != module(changed, is_causal=True)[:, :-1]


def probe_of_another_width(module):
    x = torch.randn(2, 5, 16)
    return torch.allclose(module(x), module(x))


def verdict_only_if_guilty(module):  # noqa: RET503
    if key_probe()(module):
        return True


def key_probe(part="bias", of="k_proj", clone=True, draw_again=False, negate=True, off=0.0):
    """A right probe of what all keys share, with one thing changed."""

    def probe(module):
        torch.manual_seed(0)
        x = torch.randn(3, 5, 8)
        twin = copy.deepcopy(module) if clone else module
        getattr(getattr(twin, of), part).data += 3.0
        before = module(x)
        after = twin(torch.randn(3, 5, 8) if draw_again else x) * (1 + off)
        same = torch.allclose(before, after, rtol=0, atol=0.0 if off else 1e-3)
        return not same if negate else same

    return probe


def places(tokens, first=-1):
    before = torch.cat([torch.tensor([first]), tokens[:-1]])
    return tokens[:, None] == before[None, :]


def places_of_copies(tokens):
    return (tokens[:, None] == tokens[None, :]).tril(-1)


def places_on_a_circle(tokens):
    return (tokens[:, None] == tokens.roll(1)[None, :]).tril()


def way_back(shares=None, taken=None, sign=-1):
    """A right way back through a tile, with one thing changed."""

    def answer(scores, v, out, grad_out, log_total):
        weights = (scores - log_total[..., None]).exp()
        weights = weights if shares is None else shares(scores, log_total[..., None])
        grad_weights = grad_out @ v.mT
        mean = (grad_out * out).sum(dim=-1, keepdim=True)
        mean = mean if taken is None else taken(weights, grad_weights)
        return weights * (grad_weights + sign * mean)

    return answer


CHAPTER_11 = {
    "check_way_back": [
        (way_back(lambda scores, log_total: scores.softmax(dim=-1)), "a softmax of the tile alone"),
        (way_back(taken=lambda w, grad_weights: 0.0), "takes from all others"),
        (
            way_back(taken=lambda w, grad_weights: (w * grad_weights).sum(dim=-1, keepdim=True)),
            "the average over this tile",
        ),
        (way_back(lambda scores, log_total: scores.exp() / log_total), "is a logarithm"),
        (way_back(lambda scores, log_total: scores.exp()), "votes and not yet shares"),
        (way_back(sign=1), "the average added"),
        (lambda scores, v, out, grad_out, log_total: grad_out @ v.mT, "wrong"),
    ],
    "check_attention_flops": [
        (lambda B, T, D: 2 * B * T * T * D, "only one of the two products"),
        (lambda B, T, D: 4 * B * T * D * D, "T and D exchanged"),
        (lambda B, T, D: 4 * T * T * D, "the batch is missing"),
        (lambda B, T, D: 4 * B * T * D, "T counted once"),
        (lambda B, T, D: 8 * B * T * T * D, "2 times the right result"),
    ],
    "check_operations_with_a_byte": [
        (lambda b, g, size: b * g / size, "a multiplication and an addition are two"),
        (lambda b, g, size: 4 * b * g / size, "the key's bytes or the value's are missing"),
        (lambda b, g, size: float(b * g), "number_bytes is not used"),
        (lambda b, g, size: 2 * b / size, "g of them use the same key"),
        (lambda b, g, size: size / (2 * b * g), "the wrong way round"),
        (lambda b, g, size: 2 * b * g // size, "should be a number (float)"),
    ],
}
CHAPTER_12 = {
    "check_future_probe": [
        (future_probe(compared=slice(None)), "are only outputs before the changed token compared?"),
        (future_probe(causal=False), "is it called with is_causal=True"),
        (future_probe(clone=False), "`b = a` is no copy"),
        (future_probe(negate=False), "the other way round: True = the fault is there"),
        (future_probe(changed_token=0), "outputs before the changed token"),
        (each_output_its_own_verdict, "one True or False, got a tensor of shape (2, 4, 8)"),
        (probe_of_another_width, "in your line `return torch.allclose(module(x), module(x))`"),
    ],
    "check_key_probe": [
        (key_probe(part="weight"), "the bias of k_proj, not its weight"),
        (key_probe(of="q_proj"), "the bias of k_proj"),
        (key_probe(draw_again=True), "is the input the same"),
        (key_probe(off=1e-7), "rounding allowed for"),
        (key_probe(clone=False), "or a deepcopy is"),
        (key_probe(negate=False), "the other way round"),
        (verdict_only_if_guilty, "it returned None"),
    ],
}
CHAPTER_13 = {
    "check_induction_places": [
        (places_of_copies, "the earlier copies themselves, not what followed them"),
        (places, "a causal head cannot see them"),
        (places_on_a_circle, "the last token taken to stand in front of the first"),
        (lambda tokens: places(tokens).tril(-1), "the query's own place left out"),
        (lambda tokens: places(tokens).T.tril(), "queries and keys exchanged"),
        (lambda tokens: places(tokens).tril().float(), "should be boolean"),
        (lambda tokens: places(tokens, first=0).tril(), "0 is a token, too"),
    ],
    "check_best_offset": [
        (lambda d: max(d, key=d.count), "the best distance, not the accuracy"),
        (lambda d: max(d.count(n) for n in d), "how many are right, not which part"),
        (lambda d: 1 / len(set(d)), "chance"),
        (lambda d: max(d.count(n) for n in d) // len(d), "should be a number (float)"),
        (lambda d: max(d.count(n) for n in range(max(d) + 1)) / len(d), "may be negative"),
        (lambda d: [d.count(n) / len(d) for n in d], "should be a number (float), got [0.6"),
    ],
}
CHAPTERS = {"11": CHAPTER_11, "12": CHAPTER_12, "13": CHAPTER_13}
