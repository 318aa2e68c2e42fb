"""What is compared: every way to write the layer that the series shows, and PyTorch's own.

`CONTESTANTS` maps a name to a builder. A builder takes the case and the module whose numbers it
must reproduce, and returns a layer: x (B, T, D) -> out (B, T, D). It raises `LeftOut` with the
reason where it cannot take part.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from mha_utils.bench.cases import Case
from mha_utils.core.fused import FusedMultiHeadAttention
from mha_utils.core.modules import MultiHeadAttention, SelfAttentionHead, StackedHeads
from mha_utils.core.porting import to_torch
from mha_utils.core.steps import causal_mask, merge_heads, split_heads


class LeftOut(Exception):
    """Why a contestant does not take part in a case."""


class Layer(nn.Module):
    """A module together with the way it is called."""

    def __init__(self, module: nn.Module, call: Callable):
        super().__init__()
        self.module, self.call = module, call
        self.train(module.training)

    def forward(self, x: Tensor) -> Tensor:
        return self.call(self.module, x)


class HeadLoop(nn.Module):
    """Chapter 03's first version: a list of heads, one after the other, and `out_proj`."""

    def __init__(self, module: MultiHeadAttention):
        super().__init__()
        width, num_heads = module.out_proj.in_features, module.num_heads
        head_dim = width // num_heads
        made = [SelfAttentionHead(width, head_dim, bias=True) for _ in range(num_heads)]
        self.heads, self.out_proj = nn.ModuleList(made), module.out_proj
        for name in ("q_proj", "k_proj", "v_proj"):
            layer = getattr(module, name)
            pieces = zip(self.heads, layer.weight.chunk(num_heads), layer.bias.chunk(num_heads))
            for head, weight, bias in pieces:
                getattr(head, name).weight.data = weight.detach().clone()
                getattr(head, name).bias.data = bias.detach().clone()

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        return self.out_proj(torch.cat([head(x, mask) for head in self.heads], dim=-1))


