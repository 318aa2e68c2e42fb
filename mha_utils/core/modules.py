"""The modules that the chapters build, as `torch.nn.Module`s."""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from mha_utils.core.contracts import (
    checked,
    require_bools,
    require_divisible,
    require_dtype,
    require_enough_keys,
    require_input,
    require_mask,
    require_probability,
    require_sizes,
    require_width,
)
from mha_utils.core.precision import in_float32
from mha_utils.core.steps import (
    attention,
    attention_scores,
    attention_weights,
    causal_mask,
    merge_heads,
    split_heads,
)


class SelfAttentionHead(nn.Module):
    """One attention head: three learned projections, then `attention`.

    Args:
        embed_dim: width D of a token vector.
        head_dim: width Dh of queries and keys.
        value_dim: width Dv of values and of the output; `head_dim` when left out.
        bias: whether the projections add a bias.

    Raises:
        ValueError: if a width is not an integer of at least 1.
    """

    def __init__(
        self, embed_dim: int, head_dim: int, value_dim: int | None = None, bias: bool = False
    ):
        super().__init__()
        value_dim = head_dim if value_dim is None else value_dim
        require_sizes(embed_dim=embed_dim, head_dim=head_dim, value_dim=value_dim)
        require_bools(bias=bias)
        self.q_proj = nn.Linear(embed_dim, head_dim, bias=bias)
        self.k_proj = nn.Linear(embed_dim, head_dim, bias=bias)
        self.v_proj = nn.Linear(embed_dim, value_dim, bias=bias)

    @checked
    def forward(
        self,
        x: Float[Tensor, "*B T D"],
        mask: Bool[Tensor, "*#B #T #T"] | None = None,
        need_weights: bool = False,
    ) -> Float[Tensor, "*B T Dv"] | tuple[Float[Tensor, "*B T Dv"], Float[Tensor, "*B T T"]]:
        """Let every token of x look at every token of x.

        Args:
            x: token vectors, (*B, T, D).
            mask: True = may attend, broadcast over (*B, T, T).
            need_weights: also return the weights, (*B, T, T).

        Raises:
            ValueError: if x is not (*B, T, embed_dim) with T at least 1, or the mask
                does not broadcast to (*B, T, T).
        """
        require_bools(need_weights=need_weights)
        require_input("x", x, self.q_proj, "embed_dim")
        out, weights = attention(self.q_proj(x), self.k_proj(x), self.v_proj(x), mask)
        return (out, weights) if need_weights else out


class StackedHeads(nn.Module):
    """H independent heads with their weights stacked: one product for all heads.

    Args:
        embed_dim: width D of a token vector.
        num_heads: H.
        head_dim: width Dh of queries and keys of each head.
        value_dim: width Dv of values of each head; `head_dim` when left out.

    Raises:
        ValueError: if a size is not an integer of at least 1.
    """

    def __init__(self, embed_dim: int, num_heads: int, head_dim: int, value_dim: int | None = None):
        super().__init__()
        value_dim = head_dim if value_dim is None else value_dim
        require_sizes(
            embed_dim=embed_dim, num_heads=num_heads, head_dim=head_dim, value_dim=value_dim
        )
        bound = embed_dim**-0.5
        self.q_weight = nn.Parameter(torch.empty(num_heads, embed_dim, head_dim))
        self.k_weight = nn.Parameter(torch.empty(num_heads, embed_dim, head_dim))
        self.v_weight = nn.Parameter(torch.empty(num_heads, embed_dim, value_dim))
        for weight in self.parameters():
            nn.init.uniform_(weight, -bound, bound)

    @checked
    def forward(
        self, x: Float[Tensor, "B T D"], mask: Bool[Tensor, "#T #T"] | None = None
    ) -> Float[Tensor, "B T HDv"]:
        """All heads side by side: columns h x Dv to (h + 1) x Dv are head h.

        Args:
            x: token vectors, (B, T, D).
            mask: True = may attend, broadcast over (T, T), the same for all heads.

        Raises:
            ValueError: if x is not (B, T, embed_dim).
        """
        require_width("x", x, self.q_weight.shape[1], "embed_dim")
        require_dtype("x", x, self.q_weight)
        copies = x.unsqueeze(1)  # (B, 1, T, D) meets (H, D, Dh)
        q, k, v = copies @ self.q_weight, copies @ self.k_weight, copies @ self.v_weight
        heads, _ = attention(q, k, v, mask)
        return torch.cat(heads.unbind(dim=1), dim=-1)


