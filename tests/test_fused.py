"""FusedMultiHeadAttention gives what MultiHeadAttention gives, whichever way it takes."""

import copy
import inspect
import io
import itertools
import pickle
import subprocess
import sys

import pytest
import torch
from torch import nn

from mha_utils import (
    FusedMultiHeadAttention,
    MultiHeadAttention,
    attend,
    attention,
    causal_mask,
    padding_mask,
)
from mha_utils.core import kernels

TOLERANCE = {torch.float32: 1e-5}  # in float64: test_layer_matrix.py
SIZES = [
    # B, T, S, D, H
    (1, 1, 1, 4, 1),
    (3, 5, 5, 6, 3),
    (2, 1, 7, 8, 2),
    (3, 17, 19, 4, 4),
    (2, 130, 130, 8, 2),
    (1, 129, 300, 8, 2),
    (3, 17, 5, 8, 8),
]
MASKS = ["none", "causal", "padding", "causal padding", "per head", "empty rows", "per query"]
WAYS = ["as on a CPU", "as on a GPU", "by products"]


def make_pair(d, h, dtype=torch.float64, **options):
    """Both modules with the same numbers."""
    torch.manual_seed(0)
    explicit = MultiHeadAttention(d, h, dtype=dtype, **options)
    for parameter in explicit.parameters():
        nn.init.uniform_(parameter, -0.5, 0.5)
    fused = FusedMultiHeadAttention(d, h, dtype=dtype, **options)
    fused.load_state_dict(explicit.state_dict())
    return explicit, fused


def draw(*shape, dtype=torch.float64, seed=1):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def make_mask(name, b, h, t, s):
    random = torch.rand(b, h, t, s, generator=torch.Generator().manual_seed(0)) < 0.5
    return {
        "none": {},
        "causal": {"is_causal": True},
        "padding": {"mask": padding_mask(torch.arange(b) % s + 1, s)},
        "causal padding": {"mask": random[:, :1, :1].clone(), "is_causal": True},
        "per head": {"mask": random},
        "empty rows": {"mask": random & (torch.arange(t) % 3 > 0)[:, None]},
        "per query": {"mask": random[0, 0, :, :1]},
    }[name]


def gradients(module, inputs, options):
    """Output and gradients, those of the parameters by the names of the state."""
    module.zero_grad()
    leaves = [x.detach().clone().requires_grad_() for x in inputs]
    out = module(*leaves, **options)
    out.backward(draw(*out.shape, dtype=out.dtype, seed=7))
    for parameter in module.parameters():
        parameter.data = parameter.grad  # so that the state holds gradients
    return [out, *(leaf.grad for leaf in leaves)], module.state_dict()


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    """Every case by the kernel in blocks, by the kernel at once, and by products."""
    if request.param == "as on a GPU":
        monkeypatch.setattr(kernels, "takes_blocks", lambda q: False)
    if request.param == "by products":

        def products(q, k, v, mask=None, dropout=0.0, is_causal=False, *others):
            assert set(others) <= {None}
            return kernels.by_products(q, k, v, kernels.joined_mask(q, k, mask, is_causal), dropout)

        monkeypatch.setattr(kernels, "by_kernel", products)
    return request.param


CASES = [
    (sizes, name)
    for sizes, name in itertools.product(SIZES, MASKS)
    if "causal" not in name or sizes[2] >= sizes[1]
]


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize(("sizes", "mask_name"), CASES, ids=str)
def test_outputs_and_all_gradients_are_those_of_the_explicit_module(sizes, mask_name, dtype, way):
    b, t, s, d, h = sizes
    options = make_mask(mask_name, b, h, t, s)
    for inputs, bias in itertools.product(inputs_of(b, t, s, d, dtype), (True, False)):
        explicit, fused = make_pair(d, h, dtype, bias=bias)
        expected, expected_grads = gradients(explicit, inputs, options)
        results, grads = gradients(fused, inputs, options)
        assert grads.keys() == expected_grads.keys()
        results += [grads[name] for name in expected_grads]
        for result, e in zip(results, [*expected, *expected_grads.values()]):
            scale = max(1.0, e.abs().max().item())
            torch.testing.assert_close(result, e, rtol=0, atol=TOLERANCE[dtype] * scale)