class StackedLayer(nn.Module):
    """Chapter 03's second version: the matrices of all heads stacked, and `out_proj`."""

    def __init__(self, module: MultiHeadAttention):
        super().__init__()
        width, num_heads = module.out_proj.in_features, module.num_heads
        self.heads = StackedHeads(width, num_heads, width // num_heads)
        self.out_proj = module.out_proj
        for letter in "qkv":
            weight = getattr(module, f"{letter}_proj").weight.detach()
            stack = torch.stack(weight.chunk(num_heads)).transpose(1, 2).contiguous()
            getattr(self.heads, f"{letter}_weight").data = stack

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        return self.out_proj(self.heads(x, mask))


class OneProduct(nn.Module):
    """q, k and v from one matrix (3D, D); then the steps of the explicit module."""

    def __init__(self, module: MultiHeadAttention):
        super().__init__()
        layers = (module.q_proj, module.k_proj, module.v_proj)
        self.num_heads, self.compute_heads = module.num_heads, module.compute_heads
        self.qkv_proj = nn.Linear(module.q_proj.in_features, 3 * module.q_proj.out_features)
        self.qkv_proj.weight.data = torch.cat([layer.weight.detach() for layer in layers])
        self.qkv_proj.bias.data = torch.cat([layer.bias.detach() for layer in layers])
        self.out_proj = module.out_proj

    def forward(self, x: Tensor, is_causal: bool) -> Tensor:
        parts = self.qkv_proj(x).chunk(3, dim=-1)
        q, k, v = (split_heads(part, self.num_heads) for part in parts)
        heads, _ = self.compute_heads(q, k, v, None, is_causal, need_weights=True)
        return self.out_proj(merge_heads(heads))


def loop_over_heads(case: Case, module: MultiHeadAttention) -> nn.Module:
    _refuse_dropout(case)
    mask = _allowed(case)
    return Layer(case.placed(HeadLoop(module)), lambda layer, x: layer(x, mask))


def stacked(case: Case, module: MultiHeadAttention) -> nn.Module:
    _refuse_dropout(case)
    mask = _allowed(case)
    return Layer(case.placed(StackedLayer(module)), lambda layer, x: layer(x, mask))


def explicit(case: Case, module: MultiHeadAttention) -> nn.Module:
    return Layer(module, lambda layer, x: layer(x, is_causal=case.is_causal))


def fused(case: Case, module: MultiHeadAttention) -> nn.Module:
    return Layer(_twin(case, module), lambda layer, x: layer(x, is_causal=case.is_causal))


def one_product(case: Case, module: MultiHeadAttention) -> nn.Module:
    """Explicit, but q, k and v in one product."""
    return Layer(case.placed(OneProduct(module)), lambda layer, x: layer(x, case.is_causal))


def masked_kernel(case: Case, module: MultiHeadAttention) -> nn.Module:
    """Between explicit and fused: the kernel is told by a mask what `is_causal` would say."""
    if not case.is_causal:
        raise LeftOut("is the fused module where nothing is masked")
    mask = _allowed(case)
    return Layer(_twin(case, module), lambda layer, x: layer(x, mask=mask))


def _twin(case: Case, module: MultiHeadAttention) -> FusedMultiHeadAttention:
    twin = FusedMultiHeadAttention(*case.shape[2:], dropout=case.dropout)
    twin.load_state_dict(module.state_dict())
    return case.placed(twin)


def torch_module(case: Case, module: MultiHeadAttention, need_weights: bool = False) -> nn.Module:
    mask = None if not case.is_causal else ~_allowed(case)

    def call(theirs: nn.MultiheadAttention, x: Tensor) -> Tensor:
        causal = case.is_causal and not need_weights
        return theirs(x, x, x, attn_mask=mask, is_causal=causal, need_weights=need_weights)[0]

    return Layer(case.placed(to_torch(module)), call)


def torch_module_with_weights(case: Case, module: MultiHeadAttention) -> nn.Module:
    return torch_module(case, module, need_weights=True)


def flex_attention(case: Case, module: MultiHeadAttention) -> nn.Module:
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    _refuse_dropout(case)
    if case.device == "cpu" and case.is_training:
        raise LeftOut("FlexAttention on a CPU has no backward pass")
    if not case.with_compiled:
        raise LeftOut("compiled rows are measured for some shapes only")
    mask, length = None, case.shape[1]
    if case.is_causal:
        made = (lambda b, h, query, key: query >= key), None, None, length, length
        mask = create_block_mask(*made, device=case.device)
    attend = torch.compile(flex_attention, dynamic=False)

    def call(layer: MultiHeadAttention, x: Tensor) -> Tensor:
        q, k, v = (
            split_heads(project(x), layer.num_heads)
            for project in (layer.q_proj, layer.k_proj, layer.v_proj)
        )
        return layer.out_proj(merge_heads(attend(q, k, v, block_mask=mask)))

    return Layer(module, call)


def numpy_layer(case: Case, module: MultiHeadAttention) -> Callable[[Tensor], Tensor]:
    if case.is_training or case.device != "cpu" or case.dtype != "float32":
        raise LeftOut("NumPy: forward in float32 on a CPU")
    weights = {name: p.detach().numpy() for name, p in module.named_parameters()}
    hidden = np.triu(np.full((case.shape[1],) * 2, -np.inf, dtype=np.float32), k=1)

    def project(x: np.ndarray, name: str) -> np.ndarray:
        return x @ weights[f"{name}_proj.weight"].T + weights[f"{name}_proj.bias"]

    def layer(x: Tensor) -> Tensor:
        batch_size, seq_len, width = x.shape
        cut = (batch_size, seq_len, module.num_heads, width // module.num_heads)
        q, k, v = (project(x.numpy(), n).reshape(cut).transpose(0, 2, 1, 3) for n in "qkv")
        scores = (q / np.float32(cut[-1] ** 0.5)) @ k.transpose(0, 1, 3, 2)
        if case.is_causal:
            scores += hidden
        scores -= scores.max(axis=-1, keepdims=True)
        powers = np.exp(scores, out=scores)
        powers /= powers.sum(axis=-1, keepdims=True)
        merged = (powers @ v).transpose(0, 2, 1, 3).reshape(x.shape)
        return torch.from_numpy(project(merged, "out"))

    return layer


def compiled(build: Callable) -> Callable:
    """The builder of the same layer after `torch.compile`."""

    def build_compiled(case: Case, module: MultiHeadAttention) -> nn.Module:
        if not case.with_compiled:
            raise LeftOut("compiled rows are measured for some shapes only")
        return torch.compile(build(case, module), dynamic=False)

    return build_compiled


def _refuse_dropout(case: Case) -> None:
    if case.dropout:
        raise LeftOut("has no dropout")


def _allowed(case: Case) -> Tensor | None:
    return causal_mask(case.shape[1], device=case.device) if case.is_causal else None


CONTESTANTS = {
    "loop over heads": loop_over_heads,
    "stacked heads": stacked,
    "explicit": explicit,
    "explicit, one product": one_product,
    "fused, boolean mask": masked_kernel,
    "fused": fused,
    "nn.MultiheadAttention": torch_module,
    "nn.MultiheadAttention, weights": torch_module_with_weights,
    "NumPy": numpy_layer,
    "FlexAttention, compiled": flex_attention,
    "loop over heads, compiled": compiled(loop_over_heads),
    "stacked heads, compiled": compiled(stacked),
    "explicit, compiled": compiled(explicit),
    "fused, compiled": compiled(fused),
}
