"""A regression of speed shows: six ratios and two slopes, held loosely to the record.

Ratios of one run, factor 2: a test on a busy machine says whether something broke, not how fast
it is. For that there is `make bench`.
"""

import math

import pytest
import torch

from mha_utils import FusedMultiHeadAttention, MultiHeadAttention, bench
from mha_utils.bench.cases import SMALL
from mha_utils.bench.run import measure_task
from mha_utils.bench.tasks import Task

NAMES = ["fused", "explicit", "nn.MultiheadAttention"]


@pytest.fixture(scope="module")
def measured():
    return bench.measure_case(bench.Case(SMALL), NAMES, seconds=3.0)["rows"]


@pytest.mark.parametrize("name", NAMES)
def test_ratio_to_the_parts_is_at_most_twice_the_recorded(measured, name):
    record = bench.load_records()[0]
    case = bench.find_case(record, shape=SMALL, dtype="float32", is_causal=True, is_training=False)
    recorded = case["rows"][name]["ratio"]["median"]
    assert measured[name]["ratio"]["median"] < 2 * recorded


def test_the_kernel_beats_the_maps():
    case = bench.Case((1, 1024, 256, 8))
    rows = bench.measure_case(case, ["fused", "explicit"], seconds=1.0)["rows"]
    assert rows["fused"]["seconds"] < rows["explicit"]["seconds"]


EVERYDAY = {  # the target, and what a busy machine is allowed
    "a cache beats a context": (Task("decoding", (1, 1025, 256, 8)), "no cache, context", 0.5),
    "a mask costs one kernel": (Task("causal + padding", (2, 512, 256, 8)), "its parts", 2.0),
    "shared heads are not copied": (
        Task("shared heads", (2, 512, 256, 8), num_kv_heads=2),
        "keys repeated by hand",
        1.5,
    ),
}


@pytest.mark.parametrize("name", EVERYDAY)
def test_everyday_ratios(name):
    task, other, most = EVERYDAY[name]
    rows = measure_task(task, seconds=1.0)["rows"]
    assert rows["fused"]["seconds"] < most * rows[other]["seconds"]


@pytest.mark.parametrize(
    ("cls", "expected"), [(MultiHeadAttention, 2), (FusedMultiHeadAttention, 1)]
)
def test_memory_grows_with_the_length_as_it_should(cls, expected):
    module = cls(64, 4).eval()
    lengths = [2048, 4096]
    inputs = [torch.randn(1, seq_len, 64) for seq_len in lengths]
    peaks = [bench.peak_bytes(lambda x=x: module(x, is_causal=True)) for x in inputs]
    assert abs(math.log2(peaks[1] / peaks[0]) - expected) < 0.1
