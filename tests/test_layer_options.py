"""Shared heads, head width, rotary positions, a cache, windows: what models of today need."""

import re
import subprocess
import sys

import ladder_options
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from ladder import largest_differences
from torch._subclasses.fake_tensor import FakeTensorMode

from mha_utils import (
    FusedMultiHeadAttention,
    KeyValueCache,
    MultiHeadAttention,
    Rotary,
    attend,
    causal_mask,
    document_mask,
    padding_mask,
    share_heads,
    sliding_window_mask,
    to_torch,
)
from mha_utils.core import kernels
from mha_utils.core.kernels import QUERY_BLOCK

CLASSES = [MultiHeadAttention, FusedMultiHeadAttention]
X = torch.randn(2, 9, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
CASES = list(ladder_options.cases())


def layer(cls=MultiHeadAttention, **options):
    torch.manual_seed(0)
    return cls(8, 4, dtype=torch.float64, **options).eval()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_ladder_with_options(case):
    expected = ladder_options.by_oracle(case)
    for name, rung in ladder_options.RUNGS.items():
        for dtype, limit in ((torch.float64, 1e-12), (torch.float32, 2e-5)):
            found = rung(case, dtype=dtype)
            assert set(found) == set(expected)
            assert max(largest_differences(found, expected).values()) < limit, (name, dtype)


# ---- positions ---------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["half", "pairs"])
def test_scores_of_turned_vectors_depend_on_the_distance_alone(layout):
    q, k = torch.randn(2, 1, 1, 1, 6, dtype=torch.float64)
    rotary = Rotary(6, layout=layout)

    def score(i, j):
        return (rotary(q, torch.tensor([i])) * rotary(k, torch.tensor([j]))).sum()

    for distance in (0, 1, 7):
        scores = torch.stack([score(j + distance, j) for j in (0, 3, 100_000)])
        torch.testing.assert_close(scores, scores[:1].expand(3), atol=1e-9, rtol=0)
    assert abs(score(1, 0) - score(2, 0)) > 1e-3
    assert torch.equal(rotary(q), q)  # position 0 is not turned


@pytest.mark.parametrize("base", [10_000.0, 50.0])
def test_the_angle_of_each_pair(base):
    heads = torch.zeros(1, 1, 3, 6, dtype=torch.float64)
    heads[..., :3] = 1.0  # the first half: every pair is (1, 0)
    turned = Rotary(6, base=base)(heads, torch.tensor([0, 1, 5]))[0, 0]
    angles = np.outer([0, 1, 5], base ** -(np.arange(3) / 3))
    np.testing.assert_allclose(turned, np.hstack([np.cos(angles), np.sin(angles)]), atol=1e-14)


def test_the_two_layouts_are_one_rotation_of_other_features():
    heads = torch.randn(2, 3, 5, 8)
    order = torch.tensor([0, 4, 1, 5, 2, 6, 3, 7])  # pairs (i, i + 4) side by side
    half, pairs = Rotary(8), Rotary(8, layout="pairs")
    torch.testing.assert_close(pairs(heads[..., order]), half(heads)[..., order])
    assert not torch.allclose(pairs(heads), half(heads), atol=0.1)


def test_angles_are_exact_far_away_and_in_half_precision():
    far = torch.tensor([1_000_000])
    heads = torch.randn(1, 1, 1, 64)
    exact = Rotary(64)(heads.double(), far)
    torch.testing.assert_close(Rotary(64)(heads, far).double(), exact, atol=1e-6, rtol=0)
    rounded = Rotary(64).bfloat16()(heads.bfloat16(), far)
    assert rounded.dtype == torch.bfloat16
    exact = Rotary(64)(heads.bfloat16().double(), far).bfloat16()
    torch.testing.assert_close(rounded, exact, atol=0, rtol=2**-7)


@pytest.mark.parametrize("cls", CLASSES)
def test_positions_may_differ_between_sequences(cls):
    module = layer(cls, rotary=Rotary(2))
    own = torch.stack([torch.arange(9), torch.arange(9) * 3 + 2])
    together = module(X, is_causal=True, positions=own)
    for row, x, positions in zip(together, X, own):
        torch.testing.assert_close(row, module(x[None], is_causal=True, positions=positions)[0])
    torch.testing.assert_close(module(X, positions=own[0]), module(X))
    assert not torch.allclose(together[1], module(X, is_causal=True)[1], atol=1e-3)


# ---- heads -------------------------------------------------------------------------------


def test_neighbouring_query_heads_share_a_head():
    heads = torch.arange(2.0).view(1, 2, 1, 1)
    assert share_heads(heads, 6).flatten().tolist() == [0, 0, 0, 1, 1, 1]
    assert share_heads(heads, 2) is heads


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("options", [{}, {"num_kv_heads": 2}, {"head_dim": 6}])
def test_half_of_the_heads_are_a_layer(cls, options):
    """A shard holds the rows and columns of its heads; the sum of shards is the whole."""
    whole, shards = layer(cls, **options), []
    for n in range(2):
        shard = layer(cls, **options)
        for name in ("q_proj", "k_proj", "v_proj"):
            for kind in ("weight", "bias"):
                part = getattr(getattr(whole, name), kind).data.chunk(2)[n]
                getattr(getattr(shard, name), kind).data = part
        shard.out_proj.weight.data = whole.out_proj.weight.data.chunk(2, dim=1)[n]
        shard.out_proj.bias.data *= 0.5
        shards.append(shard(X, is_causal=True))
    torch.testing.assert_close(sum(shards), whole(X, is_causal=True))


def test_grouped_and_wide_heads_hold_the_parameters_that_they_should():
    module = MultiHeadAttention(16, 4, num_kv_heads=2, head_dim=6)
    shapes = {name: tuple(p.shape) for name, p in module.named_parameters() if "weight" in name}
    assert shapes == {
        "q_proj.weight": (24, 16),
        "k_proj.weight": (12, 16),
        "v_proj.weight": (12, 16),
        "out_proj.weight": (16, 24),
    }
    _, weights = module(torch.randn(2, 5, 16), need_weights=True)
    assert weights.shape == (2, 4, 5, 5)


# ---- cache -------------------------------------------------------------------------------

MASKS = {
    "none": lambda t, s: None,
    "window": lambda t, s: sliding_window_mask(t, s, window=3, sinks=1),
    "padding": lambda t, s: padding_mask(torch.tensor([s, min(s, 4)]), s),
    "documents": lambda t, s: document_mask((torch.arange(s) // 4).expand(2, -1), t),
}
OPTIONS = {
    "plain": {},
    "shared": {"num_kv_heads": 2},
    "rotary": {"rotary": Rotary(2)},
    "all": {"num_kv_heads": 1, "head_dim": 6, "rotary": Rotary(6, layout="pairs")},
}


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("form", MASKS)
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_chunks_and_single_tokens_are_the_full_pass(cls, form, options):
    module = layer(cls, **options)
    full, weights = module(X, mask=MASKS[form](9, 9), is_causal=True, need_weights=True)
    cache = KeyValueCache(2, module.k_proj.out_features // module.head_dim, 9, module.head_dim)
    cache.keys, cache.values = cache.keys.double(), cache.values.double()
    for start, stop in ((0, 4), (4, 7), (7, 8), (8, 9)):
        mask, x = MASKS[form](stop - start, stop), X[:, start:stop]
        with torch.no_grad():
            out, part = module(x, mask=mask, is_causal=True, cache=cache, need_weights=True)
            cache.rewind(start)
            again = module(x, mask=mask, is_causal=True, cache=cache)
        assert cache.length == stop
        for found in (out, again):
            torch.testing.assert_close(found, full[:, start:stop].detach(), atol=1e-12, rtol=0)
        expected = weights[:, :, start:stop, :stop].detach()
        torch.testing.assert_close(part, expected, atol=1e-12, rtol=0)


def test_a_cache_takes_its_memory_once_and_gives_views():
    cache = KeyValueCache(2, 3, 5, 4, dtype=torch.bfloat16)
    address, k = cache.keys.data_ptr(), torch.randn(2, 3, 2, 4).bfloat16()
    for n in (1, 2):
        keys, values = cache.append(k, -k)
        assert (keys.shape, values.shape) == ((2, 3, 2 * n, 4), (2, 3, 2 * n, 4))
        assert keys.data_ptr() == cache.keys.data_ptr() == address
        assert torch.equal(keys[:, :, -2:], k)
        assert torch.equal(values[:, :, -2:], -k)
    assert (cache.length, cache.capacity) == (4, 5)
    cache.rewind(1)
    keys, _ = cache.append(k * 2, k)
    assert torch.equal(keys, torch.cat((k[:, :, :1], k * 2), dim=2))
    cache.rewind()
    assert cache.length == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "the cache has room for 4 tokens: it holds 3, got 2 more"),
        ({"mask": torch.ones(2, 4, dtype=torch.bool)}, "mask must be (T, S) = (2, 5)"),
        ({"context": X}, "a cache is for self-attention: expected x alone, got context, too"),
    ],
)
@torch.no_grad()
def test_an_error_leaves_the_cache_as_it_was(options, message):
    module, cache = layer(), KeyValueCache(2, 4, 4, 2, dtype=torch.float64)
    module(X[:, :3], cache=cache)
    keys = cache.keys[:, :, :3].clone()
    with pytest.raises(ValueError, match=re.escape(message)):
        module(X[:, 3:5], cache=cache, **options)
    assert cache.length == 3
    assert torch.equal(cache.keys[:, :, :3], keys)
    expected = module(X[:, :4], is_causal=True)[:, 3:]
    torch.testing.assert_close(module(X[:, 3:4], is_causal=True, cache=cache), expected)


# ---- masks -------------------------------------------------------------------------------


@pytest.mark.parametrize(("t", "s"), [(1, 1), (5, 5), (3, 7), (1, 6)])
@pytest.mark.parametrize("window", [1, 2, 100])
@pytest.mark.parametrize("sinks", [0, 1])
def test_windows_cell_by_cell(t, s, window, sinks):
    mask = sliding_window_mask(t, s, window=window, sinks=sinks)
    for i in range(t):
        own = i + s - t
        for j in range(s):
            assert mask[i, j] == (j <= own and (own - j < window or j < sinks))
    assert sliding_window_mask(t, s, window=2, device="meta").device.type == "meta"


def test_documents_cell_by_cell():
    documents = torch.tensor([[7, 7, 2, 2, 2], [1, 2, 1, 1, 0]])
    for t in (1, 3, 5):
        mask = document_mask(documents, t)
        assert mask.shape == (2, 1, t, 5)
        for b, i, j in np.ndindex(2, t, 5):
            assert mask[b, 0, i, j] == (documents[b, 5 - t + i] == documents[b, j])


@pytest.mark.parametrize("cls", CLASSES)
def test_packed_documents_are_strangers(cls):
    module, documents = layer(cls), torch.tensor([[0, 0, 0, 0, 1, 1, 1, 1, 1]] * 2)
    packed = module(X, mask=document_mask(documents), is_causal=True)
    apart = [module(part, is_causal=True) for part in (X[:, :4], X[:, 4:])]
    torch.testing.assert_close(packed, torch.cat(apart, dim=1))


# ---- attend ------------------------------------------------------------------------------


def by_hand(q, k, v, mask, is_causal, bias, scale):
    k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], dim=1) for t in (k, v))
    scores = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    scores = scores if bias is None else scores + bias
    allowed = torch.ones(scores.shape, dtype=torch.bool) if mask is None else mask
    allowed = allowed & causal_mask(*scores.shape[-2:]) if is_causal else allowed
    weights = scores.masked_fill(~allowed, -1e300).softmax(-1).masked_fill(~allowed, 0.0)
    return weights @ v


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("has_mask", [False, True])
@pytest.mark.parametrize("shape", [None, (5, 7), (1, 4, 1, 7)])
@pytest.mark.parametrize("scale", [None, 0.3])
@pytest.mark.parametrize(("kv_heads", "value_dim"), [(4, 6), (2, 6), (1, 5)])
def test_attend_with_bias_scale_and_groups(is_causal, has_mask, shape, scale, kv_heads, value_dim):
    g = torch.Generator().manual_seed(0)

    def draw(*shape):
        return torch.randn(shape, dtype=torch.float64, generator=g).requires_grad_()

    tensors = [draw(2, 4, 5, 6), draw(2, kv_heads, 7, 6), draw(2, kv_heads, 7, value_dim)]
    bias = None if shape is None else draw(*shape)
    mask = padding_mask(torch.tensor([7, 0]), 7) if has_mask else None
    found = attend(*tensors, mask, is_causal, bias=bias, scale=scale)
    expected = by_hand(*tensors, mask, is_causal, bias, scale)
    torch.testing.assert_close(found, expected)
    leaves = tensors + ([] if bias is None else [bias])
    factors = draw(*found.shape).detach()
    pairs = zip(*(torch.autograd.grad((out * factors).sum(), leaves) for out in (found, expected)))
    for ours, theirs in pairs:
        torch.testing.assert_close(ours, theirs)


