"""The race of chapter 11: six ways from q, k and v to the heads, and what each of them costs."""

import datetime
import statistics
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mha_utils.bench.memory import new_pages, peak_bytes
from mha_utils.bench.timing import time_in_turns
from mha_utils.core.modules import MultiHeadAttention
from mha_utils.core.steps import causal_mask

WIDTH, HEADS = 768, 12  # as in GPT-2's smallest


def with_maps(q, k, v, hidden):
    """Attention that writes the maps; `hidden` (T, T) is True where a query must not look."""
    scores = torch.matmul(q / q.shape[-1] ** 0.5, k.mT)  # the maps
    scores.masked_fill_(hidden, -torch.inf)  # in place
    weights = torch.softmax(scores, dim=-1)  # the maps again
    return weights @ v


def with_kept_maps(q, k, v, hidden, scores, weights):
    """The same, into two sets of maps that are there already."""
    torch.matmul(q / q.shape[-1] ** 0.5, k.mT, out=scores)
    scores.masked_fill_(hidden, -torch.inf)
    torch.softmax(scores, dim=-1, out=weights)
    return weights @ v


def flash_attention(q, k, v, is_causal=True, block=64):
    """softmax(q kᵀ / √Dh) v, where q, k and v have one shape, with one tile at a time."""
    length, head_dim = q.shape[-2:]
    rows = []
    for start in range(0, length, block):
        queries = q[..., start : start + block, :] / head_dim**0.5
        largest = torch.full_like(queries[..., :1], -torch.inf)  # the notes are empty
        total, gathered = torch.zeros_like(largest), torch.zeros_like(queries)
        stop = (start + block) if is_causal else length  # nothing right of the diagonal
        for first in range(0, stop, block):
            keys, values = k[..., first : first + block, :], v[..., first : first + block, :]
            scores = queries @ keys.mT  # this is the tile
            if is_causal and first == start:  # it lies on the diagonal
                hidden = ~causal_mask(*scores.shape[-2:], device=q.device)
                scores = scores.masked_fill(hidden, -torch.inf)
            # 1. the tile has come: is there a new largest score?
            before, largest = largest, torch.maximum(largest, scores.amax(dim=-1, keepdim=True))
            # 2. measured against it, the old notes shrink, and the keys of this tile vote
            shrink, votes = (before - largest).exp(), (scores - largest).exp()
            # 3. add the votes, and what they voted for
            total = total * shrink + votes.sum(dim=-1, keepdim=True)
            gathered = gathered * shrink + votes @ values
        rows.append(gathered / total)
    return torch.cat(rows, dim=-2)


class OneCallMultiHeadAttention(MultiHeadAttention):
    """Chapter 10's module, with its heads computed by one call (no dropout, no weights)."""

    def compute_heads(self, q, k, v, mask, is_causal, need_weights):
        return F.scaled_dot_product_attention(q, k, v, mask, is_causal=is_causal), None


def runners(q: Tensor, k: Tensor, v: Tensor, block: int = 64) -> dict[str, Callable[[], Tensor]]:
    """The six, for q, k and v (1, H, T, Dh); causal but for the two that take all tiles."""
    hidden = ~causal_mask(q.shape[2], device=q.device)
    kept = q.new_empty(2, *q.shape[:3], k.shape[2])
    sdpa = F.scaled_dot_product_attention
    return {
        "new maps": lambda: with_maps(q, k, v, hidden),
        "kept maps": lambda: with_kept_maps(q, k, v, hidden, *kept),
        "our tiles, all": lambda: flash_attention(q, k, v, is_causal=False, block=block),
        "our tiles, causal": lambda: flash_attention(q, k, v, block=block),
        "kernel, all": lambda: sdpa(q, k, v),
        "kernel, causal": lambda: sdpa(q, k, v, is_causal=True),
    }


def layers(x: Tensor) -> dict[str, Callable[[], Tensor]]:
    """Three layers on x (1, T, D) that get the causal rule in three ways; one writes the maps."""
    one_call = OneCallMultiHeadAttention(x.shape[-1], HEADS).to(x).eval()
    built_in = nn.MultiheadAttention(x.shape[-1], HEADS, batch_first=True).to(x).eval()
    rule = causal_mask(x.shape[1], device=x.device)
    told = {"attn_mask": ~rule, "is_causal": True, "need_weights": False}
    return {
        "is_causal=True": lambda: one_call(x, is_causal=True),
        "a boolean mask": lambda: one_call(x, mask=rule),
        "nn.MultiheadAttention": lambda: built_in(x, x, x, **told)[0],
    }


@torch.no_grad()
def measure_race(device: str = "cpu", quick: bool = False, seconds: float = 5.0) -> dict:
    """Median seconds, new pages and most bytes held of each, and most bytes of the layers."""
    length = 128 if quick else 1024
    generator = torch.Generator().manual_seed(0)
    q, k, v = torch.randn(3, 1, HEADS, length, WIDTH // HEADS, generator=generator).to(device)
    calls = runners(q, k, v)
    times = time_in_turns(calls, device, seconds=seconds)
    held = layers(torch.randn(1, length, WIDTH, generator=generator).to(device))
    peaks = {name: peak_bytes(call, device) for name, call in held.items()}
    is_fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        slow = peak_bytes(held["nn.MultiheadAttention"], device)
    finally:
        torch.backends.mha.set_fastpath_enabled(is_fast)
    return {
        "shape": list(q.shape),
        "date": datetime.date.today().isoformat(),
        "seconds": {name: statistics.median(found) for name, found in times.items()},
        "new_pages": {name: new_pages(call) for name, call in calls.items()},
        "peak_bytes": {name: peak_bytes(call, device) for name, call in calls.items()},
        "layers": peaks | {"nn.MultiheadAttention, no fast path": slow},
    }
