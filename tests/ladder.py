"""The equality ladder: one layer, many implementations, outputs and every gradient compared.

A rung takes (parameters, x, context, num_heads, mask): x (B, T, D), context (B, S, D), a mask that
broadcasts to (B, H, T, S) or None, and `parameters` "q.weight", "q.bias", ..., "out.bias" (without
biases when there are none).
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterator

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mha_utils.core import masks
from mha_utils.core.modules import FusedMultiHeadAttention, MultiHeadAttention
from mha_utils.core.steps import attention, causal_mask, padding_mask
from mha_utils.reference import heads as reference_heads

NAMES = ("q", "k", "v", "out")


def by_stacked_heads(parameters, x, context, num_heads, mask):
    """Chapter 03: a matrix for each head, no split, no merge."""
    projected = []
    for name, tokens in zip(NAMES, (x, context, context)):
        stack = torch.stack(parameters[f"{name}.weight"].chunk(num_heads))  # (H, Dh, D)
        biases = parameters.get(f"{name}.bias", x.new_zeros(x.shape[-1])).chunk(num_heads)
        projected.append(tokens.unsqueeze(1) @ stack.mT + torch.stack(biases).unsqueeze(1))
    heads, _ = attention(*projected, mask)
    merged = torch.cat(heads.unbind(dim=1), dim=-1)
    return F.linear(merged, parameters["out.weight"], parameters.get("out.bias"))


def by_module(parameters, x, context, num_heads, mask):
    """This series' `MultiHeadAttention`."""
    module = MultiHeadAttention(x.shape[-1], num_heads, bias="q.bias" in parameters)
    named = {key.replace(".", "_proj."): value for key, value in parameters.items()}
    return torch.func.functional_call(module, named, (x, context), {"mask": mask})


def by_sdpa(parameters, x, context, num_heads, mask):
    """PyTorch's fused attention between four linear layers."""
    projected = []
    for name, tokens in zip(NAMES, (x, context, context)):
        wide = F.linear(tokens, parameters[f"{name}.weight"], parameters.get(f"{name}.bias"))
        projected.append(wide.unflatten(-1, (num_heads, -1)).transpose(1, 2))
    heads = F.scaled_dot_product_attention(*projected, attn_mask=mask)
    merged = heads.transpose(1, 2).flatten(2)
    return F.linear(merged, parameters["out.weight"], parameters.get("out.bias"))


def by_torch_module(parameters, x, context, num_heads, mask):
    """`nn.MultiheadAttention`, which means the opposite by True."""
    bias = "q.bias" in parameters
    module = nn.MultiheadAttention(x.shape[-1], num_heads, bias=bias, batch_first=True)
    named = {}
    for kind in ("weight", "bias") if bias else ("weight",):
        named[f"in_proj_{kind}"] = torch.cat([parameters[f"{name}.{kind}"] for name in "qkv"])
        named[f"out_proj.{kind}"] = parameters[f"out.{kind}"]
    if mask is not None:
        mask = masks.to_torch_mha(mask, (len(x), num_heads, x.shape[1], context.shape[1]))
    inputs = {"attn_mask": mask, "need_weights": False}
    return torch.func.functional_call(module, named, (x, context, context), inputs)[0]


def by_fused_module(parameters, x, context, num_heads, mask):
    """Chapter 11: the same parameters, and the fastest way to attend."""
    module = FusedMultiHeadAttention(x.shape[-1], num_heads, bias="q.bias" in parameters)
    named = {key.replace(".", "_proj."): value for key, value in parameters.items()}
    return torch.func.functional_call(module, named, (x, context), {"mask": mask})


RUNGS = {
    "stacked heads": by_stacked_heads,
    "MultiHeadAttention": by_module,
    "F.scaled_dot_product_attention": by_sdpa,
    "nn.MultiheadAttention": by_torch_module,
    "FusedMultiHeadAttention": by_fused_module,
}


@dataclasses.dataclass(frozen=True)
class Case:
    """One layer and one input, in float64."""

    parameters: dict[str, Tensor]
    x: Tensor
    context: Tensor
    num_heads: int
    mask: Tensor | None
    grad_out: Tensor


def cases(batch_sizes=(1, 3), lengths=(1, 5, 17), embed_dim=4) -> Iterator[Case]:
    """All combinations of sizes, S = T and S = T + 2, H in {1, 2, D}, masks and bias."""
    generator = torch.Generator().manual_seed(0)

    def draw(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    choices = (batch_sizes, lengths, (0, 2), (1, 2, embed_dim), ("none", "causal", "both"), (0, 1))
    for batch_size, length, more, num_heads, kind, bias in itertools.product(*choices):
        key_len = length + more
        causal = causal_mask(length, key_len)
        real = key_len - (torch.arange(batch_size) + bias) % key_len  # alike for any num_heads
        both = padding_mask(real, key_len) & causal  # key 0 is real, so no row is empty
        square = (embed_dim, embed_dim)
        parameters = {f"{name}.weight": draw(*square) / embed_dim**0.5 for name in NAMES}
        parameters |= {f"{name}.bias": draw(embed_dim) for name in NAMES if bias}
        tokens = draw(batch_size, length, embed_dim), draw(batch_size, key_len, embed_dim)
        mask = {"none": None, "causal": causal, "both": both}[kind]
        yield Case(parameters, *tokens, num_heads, mask, draw(batch_size, length, embed_dim))


def with_gradients(rung: Callable, case: Case, dtype: torch.dtype) -> dict[str, np.ndarray]:
    """The output of a rung and the gradients of sum(out x grad_out), by name."""
    inputs = {"x": case.x, "context": case.context} | case.parameters
    inputs = {name: tensor.to(dtype, copy=True).requires_grad_() for name, tensor in inputs.items()}
    x, context, *_ = inputs.values()
    parameters = {name: inputs[name] for name in case.parameters}
    out = rung(parameters, x, context, case.num_heads, case.mask)
    grads = torch.autograd.grad(out, list(inputs.values()), case.grad_out.to(dtype))
    named = {"out": out} | dict(zip(inputs, grads))
    return {name: tensor.detach().double().numpy() for name, tensor in named.items()}


def by_numpy(case: Case, loops: bool = False) -> dict[str, np.ndarray]:
    """The oracle's output and gradients: batched, or in loops over heads, queries and keys."""
    arrays = {name: tensor.numpy() for name, tensor in case.parameters.items()}
    parameters = {n: (arrays[f"{n}.weight"], arrays.get(f"{n}.bias")) for n in NAMES}
    x, context, grad_out = (t.numpy() for t in (case.x, case.context, case.grad_out))
    mask = None if case.mask is None else case.mask.numpy()
    forward, backward = (
        (reference_heads.multi_head_loops, reference_heads.multi_head_gradients_loops)
        if loops
        else (reference_heads.multi_head_batched, reference_heads.multi_head_gradients)
    )
    out = forward(x, context, parameters, case.num_heads, mask)
    grads = backward(x, context, parameters, case.num_heads, grad_out, mask)
    return {"out": out} | {
        name: g for name, g in grads.items() if name in {"x", "context", *arrays}
    }


def largest_differences(results: dict, expected: dict) -> dict[str, float]:
    """Largest absolute difference by name, relative to the largest expected number (at least 1)."""
    return {
        name: np.abs(results[name] - expected[name]).max() / max(1.0, np.abs(expected[name]).max())
        for name in expected
    }
