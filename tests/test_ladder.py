"""Every implementation of the layer gives the same outputs and the same gradients."""

import functools

import ladder
import ladder_options
import numpy as np
import pytest
import torch

from mha_utils import causal_mask
from mha_utils.reference import heads, options

CASES = list(ladder.cases())
BOUNDS = {torch.float64: 1e-12, torch.float32: 1e-5}


@functools.cache
def expected_results():
    return [ladder.by_numpy(case, loops=True) for case in CASES]


def test_the_ladder_has_all_sizes_masks_and_biases():
    assert {len(case.x) for case in CASES} == {1, 3}
    assert {case.x.shape[1] for case in CASES} == {1, 5, 17}
    assert {case.context.shape[1] - case.x.shape[1] for case in CASES} == {0, 2}
    assert {case.num_heads for case in CASES} == {1, 2, 4}
    assert {"q.bias" in case.parameters for case in CASES} == {True, False}
    assert {None if case.mask is None else case.mask.ndim for case in CASES} == {None, 2, 4}
    assert len(CASES) == 216


RULES = {
    "causal": lambda i, j: j <= i,
    "window of 3": lambda i, j: i - 3 < j <= i,
    "window of 2, 1 sink": lambda i, j: i - 2 < j <= i or j == 0,
    "documents": lambda i, j: j <= i and i // 3 == j // 3,
}


def test_the_ladder_with_options_has_every_kind_of_heads_with_every_mask_and_rotary():
    found = {}
    for case in ladder_options.cases():
        length, heads, sets = case.x.shape[1], case.num_heads, case.num_kv_heads
        rule = RULES[case.name.split(", ", 2 if case.has_rotary else 1)[-1]]
        allowed = torch.tensor([[rule(i, j) for j in range(length)] for i in range(length)])
        assert (case.mask == allowed).all(), case.name
        kind = heads * case.head_dim == case.x.shape[2], sets == heads, sets == 1
        found.setdefault((*kind, case.has_rotary), set()).add(rule)
    kinds = {(True, True, False), (True, False, False), (True, False, True), (False, True, False)}
    assert found == {(*k, turned): {*RULES.values()} for k in kinds for turned in (False, True)}


def test_loops_and_whole_arrays_agree():
    for case, expected in zip(CASES, expected_results()):
        differences = ladder.largest_differences(ladder.by_numpy(case), expected)
        assert max(differences.values()) <= 1e-12, differences


@pytest.mark.parametrize("dtype", BOUNDS, ids=str)
@pytest.mark.parametrize("rung", ladder.RUNGS.values(), ids=ladder.RUNGS)
def test_rung_gives_outputs_and_gradients_of_the_loops(rung, dtype):
    for case, expected in zip(CASES, expected_results()):
        results = ladder.with_gradients(rung, case, dtype)
        assert results.keys() == expected.keys()
        assert {array.dtype for array in results.values()} == {np.dtype("float64")}
        differences = ladder.largest_differences(results, expected)
        assert max(differences.values()) <= BOUNDS[dtype], differences


def test_gradients_of_the_oracle_are_those_of_small_steps():
    case = CASES[-1]
    expected = ladder.by_numpy(case)
    for name in ("x", "context", "q.weight", "k.weight", "v.bias", "out.weight"):
        inputs = {"x": case.x, "context": case.context} | case.parameters
        step = torch.randn(
            inputs[name].shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64
        )
        values = []
        for sign in (1, -1):
            moved = inputs | {name: inputs[name] + sign * 1e-6 * step}
            x, context = moved.pop("x"), moved.pop("context")
            changed = ladder.Case(moved, x, context, case.num_heads, case.mask, case.grad_out)
            values.append((ladder.by_numpy(changed)["out"] * case.grad_out.numpy()).sum())
        slope = (values[0] - values[1]) / 2e-6
        np.testing.assert_allclose((expected[name] * step.numpy()).sum(), slope, rtol=1e-6)


def test_a_rung_leaves_the_case_as_it_was():
    for case in CASES[:12]:
        for dtype in BOUNDS:
            ladder.with_gradients(ladder.by_module, case, dtype)
        tensors = (case.x, case.context, *case.parameters.values())
        assert not any(tensor.requires_grad for tensor in tensors)


def test_masks_hide_the_future_and_what_is_padding():
    """Every length occurs, the shortest and the whole one, too."""
    seen = set()
    for case in CASES:
        (query_len, key_len), mask = (case.x.shape[1], case.context.shape[1]), case.mask
        if mask is not None:
            assert not mask.triu(1 + key_len - query_len).any()
            assert mask[..., 0].all()
        if mask is not None and mask.ndim == 4:
            lengths = mask[:, 0, -1].sum(dim=-1)
            rows = torch.arange(key_len) < lengths[:, None]
            assert torch.equal(mask[:, 0, -1], rows)
            assert torch.equal(mask[:, 0], rows[:, None] & causal_mask(query_len, key_len))
            seen |= {(key_len, length) for length in lengths.tolist()}
    assert seen >= {(1, 1), (3, 1), (3, 2), (3, 3), (5, 5), (7, 7)}


def test_the_oracle_computes_float32_in_float64():
    rng = np.random.default_rng(0)
    x, context, grad_out = (rng.normal(size=(2, n, 4)).astype(np.float32) for n in (3, 5, 3))
    names = ("q", "k", "v", "out")
    weights = {n: rng.normal(size=(4, 4)).astype(np.float32) for n in names}

    def gradients(function, kind):
        parameters = {n: (w.astype(kind), None) for n, w in weights.items()}
        return function(x.astype(kind), context.astype(kind), parameters, 2, grad_out.astype(kind))

    for function in (heads.multi_head_gradients, heads.multi_head_gradients_loops):
        narrow, wide = gradients(function, np.float32), gradients(function, np.float64)
        for name in wide:
            np.testing.assert_allclose(narrow[name], wide[name], rtol=0, atol=1e-12)


def test_the_oracle_with_options_computes_float32_in_float64():
    rng = np.random.default_rng(0)
    x, grad_out = rng.normal(size=(2, 1, 3, 4)).astype(np.float32)
    parameters = {
        name: (rng.normal(size=(4, 4)).astype(np.float32), rng.normal(size=4).astype(np.float32))
        for name in ("q", "k", "v", "out")
    }
    mask = np.tril(np.ones((3, 3), dtype=bool))
    found = options.self_attention(x, parameters, 2, grad_out, mask)
    wide = (a.astype(np.float64) for a in (x, grad_out))
    x, grad_out = wide
    expected = options.self_attention(x, parameters, 2, grad_out, mask)
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)
        assert found[name].dtype == np.float64
