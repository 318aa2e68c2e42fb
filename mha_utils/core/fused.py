"""The fast module: parameters and numbers of `MultiHeadAttention`, another way to get there."""

from mha_utils.core.kernels import attend
from mha_utils.core.modules import MultiHeadAttention


class FusedMultiHeadAttention(MultiHeadAttention):
    """Multi-head attention without the (B, H, T, S) weights, unless `need_weights` asks.

    Constructor, parameters, inputs, outputs, gradients and errors are those of
    `MultiHeadAttention`: whatever takes one takes the other. One step differs.
    """

    def compute_heads(self, q, k, v, mask, is_causal, need_weights):
        """From q, k, v (B, H, ., Dh) to heads (B, H, T, Dh), and weights only on request."""
        if need_weights:
            return super().compute_heads(q, k, v, mask, is_causal, need_weights)
        return attend(q, k, v, mask, is_causal, self.dropout if self.training else 0.0), None
