"""Rates, FLOPs, clocks and records of the bench, each against a count of another kind."""

import time
from contextlib import nullcontext
from dataclasses import asdict, replace

import pytest
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from mha_utils.bench import Case, call_of, measure_case
from mha_utils.bench.cases import cases_for
from mha_utils.bench.contestants import CONTESTANTS, Layer, LeftOut, numpy_layer
from mha_utils.bench.limits import copy_rate, matmul_rate, parts_call
from mha_utils.bench.memory import peak_bytes
from mha_utils.bench.record import load_records
from mha_utils.bench.run import PARTS, build_layers, useful_flops
from mha_utils.bench.timing import time_call
from mha_utils.machine import threads

TINY = Case((2, 7, 12, 3))
EVERY = [replace(TINY, is_causal=c, is_training=t) for c in (False, True) for t in (False, True)]


def counted_flops(function) -> int:
    """What PyTorch counts, with the kernel in its parts, which the counter knows."""
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        function()
    return counter.get_total_flops()


class MovedBytes(TorchDispatchMode):
    """Bytes of all tensors that operations read and write."""

    total = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.total += sum(t.nbytes for t in args if isinstance(t, torch.Tensor))
        return function(*args, **kwargs or {})


def test_a_rate_of_products_is_flops_by_seconds(monkeypatch):
    """A product that takes as many seconds as it has FLOPs runs at 1 FLOP/s."""
    slower = iter([9, 3, 7, 1, 8, 2, 4, 5, 6, 10])

    def seconds(function, device):
        return next(slower) * counted_flops(function)

    monkeypatch.setattr("mha_utils.bench.limits.time_call", seconds)
    assert matmul_rate("float32", size=24) == 1
    assert next(slower, None) is None  # the best of ten


def test_a_rate_of_copies_is_bytes_read_and_written_by_seconds(monkeypatch):
    def seconds(function, device):
        with MovedBytes() as moved:
            function()
        return moved.total

    monkeypatch.setattr("mha_utils.bench.limits.time_call", seconds)
    assert copy_rate(megabytes=1) == 1


def test_a_megabyte_is_what_is_copied(monkeypatch):
    def seconds(function, device):
        with MovedBytes() as moved:
            function()
        assert moved.total == 2 * 3 * 2**20
        return 1

    monkeypatch.setattr("mha_utils.bench.limits.time_call", seconds)
    copy_rate(megabytes=3)


def test_useful_flops_by_hand():
    """One sequence of 3 tokens of width 4: 4 products of 3 x 4 x 4, 6 or 9 pairs twice 4 wide."""
    small = Case((1, 3, 4, 2))
    assert useful_flops(small) == 2 * 4 * 3 * 4 * 4 + 2 * 6 * 4 * 2
    assert useful_flops(replace(small, is_causal=False)) == 2 * 4 * 3 * 4 * 4 + 2 * 9 * 4 * 2
    for case in (small, replace(small, is_causal=False)):
        assert useful_flops(replace(case, is_training=True)) == 3 * useful_flops(case)


@pytest.mark.parametrize("is_training", [False, True])
def test_without_a_mask_all_flops_are_useful(is_training):
    case = replace(TINY, is_causal=False, is_training=is_training)
    layer = CONTESTANTS["explicit"](case, case.draw_module())
    assert counted_flops(call_of(layer, case)) == useful_flops(case)
    assert counted_flops(parts_call(case, case.draw_module())) == useful_flops(case)


@pytest.mark.parametrize("case", [*EVERY, replace(TINY, is_training=True, dropout=0.1)], ids=str)
def test_the_limit_is_the_case_s_own_kernel(case, monkeypatch):
    """The same sizes, mask, dropout and dtype as the contestants, and nothing to be moved."""
    case, seen, kernel = replace(case, dtype="bfloat16"), [], F.scaled_dot_product_attention

    def look(q, k, v, **options):
        seen.append((q, k, v, options))
        return kernel(q, k, v, **options)

    monkeypatch.setattr(F, "scaled_dot_product_attention", look)
    out = parts_call(case, case.draw_module())()
    assert case.is_training or out.shape == case.draw_input().shape  # that of the last part
    for q, k, v, options in seen:
        assert options == {"is_causal": case.is_causal, "dropout_p": case.dropout}
        for tensor in (q, k, v):
            assert (tuple(tensor.shape), tensor.dtype) == ((2, 3, 7, 4), torch.bfloat16)
            assert tensor.is_contiguous()


@pytest.mark.parametrize("number", [1, 2])
def test_several_threads_are_timed_by_the_clock_on_the_wall(number, monkeypatch):
    """At work for 3 s in all, 2 s by the clock, 2 calls."""
    monkeypatch.setattr(torch, "get_num_threads", lambda: number)
    work, wall, calls = iter([5.0, 8.0]), iter([10.0, 12.0]), []
    monkeypatch.setattr(time, "process_time", lambda: next(work))
    monkeypatch.setattr(time, "perf_counter", lambda: next(wall))
    assert time_call(lambda: calls.append(1), repeats=2) == {1: 1.5, 2: 1.0}[number]
    assert len(calls) == 2


def test_threads_are_as_before_after_an_error():
    before = torch.get_num_threads()
    for around in (pytest.raises(ZeroDivisionError), nullcontext()):
        with around, threads(before + 1):
            assert torch.get_num_threads() == before + 1
            _ = 1 / (0 if around.__class__ is not nullcontext else 1)
        assert torch.get_num_threads() == before


