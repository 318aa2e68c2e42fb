"""Call attention of others: by the names of its arguments, with masks in its dialect."""

import inspect
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from mha_utils.checks.module.naming import (
    CAUSAL,
    CONTEXTS,
    DROPOUTS,
    MASKS,
    TURNS,
    WEIGHTS,
    load_by_names,
    name_among,
    option_names,
)
from mha_utils.core.masks import to_torch_mha
from mha_utils.core.modules import MultiHeadAttention
from mha_utils.core.steps import causal_mask, merge_heads, split_heads

MEANINGS = ("may attend", "not allowed", "added")


def are_q_k_v(names: list[str]) -> bool:
    return [name[0] for name in names[:3]] == ["q", "k", "v"]


def needed_names(forward: Callable) -> list[str]:
    """The arguments without a default."""
    parameters = inspect.signature(forward).parameters.values()
    plain = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    return [p.name for p in plain if p.default is p.empty]


def joined(mask: Tensor | None, is_causal: bool, query_len: int, key_len: int) -> Tensor | None:
    """One mask for modules that take no `is_causal`."""
    if not is_causal:
        return mask
    causal = causal_mask(query_len, key_len)
    return causal if mask is None else mask & causal


def torch_call(module, x, context, mask, is_causal, need_weights):
    """As `nn.MultiheadAttention` is called: True = not allowed, weights not averaged."""
    keys = x if context is None else context
    mask = joined(mask, is_causal, x.shape[1], keys.shape[1])
    options = {"need_weights": need_weights, "average_attn_weights": False}
    if mask is not None:
        shape = (len(x), module.num_heads, x.shape[1], keys.shape[1])
        options["attn_mask"] = to_torch_mha(mask, shape)
    if not getattr(module, "batch_first", True):
        out, weights = module(*(t.transpose(0, 1) for t in (x, keys, keys)), **options)
        return out.transpose(0, 1), weights
    return module(x, keys, keys, **options)


def mask_options(names: list[str], true_means: str, mask, is_causal: bool, *lengths: int) -> dict:
    """A mask and `is_causal`, by the names that these arguments have."""
    options = {}
    if is_causal and name_among(names, CAUSAL):
        options[name_among(names, CAUSAL)] = True
    else:
        mask = joined(mask, is_causal, *lengths)
    if mask is not None:
        options[name_among(names, MASKS)] = as_theirs(mask, true_means)
    return options


def as_theirs(mask: Tensor, true_means: str) -> Tensor:
    """The mask in the dialect of the answer."""
    if true_means == "added":
        return torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)
    return mask if true_means == "may attend" else ~mask


def call_by_names(forward: Callable, true_means: str, joins: bool = False) -> Callable:
    """As `MultiHeadAttention` is called, with the options that `forward` has.

    What else it cannot do without is None. `joins`: a mask that is given replaces the causal one.
    """
    names, needed = option_names(forward), needed_names(forward)
    needed = needed[3 if are_q_k_v(names) else 1 :]

    def call(module, x, context, mask, is_causal, need_weights):
        keys = x if context is None else context
        options = dict.fromkeys(needed)
        is_causal |= joins and mask is not None
        options |= mask_options(names, true_means, mask, is_causal, x.shape[1], keys.shape[1])
        if TURNS in names:
            options[TURNS] = torch.ones(1, x.shape[1], 1), torch.zeros(1, x.shape[1], 1)
        if need_weights and name_among(names, WEIGHTS):
            options[name_among(names, WEIGHTS)] = True
        if are_q_k_v(names):
            return module(x, keys, keys, **options)
        if context is not None:
            options[name_among(names, CONTEXTS)] = context
        return module(x, **options)

    return call


class Around(MultiHeadAttention):
    """The four layers; `attend(q, k, v, mask, is_causal, dropout)` stands between them."""

    def forward(self, x, context, mask, is_causal):
        keys = x if context is None else context
        layers = ((self.q_proj, x), (self.k_proj, keys), (self.v_proj, keys))
        heads = (split_heads(layer(tokens), self.num_heads) for layer, tokens in layers)
        result = self.attend(*heads, mask, is_causal, self.dropout if self.training else 0.0)
        out, *weights = result if isinstance(result, tuple) else (result,)
        return self.out_proj(merge_heads(out)), *weights


def around(function: Callable, names: list[str], true_means: str) -> tuple[Callable, ...]:
    """build, load and call for functions called as SDPA: (q, k, v, attn_mask=, dropout_p=, ...).

    `is_causal` is passed alone and with T = S only: elsewhere it means different things. A causal
    mask is passed in its place.
    """
    unless_causal = [name for name in names if name not in CAUSAL]

    def attend(q, k, v, mask, is_causal, dropout):
        lengths = q.shape[2], k.shape[2]
        known = names if mask is None and lengths[0] == lengths[1] else unless_causal
        options = mask_options(known, true_means, mask, is_causal, *lengths)
        if dropout:
            options[name_among(names, DROPOUTS)] = dropout
        return function(q, k, v, **options)

    def build(embed_dim, num_heads, dropout, bias):
        module = Around(embed_dim, num_heads, dropout, bias)
        module.attend = attend
        return module

    def call(module, x, context, mask, is_causal, need_weights):
        return module(x, context, mask, is_causal)

    return build, load_by_names, call


def wake(module: nn.Module, embed_dim: int) -> None:
    """Call the layers of a module that take their widths from the first input."""
    for part in module.modules():
        if any(map(is_lazy, part.parameters(recurse=False))):
            part(torch.zeros(1, 2, embed_dim))
