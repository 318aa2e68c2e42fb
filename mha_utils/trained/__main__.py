"""Measure the two published models and record the numbers: `python -m mha_utils.trained`."""

import torch

from mha_utils.trained.results import MAPS, NUMBERS, record

if __name__ == "__main__":
    torch.set_num_threads(1)
    record()
    print(f"{NUMBERS.name} {NUMBERS.stat().st_size} bytes, {MAPS.name} {MAPS.stat().st_size} bytes")
