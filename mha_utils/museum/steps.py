"""The right module once more, as a row of small steps: every bug is in exactly one."""

import torch
import torch.nn.functional as F

from mha_utils.core.masks import sliding_window_mask
from mha_utils.core.modules import MultiHeadAttention
from mha_utils.core.steps import (
    attention_scores,
    causal_mask,
    merge_heads,
    share_heads,
    split_heads,
)


class Steps(MultiHeadAttention):
    """`MultiHeadAttention` with every step a method: same parameters, numbers and gradients.

    Nothing is checked here: a bug has to show in the numbers.
    """

    def forward(
        self,
        x,
        context=None,
        values=None,
        *,
        mask=None,
        is_causal=False,
        positions=None,
        cache=None,
        need_weights=False,
    ):
        context = x if context is None else context
        values = context if values is None else values
        x, context, values = self.arrange(x, context, values)
        q, k, v = (self.split(t) for t in self.project(x, context, values))
        q, k, v = self.turn_and_store(q, k, v, positions, cache)
        mask = self.join(mask, is_causal, q.shape[2], k.shape[2])
        k, v = self.share(k, q.shape[1]), self.share(v, q.shape[1])
        weights, dropped = self.attend(self.score(q, k), mask)
        out = self.project_out(self.merge(self.gather(weights, dropped, v)))
        return (out, self.report(weights, q, k)) if need_weights else out

    def arrange(self, x, context, values):
        """The tokens, (B, T, D) and (B, S, D)."""
        return x, context, values

    def join(self, mask, is_causal, query_len, key_len):
        """One mask from the given one and the causal one; None if there is neither."""
        if not is_causal:
            return mask
        causal = self.causal(query_len, key_len)
        return causal if mask is None else mask & causal

    def causal(self, query_len, key_len):
        """(T, S), True where a query may look."""
        return causal_mask(query_len, key_len)

    def window(self, query_len, key_len, window, sinks=0):
        """(T, S), True where a query may look that sees a window: a mask that the caller gives."""
        return sliding_window_mask(query_len, key_len, window=window, sinks=sinks)

    def project(self, x, context, values):
        """q (B, T, D), k and v (B, S, D)."""
        return self.q_proj(x), self.k_proj(context), self.v_proj(values)

    def split(self, x):
        """(B, T, D) to (B, H, T, Dh)."""
        return split_heads(x, x.shape[-1] // self.head_dim)

    def turn_and_store(self, q, k, v, positions, cache):
        """Queries and keys by their positions; then keys and values of all tokens so far."""
        start = self.start(cache)
        q, k = self.turn(q, positions, start), self.turn(k, positions, start)
        return (q, k, v) if cache is None else (q, *self.store(cache, k, v))

    def start(self, cache):
        """The position of the first token of x."""
        return 0 if cache is None else cache.length

    def turn(self, heads, positions, start):
        """Queries or keys, turned if the layer has positions."""
        return heads if self.rotary is None else self.rotary(heads, positions, start)

    def store(self, cache, k, v):
        """Keys and values of all tokens so far, (B, Hkv, S, Dh)."""
        return cache.append(k, v)

    def share(self, heads, num_heads):
        """Keys or values as the heads see them, from (B, Hkv, S, Dh) to (B, H, S, Dh)."""
        return share_heads(heads, num_heads)

    def score(self, q, k):
        """(B, H, T, S)."""
        return attention_scores(q, k)

    def attend(self, scores, mask):
        """The weights before dropout and after it."""
        weights = self.weigh(scores, mask)
        return weights, self.drop(weights)

    def weigh(self, scores, mask):
        """Mask, softmax, and zeros for rows with nothing to attend to."""
        if mask is None:
            return self.softmax(scores)
        return self.softmax(self.hide(scores, mask)).masked_fill(~mask, 0.0)

    def hide(self, scores, mask):
        """The scores with -inf where a query may not look."""
        return scores.masked_fill(~mask, -torch.inf)

    def softmax(self, scores):
        """Shares over the keys; equal ones, not NaN, in a row where every key is hidden."""
        empty = (scores == -torch.inf).all(dim=-1, keepdim=True)
        return scores.masked_fill(empty, 0.0).softmax(dim=-1)

    def drop(self, weights):
        """Dropout, in training only."""
        return F.dropout(weights, self.dropout, self.training)

    def gather(self, weights, dropped, v):
        """(B, H, T, S) times (B, H, S, Dh); what is used is what dropout has left."""
        return dropped @ v

    def merge(self, heads):
        """(B, H, T, Dh) to (B, T, D)."""
        return merge_heads(heads)

    def project_out(self, merged):
        """The last layer, (B, T, D)."""
        return self.out_proj(merged)

    def report(self, weights, q, k):
        """The weights that the caller gets, (B, H, T, S): before dropout."""
        return weights
