"""The limit that no layer built from the same parts can undercut, and where time above it goes."""

import statistics
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from mha_utils.bench.cases import Case, training_step
from mha_utils.bench.timing import time_call, time_in_turns
from mha_utils.core.costs import Workload
from mha_utils.core.modules import FusedMultiHeadAttention, MultiHeadAttention
from mha_utils.core.steps import causal_mask, share_heads

PARTS = "its parts"


def parts_call(case: Case, module: MultiHeadAttention) -> Callable[[], Tensor]:
    """The unavoidable products and the fused kernel, each on inputs that lie ready.

    One product for q, k and v; `F.scaled_dot_product_attention` on contiguous (B, H, T, Dh);
    one product for the output. Nothing is cut, moved or merged.
    """
    batch_size, seq_len, width, num_heads = case.shape
    layers = (module.q_proj, module.k_proj, module.v_proj)
    weight = torch.cat([layer.weight.detach() for layer in layers])
    bias = torch.cat([layer.bias.detach() for layer in layers])
    x, merged = case.draw_input().detach(), case.draw_input().detach()
    q, k, v = torch.randn(3, batch_size, num_heads, seq_len, width // num_heads).to(x)
    out = (module.out_proj.weight.detach().clone(), module.out_proj.bias.detach().clone())
    leaves = [x, weight, bias, q, k, v, merged, *out]
    options = {"is_causal": case.is_causal, "dropout_p": case.dropout}
    pieces = (
        lambda: F.linear(x, weight, bias),
        lambda: F.scaled_dot_product_attention(q, k, v, **options),
        lambda: F.linear(merged, *out),
    )
    if not case.is_training:
        return torch.no_grad()(lambda: [piece() for piece in pieces][-1])
    for leaf in leaves:
        leaf.requires_grad_()
    return training_step(pieces, leaves)


def matmul_rate(dtype: str, device: str = "cpu", size: int | None = None) -> float:
    """FLOP/s of a large square product here: the best of ten."""
    size = size or (8192 if device == "cuda" else 1024)
    left, right = torch.randn(2, size, size).to(device, getattr(torch, dtype))
    return 2 * size**3 / min(time_call(lambda: left @ right, device) for _ in range(10))


def copy_rate(device: str = "cpu", megabytes: int = 256) -> float:
    """Bytes/s read and written by copying a tensor larger than the caches: the best of ten."""
    source = torch.ones(megabytes * 2**18, device=device)
    target = torch.empty_like(source)
    seconds = min(time_call(lambda: target.copy_(source), device) for _ in range(10))
    return 2 * source.nbytes / seconds


def step_calls(layer: MultiHeadAttention, x: Tensor, block: int = 64) -> dict:
    """The steps of `layer` on x (B, T, D) as functions, each on inputs that are in place.

    The last one is not a step: it takes the softmax of a single tile of scores, again and again,
    until it has seen as many scores as the map has.
    """
    q, k, v = (share_heads(t, layer.num_heads) for t in layer.project(x, x, x))
    hidden = ~causal_mask(q.shape[-2], device=x.device)
    scores = q @ k.mT
    weights = scores.softmax(dim=-1)
    tile = scores[..., :block, :block].contiguous()
    visits = scores.numel() // tile.numel()
    return {
        "the four projections": lambda: (*layer.project(x, x, x), layer.out_proj(x)),
        "the two products with a map": lambda: (q @ k.mT, weights @ v),
        "the mask": lambda: scores.masked_fill_(hidden, torch.finfo(x.dtype).min),
        "the softmax": lambda: scores.softmax(dim=-1),
        "as many exponentials, one tile": lambda: sum(
            tile.softmax(dim=-1).numel() for _ in range(visits)
        ),
    }


def measure_steps(device: str = "cpu", quick: bool = False, seconds: float = 5.0) -> dict:
    """Median seconds of every step, and of four layers of which each does less than the last."""
    work = Workload(1, 256 if quick else 2048, 768, 12, is_causal=True)
    torch.manual_seed(0)
    x = torch.randn(work.batch_size, work.seq_len, work.embed_dim, device=device)
    layers = MultiHeadAttention, FusedMultiHeadAttention
    explicit, fused = (cls(work.embed_dim, work.num_heads).to(device).eval() for cls in layers)
    mask = causal_mask(work.seq_len, device=x.device)
    whole = {
        "explicit": lambda: explicit(x, is_causal=True),
        "fused, causal by a mask": lambda: fused(x, mask=mask),
        "fused, every tile, no mask": lambda: fused(x),
        "fused": lambda: fused(x, is_causal=True),
    }
    with torch.no_grad():
        times = time_in_turns(step_calls(explicit, x) | whole, device, seconds=seconds)
    rows = {name: statistics.median(found) for name, found in times.items()}
    return {"shape": work.shape, "seconds": rows}
