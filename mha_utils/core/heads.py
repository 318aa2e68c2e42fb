"""One head, and several with their matrices stacked: the modules on the way to the whole layer."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from mha_utils.core.guards import (
    checked,
    require_bools,
    require_dtype,
    require_input,
    require_sizes,
    require_width,
)
from mha_utils.core.steps import attention


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
    """H independent heads with their matrices stacked: one product for all heads.

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
