"""The layer that the series builds, as a `torch.nn.Module`, and its fast twin."""

import inspect

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from mha_utils.core.cache import (
    KeyValueCache,
    keeps_cache,
    require_cache,
    require_self_attention,
)
from mha_utils.core.guards import (
    checked,
    require_bools,
    require_enough_keys,
    require_heads,
    require_input,
    require_mask,
    require_probability,
    require_same_tokens,
    require_sizes,
    require_whole_heads,
)
from mha_utils.core.kernels import attend_unchecked
from mha_utils.core.rotary import Rotary, require_rotary
from mha_utils.core.signatures import in_float32
from mha_utils.core.steps import (
    attention_scores,
    attention_weights,
    causal_mask,
    merge_heads,
    share_heads,
    split_heads,
)

# Inside `forward` everything fits; a token that is written costs what its calls cost.
merge_heads, split_heads = inspect.unwrap(merge_heads), inspect.unwrap(split_heads)


class MultiHeadAttention(nn.Module):
    """Multi-head attention, every step in the open; weights per head on request.

    Args:
        embed_dim: width D of the output, and of the input where nothing else is said.
        num_heads: H; must divide `embed_dim` unless `head_dim` is given.
        dropout: probability to drop a weight, in training only.
        bias: whether the four projections add a bias.
        num_kv_heads: heads of keys and values, each shared by H / Hkv neighbouring heads of
            queries; `num_heads` when left out. 1 is multi-query attention.
        head_dim: width Dh of a head; `embed_dim` / `num_heads` when left out.
        rotary: turns queries and keys by their positions before they meet.
        qdim, kdim, vdim: widths of the vectors that queries, keys and values are made
            from; `embed_dim` when left out.
        device, dtype: of the parameters.

    Raises:
        ValueError: if a size is not an integer of at least 1, `num_heads` does not divide
            `embed_dim`, `num_kv_heads` does not divide `num_heads`, `dropout` is not a
            probability, or `rotary` is no `Rotary` of width `head_dim`.

    Source: Vaswani et al. (2017), section 3.2.2; grouped heads: Ainslie et al. (2023). Arguments
    are named as in `torch.nn.MultiheadAttention`; the layout is always (B, T, D). Half precision
    is computed in float32 between the projections.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        *,
        num_kv_heads: int | None = None,
        head_dim: int | None = None,
        rotary: Rotary | None = None,
        qdim: int | None = None,
        kdim: int | None = None,
        vdim: int | None = None,
        device=None,
        dtype=None,
    ):
        super().__init__()
        num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        require_heads(embed_dim, num_heads, num_kv_heads, head_dim)
        head_dim = embed_dim // num_heads if head_dim is None else head_dim
        qdim, kdim, vdim = (embed_dim if d is None else d for d in (qdim, kdim, vdim))
        require_sizes(qdim=qdim, kdim=kdim, vdim=vdim)
        require_bools(bias=bias)
        require_probability(dropout=dropout)
        require_rotary(rotary, head_dim)
        made = {"bias": bias, "device": device, "dtype": dtype}
        self.num_heads, self.head_dim, self.dropout = num_heads, head_dim, dropout
        self.rotary = rotary
        self.q_proj = nn.Linear(qdim, num_heads * head_dim, **made)
        self.k_proj = nn.Linear(kdim, num_kv_heads * head_dim, **made)
        self.v_proj = nn.Linear(vdim, num_kv_heads * head_dim, **made)
        self.out_proj = nn.Linear(num_heads * head_dim, embed_dim, **made)

    @keeps_cache
    @checked
    def forward(
        self,
        x: Float[Tensor, "B T Dq"],
        context: Float[Tensor, "B S Dk"] | None = None,
        values: Float[Tensor, "B S Dx"] | None = None,
        *,
        mask: Bool[Tensor, "..."] | None = None,
        is_causal: bool = False,
        positions: Int[Tensor, "..."] | None = None,
        cache: KeyValueCache | None = None,
        need_weights: bool = False,
    ) -> Float[Tensor, "B T D"] | tuple[Float[Tensor, "B T D"], Float[Tensor, "B H T S"]]:
        """Let the tokens of x look at the tokens of context, or at each other.

        Args:
            x: makes the queries, (B, T, qdim).
            context: makes keys and values, (B, S, kdim); x when left out.
            values: makes the values in the place of context, (B, S, vdim).
            mask: True = may attend; (T, S), or four dimensions that broadcast to (B, H, T, S).
                Two dimensions are never (B, S): `padding_mask` gives (B, 1, 1, S). What it hides
                has to be finite, because 0 times NaN is NaN.
            is_causal: a query sees no key after its own; the last query is aligned with
                the last key. Joined with `mask` if both are given.
            positions: of the tokens of x, for `rotary`, (T,) or (B, T); when left out they are
                counted from 0, or from the length of the cache.
            cache: holds keys and values of the tokens before x, and takes in those of x: S is
                its length after that.
            need_weights: also return the weights of every head, before dropout.

        Returns:
            out (B, T, D), or (out, weights) with weights (B, H, T, S). A query that may
            attend to nothing gets zero weights, so its output is the bias of `out_proj`.

        Raises:
            ValueError: if an input does not fit the module (width, dtype) or the others, the
                mask is not boolean or does not broadcast, a flag is not True or False,
                `is_causal` is asked for with fewer keys than queries, the cache is full or does
                not fit, or `positions`, `rotary` or a cache meets a `context`. After this or any
                other error the cache is as before.
        """
        require_bools(is_causal=is_causal, need_weights=need_weights)
        require_cache(cache)
        require_self_attention(context, values, positions, cache, self.rotary)
        context = x if context is None else context
        values = context if values is None else values
        require_same_tokens(x, context, values)
        require_input("x", x, self.q_proj, "qdim")
        require_input("context", context, self.k_proj, "kdim")
        require_input("values", values, self.v_proj, "vdim")

        q, k, v = self.project(x, context, values)
        past = 0 if cache is None else cache.length
        require_mask(mask, (*q.shape[:3], past + k.shape[2]))
        require_enough_keys(is_causal, q.shape[2], past + k.shape[2])
        if self.rotary is not None:
            q, k = self.rotary.both(q, k, positions, past)
        if cache is not None:
            k, v = cache.append(k, v)
        heads, weights = self.compute_heads(q, k, v, mask, is_causal, need_weights)
        out = self.out_proj(merge_heads(heads))
        return (out, weights) if need_weights else out

    def project(self, x, context, values):
        """q (B, H, T, Dh), k and v (B, Hkv, S, Dh): a width of n Dh is n heads."""
        projected = self.q_proj(x), self.k_proj(context), self.v_proj(values)
        require_whole_heads(self.head_dim, *projected)
        return tuple(split_heads(t, t.shape[-1] // self.head_dim) for t in projected)

    @in_float32
    def compute_heads(self, q, k, v, mask, is_causal, need_weights):
        """From q (B, H, T, Dh), k and v to heads (B, H, T, Dh) and weights (B, H, T, S)."""
        k, v = share_heads(k, q.shape[1]), share_heads(v, q.shape[1])
        scores = attention_scores(q, k)
        if is_causal:
            causal = causal_mask(q.shape[-2], k.shape[-2], q.device)
            scores = scores.masked_fill_(~causal, -torch.inf)  # in place: nobody else has them
            mask = None if mask is None else mask & causal
        weights = attention_weights(scores, mask)
        return F.dropout(weights, self.dropout, self.training) @ v, weights

    def new_cache(self, batch_size: int, capacity: int, dtype=None) -> KeyValueCache:
        """An empty cache for this layer and `capacity` tokens; of its dtype if none is given.

        Raises:
            ValueError: if a size is not an integer of at least 1.
        """
        made = {"device": self.k_proj.weight.device, "dtype": dtype or self.k_proj.weight.dtype}
        num_kv_heads = self.k_proj.out_features // self.head_dim
        return KeyValueCache(batch_size, num_kv_heads, capacity, self.head_dim, **made)

    def extra_repr(self) -> str:
        return f"num_heads={self.num_heads}, head_dim={self.head_dim}, dropout={self.dropout:g}"


class FusedMultiHeadAttention(MultiHeadAttention):
    """Multi-head attention without the (B, H, T, S) weights, unless `need_weights` asks.

    Constructor, parameters, inputs, outputs, gradients and errors are those of
    `MultiHeadAttention`: whatever takes one takes the other. One step differs. PyTorch's kernels
    in it have no second derivatives and no forward mode on a CPU, nor everywhere on a GPU: for
    these take `MultiHeadAttention`, or `torch.nn.attention.sdpa_kernel(SDPBackend.MATH)`.
    With dropout, and with `need_weights`, other weights are drawn from the same seed.
    """

    def compute_heads(self, q, k, v, mask, is_causal, need_weights):
        """From q, k, v (B, H, ., Dh) to heads (B, H, T, Dh), and weights only on request."""
        if need_weights:
            return super().compute_heads(q, k, v, mask, is_causal, need_weights)
        dropout = self.dropout if self.training else 0.0
        return attend_unchecked(q, k, v, mask, is_causal, dropout), None