def inputs_of(b, t, s, d, dtype):
    """One, two and three sources of q, k and v."""
    x, context, values = (draw(b, n, d, dtype=dtype, seed=i) for i, n in enumerate((t, s, s)))
    return [[x], [x, context]] if t == s else [[x, context], [x, context, values]]


@pytest.mark.parametrize("widths", [(5, 7, 9), (6, 6, 5), (5, 5, 5), (None, 5, 5)], ids=str)
def test_other_widths(widths):
    options = dict(zip(("qdim", "kdim", "vdim"), widths))
    explicit, fused = make_pair(8, 2, **options)
    q, k, v = (width or 8 for width in widths)
    inputs = draw(2, 3, q), draw(2, 4, k, seed=2), draw(2, 4, v, seed=3)
    torch.testing.assert_close(fused(*inputs), explicit(*inputs), atol=1e-12, rtol=0)


def test_signatures_are_the_same():
    for name in ("__init__", "forward"):
        signatures = (
            inspect.signature(getattr(c, name))
            for c in (FusedMultiHeadAttention, MultiHeadAttention)
        )
        assert len(set(map(str, signatures))) == 1


def test_the_same_seed_gives_the_same_module():
    states = []
    for module in (MultiHeadAttention, FusedMultiHeadAttention):
        torch.manual_seed(3)
        states.append(module(12, 3).state_dict())
    assert states[0].keys() == states[1].keys()
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


@pytest.mark.parametrize("mask_name", MASKS)
def test_weights_on_request(mask_name):
    explicit, fused = make_pair(8, 2)
    options = make_mask(mask_name, 2, 2, 5, 5)
    x = draw(2, 5, 8)
    results = fused(x, need_weights=True, **options)
    for result, expected in zip(results, explicit(x, need_weights=True, **options)):
        torch.testing.assert_close(result, expected, atol=1e-12, rtol=0)


def test_one_query_over_a_cache_sees_every_key():
    """Aligned with the first key instead, it would return v[0]."""
    explicit, fused = make_pair(8, 2)
    x, cache = draw(2, 1, 8), draw(2, 6, 8, seed=2)
    torch.testing.assert_close(fused(x, cache, is_causal=True), explicit(x, cache))
    torch.testing.assert_close(fused(x, cache, is_causal=True), fused(x, cache))


def test_empty_rows_give_zeros_and_zero_gradients(way):
    q, k, v = (draw(2, 3, 140, 4, seed=i).requires_grad_() for i in range(3))
    mask = torch.rand(2, 1, 140, 140, generator=torch.Generator().manual_seed(0)) < 0.5
    mask[1] = False
    for p, is_causal in itertools.product((0.0, 0.5), (False, True)):
        heads = attend(q, k, v, mask, is_causal, dropout=p)
        grads = torch.autograd.grad(heads.sum(), (q, k, v))
        assert not heads[1].any()
        assert not any(grad[1].any() for grad in grads)
        assert all(tensor.isfinite().all() for tensor in (heads, *grads))
        assert heads[0].any()


@pytest.mark.parametrize("is_causal", [False, True])
def test_no_future_no_neighbour(is_causal, way):
    q, k, v = (draw(2, 2, 131, 4, seed=i).requires_grad_() for i in range(3))
    row = attend(q, k, v, is_causal=is_causal)[0, 0, 64].sum()
    for grad in torch.autograd.grad(row, (k, v)):
        assert not grad[1].any()
        assert not grad[0, 1].any()
        assert grad[0, 0, 65:].any() != is_causal


# ---- dropout ---------------------------------------------------------------------------


