"""What is compared: every way to write the layer that the series shows.

`CONTESTANTS` maps a name to a builder. A builder takes the case and the module whose numbers it
must reproduce, and returns a layer: x (B, T, D) -> out (B, T, D). It raises `LeftOut` with the
reason where it cannot take part.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from mha_utils.bench.cases import Case
from mha_utils.core.heads import SelfAttentionHead, StackedHeads
from mha_utils.core.modules import FusedMultiHeadAttention, MultiHeadAttention
from mha_utils.core.steps import causal_mask, merge_heads, split_heads


class LeftOut(Exception):
    """Why a contestant does not take part in a case."""


class Layer(nn.Module):
    """A module together with the way it is called: `call(module, x)`."""

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
        self.steps = module
        self.qkv_proj = nn.Linear(module.q_proj.in_features, 3 * module.q_proj.out_features)
        self.qkv_proj.weight.data = torch.cat([layer.weight.detach() for layer in layers])
        self.qkv_proj.bias.data = torch.cat([layer.bias.detach() for layer in layers])

    def forward(self, x: Tensor, is_causal: bool) -> Tensor:
        parts = self.qkv_proj(x).chunk(3, dim=-1)
        q, k, v = (split_heads(part, self.steps.num_heads) for part in parts)
        heads, _ = self.steps.compute_heads(q, k, v, None, is_causal, need_weights=True)
        return self.steps.out_proj(merge_heads(heads))


def with_mask(made_of: Callable) -> Callable:
    """The builder of one of the classes above that take a mask."""

    def build(case: Case, module: MultiHeadAttention) -> nn.Module:
        refuse_dropout(case)
        mask = allowed(case)
        return Layer(case.placed(made_of(module)), lambda layer, x: layer(x, mask))

    return build


def explicit(case: Case, module: nn.Module) -> nn.Module:
    return Layer(module, lambda layer, x: layer(x, is_causal=case.is_causal))


def fused(case: Case, module: MultiHeadAttention) -> nn.Module:
    return explicit(case, _twin(case, module))


def one_product(case: Case, module: MultiHeadAttention) -> nn.Module:
    """Explicit, but q, k and v in one product."""
    return explicit(case, case.placed(OneProduct(module)))


def masked_kernel(case: Case, module: MultiHeadAttention) -> nn.Module:
    """Between explicit and fused: a boolean mask says what `is_causal` would say."""
    if not case.is_causal:
        raise LeftOut("is the fused module where nothing is masked")
    mask = allowed(case)
    return Layer(_twin(case, module), lambda layer, x: layer(x, mask=mask))


def _twin(case: Case, module: MultiHeadAttention) -> FusedMultiHeadAttention:
    twin = FusedMultiHeadAttention(*case.shape[2:], dropout=case.dropout)
    twin.load_state_dict(module.state_dict())
    return case.placed(twin)


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
        require_compiling(case)
        return torch.compile(build(case, module), dynamic=False)

    return build_compiled


def require_compiling(case: Case) -> None:
    if not case.with_compiled:
        raise LeftOut("compiled rows are measured for some shapes only")


def refuse_dropout(case: Case) -> None:
    if case.dropout:
        raise LeftOut("has no dropout")


def allowed(case: Case) -> Tensor | None:
    return causal_mask(case.shape[1], device=case.device) if case.is_causal else None


CONTESTANTS = {
    "loop over heads": with_mask(HeadLoop),
    "stacked heads": with_mask(StackedLayer),
    "explicit": explicit,
    "explicit, one product": one_product,
    "fused, boolean mask": masked_kernel,
    "fused": fused,
    "NumPy": numpy_layer,
}
CONTESTANTS |= {
    f"{name}, compiled": compiled(CONTESTANTS[name])
    for name in ("loop over heads", "stacked heads", "explicit", "fused")
}
