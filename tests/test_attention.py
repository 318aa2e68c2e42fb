"""The functions of core/steps.py against an oracle that shares no code, and PyTorch's own."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import mha_utils
from mha_utils import reference

SIZES = [
    # leading dimensions, T, S, Dh, Dv
    ((), 1, 1, 1, 1),
    ((), 3, 5, 4, 2),
    ((3,), 5, 3, 7, 1),
    ((2, 3), 17, 17, 5, 8),
    ((1, 1), 1, 9, 64, 3),
]
MASKS = ["none", "causal", "random", "padding", "nothing for one query"]
DTYPES = {torch.float64: 1e-12, torch.float32: 1e-5}


def draw(sizes, dtype, layout="contiguous"):
    lead, t, s, dh, dv = sizes
    generator = torch.Generator().manual_seed(t + 10 * s)
    shapes = ((t, dh), (s, dh), (s, dv))
    if layout == "transposed":
        tensors = [torch.randn(*lead, *reversed(x), generator=generator).mT for x in shapes]
    else:
        tensors = [torch.randn(*lead, *x, generator=generator) for x in shapes]
    return [x.to(dtype).requires_grad_() for x in tensors]


def make_mask(name, sizes):
    lead, t, s, *_ = sizes
    generator = torch.Generator().manual_seed(0)
    if name == "none":
        return None
    if name == "causal":
        return mha_utils.causal_mask(min(t, s), s) if t <= s else torch.ones(t, s).tril().bool()
    if name == "random":
        return torch.rand(*lead, t, s, generator=generator) < 0.6
    if name == "padding":
        return torch.arange(s)[None, :] < max(1, s - 2)
    return torch.arange(t)[:, None].expand(t, s) != 0


@pytest.mark.parametrize("layout", ["contiguous", "transposed"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mask_name", MASKS)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_outputs_and_gradients_equal_the_reference(sizes, mask_name, dtype, layout):
    q, k, v = draw(sizes, dtype, layout)
    mask = make_mask(mask_name, sizes)
    arrays = [x.detach().numpy() for x in (q, k, v)]
    numpy_mask = None if mask is None else mask.numpy()

    out, weights = mha_utils.attention(q, k, v, mask)
    expected_out, expected_weights = reference.attention_batched(*arrays, numpy_mask)
    grad_out = torch.randn(out.shape, generator=torch.Generator().manual_seed(1)).to(dtype)
    grads = torch.autograd.grad(out, (q, k, v), grad_out)
    expected_grads = reference.attention_gradients(*arrays, grad_out.numpy(), numpy_mask)

    for came, expected in zip(
        (out, weights, *grads), (expected_out, expected_weights, *expected_grads)
    ):
        np.testing.assert_allclose(came.detach(), expected, atol=DTYPES[dtype], rtol=DTYPES[dtype])


@pytest.mark.parametrize("mask_name", ["none", "causal", "random", "padding"])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_outputs_and_gradients_equal_sdpa(sizes, mask_name):
    q, k, v = draw(sizes, torch.float64)
    mask = make_mask(mask_name, sizes)
    if mask is not None and not mask.any(dim=-1).all():
        mask = mask | (torch.arange(mask.shape[-1]) == 0)
    ours, _ = mha_utils.attention(q, k, v, mask)
    theirs = F.scaled_dot_product_attention(q, k, v, mask)
    torch.testing.assert_close(ours, theirs, atol=1e-12, rtol=1e-12)
    for a, b in zip(
        *(torch.autograd.grad(out.square().sum(), (q, k, v)) for out in (ours, theirs))
    ):
        torch.testing.assert_close(a, b, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_the_two_references_agree(sizes):
    arrays = [x.detach().numpy() for x in draw(sizes, torch.float64)]
    out, weights = reference.attention_batched(*arrays)
    for index in np.ndindex(out.shape[:-2]):
        out_loops, weights_loops = reference.attention_loops(*(x[index] for x in arrays))
        np.testing.assert_allclose(out[index], out_loops, atol=1e-13)
        np.testing.assert_allclose(weights[index], weights_loops, atol=1e-13)


def test_reference_loops_respect_the_mask():
    rng = np.random.default_rng(0)
    q, k, v = rng.normal(size=(3, 4, 2))
    mask = np.array([[1, 0, 0, 0], [1, 1, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1]], dtype=bool)
    out_loops, weights_loops = reference.attention_loops(q, k, v, mask)
    out, weights = reference.attention_batched(q, k, v, mask)
    np.testing.assert_allclose(out, out_loops, atol=1e-14)
    np.testing.assert_allclose(weights, weights_loops, atol=1e-14)
    assert not weights[2].any()


def test_reference_gradients_equal_finite_differences():
    rng = np.random.default_rng(1)
    arrays = [rng.normal(size=s) for s in ((3, 2), (4, 2), (4, 3))]
    grad_out = rng.normal(size=(3, 3))
    mask = np.tri(3, 4, 1, dtype=bool)
    for which, gradient in enumerate(reference.attention_gradients(*arrays, grad_out, mask)):
        for index in np.ndindex(gradient.shape):
            ends = []
            for step in (1e-6, -1e-6):
                moved = [a.copy() for a in arrays]
                moved[which][index] += step
                ends.append((reference.attention_loops(*moved, mask)[0] * grad_out).sum())
            assert abs((ends[0] - ends[1]) / 2e-6 - gradient[index]) < 1e-8


def test_one_plus_one_by_hand():
    """Two keys, one of them at score 1: shares 1/(1+e) and e/(1+e)."""
    q, k = torch.tensor([[1.0]]), torch.tensor([[0.0], [1.0]])
    v = torch.tensor([[10.0], [20.0]])
    out, weights = mha_utils.attention(q, k, v)
    e = torch.e
    torch.testing.assert_close(weights, torch.tensor([[1 / (1 + e), e / (1 + e)]]))
    torch.testing.assert_close(out, torch.tensor([[(10 + 20 * e) / (1 + e)]]))


def test_a_row_with_nothing_to_attend_to_is_zero_with_zero_gradient():
    q, k, v = draw(((2,), 4, 4, 3, 3), torch.float64)
    mask = torch.ones(4, 4).tril(-1).bool()  # query 0 sees nothing
    out, weights = mha_utils.attention(q, k, v, mask)
    grads = torch.autograd.grad(out.sum(), (q, k, v))
    assert not out[:, 0].any()
    assert not weights[:, 0].any()
    assert not grads[0][:, 0].any()
    assert all(g.isfinite().all() for g in grads)


def test_weights_are_exactly_zero_where_masked():
    scores = torch.randn(2, 5, 5, generator=torch.Generator().manual_seed(0)) * 50
    mask = mha_utils.causal_mask(5)
    weights = mha_utils.attention_weights(scores, mask)
    assert (weights.masked_select(~mask) == 0).all()
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(2, 5))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_stays_finite_and_close(dtype):
    q, k, v = (x.detach() for x in draw(((2,), 5, 7, 8, 3), torch.float32))
    out, _ = mha_utils.attention(
        q.to(dtype), k.to(dtype), v.to(dtype), make_mask("padding", ((), 5, 7))
    )
    expected, _ = mha_utils.attention(q, k, v, make_mask("padding", ((), 5, 7)))
    assert out.dtype == dtype
    torch.testing.assert_close(out.float(), expected, atol=0.05, rtol=0.05)


def test_causal_mask_is_aligned_with_the_last_key():
    assert mha_utils.causal_mask(2, 4).tolist() == [[True, True, True, False], [True] * 4]
    assert mha_utils.causal_mask(3).tolist() == torch.ones(3, 3).tril().bool().tolist()
    assert mha_utils.causal_mask(1).dtype == torch.bool


def test_split_heads_takes_neighbouring_columns_and_merge_undoes_it():
    x = torch.arange(2 * 3 * 6.0).view(2, 3, 6)
    heads = mha_utils.split_heads(x, 3)
    assert heads.shape == (2, 3, 3, 2)
    for h in range(3):
        assert torch.equal(heads[:, h], x[:, :, 2 * h : 2 * h + 2])
    assert heads.data_ptr() == x.data_ptr()
    assert mha_utils.merge_heads(heads).data_ptr() == x.data_ptr()  # a view
    assert torch.equal(mha_utils.merge_heads(heads), x)


def test_drop_weights_keeps_the_expectation_and_takes_a_generator():
    weights = torch.full((400, 500), 0.25)
    dropped = mha_utils.drop_weights(weights, 0.4, torch.Generator().manual_seed(3))
    again = mha_utils.drop_weights(weights, 0.4, torch.Generator().manual_seed(3))
    assert torch.equal(dropped, again)
    torch.testing.assert_close(dropped.unique(), torch.tensor([0.0, 0.25 / 0.6]))
    assert abs((dropped == 0).float().mean().item() - 0.4) < 0.01
    assert torch.equal(mha_utils.drop_weights(weights, 0.0), weights)
    assert not mha_utils.drop_weights(weights, 1.0).any()