def test_dropout_acts_in_training_only():
    explicit, fused = make_pair(6, 2, dropout=0.5)
    x = draw(2, 9, 6)
    assert not torch.equal(fused(x), fused(x))
    torch.manual_seed(0)
    first = fused(x)
    torch.manual_seed(0)
    assert torch.equal(fused(x), first)
    fused.eval(), explicit.eval()
    torch.testing.assert_close(fused(x), explicit(x), atol=1e-12, rtol=0)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_dropout_keeps_the_mean_and_drops_the_share(p):
    """With v = 1 in its own column, the heads are the dropped weights themselves."""
    q = k = torch.zeros(64, 4, 16, 8)
    v = torch.eye(16)[:, :8].expand(64, 4, 16, 8).contiguous()
    torch.manual_seed(0)
    weights = attend(q, k, v, dropout=p)
    for value in weights.unique().tolist():
        assert value == 0 or value == pytest.approx(1 / 16 / (1 - p), rel=1e-3)
    assert (weights == 0).float().mean().item() == pytest.approx(p, abs=0.015)
    assert weights.mean().item() == pytest.approx(1 / 16, rel=0.05)


def test_every_weight_has_the_same_chance():
    """Four weights share 64 random bits; a top bit that is always 0 would favour every fourth."""
    torch.manual_seed(0)
    kept = kernels.dropped(torch.ones(400, 4096), 0.3).bool().float().mean(0)
    by_place = kept.view(-1, 4).mean(0)
    torch.testing.assert_close(by_place, torch.full((4,), 0.7), atol=0.003, rtol=0)
    neighbours = kernels.dropped(torch.ones(100_000, 2), 0.5).bool()
    assert (neighbours[:, 0] == neighbours[:, 1]).float().mean().item() == pytest.approx(
        0.5, abs=0.01
    )


@pytest.mark.parametrize("p", [0.0, 1.0, 1e-9, 1 - 1e-9])
def test_the_ends_of_dropout(p):
    q, k, v = (draw(2, 2, 5, 4, seed=i).requires_grad_() for i in range(3))
    heads = attend(q, k, v, dropout=p)
    grads = torch.autograd.grad(heads.sum(), (q, k, v), allow_unused=True)
    if p > 0.5:
        assert not heads.any()
        assert not any(g is not None and g.any() for g in grads)
    else:
        torch.testing.assert_close(heads, attention(q, k, v)[0], atol=1e-12, rtol=0)


# ---- dtypes and devices ----------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("mask_name", MASKS)
def test_half_precision(dtype, mask_name, way):
    """Error against float64, in units of the explicit module's own error in this dtype."""
    options = make_mask(mask_name, 2, 2, 9, 9)
    explicit, fused = make_pair(8, 2, dtype)
    exact, _ = make_pair(8, 2)
    exact.load_state_dict(explicit.state_dict())
    x = draw(2, 9, 8, dtype=dtype)
    expected, grads = gradients(exact, [x.double()], options)
    errors = []
    for module in (explicit, fused):
        results, found = gradients(module, [x], options)
        assert {t.dtype for t in (*results, *found.values())} == {dtype}
        pairs = [*zip(results, expected), *((found[name], grads[name]) for name in grads)]
        errors.append(max((a.double() - b).norm() / (b.norm() + 1) for a, b in pairs))
    assert errors[1] <= 3 * errors[0] + 1e-3


def test_autocast():
    explicit, fused = make_pair(8, 2, torch.float32)
    x = draw(2, 5, 8, dtype=torch.float32)
    for options in ({}, {"is_causal": True}, {"mask": padding_mask(torch.tensor([3, 0]), 5)}):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = fused(x, **options)
            assert out.dtype == explicit(x, **options).dtype == torch.bfloat16
        torch.testing.assert_close(out.float(), explicit(x, **options), atol=0.05, rtol=0.05)
        out.float().sum().backward()