def test_dropout_reaches_shared_heads():
    q, kv = torch.ones(1, 4, 300, 4), torch.ones(1, 2, 200, 4)
    heads = attend(q, kv, kv, dropout=0.5)
    assert heads.std() > 0.01
    assert abs(heads.mean() - 1) < 0.01
    assert not torch.equal(heads[:, 0], heads[:, 1])


# ---- errors ------------------------------------------------------------------------------

K = torch.zeros(2, 4, 1, 2)
WRONG = {
    "num_heads must be divisible by num_kv_heads, got num_heads=4 and num_kv_heads=3 "
    "(remainder 1)": lambda: MultiHeadAttention(8, 4, num_kv_heads=3),
    "num_kv_heads must be an integer of at least 1, got 0": lambda: MultiHeadAttention(
        8, 4, num_kv_heads=0
    ),
    "rotary must be a Rotary with head_dim=2, got Rotary(head_dim=4, base=10000, "
    "layout='half')": lambda: MultiHeadAttention(8, 4, rotary=Rotary(4)),
    "head_dim must be even, got 3": lambda: Rotary(3),
    "base must be a finite number above 0, got nan": lambda: Rotary(4, base=float("nan")),
    "base must be a finite number above 0, got True": lambda: Rotary(4, base=True),
    "layout must be 'half' or 'pairs', got 'neox'": lambda: Rotary(4, layout="neox"),
    "heads must have head_dim = 4 numbers in its last dimension, got shape (1, 1, 3, 6)": (
        lambda: Rotary(4)(torch.zeros(1, 1, 3, 6))
    ),
    "positions must be (T,) = (9,) or (B, T) = (2, 9), got (2, 8)": lambda: layer(rotary=Rotary(2))(
        X, positions=torch.zeros(2, 8, dtype=torch.int64)
    ),
    "positions are for a layer with rotary=, this one has none": lambda: layer()(
        X, positions=torch.arange(9)
    ),
    "rotary is for self-attention: expected x alone, got context, too": lambda: layer(
        rotary=Rotary(2)
    )(X, X),
    "capacity must be an integer of at least 1, got 0": lambda: KeyValueCache(2, 4, 0, 2),
    "length must be an integer between 0 and 0, got 1": lambda: KeyValueCache(2, 4, 3, 2).rewind(1),
    "k must be (B, Hkv, T, Dh) = (3, 4, 1, 2) to go into the cache, got (2, 4, 1, 2)": (
        lambda: KeyValueCache(3, 4, 3, 2).append(K, K)
    ),
    "k must be torch.float64 on cpu as the cache is, got torch.float32 on cpu": (
        lambda: KeyValueCache(2, 4, 3, 2, dtype=torch.float64).append(K, K)
    ),
    "v has a gradient, which a cache would cut: use torch.no_grad()": (
        lambda: KeyValueCache(2, 4, 3, 2).append(K, K.clone().requires_grad_())
    ),
    "window must be an integer of at least 1, got 0": lambda: sliding_window_mask(4, window=0),
    "sinks must be an integer between 0 and 4, got 5": lambda: sliding_window_mask(
        4, window=1, sinks=5
    ),
    "query_len must be an integer between 0 and 3, got 4": lambda: document_mask(
        torch.zeros(1, 3, dtype=torch.int64), 4
    ),
    "num_heads must be divisible by num_kv_heads, got num_heads=4 and num_kv_heads=3 "
    "(remainder 1) ": lambda: attend(K, K[:, :3], K[:, :3]),
    "scale must be a finite number above 0, got 0": lambda: attend(K, K, K, scale=0),
    "bias must be (T, S) = (1, 1) or broadcast to (B, H, T, S) = (2, 4, 1, 1) from four "
    "dimensions, as padding (B, 1, 1, S) does, got (2,)": lambda: attend(
        K, K, K, bias=torch.zeros(2)
    ),
    "nn.MultiheadAttention has H Dh = embed_dim = 8 for queries, keys and values, got 4": (
        lambda: to_torch(layer(num_kv_heads=2))
    ),
    "nn.MultiheadAttention has no rotary positions": lambda: to_torch(layer(rotary=Rotary(2))),
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_options_are_named(message):
    with pytest.raises(ValueError, match=f"^{re.escape(message.strip())}$"):
        WRONG[message]()


TYPES = {
    "MultiHeadAttention(8, 4, head_dim=2.5)": "head_dim must be an integer of at least 1, got 2.5",
    "MultiHeadAttention(8, 4, rotary=10)": "rotary must be a Rotary with head_dim=2, got 10",
    "MultiHeadAttention(8, 4)(torch.ones(1, 2, 8), cache=3)": (
        "cache must be a KeyValueCache, got 3"
    ),
    "KeyValueCache(2, 4, 3, 2).append(torch.ones(2, 4, 1, 2), torch.ones(2, 4, 2, 2))": (
        "v must be (B, Hkv, T, Dh) = (2, 4, 1, 2) to go into the cache, got (2, 4, 2, 2)"
    ),
}


def test_wrong_types_are_named():
    """In a process of its own: here the import hook would speak first."""
    code = "import torch\nfrom mha_utils import *\n"
    code += "".join(f"try: {c}\nexcept ValueError as error: print(error)\n" for c in TYPES)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == list(TYPES.values())


# ---- other devices, and the calls of the kernel -------------------------------------------


@pytest.mark.parametrize("cls", CLASSES)
def test_every_option_runs_on_another_device(cls):
    """The meta device refuses to mix, and has no numbers that could be looked at."""
    module = cls(8, 4, num_kv_heads=2, rotary=Rotary(2), device="meta")
    x = torch.empty(2, 9, 8, device="meta", requires_grad=True)
    mask = sliding_window_mask(9, window=3, device="meta")
    out, weights = module(x, mask=mask, is_causal=True, need_weights=True)
    (out.sum() + weights.sum() + module(x, mask=mask).sum()).backward()
    assert x.grad.device.type == "meta"
    cache = KeyValueCache(2, 2, 9, 2, device="meta")
    with torch.no_grad():
        for part in (x[:, :5], x[:, 5:6]):
            assert module(part, is_causal=True, cache=cache).device.type == "meta"
    lengths = torch.empty(2, dtype=torch.int64, device="meta")
    assert padding_mask(lengths, 9).shape == (2, 1, 1, 9)


NO_DRIVER = torch.version.cuda is not None and not torch.cuda.is_available()


class Calls(torch.overrides.TorchFunctionMode):
    """The arguments of each call of PyTorch's kernel."""

    def __init__(self):
        super().__init__()
        self.found = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function is F.scaled_dot_product_attention:
            mask = (*args, None)[3]
            form = "causal" if (kwargs or {}).get("is_causal") else "full"
            shared = ", shared" if (kwargs or {}).get("enable_gqa") else ""
            self.found.append(form + (", mask" if mask is not None else "") + shared)
            if NO_DRIVER and args[0].is_cuda:  # even if it is imagined, such a build asks for one
                return torch.empty_like(args[0])
        return function(*args, **(kwargs or {}))


PADDED = padding_mask(torch.tensor([9, 4]), 9)
KERNEL = {
    "plain": ({}, {}, ["full"]),
    "causal": ({}, {"is_causal": True}, ["causal"]),
    "padding": ({}, {"mask": PADDED}, ["full, mask"]),
    "causal + padding": ({}, {"is_causal": True, "mask": PADDED}, ["full, mask"]),
    "groups": ({"num_kv_heads": 2}, {"is_causal": True}, ["causal, shared"]),
    "groups + padding": (
        {"num_kv_heads": 2},
        {"is_causal": True, "mask": PADDED},
        ["full, mask, shared"],
    ),
    "rectangle": ({}, {"is_causal": True, "context": torch.cat((X, X), dim=1)}, ["full, mask"]),
}


@pytest.mark.parametrize("name", KERNEL)
def test_one_call_of_the_kernel(name, monkeypatch):
    """As on a GPU, where nothing is cut into blocks."""
    options, given, expected = KERNEL[name]
    monkeypatch.setattr("mha_utils.core.kernels.takes_blocks", lambda q: False)
    with Calls() as calls:
        layer(FusedMultiHeadAttention, **options)(X, **given)
    assert calls.found == expected


@pytest.mark.parametrize(
    ("dtype", "calls"),
    [
        (torch.float32, ["causal"]),
        (torch.float64, ["causal"]),
        (torch.bfloat16, ["causal, shared"]),
        (torch.float16, ["causal, shared"]),
    ],
)
def test_on_a_gpu_flash_alone_reads_shared_heads(dtype, calls):
    """Its other kernels would make the weights: they get the heads repeated."""
    with FakeTensorMode(), Calls() as counted:
        q, k = (torch.empty(2, h, 9, 8, dtype=dtype, device="cuda") for h in (4, 2))
        attend(q, k, k, is_causal=True)
        mask = torch.empty(9, 9, dtype=torch.bool, device="cuda")
        assert not kernels.serves_groups(q, mask, None)
        assert not kernels.serves_groups(q, None, mask)
        assert kernels.serves_groups(q.to("meta"), mask, mask)
    assert counted.found == calls


@pytest.mark.parametrize(
    ("device", "compiles", "calls"), [("cpu", False, 3), ("cpu", True, 1), ("meta", False, 1)]
)
def test_only_eager_code_on_a_cpu_cuts_a_long_text_into_blocks(
    device, compiles, calls, monkeypatch
):
    module = layer(FusedMultiHeadAttention).to(device)
    x = torch.ones(1, 2 * QUERY_BLOCK + 1, X.shape[-1], dtype=X.dtype, device=device)
    mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=device)
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: compiles)
    with Calls() as counted:
        module(x, mask=mask, is_causal=True)
    assert len(counted.found) == calls


