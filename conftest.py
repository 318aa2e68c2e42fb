"""One thread for every test and kernel: faster on small tensors, and the numbers are stable."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

pytest_plugins = ["tools.nbval_strict"]