def test_moves_to_a_device():
    """The meta device has shapes and no numbers: a tensor made elsewhere would be an error."""
    fused = FusedMultiHeadAttention(8, 2, dropout=0.5, device="meta")
    x, context = torch.empty(2, 5, 8, device="meta"), torch.empty(2, 7, 8, device="meta")
    mask = torch.ones(2, 1, 1, 7, dtype=torch.bool, device="meta")
    out = fused(x, context, mask=mask, is_causal=True)
    assert (out.shape, out.device.type) == ((2, 5, 8), "meta")
    assert {p.device.type for p in fused.parameters()} == {"meta"}


# ---- memory ----------------------------------------------------------------------------


class Largest(torch.utils._python_dispatch.TorchDispatchMode):
    """Remembers the largest tensor that an operation returned, in numbers."""

    size = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for tensor in torch.utils._pytree.tree_leaves(result):
            if isinstance(tensor, torch.Tensor):
                stored = tensor.untyped_storage().nbytes() // tensor.element_size()
                self.size = max(self.size, stored)
        return result


@pytest.mark.parametrize("mask_name", ["none", "causal", "padding", "causal padding"])
def test_no_tensor_of_all_weights_is_made(mask_name):
    """The explicit module makes H x T x T numbers; the fused one at most blocks of 128 x T."""
    explicit, fused = make_pair(8, 4, torch.float32)
    options = make_mask(mask_name, 1, 4, 1024, 1024)
    x = draw(1, 1024, 8, dtype=torch.float32)
    sizes = []
    for module in (explicit, fused):
        with torch.no_grad(), Largest() as largest:
            module(x, **options)
        sizes.append(largest.size)
    assert sizes[0] >= 4 * 1024 * 1024
    assert sizes[1] <= 4 * 128 * 1024


# ---- as a module -----------------------------------------------------------------------


def test_states_travel_both_ways():
    explicit, fused = make_pair(6, 3)
    buffer = io.BytesIO()
    torch.save(fused.state_dict(), buffer)
    buffer.seek(0)
    back = MultiHeadAttention(6, 3, dtype=torch.float64)
    back.load_state_dict(torch.load(buffer))
    for name, tensor in explicit.state_dict().items():
        assert torch.equal(back.state_dict()[name], tensor)
    nested = nn.Sequential(fused, nn.Linear(6, 6, dtype=torch.float64))
    other = nn.Sequential(explicit, copy.deepcopy(nested[1]))
    assert nested.state_dict().keys() == other.state_dict().keys()
    other.load_state_dict(nested.state_dict())
    nested.load_state_dict(other.state_dict(), assign=True)
    assert set(map(type, nested.parameters())) == {nn.Parameter}


@pytest.mark.parametrize("kdim", [6, 5])
def test_copies_and_pickles_give_the_same_numbers(kdim):
    _, fused = make_pair(6, 3, kdim=kdim, vdim=kdim)
    inputs = draw(2, 5, 6), draw(2, 5, kdim, seed=2)
    for other in (copy.deepcopy(fused), pickle.loads(pickle.dumps(fused))):
        assert torch.equal(other(*inputs), fused(*inputs))
        assert other.state_dict().keys() == fused.state_dict().keys()
        other.load_state_dict(fused.state_dict())
        other.out_proj.bias.data += 1
        assert not torch.equal(other(*inputs), fused(*inputs))


