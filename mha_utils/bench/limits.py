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


class ReusingMultiHeadAttention(MultiHeadAttention):
    """The explicit module with memory for its two maps that it takes once (without gradients)."""

    maps = None

    def compute_heads(self, q, k, v, mask, is_causal, need_weights):
        """The steps of the explicit module, written into the maps of the last call."""
        k, v = share_heads(k, q.shape[1]), share_heads(v, q.shape[1])
        if self.maps is None or self.maps.shape[1:] != (*q.shape[:3], k.shape[2]):
            self.maps = q.new_empty(2, *q.shape[:3], k.shape[2])
        scores, weights = self.maps
        torch.matmul(q * q.shape[-1] ** -0.5, k.mT, out=scores)
        if is_causal:
            scores.masked_fill_(~causal_mask(*scores.shape[-2:], q.device), -torch.inf)
        torch.softmax(scores, dim=-1, out=weights)
        return weights @ v, None


def ladder_calls(explicit: MultiHeadAttention, x: Tensor) -> dict[str, Callable[[], Tensor]]:
    """From the explicit to the fused module on x (B, T, D), each layer leaving out one thing."""
    arguments = explicit.q_proj.in_features, explicit.num_heads
    reusing, fused = (
        cls(*arguments, num_kv_heads=explicit.k_proj.out_features // explicit.head_dim)
        for cls in (ReusingMultiHeadAttention, FusedMultiHeadAttention)
    )
    for layer in (reusing, fused):
        layer.to(x).eval().load_state_dict(explicit.state_dict())
    mask = causal_mask(x.shape[1], device=x.device)
    return {
        "explicit": lambda: explicit(x, is_causal=True),
        "explicit, maps kept": lambda: reusing(x, is_causal=True),
        "fused, causal by a mask": lambda: fused(x, mask=mask),
        "fused, every tile, no mask": lambda: fused(x),
        "fused": lambda: fused(x, is_causal=True),
    }


def measure_ladder(device: str = "cpu", quick: bool = False, seconds: float = 5.0) -> dict:
    """Median seconds of every rung."""
    work = Workload(1, 256 if quick else 2048, 768, 12, is_causal=True)
    torch.manual_seed(0)
    x = torch.randn(work.batch_size, work.seq_len, work.embed_dim, device=device)
    explicit = MultiHeadAttention(work.embed_dim, work.num_heads).to(device).eval()
    with torch.no_grad():
        times = time_in_turns(ladder_calls(explicit, x), device, seconds=seconds)
    rows = {name: statistics.median(found) for name, found in times.items()}
    return {"shape": work.shape, "seconds": rows}
