"""The fast module: parameters and numbers of `MultiHeadAttention`, other ways to get there."""

import functools
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from mha_utils.attention import (
    attention_scores,
    attention_weights,
    causal_mask,
    merge_heads,
    split_heads,
)
from mha_utils.contracts import checked, require_enough_keys, require_mask, require_width
from mha_utils.modules import MultiHeadAttention
from mha_utils.ways import attend, is_emulated


class FusedMultiHeadAttention(MultiHeadAttention):
    """Multi-head attention as fast as the machine allows: one product for q, k and v, `attend`.

    Constructor, inputs, outputs, gradients, errors and `state_dict` are those of
    `MultiHeadAttention`; weights load both ways. What is stored differs: one `qkv_proj` with
    the rows of q, k and v on top of each other (three layers where their widths differ).

    Attributes:
        long: on a CPU, from so many keys on, keys and values of a head are copied into one piece
            of memory, since they are read again for each block of queries.
    """

    long = 4096

    @functools.wraps(MultiHeadAttention.__init__)
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        layers = self.separate_layers()
        self.widths = [layer.in_features for layer in layers]
        self.is_stacked = len(set(self.widths)) == 1
        if self.is_stacked:
            self.qkv_proj = stack_layers(layers)
            del self.q_proj, self.k_proj, self.v_proj
            self.register_state_dict_post_hook(_part_state)
            self.register_load_state_dict_pre_hook(_join_state)

    @checked
    def forward(
        self,
        x: Float[Tensor, "B T Dq"],
        context: Float[Tensor, "B S Dk"] | None = None,
        values: Float[Tensor, "B S Dx"] | None = None,
        *,
        mask: Bool[Tensor, "..."] | None = None,
        is_causal: bool = False,
        need_weights: bool = False,
    ) -> Float[Tensor, "B T D"] | tuple[Float[Tensor, "B T D"], Float[Tensor, "B H T S"]]:
        """Let the tokens of x look at the tokens of context, or at each other.

        Arguments, results and errors are those of `MultiHeadAttention.forward`. Only
        `need_weights` makes the (B, H, T, S) tensor of weights.
        """
        context = x if context is None else context
        values = context if values is None else values
        require_width("x", x, self.widths[0], "qdim")
        require_width("context", context, self.widths[1], "kdim")
        require_width("values", values, self.widths[2], "vdim")
        require_mask(mask, (len(x), self.num_heads, x.shape[1], context.shape[1]))
        require_enough_keys(is_causal, x.shape[1], context.shape[1])
        dropout = self.dropout if self.training else 0.0
        wide = is_emulated(x) and x.dtype == self.out_proj.weight.dtype

        q, k, v = self.project(x, context, values, wide)
        if need_weights:
            scores = attention_scores(q, k)
            if is_causal:
                causal = causal_mask(q.shape[-2], k.shape[-2], q.device)
                scores = scores.masked_fill_(~causal, -torch.inf)
                mask = None if mask is None else mask & causal
            weights = attention_weights(scores, mask)
            heads = F.dropout(weights, dropout) @ v
        else:
            heads = attend(q, k, v, mask, is_causal, dropout)
        out = linear(self.out_proj, merge_heads(heads), wide)
        out = out.to(x.dtype) if wide else out
        return (out, weights.to(out.dtype)) if need_weights else out

    def project(self, x: Tensor, context: Tensor, values: Tensor, wide: bool):
        """q, k, v (B, H, ., Dh): one product where all three come from the same tokens."""
        is_eager = not torch.compiler.is_compiling()  # a compiled module fits every length
        is_long = is_eager and context.is_cpu and context.shape[1] >= self.long
        if self.is_stacked and x is context is values and not is_long:
            parts = linear(self.qkv_proj, x, wide).chunk(3, dim=-1)
            return [split_heads(part, self.num_heads) for part in parts]
        layers = rows_of(self.qkv_proj) if self.is_stacked else self.separate_layers()
        parts = (linear(layer, tokens, wide) for layer, tokens in zip(layers, (x, context, values)))
        q, k, v = (split_heads(part, self.num_heads) for part in parts)
        return (q, k.contiguous(), v.contiguous()) if is_long else (q, k, v)

    def separate_layers(self) -> list[nn.Linear]:
        return [self.q_proj, self.k_proj, self.v_proj]


class Rows(NamedTuple):
    """A third of a stacked layer, to be called like a layer."""

    weight: Tensor
    bias: Tensor | None

    def __call__(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight, self.bias)


def rows_of(layer: nn.Linear) -> list[Rows]:
    """The rows of q, of k and of v."""
    biases = (None,) * 3 if layer.bias is None else layer.bias.chunk(3)
    return [Rows(weight, bias) for weight, bias in zip(layer.weight.chunk(3), biases)]


def stack_layers(layers: list[nn.Linear]) -> nn.Linear:
    """One layer with the rows of all, and their numbers."""
    first = layers[0]
    has_bias, made = first.bias is not None, {"device": "meta", "dtype": first.weight.dtype}
    stacked = nn.Linear(first.in_features, 3 * first.out_features, has_bias, **made)
    stacked.weight = nn.Parameter(torch.cat([layer.weight.detach() for layer in layers]))
    if has_bias:
        stacked.bias = nn.Parameter(torch.cat([layer.bias.detach() for layer in layers]))
    return stacked


def linear(layer: nn.Linear | Rows, x: Tensor, wide: bool) -> Tensor:
    """`layer(x)`; when `wide`, in float32 with copies of the weights."""
    if not wide:
        return layer(x)
    bias = None if layer.bias is None else layer.bias.float()
    return F.linear(x.float(), layer.weight.float(), bias)


def _part_state(module, state, prefix, local_metadata) -> None:
    """On saving: `qkv_proj` leaves as `q_proj`, `k_proj` and `v_proj`."""
    for kind in ("weight", "bias"):
        stacked = state.pop(f"{prefix}qkv_proj.{kind}", None)
        if stacked is not None:
            names = [f"{prefix}{letter}_proj.{kind}" for letter in "qkv"]
            state.update(zip(names, stacked.chunk(3)))


def _join_state(module, state, prefix, *rest) -> None:
    """On loading: the other way round, if the three parts are there and fit."""
    width, inputs = module.out_proj.in_features, module.qkv_proj.in_features
    for kind, shape in (("weight", (width, inputs)), ("bias", (width,))):
        names = [f"{prefix}{letter}_proj.{kind}" for letter in "qkv"]
        if all(name in state and state[name].shape == shape for name in names):
            state[f"{prefix}qkv_proj.{kind}"] = torch.cat([state.pop(name) for name in names])
