"""Compute one layer in three ways on several processes and compare with one process.

`python -m mha_utils.distributed` starts four processes on this machine;
`torchrun --nproc-per-node 4 -m mha_utils.distributed` is started as on a cluster, on any number of
machines, with NCCL where every process has a GPU of its own and with gloo elsewhere.
"""

import os
import sys
from collections.abc import Callable

import torch
import torch.distributed as dist

from mha_utils.core.modules import MultiHeadAttention
from mha_utils.distributed.team import Team
from mha_utils.distributed.traffic import bytes_sent
from mha_utils.distributed.ways import (
    WAYS,
    largest_difference,
    on_one_process,
    run_way,
    whole,
)

TOKENS, HEADS, HEAD_DIM = 32, 2, 16  # of each process
ALLOWED = 1e-12


def compare(size: int, device: str, each: Callable) -> tuple[float, list[str]]:
    """The largest difference from one process, and a line for each way.

    `each(*arguments)` gives what `run_way` found in every process.
    """
    torch.manual_seed(0)
    heads, options = HEADS * size, {"dtype": torch.float64, "device": device}
    layer = MultiHeadAttention(heads * HEAD_DIM, heads, **options)
    x, grad_out = torch.randn(2, 1, TOKENS * size, heads * HEAD_DIM, dtype=torch.float64).to(device)
    expected, worst, lines = on_one_process(x, layer, grad_out), 0.0, []
    for name, (way, cut) in WAYS.items():
        found = each(way, x, layer, grad_out, cut)
        off = largest_difference(whole(found, cut), expected)
        there, back = (bytes_sent(found[0][part], size) for part in ("forward", "backward"))
        lines.append(f"{name:8} off by {off:.0e}; a process sends {there:,} + {back:,} bytes")
        worst = max(worst, off)
    return worst, lines


def gathered(way, x, layer, grad_out, cut) -> list[dict]:
    """What every process of a group that others have started found, on this device."""
    found: list = [None] * dist.get_world_size()
    mine = run_way(way, x, layer, grad_out, cut)
    mine |= {"out": mine["out"].cpu(), "gradients": [g.cpu() for g in mine["gradients"]]}
    dist.all_gather_object(found, mine)
    return [
        f | {"out": f["out"].to(x.device), "gradients": [g.to(x.device) for g in f["gradients"]]}
        for f in found
    ]


def join() -> str:
    """Join the group that torchrun's environment describes; returns this process's device."""
    local = int(os.environ.get("LOCAL_RANK", 0))
    has_gpu = torch.cuda.device_count() >= int(os.environ.get("LOCAL_WORLD_SIZE", 1))
    if has_gpu and torch.cuda.is_available():
        torch.cuda.set_device(local)
        dist.init_process_group("nccl")
        return f"cuda:{local}"
    dist.init_process_group("gloo")
    return "cpu"


def main() -> int:
    if "RANK" in os.environ:
        device = join()
        worst, lines = compare(dist.get_world_size(), device, gathered)
        lines = lines if dist.get_rank() == 0 else []
        dist.destroy_process_group()
    else:
        team = Team(4)
        worst, lines = compare(team.size, "cpu", lambda *call: team.run(run_way, *call))
        team.stop()
    print(*lines, sep="\n", end="\n" if lines else "")
    return int(worst > ALLOWED)


if __name__ == "__main__":
    sys.exit(main())
