"""Measure multi-head attention: `python -m mha_utils.bench`."""

from mha_utils.bench.cases import Case, call_of, cases_for
from mha_utils.bench.limits import copy_rate, matmul_rate
from mha_utils.bench.memory import kept_bytes, new_pages, peak_bytes, peak_of_each
from mha_utils.bench.race import (
    OneCallMultiHeadAttention,
    flash_attention,
    with_kept_maps,
    with_maps,
)
from mha_utils.bench.record import describe_machine, find_case, load_records, save_record
from mha_utils.bench.run import build_layers, measure, measure_case, useful_flops
from mha_utils.bench.timing import Ratio, ratio_of, time_call, time_in_turns, time_on_gpu
