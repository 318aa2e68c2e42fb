"""Train every model of chapters 02 and 13 and record it: `python -m mha_utils.experiments`."""

from mha_utils.experiments.record import main

main()
