"""MultiHeadAttention and StackedHeads: outputs and every gradient, against four oracles."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from mha_utils import (
    FusedMultiHeadAttention,
    MultiHeadAttention,
    SelfAttentionHead,
    StackedHeads,
    causal_mask,
    data,
    from_torch,
    padding_mask,
    reference,
    to_torch,
)
from mha_utils.core import masks

TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5}
SIZES = [
    # B, T, S, D, H
    (1, 1, 1, 4, 1),
    (3, 5, 5, 6, 3),
    (3, 17, 17, 4, 4),
    (1, 5, 17, 12, 2),
    (3, 17, 5, 8, 8),
]
MASKS = ["none", "causal", "padding", "per head"]


def draw(b, t, s, d, dtype, self_attention):
    g = torch.Generator().manual_seed(b + t + s + d)
    x = torch.randn(b, t, d, generator=g).to(dtype)
    context = x if self_attention else torch.randn(b, s, d, generator=g).to(dtype)
    return x.requires_grad_(), context if self_attention else context.requires_grad_()


def make_mask(name, b, h, t, s):
    """A mask that leaves every query something to attend to."""
    if name == "none":
        return None
    if name == "causal":
        return torch.ones(t, s, dtype=torch.bool).tril(max(s - t, 0))
    if name == "padding":
        return padding_mask(torch.arange(b) % s + 1, s)
    random = torch.rand(b, h, t, s, generator=torch.Generator().manual_seed(0)) < 0.5
    return random | (torch.arange(s) == 0)


def make(d, h, dtype, bias=True, **options):
    torch.manual_seed(d * h)
    module = MultiHeadAttention(d, h, bias=bias, **options).to(dtype)
    for parameter in module.parameters():
        nn.init.uniform_(parameter, -0.5, 0.5)
    return module


def with_gradients(function, module, inputs):
    out = function()
    weight = torch.randn(out.shape, generator=torch.Generator().manual_seed(7)).to(out)
    leaves = [*{id(x): x for x in inputs}.values(), *module.parameters()]
    return [out, *torch.autograd.grad((out * weight).sum(), leaves)]


def by_numpy_loops(module, x, context, mask):
    """Every head of every sequence by itself, in plain Python; then W_o on the rows."""
    b, t, _ = x.shape
    h = module.num_heads
    arrays = []
    for layer, source in (
        (module.q_proj, x),
        (module.k_proj, context),
        (module.v_proj, context),
    ):
        projected = source.detach().double().numpy() @ layer.weight.detach().double().numpy().T
        bias = 0 if layer.bias is None else layer.bias.detach().double().numpy()
        arrays.append(projected + bias)
    width = arrays[0].shape[-1] // h
    merged = np.zeros((b, t, width * h))
    maps = np.zeros((b, h, t, context.shape[1]))
    full = None if mask is None else torch.broadcast_to(mask, maps.shape).numpy()
    for i in range(b):
        for j in range(h):
            columns = slice(j * width, (j + 1) * width)
            allowed = None if full is None else full[i, j]
            q, k, v = (a[i][:, columns] for a in arrays)
            merged[i][:, columns], maps[i, j] = reference.attention_loops(q, k, v, allowed)
    out = merged @ module.out_proj.weight.detach().double().numpy().T
    bias = 0 if module.out_proj.bias is None else module.out_proj.bias.detach().double().numpy()
    return out + bias, maps


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("mask_name", MASKS)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_equals_torch_and_plain_python(sizes, bias, mask_name, dtype):
    b, t, s, d, h = sizes
    x, context = draw(b, t, s, d, dtype, self_attention=t == s)
    mask = make_mask(mask_name, b, h, t, s)
    module = make(d, h, dtype, bias)
    theirs = to_torch(module)
    other = None if mask is None else masks.to_torch_mha(mask, (b, h, t, s))

    out, weights = module(x, context, mask=mask, need_weights=True)
    expected_out, expected_weights = by_numpy_loops(module, x, context, mask)
    np.testing.assert_allclose(out.detach(), expected_out, atol=TOLERANCE[dtype])
    np.testing.assert_allclose(weights.detach(), expected_weights, atol=TOLERANCE[dtype])

    ours = with_gradients(lambda: module(x, context, mask=mask), module, (x, context))
    torchs = with_gradients(
        lambda: theirs(x, context, context, attn_mask=other, need_weights=False)[0],
        theirs,
        (x, context),
    )
    inputs = 1 + len({id(x), id(context)})
    for a, b_ in zip(ours[:inputs], torchs[:inputs]):
        torch.testing.assert_close(a, b_, atol=TOLERANCE[dtype], rtol=TOLERANCE[dtype])
    named = dict(zip([n for n, _ in theirs.named_parameters()], torchs[inputs:]))
    grads = dict(zip([n for n, _ in module.named_parameters()], ours[inputs:]))
    kinds = ["weight", "bias"] if bias else ["weight"]
    for kind in kinds:
        joined = torch.cat([grads[f"{p}_proj.{kind}"] for p in "qkv"])
        for a, e in (
            (joined, named[f"in_proj_{kind}"]),
            (grads[f"out_proj.{kind}"], named[f"out_proj.{kind}"]),
        ):
            torch.testing.assert_close(a, e, atol=10 * TOLERANCE[dtype], rtol=TOLERANCE[dtype])


@pytest.mark.parametrize("mask_name", MASKS)
def test_equals_sdpa(mask_name):
    module = make(12, 3, torch.float64)
    x = torch.randn(2, 5, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    mask = make_mask(mask_name, 2, 3, 5, 5)
    q, k, v = (
        p(x).view(2, 5, 3, 4).transpose(1, 2) for p in (module.q_proj, module.k_proj, module.v_proj)
    )
    sdpa_mask = None if mask is None else masks.to_sdpa(mask)
    heads = F.scaled_dot_product_attention(q, k, v, sdpa_mask)
    expected = module.out_proj(heads.transpose(1, 2).flatten(2))
    torch.testing.assert_close(module(x, mask=mask), expected, atol=1e-12, rtol=0)


def test_gradcheck():
    module = make(4, 2, torch.float64)
    x = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    context = torch.randn(2, 5, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, c: module(x, c, is_causal=True), (x, context))


def test_is_causal_is_the_causal_mask_and_joins_the_other_mask():
    module = make(6, 2, torch.float64)
    x, context = draw(2, 3, 7, 6, torch.float64, self_attention=False)
    padding = padding_mask(torch.tensor([7, 5]), 7)
    torch.testing.assert_close(
        module(x, context, is_causal=True), module(x, context, mask=causal_mask(3, 7))
    )
    torch.testing.assert_close(
        module(x, context, mask=padding, is_causal=True),
        module(x, context, mask=padding & causal_mask(3, 7)),
    )


@pytest.mark.parametrize("train", [True, False])
def test_the_future_has_no_influence(train):
    module = make(6, 2, torch.float64, dropout=0.3 if train else 0.0).train(train)
    x, _ = draw(1, 5, 5, 6, torch.float64, self_attention=True)

    def run(x):
        torch.manual_seed(0)
        return module(x, is_causal=True)

    leak = torch.autograd.functional.jacobian(run, x)[0, :, :, 0].abs().sum(dim=(1, 3))
    assert (leak.triu(1) == 0).all()
    if not train:
        assert (leak.diagonal() > 0).all()


def test_empty_rows_give_the_bias_and_no_nan():
    module = make(6, 2, torch.float64)
    x, _ = draw(2, 4, 4, 6, torch.float64, self_attention=True)
    mask = padding_mask(torch.tensor([0, 4]), 4)
    out, weights = module(x, mask=mask, need_weights=True)
    grads = torch.autograd.grad(out.sum(), [x, *module.parameters()])
    torch.testing.assert_close(out[0], module.out_proj.bias.expand(4, 6))
    assert not weights[0].any()
    assert not grads[0][0].any()
    assert all(g.isfinite().all() for g in grads)


def test_dropout_acts_in_training_only_and_returned_weights_are_before_it():
    module = make(6, 2, torch.float32, dropout=0.5)
    x, _ = draw(2, 9, 9, 6, torch.float32, self_attention=True)
    torch.manual_seed(0)
    out, weights = module(x, need_weights=True)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 2, 9))
    assert not torch.allclose(out, module.eval()(x))
    assert torch.equal(module(x), module(x))
    torch.testing.assert_close(module(x, need_weights=True)[1], weights)
    assert not module.train()(x).equal(module(x))
    mean = torch.stack([module(x) for _ in range(3000)]).mean(0)
    torch.testing.assert_close(mean, module.eval()(x), atol=0.1, rtol=0)


@pytest.mark.parametrize("widths", [(None, None), (5, 7), (3, 3)], ids=str)
def test_weights_travel_both_ways(widths):
    kdim, vdim = widths
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(12, 3, kdim=kdim, vdim=vdim, batch_first=True).double().eval()
    nn.init.normal_(theirs.in_proj_bias)
    x = torch.randn(2, 4, 12, dtype=torch.float64)
    context = torch.randn(2, 6, kdim or 12, dtype=torch.float64)
    values = torch.randn(2, 6, vdim or 12, dtype=torch.float64)
    ours = from_torch(theirs)
    expected, maps = theirs(x, context, values, average_attn_weights=False)
    out, weights = ours(x, context, values, need_weights=True)
    torch.testing.assert_close(out, expected, atol=1e-12, rtol=0)
    torch.testing.assert_close(weights, maps, atol=1e-12, rtol=0)
    back = to_torch(ours)
    assert all(torch.equal(a, b) for a, b in zip(back.parameters(), theirs.parameters()))
    assert ours.training == back.training == theirs.training
    ours.out_proj.weight.data.zero_()  # a copy: theirs does not change
    torch.testing.assert_close(theirs(x, context, values)[0], expected)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision(dtype):
    module = make(8, 2, torch.float32)
    x, _ = draw(2, 5, 5, 8, torch.float32, self_attention=True)
    expected = module(x, is_causal=True)
    half = copy.deepcopy(module).to(dtype)(x.to(dtype), is_causal=True)
    assert half.dtype == dtype
    torch.testing.assert_close(half.float(), expected, atol=0.05, rtol=0.05)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = module(x, is_causal=True)
    torch.testing.assert_close(mixed.float(), expected, atol=0.05, rtol=0.05)


def test_copies_pickles_and_states_give_the_same_numbers():
    module, (x, _) = make(6, 3, torch.float32), draw(2, 5, 5, 6, torch.float32, True)
    loaded = MultiHeadAttention(6, 3)
    loaded.load_state_dict(module.state_dict())
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module)), loaded):
        assert torch.equal(other(x), module(x))
    assert set(module.state_dict()) == {
        f"{p}_proj.{kind}" for p in ("q", "k", "v", "out") for kind in ("weight", "bias")
    }


COMPILE = """
import torch
from mha_utils import MultiHeadAttention, padding_mask
module, x = MultiHeadAttention(6, 3).eval(), torch.randn(2, 5, 6)
mask = padding_mask(torch.tensor([5, 3]), 5)
compiled = torch.compile(module, fullgraph=True, backend="eager")
both = {"mask": mask, "is_causal": True}
torch.testing.assert_close(compiled(x, **both), module(x, **both))
exported = torch.export.export(module, (x,), {"mask": mask}).module()
torch.testing.assert_close(exported(x, mask=mask), module(x, mask=mask))
"""


def test_compiles_without_a_graph_break_and_exports():
    subprocess.run([sys.executable, "-c", COMPILE], check=True)


def test_stacked_heads_are_the_single_heads_side_by_side():
    """And the published 13 x 4 output of four heads of width 1."""
    _, ids = data.news_word_ids()
    torch.manual_seed(123)
    x = nn.Embedding(13, 16)(ids).detach()
    torch.manual_seed(123)
    singles = []
    for _ in range(4):
        head = SelfAttentionHead(16, 2, 1)
        singles.append(head)
    torch.manual_seed(123)
    for head in singles:
        for layer in (head.q_proj, head.k_proj, head.v_proj):
            layer.weight.data = torch.rand(16, layer.out_features).T.contiguous()
    stacked = StackedHeads(16, 4, 2, 1)
    for name in ("q", "k", "v"):
        weights = [getattr(head, f"{name}_proj").weight.T for head in singles]
        getattr(stacked, f"{name}_weight").data = torch.stack(weights).detach()
    out = stacked(x[None])[0]
    for h, head in enumerate(singles):
        torch.testing.assert_close(out[:, h : h + 1], head(x), atol=5e-6, rtol=0)
    expected = torch.tensor(
        [[3.1373, 2.1516, -1.6622, -1.1571], [-2.6131, -1.7475, -1.7935, -2.9953]]
    )
    torch.testing.assert_close(out[[0, 12]].detach(), expected, atol=6e-5, rtol=0)


def test_a_mask_in_every_dialect_means_the_same():
    mask = make_mask("per head", 2, 3, 4, 5)
    additive = masks.to_additive(mask, torch.float64)
    assert (additive == 0).equal(mask)
    assert (additive == -torch.inf).equal(~mask)
    assert masks.to_sdpa(mask) is mask
    torchs = masks.to_torch_mha(mask, (2, 3, 4, 5))
    for b in range(2):
        for h in range(3):
            assert torchs[b * 3 + h].equal(~mask[b, h])
    assert masks.to_torch_mha(mask[0, 0], (2, 3, 4, 5)).equal(~mask[0, 0])
    padding = padding_mask(torch.tensor([1, 4]), 5)
    assert masks.to_torch_mha(padding, (2, 3, 4, 5)).shape == (6, 4, 5)


def test_padding_mask():
    mask = padding_mask(torch.tensor([0, 2, 3]), 3)
    assert mask.shape == (3, 1, 1, 3)
    assert mask[:, 0, 0].tolist() == [[False] * 3, [True, True, False], [True] * 3]


def test_stacked_heads_are_single_heads_under_any_mask():
    g = torch.Generator().manual_seed(0)
    stacked = StackedHeads(5, 3, 4, 2)
    x, mask = torch.randn(2, 6, 5, generator=g), torch.rand(6, 6, generator=g) < 0.6
    for h in range(3):
        head = SelfAttentionHead(5, 4, 2)
        for letter in "qkv":
            weight = getattr(stacked, f"{letter}_weight")[h].T
            getattr(head, f"{letter}_proj").weight.data = weight.detach().clone()
        out = stacked(x, mask)[..., 2 * h : 2 * h + 2]
        torch.testing.assert_close(out, head(x, mask))


@pytest.mark.parametrize("kind", [MultiHeadAttention, FusedMultiHeadAttention])
def test_dropout_drops_weights_not_values(kind):
    """All values are 1: every column of a head is the sum of the weights that were kept."""
    module = kind(8, 2, dropout=0.5)
    state = module.state_dict() | {"v_proj.weight": torch.zeros(8, 8), "v_proj.bias": torch.ones(8)}
    module.load_state_dict(
        state | {"out_proj.weight": torch.eye(8), "out_proj.bias": torch.zeros(8)}
    )
    torch.manual_seed(0)
    out = module(torch.randn(3, 5, 8)).unflatten(-1, (2, 4))
    torch.testing.assert_close(out, out[..., :1].expand_as(out))
    assert out[..., 0].std() > 0.1


def test_pytorch_aligns_its_lower_right_mask_as_we_do():
    from torch.nn.attention.bias import causal_lower_right

    q, k, v = (torch.randn(1, 1, n, 4) for n in (2, 5, 5))
    theirs = F.scaled_dot_product_attention(q, k, v, causal_lower_right(2, 5))
    ours = F.scaled_dot_product_attention(q, k, v, causal_mask(2, 5))
    torch.testing.assert_close(theirs, ours)
