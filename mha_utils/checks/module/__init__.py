"""The check of a whole multi-head attention, ours or anybody's, against NumPy."""

from mha_utils.checks.module.adapters import ALL, Adapter, adapter_for
from mha_utils.checks.module.adopted import adopt, usable_class
from mha_utils.checks.module.judging import check_module, proposal
from mha_utils.checks.module.options import with_options
