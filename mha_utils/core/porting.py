"""Carry weights between `MultiHeadAttention` and `torch.nn.MultiheadAttention`, both ways."""

from torch import Tensor, nn

from mha_utils.core.guards import require_kind, require_width
from mha_utils.core.modules import MultiHeadAttention


def from_torch(
    module: nn.MultiheadAttention, kind: type[MultiHeadAttention] = MultiHeadAttention
) -> MultiHeadAttention:
    """A `MultiHeadAttention` with a copy of the weights of an `nn.MultiheadAttention`.

    It is called otherwise: `layer(x)` or `layer(x, context)` in place of `module(x, x, x)`, batch
    first; weights come only with `need_weights=True`, of every head; in a mask, True = may attend.

    Args:
        module: what is copied; what is frozen there is frozen here.
        kind: of the layer, `MultiHeadAttention` or `FusedMultiHeadAttention`.

    Raises:
        ValueError: if it is no `nn.MultiheadAttention`, or has `add_bias_kv` or `add_zero_attn`.
    """
    require_kind("module", module, nn.MultiheadAttention)
    if module.bias_k is not None or module.add_zero_attn:
        raise ValueError("add_bias_kv and add_zero_attn have no counterpart here")
    ours = kind(
        module.embed_dim,
        module.num_heads,
        module.dropout,
        module.in_proj_bias is not None,
        kdim=module.kdim,
        vdim=module.vdim,
        device=module.out_proj.weight.device,
        dtype=module.out_proj.weight.dtype,
    )
    for own, theirs in _pairs(ours, module):
        own.data.copy_(theirs)
        own.requires_grad_(theirs.requires_grad)
    return ours.train(module.training)


def to_torch(module: MultiHeadAttention) -> nn.MultiheadAttention:
    """An `nn.MultiheadAttention` (batch_first) with a copy of the weights.

    Raises:
        ValueError: if it is no `MultiHeadAttention`, or has what is not found there: `qdim`, or
            H Dh, other than `embed_dim`, fewer heads of keys and values, `rotary`.
    """
    require_kind("module", module, MultiHeadAttention)
    embed_dim = module.out_proj.out_features
    require_width("q_proj.weight", module.q_proj.weight, embed_dim, "embed_dim")
    for layer in (module.q_proj, module.k_proj, module.v_proj):
        if layer.out_features != embed_dim:
            raise ValueError(
                f"nn.MultiheadAttention has H Dh = embed_dim = {embed_dim} for queries, keys and "
                f"values, got {layer.out_features}"
            )
    if module.rotary is not None:
        raise ValueError("nn.MultiheadAttention has no rotary positions")
    theirs = nn.MultiheadAttention(
        embed_dim,
        module.num_heads,
        module.dropout,
        module.q_proj.bias is not None,
        kdim=module.k_proj.in_features,
        vdim=module.v_proj.in_features,
        batch_first=True,
        device=module.out_proj.weight.device,
        dtype=module.out_proj.weight.dtype,
    )
    for own, other in _pairs(module, theirs):
        other.data.copy_(own)
    return theirs.train(module.training)


def _pairs(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> list[tuple[Tensor, Tensor]]:
    """Our parameters, each beside the same one (or a view of it) of the other module."""
    projections = (ours.q_proj, ours.k_proj, ours.v_proj)
    if theirs.in_proj_weight is None:
        weights = (theirs.q_proj_weight, theirs.k_proj_weight, theirs.v_proj_weight)
    else:
        weights = theirs.in_proj_weight.chunk(3)
    pairs = [(p.weight, w) for p, w in zip(projections, weights)]
    pairs.append((ours.out_proj.weight, theirs.out_proj.weight))
    if theirs.in_proj_bias is not None:
        pairs += [(p.bias, b) for p, b in zip(projections, theirs.in_proj_bias.chunk(3))]
        pairs.append((ours.out_proj.bias, theirs.out_proj.bias))
    return pairs