@torch.no_grad()
def test_decoding_is_one_call_without_a_mask():
    module = layer(FusedMultiHeadAttention, num_kv_heads=2)
    cache = KeyValueCache(2, 2, 9, 2, dtype=torch.float64)
    with Calls() as calls:
        module(X[:, :5], is_causal=True, cache=cache)
        module(X[:, 5:6], is_causal=True, cache=cache)
        module(X[:, 6:9], is_causal=True, cache=cache)
    assert calls.found == ["causal, shared", "full, shared", "full, mask, shared"]


# ---- others' layers -----------------------------------------------------------------------


def waves(*shape, seed: int):
    """Numbers that every library would draw alike."""
    count = int(np.prod(shape))
    return torch.arange(count, dtype=torch.float64).add(seed).mul(0.7).sin().view(shape)


def grouped_rotary_layer():
    """The layer of a small Llama, its weights written down."""
    module = layer(num_kv_heads=2, head_dim=6, bias=False, rotary=Rotary(6))
    for seed, parameter in enumerate(module.parameters()):
        parameter.data = waves(*parameter.shape, seed=seed) / 2
    return module


def test_a_recorded_output_of_llama():
    """transformers 5.23.0, LlamaAttention of 4 heads, 2 for keys and values, Dh 6, float64."""
    out = grouped_rotary_layer()(waves(1, 3, 8, seed=9), is_causal=True)
    np.testing.assert_allclose(out.detach()[0, :, :4], RECORDED, atol=2e-7)


