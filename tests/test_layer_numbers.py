"""Accuracy in half precision, the oracle at its limits, NaN that stays visible, first weights."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from ladder import largest_differences

from mha_utils import (
    FusedMultiHeadAttention,
    MultiHeadAttention,
    Rotary,
    SelfAttentionHead,
    StackedHeads,
    attend,
    attention,
    attention_weights,
    causal_mask,
    drop_weights,
    padding_mask,
    reference,
)
from mha_utils.core import kernels
from mha_utils.reference import heads as reference_heads

WAYS = {
    "attention": lambda q, k, v, mask: attention(q, k, v, mask)[0],
    "attend": attend,
    "kernel": kernels.by_kernel,
    "products": kernels.by_products,
    "blocks of products": lambda q, k, v, mask: kernels.in_blocks(
        kernels.by_products, q, k, v, mask, False, 0.0
    ),
    "blocks of the kernel": lambda q, k, v, mask: kernels.in_blocks(
        kernels.by_kernel, q, k, v, mask, False, 0.0
    ),
}


def draw(*shape, seed=0, dtype=torch.float64):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def error_of(out, exact):
    return ((out.double() - exact).norm() / exact.norm()).item()


# ---- half precision ----------------------------------------------------------------------


@pytest.mark.parametrize("mask_name", ["none", "causal", "padding"])
@pytest.mark.parametrize("spread", [1, 4, 10])  # of the scores; trained models reach tens
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_no_way_is_less_accurate_than_the_kernel(dtype, spread, mask_name):
    q, k, v = (draw(2, 3, 150, 16, seed=i).mul(s).to(dtype) for i, s in enumerate((spread, 1, 1)))
    mask = {"causal": causal_mask(150), "padding": padding_mask(torch.tensor([150, 60]), 150)}
    mask = mask.get(mask_name)
    exact, _ = attention(q.double(), k.double(), v.double(), mask)
    least = error_of(F.scaled_dot_product_attention(q, k, v, mask), exact)
    for name, way in WAYS.items():
        assert error_of(way(q, k, v, mask), exact) <= 1.02 * least, name


@pytest.mark.parametrize("context", ["half", "autocast"])
@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("kind", [MultiHeadAttention, FusedMultiHeadAttention])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_no_module_is_less_accurate_than_its_layers_around_the_kernel(
    dtype, kind, need_weights, context
):
    """With large scores, also while dropout is on (of one weight in 65536, in another way)."""
    torch.manual_seed(0)
    module, x = kind(32, 4, dropout=1e-9), draw(2, 140, 32, dtype=torch.float32)
    module.q_proj.weight.data *= 20
    if context == "half":
        module, x = module.to(dtype), x.to(dtype)
    is_autocast = context == "autocast"
    with torch.autocast("cpu", dtype=dtype, enabled=is_autocast):
        layers = (module.q_proj, module.k_proj, module.v_proj)
        q, k, v = (layer(x).unflatten(-1, (4, 8)).transpose(1, 2) for layer in layers)
        assert {t.dtype for t in (q, k, v)} == {dtype}
        heads = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        results = module(x, is_causal=True, need_weights=need_weights)
    exact, exact_weights = attention(q.double(), k.double(), v.double(), causal_mask(140))
    found = []
    module.out_proj.register_forward_pre_hook(lambda _, inputs: found.append(inputs[0]))
    with torch.autocast("cpu", dtype=dtype, enabled=is_autocast):
        module(x, is_causal=True, need_weights=need_weights)
    merged = exact.transpose(1, 2).flatten(2)
    least = error_of(heads.transpose(1, 2).flatten(2), merged)
    assert error_of(found[0], merged) <= 1.02 * least
    if need_weights:
        out, weights = results
        assert out.dtype == weights.dtype == dtype
        assert error_of(weights, exact_weights) <= 2 * torch.finfo(dtype).eps


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_softmax_of_half_precision_is_computed_in_float32(dtype):
    scores = (draw(20, 300) * 8).to(dtype)
    mask = torch.rand(20, 300, generator=torch.Generator().manual_seed(0)) < 0.8
    for given in (None, mask):
        weights = attention_weights(scores, given)
        exact = attention_weights(scores.double(), given)
        assert weights.dtype == dtype
        torch.testing.assert_close(weights, exact.to(dtype), atol=0, rtol=torch.finfo(dtype).eps)


@pytest.mark.parametrize("p", [1e-3, 1e-4])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32], ids=str)
def test_small_probabilities_are_kept_in_half_precision(dtype, p):
    """A draw in 8 bits knows steps of 1/256 only."""
    ones = torch.ones(1000, 4000, dtype=dtype)
    for drop in (drop_weights, kernels.dropped):
        torch.manual_seed(0)
        dropped = drop(ones, p)
        assert dropped.dtype == dtype
        share = (dropped == 0).double().mean().item()
        assert share == pytest.approx(p, abs=5 * math.sqrt(p / 4e6) + 1 / 65536)
        kept = dropped[dropped != 0].double().unique()
        assert kept.item() == pytest.approx(1 / (1 - p), rel=torch.finfo(dtype).eps + 1 / 65536)


# ---- NaN ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WAYS)
def test_a_nan_that_a_query_may_see_stays_visible(name):
    """Hidden, a broken input would look like an answer. A query that may not see it is clean."""
    q, k, v = (draw(1, 1, 5, 4, seed=i) for i in range(3))
    k[0, 0, 3, 0] = torch.nan
    out = WAYS[name](q, k, v, causal_mask(5))
    assert out[0, 0, 3:].isnan().all()
    assert WAYS[name](q, k, v, None).isnan().all()


def test_a_nan_stays_visible_in_weights_and_in_the_oracle():
    scores = torch.zeros(3, 3)
    scores[1, 1] = torch.nan
    for mask in (None, causal_mask(3)):
        weights = attention_weights(scores, mask)
        assert weights[1].isnan().any()
        assert weights[[0, 2]].isfinite().all()
    assert attention_weights(scores, ~torch.eye(3, dtype=torch.bool)).isfinite().all()
    q, k, v = (draw(3, 2, seed=i).numpy() for i in range(3))
    k[1, 0] = np.nan
    mask = np.tri(3, dtype=bool)
    for results in (reference.attention_batched(q, k, v, mask), loops(q, k, v, mask)):
        for result in results:
            assert np.isnan(result[1:]).any(axis=1).all()
            assert np.isfinite(result[0]).all()


def loops(*arrays):
    return reference.attention_loops(*arrays)


# ---- the oracle --------------------------------------------------------------------------

ROWS = {  # scores and the weights they must give
    "large": ([1e4, 9999.0, -1e4], [1 / (1 + math.exp(-1)), 1 / (1 + math.e), 0.0]),
    "all far below zero": ([-1e4, -1e4 - 2, -1e4], None),
    "one far above": ([-1e4, 1e4], [0.0, 1.0]),
    "one key": ([-1e4], [1.0]),
}


@pytest.mark.parametrize("name", ROWS)
def test_the_oracle_neither_overflows_nor_underflows(name):
    scores, expected = ROWS[name]
    shifted = np.exp(np.subtract(scores, max(scores)))
    expected = shifted / shifted.sum() if expected is None else expected
    values = np.eye(len(scores))
    query, keys = [1.0], [[s] for s in scores]
    arrays = np.array([query]), np.array(keys), values
    for weights in (
        reference.softmax(scores),
        reference.attend_one_query(query, keys, values.tolist())[1],
        reference.attention_loops(*arrays)[1][0],
        reference.attention_batched(*arrays)[1][0],
        attention(*map(torch.from_numpy, arrays))[1][0].numpy(),
    ):
        np.testing.assert_allclose(weights, expected, rtol=1e-9, atol=1e-300)
    gradients = [
        function(*arrays, np.ones((1, len(scores))) * np.arange(len(scores)))
        for function in (reference.attention_gradients, reference.attention_gradients_loops)
    ]
    for one, other in zip(*gradients):
        assert np.isfinite(one).all()
        np.testing.assert_allclose(one, other, atol=1e-9)


def test_the_oracle_gives_every_head_and_sequence_its_own_mask():
    """Loops, whole arrays, gradients of both: head by head what a layer of one head gives."""
    rng = np.random.default_rng(0)
    num_heads, width = 3, 6
    x, context, grad_out = (rng.normal(size=(2, n, width)) for n in (4, 5, 4))
    mask = rng.random((2, num_heads, 4, 5)) < 0.6
    parameters = {n: (rng.normal(size=(width, width)), rng.normal(size=width)) for n in "qkv"}
    for h in range(num_heads):
        columns = slice(2 * h, 2 * h + 2)
        only = np.zeros((width, width))
        only[columns, columns] = np.eye(2)  # lets the output see this head alone
        all_heads = parameters | {"out": (only, None)}
        cut = {n: (w[columns], b[columns]) for n, (w, b) in parameters.items()}
        one_head = cut | {"out": (only[:, columns], None)}
        alone = mask[:, h : h + 1]
        inputs = x, context
        for function in (reference_heads.multi_head_loops, reference_heads.multi_head_batched):
            out = function(*inputs, all_heads, num_heads, mask)
            np.testing.assert_allclose(out, function(*inputs, one_head, 1, alone), atol=1e-12)
        weights = reference_heads.multi_head_weights(*inputs, all_heads, num_heads, mask)
        expected = reference_heads.multi_head_weights(*inputs, one_head, 1, alone)
        np.testing.assert_allclose(weights[:, h], expected[:, 0], atol=1e-12)
        for function in (
            reference_heads.multi_head_gradients,
            reference_heads.multi_head_gradients_loops,
        ):
            found = function(*inputs, all_heads, num_heads, grad_out, mask)
            expected = function(*inputs, one_head, 1, grad_out, alone)
            for name in ("x", "context"):
                np.testing.assert_allclose(found[name], expected[name], atol=1e-12)
            for name in "qkv":
                rows = found[f"{name}.weight"][columns]
                np.testing.assert_allclose(rows, expected[f"{name}.weight"], atol=1e-12)


def test_differences_of_the_ladder_are_relative_to_the_largest_number():
    expected = {"a": np.array([0.0, -200.0]), "b": np.array([0.1])}
    results = {"a": np.array([1.0, -200.0]), "b": np.array([-0.1])}
    assert largest_differences(results, expected) == {
        "a": pytest.approx(1 / 200),
        "b": pytest.approx(0.2),
    }


# ---- first weights -----------------------------------------------------------------------

FIRST = {
    "head": lambda: SelfAttentionHead(64, 80, 96, bias=True),
    "stacked": lambda: StackedHeads(64, 5, 16, 12),
    "explicit": lambda: MultiHeadAttention(128, 4, qdim=64, kdim=96, vdim=256),
    "fused": lambda: FusedMultiHeadAttention(128, 4, qdim=64, kdim=96, vdim=256),
}
INPUTS = {"q": 64, "k": 96, "v": 256, "out": 128}


@pytest.mark.parametrize("name", FIRST)
def test_first_weights_are_uniform_up_to_one_over_the_root_of_the_inputs(name):
    """So that a projection of numbers of size 1 has numbers of one size, whatever the width."""
    torch.manual_seed(0)
    for key, parameter in FIRST[name]().named_parameters():
        inputs = INPUTS[key.split("_")[0]] if name in ("explicit", "fused") else 64
        bound, numbers = inputs**-0.5, parameter.detach().flatten()
        assert parameter.requires_grad
        assert 0.9 * bound < numbers.abs().max() <= bound, key
        assert abs(numbers.mean()) < 4 * bound / len(numbers) ** 0.5, key
        assert numbers.std().item() == pytest.approx(bound / 3**0.5, rel=2 / len(numbers) ** 0.5)


def test_the_same_seed_gives_the_same_first_weights():
    for name in ("head", "stacked", "explicit"):
        states = []
        for made in (FIRST[name], FIRST["fused" if name == "explicit" else name]):
            torch.manual_seed(3)
            states.append(made().state_dict())
        assert list(states[0]) == list(states[1])
        assert all(torch.equal(*pair) for pair in zip(states[0].values(), states[1].values()))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_by_name_is_the_same_as_by_place(dtype):
    q, k, v = torch.randn(3, 1, 2, 5, 4).to(dtype)
    for one, other in zip(attention(q, k, v), attention(q=q, k=k, v=v), strict=True):
        assert one.dtype == other.dtype == dtype
        assert torch.equal(one, other)
    assert torch.equal(Rotary(4)(heads=q), Rotary(4)(q))
