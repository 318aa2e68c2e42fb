"""Costs on paper against what PyTorch counts itself."""

import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils.flop_counter import FlopCounterMode

from mha_utils import FusedMultiHeadAttention, MultiHeadAttention
from mha_utils.bench.contestants import HeadLoop
from mha_utils.bench.memory import peak_bytes
from mha_utils.core.costs import (
    IMPLEMENTATIONS,
    Workload,
    attention_flops,
    cost_of,
    projection_flops,
)

SHAPES = [(1, 1, 4, 1), (2, 5, 12, 3), (3, 17, 8, 8), (1, 130, 16, 2)]


@pytest.mark.parametrize("shape", SHAPES)
def test_flops_are_what_torch_counts(shape):
    module = MultiHeadAttention(shape[2], shape[3])
    x = torch.randn(shape[:3])
    with FlopCounterMode(display=False) as counter:
        module(x)
    assert cost_of("explicit", Workload(*shape)).flops == counter.get_total_flops()


@pytest.mark.parametrize("num_kv_heads", [1, 2, 8])
def test_fewer_heads_of_keys_and_values_cost_less(num_kv_heads):
    module, x = MultiHeadAttention(16, 8, num_kv_heads=num_kv_heads), torch.randn(2, 5, 16)
    with FlopCounterMode(display=False) as counter:
        (*module.project(x, x, x), module.out_proj(x))
    assert projection_flops(Workload(2, 5, 16, 8), num_kv_heads) == counter.get_total_flops()
    with pytest.raises(ValueError, match="num_kv_heads must be an integer of at least 1, got 0"):
        projection_flops(Workload(2, 5, 16, 8), 0)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_causal_kernel_computes_the_pairs_of_the_mask(shape):
    batch_size, seq_len, embed_dim, _ = shape
    work = Workload(*shape, is_causal=True)
    pairs = int(torch.ones(seq_len, seq_len).tril().sum())
    assert attention_flops(work, skips_future=True) == 4 * batch_size * embed_dim * pairs
    assert cost_of("fused", work).flops - projection_flops(work) == attention_flops(work, True)
    assert cost_of("explicit", work).flops - projection_flops(work) == attention_flops(work)


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("shape", [(1, 256, 64, 4), (2, 300, 96, 8)])
def test_map_bytes_are_what_the_profiler_sees(shape, is_causal):
    """All but a few (B, T, D) tensors, and for a causal mask two bytes for each (T, T) cell."""
    work = Workload(*shape, is_causal=is_causal)
    tensor_bytes = work.numbers * work.number_bytes
    x = torch.randn(shape[:3])
    for name, cls in (("explicit", MultiHeadAttention), ("fused", FusedMultiHeadAttention)):
        module = cls(shape[2], shape[3]).requires_grad_(False).eval()
        peak = peak_bytes(lambda module=module: module(x, is_causal=is_causal))
        masks = 2 * work.seq_len**2 if is_causal else 0
        assert 0 <= peak - cost_of(name, work).map_bytes <= 6 * tensor_bytes + masks


@pytest.mark.parametrize("is_causal", [False, True])
def test_bytes_moved_grow_as_the_steps_say(is_causal):
    """One T more for the fused module is a line; for the others a parabola with M in it."""
    moved = {
        name: [cost_of(name, Workload(1, t, 64, 4, is_causal)).moved_bytes for t in (64, 128, 192)]
        for name in IMPLEMENTATIONS
    }
    bend = {name: low - 2 * mid + high for name, (low, mid, high) in moved.items()}
    passes = 6 if is_causal else 4
    assert bend["fused"] == 0
    assert bend["explicit"] == bend["loop over heads"] == passes * 4 * 4 * 2 * 64**2
    assert moved["fused"][0] < moved["explicit"][0] < moved["loop over heads"][0]


class Traffic(TorchFunctionMode):
    """Bytes that each step reads and writes; views move nothing."""

    moved = 0

    def __torch_function__(self, function, types, args=(), kwargs=None):
        leaves = torch.utils._pytree.tree_leaves((args, kwargs))
        inputs = [a for a in leaves if isinstance(a, torch.Tensor)]
        with torch._C.DisableTorchFunction():
            result = function(*args, **(kwargs or {}))
        is_new = isinstance(result, torch.Tensor) and result.is_floating_point()
        storages = {a.untyped_storage().data_ptr() for a in inputs}
        changes = function.__name__.endswith("_") and not function.__name__.endswith("__")
        if is_new and (changes or result.untyped_storage().data_ptr() not in storages):
            read = [a for a in inputs if a.is_floating_point() and a.ndim > 1]
            self.moved += sum(a.numel() * a.element_size() for a in (*read, result))
        return result


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("shape", [(2, 5, 12, 3), (1, 64, 8, 4), (3, 33, 16, 2)])
def test_bytes_moved_are_what_the_steps_read_and_write(shape, is_causal, dtype):
    """Counted in a run of the modules; biases and masks are left out on paper."""
    work = Workload(*shape, is_causal=is_causal, number_bytes=torch.finfo(dtype).bits // 8)
    explicit, fused = (cls(*shape[2:]) for cls in (MultiHeadAttention, FusedMultiHeadAttention))
    layers = {"explicit": explicit, "fused": fused}
    if not is_causal:  # its heads take a mask, which they cannot fill in in place
        layers["loop over heads"] = HeadLoop(explicit)
    x = torch.randn(shape[:3], dtype=dtype)
    for name, layer in layers.items():
        layer.to(dtype).requires_grad_(False)
        with Traffic() as traffic:
            layer(x, None) if name == "loop over heads" else layer(x, is_causal=is_causal)
        assert traffic.moved == cost_of(name, work).moved_bytes, name


def test_half_the_bytes_a_number_half_the_bytes():
    for name in IMPLEMENTATIONS:
        wide, narrow = (cost_of(name, Workload(2, 9, 12, 3, number_bytes=n)) for n in (4, 2))
        assert (narrow.moved_bytes, narrow.map_bytes) == (wide.moved_bytes / 2, wide.map_bytes / 2)
        assert narrow.flops == wide.flops


def test_a_loop_keeps_the_maps_of_one_head():
    work = Workload(2, 9, 12, 3)
    loop, explicit = cost_of("loop over heads", work), cost_of("explicit", work)
    assert loop.map_bytes * 3 == explicit.map_bytes == 2 * work.map_numbers * 4


def test_wrong_sizes_say_what_is_wrong():
    with pytest.raises(ValueError, match="seq_len must be an integer of at least 1, got 0"):
        Workload(1, 0, 4, 1)
    with pytest.raises(ValueError, match="num_heads"):
        Workload(1, 2, 4, 3)
    known = "loop over heads, explicit, fused"
    with pytest.raises(ValueError, match=f"implementation must be one of {known}, got 'fast'"):
        cost_of("fast", Workload(1, 1, 1, 1))