def test_the_layer_is_that_of_llama():
    modeling = pytest.importorskip("transformers.models.llama.modeling_llama")
    module, x = grouped_rotary_layer(), waves(1, 3, 8, seed=9)
    np.testing.assert_allclose(llama(modeling, module, x).detach()[0, :, :4], RECORDED, atol=2e-7)
    x = waves(2, 7, 8, seed=3).requires_grad_()
    outs = module(x, is_causal=True), llama(modeling, module, x)
    torch.testing.assert_close(*outs, atol=2e-7, rtol=0)
    grads = [torch.autograd.grad((o * waves(2, 7, 8, seed=5)).sum(), x)[0] for o in outs]
    torch.testing.assert_close(*grads, atol=2e-6, rtol=0)


def llama(modeling, module, x):
    """The layer of transformers with the same weights; its angles are float32."""
    config = modeling.LlamaConfig(
        hidden_size=8,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=6,
        attn_implementation="sdpa",
    )
    theirs = modeling.LlamaAttention(config, 0).double()
    for name in "qkv":
        getattr(theirs, f"{name}_proj").weight = getattr(module, f"{name}_proj").weight
    theirs.o_proj.weight = module.out_proj.weight
    turns = modeling.LlamaRotaryEmbedding(config)(x, torch.arange(x.shape[1])[None])
    mask = causal_mask(x.shape[1])[None, None]
    return theirs(x, turns, mask)[0]


RECORDED = [
    [3.466589941, -3.408781903, -0.325884278, 3.70903772],
    [1.412813204, 0.881125988, -2.224644954, 1.168566602],
    [-2.918481713, 3.535905102, -0.339349823, -3.223242708],
]
