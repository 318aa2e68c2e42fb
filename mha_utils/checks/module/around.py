"""A function of q, k and v is tried with the four layers of multi-head attention around it."""

from collections.abc import Callable

from mha_utils.checks.module.adapter import Adapter, joined
from mha_utils.checks.module.naming import (
    CAUSAL,
    DROPOUTS,
    MASKS,
    load_by_names,
    name_among,
    option_names,
)
from mha_utils.core.modules import MultiHeadAttention
from mha_utils.core.steps import merge_heads, split_heads


class AroundFunction(MultiHeadAttention):
    """The layers; `attend(q, k, v, mask, is_causal, dropout)` stands for the function."""

    def forward(self, x, context, mask, is_causal):
        keys = x if context is None else context
        q, k, v = (
            split_heads(layer(tokens), self.num_heads)
            for layer, tokens in zip((self.q_proj, self.k_proj, self.v_proj), (x, keys, keys))
        )
        result = self.attend(q, k, v, mask, is_causal, self.dropout if self.training else 0.0)
        heads, *weights = result if isinstance(result, tuple) else (result,)
        return self.out_proj(merge_heads(heads)), *weights


def function_adapter(function: Callable, true_means: str, empty_rows: bool) -> Adapter:
    """For functions called as SDPA: (q, k, v, attn_mask=, dropout_p=, is_causal=).

    `is_causal` is passed alone and with T = S only: elsewhere it means different things. A causal
    mask is passed in its place.
    """
    names = option_names(function)
    mask_name, causal_name = name_among(names, MASKS), name_among(names, CAUSAL)
    dropout_name = name_among(names, DROPOUTS)

    def attend(q, k, v, mask, is_causal, dropout):
        options = {dropout_name: dropout} if dropout else {}
        if is_causal and causal_name and mask is None and q.shape[2] == k.shape[2]:
            return function(q, k, v, **options, **{causal_name: True})
        mask = joined(mask, is_causal, q.shape[2], k.shape[2])
        if mask is not None:
            options[mask_name] = mask if true_means == "may attend" else ~mask
        return function(q, k, v, **options)

    def build(embed_dim, num_heads, dropout, bias):
        module = AroundFunction(embed_dim, num_heads, dropout, bias)
        module.attend = attend
        return module

    def call(module, x, context, mask, is_causal, need_weights):
        return module(x, context, mask, is_causal)

    takes = {"context", "weights"} | ({"dropout"} if dropout_name else set())
    takes |= {"mask", "causal"} if mask_name else set()
    takes |= {"empty rows"} if mask_name and empty_rows else set()
    return Adapter(build, load_by_names, call, frozenset(takes))
