"""Every module in every way, over masks x causal x lengths x sources x weights, to one oracle.

The oracle below is written for this file: einsum and exp, no line of the package. Values and
gradients are compared in float64, also those that flow through the returned weights.
"""

import itertools

import pytest
import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from mha_utils import (
    FusedMultiHeadAttention,
    MultiHeadAttention,
    SelfAttentionHead,
    StackedHeads,
    attend,
    attention,
    causal_mask,
    drop_weights,
    merge_heads,
    padding_mask,
    reference,
    split_heads,
)
from mha_utils.core import kernels, masks

B, H, DH = 2, 3, 2
D = H * DH
CALLS = {  # T, S: who makes queries, keys and values
    (4, 4): ["x", "x x values"],
    (3, 6): ["x context values"],
    (1, 5): ["x context"],
    (130, 131): ["x context"],
    (5, 3): ["x context"],
}
FORMS = ["none", "ts", "1s", "t1", "b11s", "b1ts", "1hts", "bhts", "b111", "bht1"]
KINDS = ["explicit", "fused", "fused as on a GPU", "fused by products"]


def draw(*shape, seed=0, dtype=torch.float64):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def make_mask(form, t, s):
    """Random, so that some rows are empty, and other ones for every sequence, head and query."""
    if form == "none":
        return None
    if len(form) == 2:
        form = "11" + form
    full = {"b": B, "h": H, "t": t, "s": s, "1": 1}
    shape = [full[letter] if letter != "1" else 1 for letter in form]
    mask = torch.rand(shape, generator=torch.Generator().manual_seed(t)) < 0.6
    return mask[0, 0] if form.startswith("11") else mask


def by_einsum(state, x, context, values, mask, is_causal):
    """Out (B, T, D) and weights (B, H, T, S): powers of allowed keys over their sum."""
    q, k, v = (
        F.linear(tokens, state[f"{name}_proj.weight"], state[f"{name}_proj.bias"])
        .reshape(len(x), -1, H, DH)
        .permute(2, 0, 1, 3)
        for name, tokens in zip("qkv", (x, context, values))
    )
    scores = torch.einsum("hbtd,hbsd->bhts", q, k) / DH**0.5
    t, s = scores.shape[-2:]
    allowed = torch.ones(B, H, t, s, dtype=torch.bool)
    if mask is not None:
        allowed = allowed & mask
    if is_causal:
        allowed = allowed & (torch.arange(s) - (s - t) <= torch.arange(t)[:, None])
    powers = (scores - scores.detach().amax(-1, keepdim=True)).exp() * allowed
    weights = powers / powers.sum(-1, keepdim=True).clamp_min(1e-300)
    merged = torch.einsum("bhts,hbsd->bthd", weights, v).flatten(2)
    return F.linear(merged, state["out_proj.weight"], state["out_proj.bias"]), weights


def test_the_oracle_is_the_plain_loops():
    """Query by query in Python, each head with its own mask."""
    module, (x, _, _) = make("explicit"), sources("x", 4, 4)
    mask = make_mask("bhts", 4, 4)
    out, weights = by_einsum(module.state_dict(), x, x, x, mask, True)
    q, k, v = (layer(x).detach() for layer in (module.q_proj, module.k_proj, module.v_proj))
    for b, h in itertools.product(range(B), range(H)):
        columns = slice(h * DH, (h + 1) * DH)
        allowed = (mask[b, h] & torch.ones(4, 4).tril().bool()).numpy()
        arrays = (t[b, :, columns].numpy() for t in (q, k, v))
        _, expected = reference.attention_loops(*arrays, allowed)
        torch.testing.assert_close(weights[b, h], torch.from_numpy(expected))
    assert out.shape == x.shape


def make(kind, dtype=torch.float64, **options):
    torch.manual_seed(0)
    cls = MultiHeadAttention if kind == "explicit" else FusedMultiHeadAttention
    module = cls(D, H, dtype=dtype, **options)
    for parameter in module.parameters():
        torch.nn.init.uniform_(parameter, -0.9, 0.9)
    return module


def sources(names, t, s, dtype=torch.float64):
    x, context, values = (draw(B, n, D, seed=i, dtype=dtype) for i, n in enumerate((t, s, s)))
    given = {"x": x, "context": context, "values": values}
    chosen = [given[name] for name in names.split()]
    chosen += chosen[-1:] * (3 - len(chosen))  # what the module does with what is left out
    return chosen


def take(kind, monkeypatch):
    """Let `attend` take the way that the kind names."""
    if kind == "fused as on a GPU":
        monkeypatch.setattr(kernels, "takes_blocks", lambda q: False)
    if kind == "fused by products":

        def products(q, k, v, mask=None, dropout=0.0, is_causal=False, *others):
            assert set(others) <= {None}
            return kernels.by_products(q, k, v, kernels.joined_mask(q, k, mask, is_causal), dropout)

        monkeypatch.setattr(kernels, "by_kernel", products)


