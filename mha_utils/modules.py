"""The modules that the chapters build, as `torch.nn.Module`s."""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from mha_utils.attention import attention
from mha_utils.contracts import checked, require_sizes, require_width


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
        require_width("x", x, self.q_proj.in_features, "embed_dim")
        out, weights = attention(self.q_proj(x), self.k_proj(x), self.v_proj(x), mask)
        return (out, weights) if need_weights else out
