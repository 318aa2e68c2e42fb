"""The check of a whole multi-head attention, ours or anybody's, against NumPy."""

from mha_utils.checks.module.adapter import ALL, Adapter
from mha_utils.checks.module.adapters import adapter_for
from mha_utils.checks.module.judging import check_module
from mha_utils.checks.module.probing import Probe

__all__ = [
    "ALL",
    "Adapter",
    "Probe",
    "adapter_for",
    "check_module",
]
