"""Measure multi-head attention: `python -m mha_utils.bench`."""

from mha_utils.bench.cases import Case, cases_for
from mha_utils.bench.memory import peak_bytes
from mha_utils.bench.record import find_case, load_records, save_record
from mha_utils.bench.run import measure, measure_case
from mha_utils.bench.timing import Ratio, ratio_of, time_call, time_in_turns

__all__ = [
    "Case",
    "Ratio",
    "cases_for",
    "find_case",
    "load_records",
    "measure",
    "measure_case",
    "peak_bytes",
    "ratio_of",
    "save_record",
    "time_call",
    "time_in_turns",
]