def calls(form):
    """All that a module can be asked for with a mask of this form."""
    for sizes, names in CALLS.items():
        for name, is_causal, need in itertools.product(names, (False, True), (False, True)):
            if sizes[0] <= sizes[1] or not is_causal:
                yield name, sizes, make_mask(form, *sizes), is_causal, need


def with_gradients(results, leaves):
    """The results, and gradients of all of them, each number with another factor."""
    results = results if isinstance(results, tuple) else (results,)
    total = sum((r * draw(*r.shape, seed=9, dtype=r.dtype)).sum() for r in results)
    return [*results, *torch.autograd.grad(total, leaves, allow_unused=True)]


class NoNaN(TorchDispatchMode):
    """Raises where an operation makes a NaN, even one that would be covered later."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        results = function(*args, **(kwargs or {}))
        for result in torch.utils._pytree.tree_leaves(results):
            if isinstance(result, torch.Tensor) and result.is_floating_point():
                made = "empty" in function.__name__ or function.__name__.startswith("_scaled")
                assert made or not result.isnan().any(), function
        return results


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_values_and_gradients_of_everything(kind, form, monkeypatch):
    take(kind, monkeypatch)
    module = make(kind, dropout=0.3).eval()
    for names, (t, s), mask, is_causal, need in calls(form):
        x, context, values = (a.requires_grad_() for a in sources(names, t, s))
        leaves = [*{id(a): a for a in (x, context, values)}.values(), *module.parameters()]
        expected = by_einsum(dict(module.named_parameters()), x, context, values, mask, is_causal)
        given = {"x": [x], "x context": [x, context]}.get(names, [x, context, values])
        options = {"mask": mask, "is_causal": is_causal, "need_weights": need}
        with NoNaN():
            results = module(*given, **options)
            results = with_gradients(results, leaves)
        expected = with_gradients(expected if need else expected[0], leaves)
        for result, other in zip(results, expected, strict=True):
            label = f"{names} {t} {s} {form} causal={is_causal} weights={need}"
            torch.testing.assert_close(result, other, atol=1e-12, rtol=1e-9, msg=label)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_dropout_drops_each_weight_by_itself(kind, dtype, monkeypatch):
    """Value j of each head is the unit vector j, so what comes out are the weights used."""
    take(kind, monkeypatch)
    size, heads, p = 64, 2, 0.3
    cls = MultiHeadAttention if kind == "explicit" else FusedMultiHeadAttention
    module = cls(2 * size, heads, dropout=p, bias=False, dtype=dtype)
    for layer in (module.v_proj, module.out_proj):
        layer.weight.data = torch.eye(2 * size, dtype=dtype)
    x, values = draw(3, size, 2 * size, dtype=dtype), torch.eye(size, dtype=dtype).repeat(3, 1, 2)
    for is_causal, need in itertools.product((False, True), repeat=2):
        options = {"mask": padding_mask(torch.tensor([size, 40, 0]), size), "is_causal": is_causal}
        _, weights = module.eval()(x, x, values, need_weights=True, **options)
        with torch.no_grad():
            torch.testing.assert_close(
                used(module, x, x, values, need_weights=need, **options), weights
            )
        kept = used(module.train(), x, x, values, need_weights=need, **options)
        again = used(module, x, x, values, need_weights=need, **options)
        is_kept = kept != 0
        near = {"atol": 1e-2 if dtype == torch.bfloat16 else 1e-5, "rtol": 0.02}
        torch.testing.assert_close(kept, is_kept * weights / (1 - p), **near)
        may = weights > 0.001
        assert abs(is_kept[may].double().mean() - (1 - p)) < 0.03
        assert not torch.equal(is_kept, again != 0)
        assert not torch.equal(is_kept[0, 0], is_kept[0, 1])  # each head draws for itself
        assert not torch.equal(is_kept[0, :, :40, :40], is_kept[1, :, :40, :40])
        rows, columns = is_kept[0, 0, -20:, :20], is_kept[0, 0, -40:-20, :20]
        assert not torch.equal(rows, columns)


def used(module, *inputs, **options):
    out = module(*inputs, **options)
    out = out[0] if isinstance(out, tuple) else out
    return out.unflatten(-1, (2, -1)).transpose(1, 2).detach()


# ---- other devices, dtypes, defaults; empty batches --------------------------------------


@pytest.mark.parametrize(
    ("dtype", "dropout"), [(torch.float32, 0.5), (torch.bfloat16, 0.0), (torch.float32, 1.0)]
)
@pytest.mark.parametrize("kind", KINDS[:2])
def test_no_tensor_is_made_on_another_device(kind, dropout, dtype):
    """The meta device refuses to meet any other, as a GPU does; and it has no numbers to read."""
    module = make(kind, dtype, dropout=dropout, device="meta")
    for form in ("none", "ts", "b1ts"):
        for names, (t, s), mask, is_causal, need in calls(form):
            x, context, values = (
                a.to("meta").requires_grad_() for a in sources(names, t, s, dtype)
            )
            given = {"x": [x], "x context": [x, context]}.get(names, [x, context, values])
            mask = None if mask is None else mask.to("meta")
            out = module(*given, mask=mask, is_causal=is_causal, need_weights=need)
            results = with_gradients_on_meta(out, [x, *module.parameters()])
            assert {(r.device.type, r.dtype) for r in results if r is not None} == {("meta", dtype)}
            assert results[0].shape == x.shape


def with_gradients_on_meta(results, leaves):
    results = results if isinstance(results, tuple) else (results,)
    total = sum(r.sum() for r in results)
    return [*results, *torch.autograd.grad(total, leaves, allow_unused=True)]


HELPERS = {
    "attention": lambda x, mask: attention(x, x, x, mask),
    "attend": lambda x, mask: attend(*[split_heads(x, 2)] * 3, mask, True),
    "attend dropping": lambda x, mask: attend(*[split_heads(x, 2)] * 3, dropout=0.5),
    "by products": lambda x, mask: kernels.by_products(*[split_heads(x, 2)] * 3, mask, 0.5),
    "in blocks": lambda x, mask: kernels.in_blocks(
        kernels.by_products, *[split_heads(x, 2)] * 3, mask, True, 0.5
    ),
    "dropped": lambda x, mask: kernels.dropped(x, 0.5),
    "drop_weights": lambda x, mask: drop_weights(x, 0.5),
    "drop all": lambda x, mask: drop_weights(x, 1.0),
    "merge": lambda x, mask: merge_heads(split_heads(x, 2)),
    "additive": lambda x, mask: masks.to_additive(mask, x.dtype),
    "torch's mask": lambda x, mask: masks.to_torch_mha(mask, (len(x), 2, 5, 5)),
    "causal": lambda x, mask: causal_mask(3, 5, x.device),
    "head": lambda x, mask: SelfAttentionHead(6, 2).to(x)(x, mask, need_weights=True),
    "stacked": lambda x, mask: StackedHeads(6, 2, 3).to(x)(x, mask),
}


@pytest.mark.parametrize("name", HELPERS)
def test_helpers_make_nothing_elsewhere_and_take_an_empty_batch(name):
    for shape, device in (((2, 5, 6), "meta"), ((0, 5, 6), "cpu")):
        x = torch.zeros(shape, device=device, requires_grad=True)
        mask = torch.ones(5, 5, dtype=torch.bool, device=device)
        results = HELPERS[name](x, mask)
        for result in results if isinstance(results, tuple) else (results,):
            assert result.device.type == device
            if result.requires_grad:
                (grad,) = torch.autograd.grad(result.sum(), x, retain_graph=True)
                assert grad.device.type == device


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_batch_gives_an_empty_result_and_no_gradient(kind, monkeypatch):
    take(kind, monkeypatch)
    module = make(kind, dropout=0.5)
    assert padding_mask(torch.zeros(0, dtype=torch.int64), 4).shape == (0, 1, 1, 4)
    for form, causal, need in itertools.product(FORMS, (False, True), (False, True)):
        x = torch.zeros(0, 4, D, dtype=torch.float64, requires_grad=True)
        mask = make_mask(form, 4, 4)
        mask = mask[:0] if form.startswith("b") else mask
        results = module(x, mask=mask, is_causal=causal, need_weights=need)
        out, *_, grad, weight_grad = with_gradients(results, [x, module.v_proj.weight])
        assert out.shape == grad.shape == (0, 4, D)
        assert not weight_grad.any()


@pytest.mark.parametrize("default", [torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_the_default_dtype_changes_nothing(kind, default, monkeypatch):
    take(kind, monkeypatch)
    module, (x, context, _) = make(kind, torch.float32, dropout=0.5), sources("x context", 3, 6)
    x, context = x.float(), context.float()
    mask = make_mask("bhts", 3, 6)

    def results():
        torch.manual_seed(0)
        out, weights = module(x, context, mask=mask, is_causal=True, need_weights=True)
        others = (
            module(x, context, mask=mask),
            drop_weights(weights, 0.3),
            kernels.dropped(out, 0.2),
        )
        return [out, weights, *others, attention(x, context, context)[0]]

    expected = results()
    torch.set_default_dtype(default)
    try:
        for result, other in zip(results(), expected):
            assert result.dtype == torch.float32
            assert torch.equal(result, other)
        head = SelfAttentionHead(6, 2)
        assert head(draw(1, 3, 6, dtype=default)).dtype == default
        assert StackedHeads(6, 2, 2)(draw(1, 3, 6, dtype=default)).dtype == default
    finally:
        torch.set_default_dtype(torch.float32)
