"""The check of a whole multi-head attention, ours or anybody's, against NumPy."""

from mha_utils.module_check.adapter import ALL, Adapter
from mha_utils.module_check.adapters import adapter_for
from mha_utils.module_check.judging import check_module

__all__ = ["ALL", "Adapter", "adapter_for", "check_module"]
