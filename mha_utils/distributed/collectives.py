"""What processes do together: what they send, and pairs of what numbers and gradients do.

Every process has to make the same calls in the same order. What it hands to the network is noted
in `traffic`.
"""

from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import Tensor

from mha_utils.distributed.traffic import count_bytes


class TwoWays(torch.autograd.Function):
    """`there` on the way forward, `back` on gradients."""

    @staticmethod
    def forward(ctx, x: Tensor, there: Callable, back: Callable) -> Tensor:
        ctx.back = back
        return there(x)

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple:
        return ctx.back(grad), None, None  # functions have no gradients


def two_ways(x: Tensor, there: Callable, back: Callable) -> Tensor:
    """there(x), and for its gradient `back`."""
    return TwoWays.apply(x, there, back)


def give_out(x: Tensor) -> Tensor:
    """The same x for every process; the gradients that it gets in each of them are added."""
    return two_ways(x, torch.clone, all_reduce)


def add_up(x: Tensor) -> Tensor:
    """The sum of what the processes have, for every one of them."""
    return two_ways(x, all_reduce, torch.clone)


def trade(x: Tensor, cut: int, join: int) -> Tensor:
    """`all_to_all` for numbers; gradients are traded back."""
    return two_ways(x, lambda x: all_to_all(x, cut, join), lambda g: all_to_all(g, join, cut))


def all_reduce(x: Tensor) -> Tensor:
    """Everybody gives x, and everybody gets the sum of what all gave."""
    total = x.contiguous().clone()
    dist.all_reduce(total)  # total is changed in place
    count_bytes("all-reduce", total)
    return total


def all_to_all(x: Tensor, cut: int, join: int) -> Tensor:
    """Cut x into P parts along `cut`, send each to its process, join what arrives along `join`."""
    size = dist.get_world_size()
    require_even_shares(x.shape[cut], size)
    sent = torch.stack(x.chunk(size, dim=cut))  # part r is for process r
    got = torch.empty_like(sent)  # part r will come from process r
    dist.all_to_all_single(got, sent)
    count_bytes("all-to-all", sent)
    return torch.cat(got.unbind(), dim=join)


def require_even_shares(number: int, size: int) -> None:
    if number % size:
        raise ValueError(f"{size} processes cannot share {number} evenly")


def to_neighbour(x: Tensor) -> Tensor:
    """Give x to the process on the right, and get what the one on the left gives."""
    rank, size = dist.get_rank(), dist.get_world_size()
    if size == 1:  # alone at the table
        return x
    x = x.contiguous()
    got = torch.empty_like(x)  # an empty sheet for what arrives
    give = dist.P2POp(dist.isend, x, (rank + 1) % size)
    take = dist.P2POp(dist.irecv, got, (rank - 1) % size)
    for work in dist.batch_isend_irecv([give, take]):  # both at the same time
        work.wait()
    count_bytes("pass on", x)
    return got
