"""Room 1: wrong projections, splits and merges."""

import torch
import torch.nn.functional as F

from mha_utils.museum.label import labelled
from mha_utils.museum.steps import Steps


@labelled("direct view to heads", "04", 4, "reczoo/FuxiCTR #30")
class DirectView(Steps):
    """The columns are viewed as (B, H, T, Dh) at once: a head gets whole tokens, not columns."""

    def split(self, x):
        return x.reshape(len(x), self.num_heads, x.shape[1], -1)


@labelled("columns dealt out like cards", "04", 2)
class ColumnsDealtOut(Steps):
    """Head h gets every H-th column instead of Dh neighbours."""

    def split(self, x):
        return x.unflatten(-1, (-1, self.num_heads)).permute(0, 3, 1, 2)


@labelled("heads split before cutting a fused qkv", "04", 1, "tenstorrent/tt-metal #41550")
class HeadsBeforeThirds(Steps):
    """The 3D columns of a fused qkv are cut into H heads first and into q, k, v after that."""

    def project(self, x, context, values):
        thirds = super().project(x, context, values)
        if x is not context:  # nothing is fused in cross-attention
            return thirds
        fused = torch.cat(thirds, dim=-1).unflatten(-1, (self.num_heads, -1))  # (B, T, H, 3Dh)
        return [part.flatten(2) for part in fused.chunk(3, dim=-1)]


@labelled("merge without transpose", "09", 2, "jsbaan/transformer-from-scratch #6")
class MergeWithoutTranspose(Steps):
    """The heads are joined as they lie in memory: rows mix tokens and hand back the future."""

    def merge(self, heads):
        batch_size, num_heads, seq_len, head_dim = heads.shape
        return heads.contiguous().view(batch_size, seq_len, num_heads * head_dim)


@labelled("merge with the heads as the fast dimension", "09", 2)
class MergeInterleaved(Steps):
    """Merged rows hold column 0 of every head first: heads and columns are exchanged."""

    def merge(self, heads):
        return heads.permute(0, 2, 3, 1).flatten(2)


@labelled("heads added up, not put side by side", "09", 6, "awf/functional-transformer #8")
class HeadsAdded(Steps):
    """Every head's place gets the sum of all heads."""

    def merge(self, heads):
        return super().merge(heads.sum(dim=1, keepdim=True).expand_as(heads))


@labelled("v through k's projection", "10", 1, "yflyzhang/AnnotatedTransformer #1")
class ValuesThroughKeys(Steps):
    """A copied line: the values go through k_proj, and v_proj is never used."""

    def project(self, x, context, values):
        return self.q_proj(x), self.k_proj(context), self.k_proj(values)


@labelled("q and k swapped", "01", 3)
class QueriesAndKeysSwapped(Steps):
    """Queries are made with k_proj and keys with q_proj: every map is transposed."""

    def project(self, x, context, values):
        return self.k_proj(x), self.q_proj(context), self.v_proj(values)


@labelled("missing output projection", "09", 5, "Kyubyong/transformer #117")
class NoOutputProjection(Steps):
    """The merged heads are returned as they are: no column mixes two heads."""

    def project_out(self, merged):
        return merged


@labelled("output projection applied twice", "09", 6)
class OutputProjectionTwice(Steps):
    """Once in the attention and once more in the block around it."""

    def project_out(self, merged):
        return self.out_proj(self.out_proj(merged))


@labelled("output weight not transposed", "09", 5)
class OutputNotTransposed(Steps):
    """merged @ weight: nn.Linear stores (outputs, inputs), so it has to be weight.T."""

    def project_out(self, merged):
        out = merged @ self.out_proj.weight
        return out if self.out_proj.bias is None else out + self.out_proj.bias


@labelled("biases left behind", "10", 1)
class BiasesLeftBehind(Steps):
    """q, k and v without their biases: a fresh nn.MultiheadAttention has zeros there."""

    def project(self, x, context, values):
        layers = (self.q_proj, self.k_proj, self.v_proj)
        return [F.linear(t, layer.weight) for t, layer in zip((x, context, values), layers)]


@labelled("residual added inside", "10", 1)
class ResidualInside(Steps):
    """The token's own vector is added at once, and the block around it will add it again."""

    def forward(self, x, *others, **options):
        result = super().forward(x, *others, **options)
        return (result[0] + x, result[1]) if isinstance(result, tuple) else result + x


@labelled("batch and time exchanged by view", "10", 3, "rish-16/tokenlearner-pytorch #1")
class BatchAndTimeExchanged(Steps):
    """(B, T, D) is read as (T, B, D) by a view: sequences get tokens of other sequences."""

    def arrange(self, *tokens):
        return [t.reshape(t.shape[1], t.shape[0], -1).transpose(0, 1) for t in tokens]