# ---- who is not compared ---------------------------------------------------------------


def wrong_forward(case, module):
    return Layer(module, lambda m, x: m(x, is_causal=not case.is_causal))


def wrong_last_sequence(case, module):
    def call(m, x):
        out = m(x, is_causal=case.is_causal)
        return torch.cat([out[:-1], 1.01 * out[-1:]])

    return Layer(module, call)


def wrong_gradient(case, module):
    return Layer(module, lambda m, x: m(x, x.detach(), x, is_causal=case.is_causal))


def not_a_number(case, module):
    return Layer(module, lambda m, x: m(x) * float("nan"))


def drops_nothing(case, module):
    module.dropout = 0.0
    return Layer(module, lambda m, x: m(x, is_causal=case.is_causal))


WRONG = {
    "forward": (TINY, wrong_forward, "off by "),
    "no mask": (replace(TINY, is_causal=False), wrong_forward, "off by "),
    "last sequence": (TINY, wrong_last_sequence, "off by 0.0"),
    "gradient": (replace(TINY, is_training=True), wrong_gradient, "off by "),
    "NaN": (TINY, not_a_number, "off by nan, allowed 0.001"),
    "dropout": (replace(TINY, is_training=True, dropout=0.2), drops_nothing, "it drops nothing"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_contestant_is_not_timed(name, monkeypatch):
    case, build, text = WRONG[name]
    monkeypatch.setitem(CONTESTANTS, "planted", build)
    found = measure_case(case, ["fused", "planted"], seconds=0.001)
    assert set(found["rows"]) == {"fused", PARTS}
    assert list(found["left_out"]) == ["planted"]
    assert found["left_out"]["planted"].startswith(f"computes something else: {text}")


@pytest.mark.parametrize("case", [*EVERY, replace(TINY, is_training=True, dropout=0.2)], ids=str)
def test_right_contestants_are_timed(case):
    names = [name for name in CONTESTANTS if "compiled" not in name]
    found = measure_case(case, [*names, "nn.MultiheadAttention"], seconds=0.001)
    assert {"explicit", "explicit, one product", "fused", PARTS} <= set(found["rows"])
    assert not [why for why in found["left_out"].values() if why.startswith("computes")]
    assert {key: found[key] for key in asdict(case)} == asdict(case)


def test_a_kernel_is_asked_for_what_the_case_says():
    """The sizes of a number count, too: a map of bfloat16 is taken as float32 in the estimate."""
    assert (TINY.work.shape, TINY.work.is_causal, TINY.work.number_bytes) == (TINY.shape, True, 4)
    assert replace(TINY, dtype="bfloat16", is_causal=False).work.number_bytes == 2


@pytest.mark.parametrize(("free", "fits"), [(2 * 3 * 7**2 * 4 * 4, True), (2351 * 2 - 1, False)])
def test_maps_fit_where_four_copies_do(free, fits, monkeypatch):
    monkeypatch.setattr("mha_utils.bench.run._free_bytes", lambda device: free)
    layers, _ = build_layers(TINY, TINY.draw_module(), ["explicit"])
    assert bool(layers) == fits
    training = replace(TINY, is_training=True)
    assert not build_layers(training, training.draw_module(), ["explicit"])[0]


def test_the_table_of_cases_is_the_one_of_the_record():
    (record,) = load_records()[:1]
    keys = ("shape", "dtype", "is_causal", "is_training", "dropout", "with_compiled")
    stored = {tuple(c[k] if k != "shape" else tuple(c[k]) for k in keys) for c in record["cases"]}
    assert {tuple(getattr(c, k) for k in keys) for c in cases_for("cpu")} == stored
    compiled = {c for c in cases_for("cuda") if c.with_compiled}
    assert {c.shape for c in compiled} == {(4, 1024, 768, 12), (4, 4096, 2048, 16)}
    assert all(c.is_causal and c.dtype == "bfloat16" for c in compiled)
    assert {c.is_training for c in compiled} == {False, True}
    shapes = {
        (*c.shape[:2], c.shape[2] // c.shape[3]) for c in cases_for("cuda") if c.shape[1] >= 2048
    }
    assert shapes == {
        (1, 4096, 64),
        (1, 16384, 128),
        (4, 2048, 128),
        (4, 4096, 128),
        (2, 8192, 128),
    }


@pytest.mark.parametrize("other", [{"is_training": True}, {"device": "meta"}, {"dtype": "float64"}])
def test_numpy_is_left_out_but_for_forward_in_float32_on_a_cpu(other):
    case = Case((2, 5, 8, 2), **other)
    with pytest.raises(LeftOut, match="NumPy: forward in float32 on a CPU"):
        numpy_layer(case, case.draw_module())


def test_the_peak_on_a_gpu_is_what_came_on_top(monkeypatch):
    """A counter in the place of a GPU: 100 bytes are held, the call holds up to 30 more."""
    held = {"now": 100, "most": 500}
    counters = {
        "synchronize": lambda: None,
        "reset_peak_memory_stats": lambda: held.update(most=held["now"]),
        "memory_allocated": lambda: held["now"],
        "max_memory_allocated": lambda: held["most"],
    }
    for name, counter in counters.items():
        monkeypatch.setattr(torch.cuda, name, counter)
    assert peak_bytes(lambda: held.update(now=120, most=130), "cuda") == 30