COMPILE = """
import torch
from mha_utils import FusedMultiHeadAttention, Rotary, padding_mask
torch.manual_seed(0)
module = FusedMultiHeadAttention(8, 2, dropout=0.2).eval()
compiled = torch.compile(module, fullgraph=True, backend="aot_eager", dynamic=True)
for dtype in (torch.float32, torch.bfloat16):
    module.to(dtype)
    torch._dynamo.reset()
    for t in (5, 6, 150, 151, 152):  # more lengths than the limit of 8 compilations has room for
        x, context = torch.randn(2, t, 8, dtype=dtype), torch.randn(2, t + 2, 8, dtype=dtype)
        mask = padding_mask(torch.tensor([t + 2, 3]), t + 2)
        for inputs, options in (
            ((x,), {"is_causal": True}),
            ((x,), {}),
            ((x, context), {"mask": mask, "is_causal": True}),
            ((x, context, context + 1), {"is_causal": True}),
        ):
            close = {"atol": 2e-2, "rtol": 2e-2} if dtype == torch.bfloat16 else {}
            torch.testing.assert_close(
                compiled(*inputs, **options), module(*inputs, **options), **close
            )
torch._dynamo.reset()
module.float().train()
compiled(torch.randn(2, 5, 8), is_causal=True).sum().backward()
assert all(p.grad.isfinite().all() for p in module.parameters())
module.eval()
x, options = torch.randn(2, 5, 8), {"mask": padding_mask(torch.tensor([5, 3]), 5)}
length = torch.export.Dim("T", min=2, max=4096)
exported = torch.export.export(
    module, (x,), {"is_causal": True}, dynamic_shapes={"x": {1: length}, "is_causal": None}
).module()
for t in (5, 9, 300):
    x = torch.randn(2, t, 8)
    torch.testing.assert_close(exported(x, is_causal=True), module(x, is_causal=True))
torch._dynamo.reset()
options = {"num_kv_heads": 2, "head_dim": 6, "rotary": Rotary(6)}
grouped = FusedMultiHeadAttention(8, 4, **options).eval()
compiled = torch.compile(grouped, fullgraph=True, backend="aot_eager", dynamic=True)
for t in (5, 6, 9):
    x = torch.randn(2, t, 8)
    torch.testing.assert_close(compiled(x, is_causal=True), grouped(x, is_causal=True))
"""


def test_compiles_without_a_graph_break_and_exports():
    """For any length at once. In a process of its own: the tests' import hook is not traceable."""
    subprocess.run([sys.executable, "-c", COMPILE], check=True)


WRONG = {
    "heads that do not divide": lambda kind: kind(10, 3),
    "no probability": lambda kind: kind(8, 2, dropout=2.0),
    "width of x": lambda kind: kind(8, 2)(torch.zeros(1, 3, 7)),
    "width of context": lambda kind: kind(8, 2, kdim=5)(torch.zeros(1, 3, 8)),
    "rank": lambda kind: kind(8, 2)(torch.zeros(3, 8)),
    "lengths": lambda kind: kind(8, 2)(*(torch.zeros(1, n, 8) for n in (3, 4, 5))),
    "batch": lambda kind: kind(8, 2)(torch.zeros(1, 3, 8), torch.zeros(2, 3, 8)),
    "float mask": lambda kind: kind(8, 2)(torch.zeros(1, 3, 8), mask=torch.ones(3, 3)),
    "size of mask": lambda kind: kind(8, 2)(torch.zeros(1, 3, 8), mask=causal_mask(4)),
    "rank of mask": lambda kind: kind(8, 2)(torch.zeros(2, 3, 8), mask=causal_mask(3)[None]),
    "future": lambda kind: kind(8, 2)(torch.zeros(1, 3, 8), torch.zeros(1, 2, 8), is_causal=True),
    "dtypes": lambda kind: kind(8, 2)(torch.zeros(1, 3, 8), torch.zeros(1, 2, 8).double()),
    "empty": lambda kind: kind(8, 2)(torch.zeros(1, 0, 8)),
}


@pytest.mark.parametrize("name", WRONG)
def test_says_what_the_explicit_module_says(name):
    texts = []
    for kind in (MultiHeadAttention, FusedMultiHeadAttention):
        with pytest.raises(ValueError, match=r"got|does not fit") as error:
            WRONG[name](kind)
        texts.append(str(error.value))
    assert texts[0] == texts[1]


def test_without_dropout_nothing_is_drawn():
    weights, before = torch.rand(2, 3), torch.get_rng_state()
    assert kernels.dropped(weights, 0.0) is weights
    assert torch.equal(torch.get_rng_state(), before)
