"""The limit that no layer built from the same parts can undercut, and where time above it goes."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from mha_utils.bench.cases import Case, training_step
from mha_utils.bench.timing import time_call
from mha_utils.core.modules import MultiHeadAttention

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
    sizes = batch_size, num_heads, seq_len, width // num_heads
    q, k, v = torch.randn(3, *sizes, device=x.device).to(x)
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
