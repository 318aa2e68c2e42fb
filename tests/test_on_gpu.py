"""What a GPU alone can say of the layer: numbers, kernels, synchronisation, graphs, memory."""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from mha_utils import (
    FusedMultiHeadAttention,
    KeyValueCache,
    MultiHeadAttention,
    Rotary,
    attend,
    causal_mask,
    padding_mask,
)
from mha_utils.bench.memory import peak_bytes
from mha_utils.bench.timing import time_call

if not torch.cuda.is_available():
    pytest.skip("there is no GPU that torch can use", allow_module_level=True)

B, T, D, H = 2, 192, 256, 4  # heads of 64
LAYERS = (MultiHeadAttention, FusedMultiHeadAttention)
OPTIONS = {
    "plain": {},
    "grouped heads": {"num_kv_heads": 2},
    "rotary": {"rotary": Rotary(D // H)},
    "narrow heads": {"head_dim": 32},
}
LENGTHS = torch.tensor([T, T // 2])
CALLS = {
    "no mask": {},
    "causal": {"is_causal": True},
    "padding": {"mask": padding_mask(LENGTHS, T)},
    "causal + padding": {"mask": padding_mask(LENGTHS, T), "is_causal": True},
    "an empty row": {"mask": causal_mask(T).logical_and(torch.arange(T)[:, None] > 2)},
}
ALLOWED = {torch.float64: 1e-12, torch.float32: 2e-6, torch.bfloat16: 1e-2, torch.float16: 2e-3}


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def distance(found, expected):
    return ((found.double().cpu() - expected).norm() / expected.norm()).item()


def on_gpu(call, device="cuda"):
    return {k: v.to(device) if torch.is_tensor(v) else v for k, v in call.items()}


def results(layer, x, call):
    """Output and the gradients of x and of every weight; x as the layer can take it."""
    x = x.to(next(layer.parameters())).requires_grad_()
    out = layer(x, **call)
    weights = [p for name, p in layer.named_parameters() if name.endswith("weight")]
    return [
        out.detach(),
        *torch.autograd.grad(out, [x, *weights], draw(*out.shape, seed=1).to(out)),
    ]


@pytest.mark.parametrize("dtype", ALLOWED, ids=str)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("cls", LAYERS)
def test_outputs_and_gradients_are_those_of_float64_on_the_cpu(cls, option, call, dtype):
    torch.manual_seed(0)
    layer = cls(D, H, **OPTIONS[option]).to(dtype)
    exact = copy.deepcopy(layer).double()
    x = draw(B, T, D).to(dtype)
    expected = results(exact, x.double(), CALLS[call])
    found = results(layer.cuda(), x.cuda(), on_gpu(CALLS[call]))
    off = [distance(*pair) for pair in zip(found, expected, strict=True)]
    assert max(off) < ALLOWED[dtype]


@pytest.mark.parametrize("call", [c for c in CALLS if "an empty row" not in c])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_with_large_scores_it_is_as_exact_as_the_kernel(call, dtype):
    q, k, v = (30 * draw(3, 1, H, T, 64)).to(dtype)
    call = CALLS[call]
    mask = call.get("mask")
    allowed = torch.ones(1, 1, T, T, dtype=torch.bool) if mask is None else mask[:1].clone()
    allowed = allowed & causal_mask(T) if call.get("is_causal") else allowed.expand(1, 1, T, T)
    scores = (q.double() @ k.double().mT / 8).masked_fill(~allowed, -torch.inf)
    exact = scores.softmax(dim=-1) @ v.double()
    q, k, v = q.cuda(), k.cuda(), v.cuda()
    kernel = F.scaled_dot_product_attention(q, k, v, allowed.cuda())
    mine = attend(q, k, v, None if mask is None else mask[:1].cuda(), "is_causal" in call)
    assert distance(mine, exact) <= 1.2 * distance(kernel, exact) + 1e-6


def flash(*tensors, **options):
    """Raises where PyTorch's flash kernel cannot take the call."""
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        return attend(*tensors, **options)


@pytest.mark.parametrize("kv_heads", [H, 1])
@pytest.mark.parametrize("query_len", [T, 5, 1])
def test_causal_calls_may_go_to_flash(query_len, kv_heads):
    """Whole texts, the newest few tokens and one: no mask is made that would forbid it."""
    q = draw(1, H, query_len, 64).to("cuda", torch.bfloat16)
    k, v = (draw(1, kv_heads, T, 64, seed=s).to("cuda", torch.bfloat16) for s in (1, 2))
    expected = attend(q.double().cpu(), k.double().cpu(), v.double().cpu(), is_causal=True)
    assert distance(flash(q, k, v, is_causal=True), expected) < 1e-2


def test_without_a_mask_dropout_stays_in_flash():
    q, k, v = draw(3, 1, H, T, 64).to("cuda", torch.bfloat16)
    ones = torch.ones_like(v)
    torch.manual_seed(0)
    sums = flash(q, k, ones, is_causal=True, dropout=0.25)[..., 64:, 0].float()
    assert sums.mean().item() == pytest.approx(1, abs=0.05)
    assert sums.std() > 0.05


@pytest.fixture
def no_waiting():
    """Whatever makes the processor wait for the GPU is an error."""
    torch.cuda.set_sync_debug_mode("error")
    yield
    torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("cls", LAYERS)
def test_no_step_waits_for_the_gpu(cls, option, call, no_waiting):
    layer, x = cls(D, H, 0.1, **OPTIONS[option], device="cuda"), torch.ones(B, T, D, device="cuda")
    torch.cuda.set_sync_debug_mode("default")  # moving masks there may wait
    call = on_gpu(CALLS[call])
    torch.cuda.set_sync_debug_mode("error")
    layer(x.requires_grad_(), **call).sum().backward()


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("cls", LAYERS)
def test_a_text_with_a_cache_is_the_text_at_once(cls, option):
    layer = cls(D, H, **OPTIONS[option], device="cuda", dtype=torch.float64).eval()
    x = draw(B, 24, D).cuda()
    heads, width = layer.k_proj.out_features // layer.head_dim, layer.head_dim
    cache = KeyValueCache(B, heads, 24, width, device="cuda", dtype=torch.float64)
    with torch.no_grad():
        pieces = [
            layer(part, is_causal=True, cache=cache) for part in x.split((7, 5, *[1] * 12), 1)
        ]
        assert distance(torch.cat(pieces, 1), layer(x, is_causal=True).cpu()) < 1e-12


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("cls", LAYERS)
@torch.no_grad()
def test_a_graph_of_launches_can_be_recorded_and_replayed(cls, call):
    layer, call = cls(D, H, rotary=Rotary(D // H), device="cuda").eval(), on_gpu(CALLS[call])
    x = draw(B, T, D).float().cuda()
    layer(x, **call)  # sets things up
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        out = layer(x, **call)
    x.copy_(draw(B, T, D, seed=5))
    graph.replay()
    assert distance(out, layer(x, **call).double().cpu()) < 1e-6


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("cls", LAYERS)
def test_compiled_as_one_graph_it_gives_the_same(cls, call):
    layer, call = cls(D, H, num_kv_heads=2, device="cuda"), on_gpu(CALLS[call])
    x = draw(B, T, D).float().cuda()
    torch.compiler.reset()
    compiled = torch.compile(layer, fullgraph=True, dynamic=False)
    for found, expected in zip(results(compiled, x, call), results(layer, x, call), strict=True):
        assert distance(found, expected.double().cpu()) < 1e-5


@pytest.mark.parametrize("cls", LAYERS)
def test_anomaly_mode_finds_no_nan(cls):
    layer = cls(D, H, device="cuda", dtype=torch.bfloat16)
    x = draw(B, T, D).to("cuda", torch.bfloat16)
    with torch.autograd.detect_anomaly(check_nan=True):
        found = results(layer, x, on_gpu(CALLS["an empty row"]))
    assert all(tensor.isfinite().all() for tensor in found)


def test_dropout_drops_its_share_and_repeats_with_the_seed():
    q, k, v = draw(3, 1, H, 512, 64).float().cuda()
    ones = torch.ones_like(v)

    def sums(**options):
        torch.manual_seed(3)
        return attend(q, k, ones, dropout=0.5, **options)[..., 0]

    for options in ({}, {"is_causal": True}, {"mask": causal_mask(512, device="cuda")}):
        first = sums(**options)
        assert torch.equal(first, sums(**options))
        assert first[..., 64:].mean().item() == pytest.approx(1, abs=0.1)


def test_long_texts_need_a_fraction_of_the_memory():
    x = torch.ones(1, 4096, 768, device="cuda")
    layers = [cls(768, 12, device="cuda").eval() for cls in LAYERS]
    explicit, fused = (peak_bytes(lambda m=m: m(x, is_causal=True), "cuda") for m in layers)
    assert fused < explicit / 10


def test_its_clock_counts_the_work_and_not_the_launch():
    """A large product takes longer than the processor needs to ask for it."""
    small, large = (torch.ones(n, n, device="cuda") for n in (64, 8192))
    time_call(lambda: large @ large, "cuda")
    assert time_call(lambda: large @ large, "cuda") > 10 * time_call(
        lambda: small @ small, "cuda", 9
    )
