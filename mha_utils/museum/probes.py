"""Probes: what holds for every right layer, asked of any module. True is an accusation.

Chapter 12 writes three more itself. The eight here are called as `probe(module, B, T)`. A module
has the four projections and the `num_heads` of `MultiHeadAttention`, and no heads that share.
"""

import copy

import torch

from mha_utils.core.masks import leak_map
from mha_utils.core.steps import causal_mask, padding_mask

NEAR = 1e-3  # what rounding may do


def draw(*shape: int) -> torch.Tensor:
    """Random numbers, the same in each call."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(1))


def tokens_for(module, *shape: int) -> torch.Tensor:
    """Token vectors of the width that a module takes."""
    return draw(*shape, module.q_proj.in_features)


def leak_of(module, length: int, size: float = 1.0) -> torch.Tensor:
    """(T, T): how much each output moves when each token is nudged, with a causal mask.

    The numbers of the tokens are of that size.
    """
    x = size * tokens_for(module, length)
    return leak_map(lambda one: module(one[None], is_causal=True)[0], x)


def misses_the_past(module, batch_size: int, seq_len: int) -> bool:
    """Is there an output that a token before it, or its own, does not reach?"""
    leak = leak_of(module, seq_len, size=0.1)  # small tokens: no weight of a wide layer becomes 0
    return bool((leak[causal_mask(seq_len)] == 0).any())


def sequences_meet(module, batch_size: int, seq_len: int) -> bool:
    """Does an output change when its sequence is asked alone?"""
    x = tokens_for(module, batch_size + 1, seq_len)
    return not torch.allclose(module(x)[1:2], module(x[1:2]), atol=0.1)


def heads_have_an_order(module, batch_size: int, seq_len: int) -> bool:
    """Does anything move when the heads change places, in all four matrices?"""
    x, twin = tokens_for(module, batch_size, seq_len), copy.deepcopy(module)
    rows = torch.arange(module.q_proj.in_features).view(module.num_heads, -1)
    rows = rows.roll(-1, dims=0).flatten()
    for proj in (twin.q_proj, twin.k_proj, twin.v_proj):
        proj.weight.data, proj.bias.data = proj.weight[rows], proj.bias[rows]
    twin.out_proj.weight.data = twin.out_proj.weight[:, rows]
    return not torch.allclose(twin(x), module(x), atol=NEAR)


def is_not_linear_in_v(module, batch_size: int, seq_len: int) -> bool:
    """Does the output, but for its bias, not double when `v_proj` does?"""
    x, twin = tokens_for(module, batch_size, seq_len), copy.deepcopy(module)
    bias = module.out_proj.bias
    twin.v_proj.weight.data *= 2
    twin.v_proj.bias.data *= 2
    return not torch.allclose(twin(x) - bias, 2 * (module(x) - bias), atol=NEAR)


def hidden_keys_matter(module, batch_size: int, seq_len: int) -> bool:
    """Does a real output move when the tokens that are padding change wildly?"""
    real_tokens = torch.tensor([max(seq_len - 1, 1), max(seq_len - 2, 1)])
    mask = padding_mask(real_tokens, seq_len)
    real = mask[:, 0, 0]  # (B, S): the tokens that are not padding
    x = tokens_for(module, 2, seq_len)
    other = torch.where(real[..., None], x, x + 5.0)
    return not torch.allclose(module(x, mask=mask)[real], module(other, mask=mask)[real], atol=NEAR)


def modes_differ(module, batch_size: int, seq_len: int) -> bool:
    """Does a causal output move from `train()` to `eval()`, without dropout?"""
    x = tokens_for(module, batch_size, seq_len)
    results = [module.train(mode)(x, is_causal=True) for mode in (True, False)]
    return not torch.allclose(*results, atol=NEAR)


def gradient_is_missing(module, batch_size: int, seq_len: int) -> bool:
    """Has a parameter no gradient or one that is not finite, or a matrix one of zeros?"""
    length = max(seq_len, 3)  # of fewer tokens none has a choice, and nothing to learn
    mask = causal_mask(length)
    mask[length // 2] = False  # nothing to attend to
    module.zero_grad()
    module(tokens_for(module, batch_size, length), mask=mask).square().sum().backward()
    grads = [p.grad for p in module.parameters()]
    if any(g is None or not g.isfinite().all() for g in grads):
        return True
    return not all(g.any() for g in grads if g.ndim == 2)  # a bias of all keys moves nothing


def dropout_is_wrong(module, batch_size: int, seq_len: int, draws: int = 300) -> bool:
    """Is the average of many draws off by more than six standard errors, anywhere?"""
    many = tokens_for(module, 1, seq_len).expand(draws, -1, -1)  # one sequence, many draws
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        dropped, whole = module.train()(many), module.eval()(many)
    spread = dropped.std(dim=0) / draws**0.5
    far = (dropped.mean(dim=0) - whole[0]).abs() > 6 * spread
    is_one = torch.allclose(whole, whole[0], atol=NEAR)
    return bool(far.any() or (spread == 0).any() or not is_one)


EIGHT = (
    *(misses_the_past, sequences_meet, heads_have_an_order, is_not_linear_in_v),
    *(hidden_keys_matter, modes_differ, gradient_is_missing, dropout_is_wrong),
)
