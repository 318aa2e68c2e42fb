"""Train the models of chapters 02 and 13 to 15, record them: `python -m mha_utils.experiments`."""

from mha_utils.experiments.record import main

main()