class MultiHeadAttention(nn.Module):
    """Multi-head attention, every step in the open; weights per head on request.

    Args:
        embed_dim: width D of queries, keys and values together, and of the output.
        num_heads: H; must divide `embed_dim`.
        dropout: probability to drop a weight, in training only.
        bias: whether the four projections add a bias.
        qdim, kdim, vdim: widths of the vectors that queries, keys and values are made
            from; `embed_dim` when left out.
        device, dtype: of the parameters.

    Raises:
        ValueError: if a size is not an integer of at least 1, `num_heads` does not divide
            `embed_dim`, or `dropout` is not a probability.

    Source: Vaswani et al. (2017), section 3.2.2. Arguments are named as in
    `torch.nn.MultiheadAttention`; the layout is always (B, T, D). Half precision is computed in
    float32 between the projections.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        *,
        qdim: int | None = None,
        kdim: int | None = None,
        vdim: int | None = None,
        device=None,
        dtype=None,
    ):
        super().__init__()
        require_divisible(embed_dim, num_heads)
        require_probability(dropout=dropout)
        qdim, kdim, vdim = (embed_dim if d is None else d for d in (qdim, kdim, vdim))
        require_sizes(qdim=qdim, kdim=kdim, vdim=vdim)
        require_bools(bias=bias)
        made = {"bias": bias, "device": device, "dtype": dtype}
        self.num_heads, self.dropout = num_heads, dropout
        self.q_proj = nn.Linear(qdim, embed_dim, **made)
        self.k_proj = nn.Linear(kdim, embed_dim, **made)
        self.v_proj = nn.Linear(vdim, embed_dim, **made)
        self.out_proj = nn.Linear(embed_dim, embed_dim, **made)

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

        Args:
            x: makes the queries, (B, T, qdim).
            context: makes keys and values, (B, S, kdim); x when left out.
            values: makes the values in the place of context, (B, S, vdim).
            mask: True = may attend; (T, S), or four dimensions that broadcast to (B, H, T, S).
                Two dimensions are never (B, S): `padding_mask` gives (B, 1, 1, S).
            is_causal: a query sees no key after its own; the last query is aligned with
                the last key. Joined with `mask` if both are given.
            need_weights: also return the weights of every head, before dropout.

        Returns:
            out (B, T, D), or (out, weights) with weights (B, H, T, S). A query that may
            attend to nothing gets zero weights, so its output is the bias of `out_proj`.

        Raises:
            ValueError: if an input does not fit the module (width, dtype, device), the mask is
                not boolean or does not broadcast, a flag is not True or False, or `is_causal`
                is asked for with fewer keys than queries.
        """
        context = x if context is None else context
        values = context if values is None else values
        require_bools(is_causal=is_causal, need_weights=need_weights)
        require_input("x", x, self.q_proj, "qdim")
        require_input("context", context, self.k_proj, "kdim")
        require_input("values", values, self.v_proj, "vdim")
        require_mask(mask, (len(x), self.num_heads, x.shape[1], context.shape[1]))
        require_enough_keys(is_causal, x.shape[1], context.shape[1])

        q = split_heads(self.q_proj(x), self.num_heads)
        k = split_heads(self.k_proj(context), self.num_heads)
        v = split_heads(self.v_proj(values), self.num_heads)
        heads, weights = self.compute_heads(q, k, v, mask, is_causal, need_weights)
        out = self.out_proj(merge_heads(heads))
        return (out, weights) if need_weights else out

    @in_float32
    def compute_heads(self, q, k, v, mask, is_causal, need_weights):
        """From q, k, v (B, H, ., Dh) to heads (B, H, T, Dh) and weights (B, H, T, S)."""
        scores = attention_scores(q, k)
        if is_causal:
            causal = causal_mask(q.shape[-2], k.shape[-2], q.device)
            scores = scores.masked_fill_(~causal, -torch.inf)  # in place: nobody else has them
            mask = None if mask is None else mask & causal
        weights = attention_weights(scores, mask)
        return F.dropout(weights, self.dropout, self.training) @ v, weights
