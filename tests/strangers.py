"""Multi-head attention in the styles of well-known packages, written for these tests; all right.

Built by a config, with added masks, tuples, causal by construction, rotary turns, lazy layers.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class TextConfig:
    block_size: int = 1024
    n_head: int = 12
    n_embd: int = 768
    dropout: float = 0.1
    bias: bool = True


class CausalByConfig(nn.Module):
    """As nanoGPT's: a config that nobody annotated, dropout behind the output layer, too."""

    def __init__(self, config):
        super().__init__()
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd, bias=config.bias)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd, bias=config.bias)
        self.resid_dropout = nn.Dropout(config.dropout)
        self.n_head, self.dropout = config.n_head, config.dropout

    def forward(self, x):
        q, k, v = (heads_of(t, self.n_head) for t in self.c_attn(x).chunk(3, dim=-1))
        p = self.dropout if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=p, is_causal=True)
        return self.resid_dropout(self.c_proj(y.transpose(1, 2).flatten(2)))


class EncoderConfig:
    """As Hugging Face's: attributes with defaults, set when it is made."""

    def __init__(self, **options):
        self.hidden_size, self.num_attention_heads = 768, 12
        self.attention_probs_dropout_prob = self.hidden_dropout_prob = 0.1
        vars(self).update(options)


class EncoderSelfAttention(nn.Module):
    """As Bert's: masks are added, the output layer stands elsewhere, weights in a tuple."""

    def __init__(self, config: EncoderConfig, layer_idx):
        super().__init__()
        self.num_attention_heads = config.num_attention_heads
        for name in ("query", "key", "value"):
            setattr(self, name, nn.Linear(config.hidden_size, config.hidden_size))
        self.dropout = nn.Dropout(config.attention_probs_dropout_prob)

    def forward(self, hidden_states, attention_mask=None, **kwargs):
        layers = (self.query, self.key, self.value)
        q, k, v = (heads_of(layer(hidden_states), self.num_attention_heads) for layer in layers)
        weights = self.weigh(self.score(q, k), attention_mask)
        heads = torch.matmul(self.dropout(weights), v).transpose(1, 2).contiguous()
        return heads.view(*hidden_states.shape), weights

    def score(self, q, k):
        return q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5

    def weigh(self, scores, mask):
        return (scores if mask is None else scores + mask).softmax(dim=-1)


class InputTimesWeight(nn.Module):
    """As GPT-2's Conv1D."""

    def __init__(self, width_out, width_in):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width_in, width_out) * 0.1)
        self.bias = nn.Parameter(torch.zeros(width_out))

    def forward(self, x):
        return x @ self.weight + self.bias


class DecoderAttention(nn.Module):
    """As GPT-2's and Llama's: weights the other way round, turned by angles that come in."""

    def __init__(self, config: EncoderConfig, layer_idx: int):
        super().__init__()
        self.head_dim = config.hidden_size // config.num_attention_heads
        self.c_attn = InputTimesWeight(3 * config.hidden_size, config.hidden_size)
        self.c_proj = InputTimesWeight(config.hidden_size, config.hidden_size)
        self.p = config.attention_probs_dropout_prob

    def forward(self, hidden_states, position_embeddings, attention_mask, past_key_values=None):
        cos, sin = (t.unsqueeze(1) for t in position_embeddings)
        qkv = self.c_attn(hidden_states).chunk(3, dim=-1)
        q, k, v = (t.unflatten(-1, (-1, self.head_dim)).transpose(1, 2) for t in qkv)
        q, k = (t * cos + torch.roll(t, 1, dims=-1) * sin for t in (q, k))
        p = self.p if self.training else 0.0
        is_causal = attention_mask is None  # as with attn_implementation="sdpa"
        y = F.scaled_dot_product_attention(q, k, v, attention_mask, p, is_causal)
        return self.c_proj(y.transpose(1, 2).flatten(2)), None


class LazyAttention(nn.Module):
    """As in Dive into Deep Learning: num_hiddens, layers that take their width from the input."""

    def __init__(self, num_hiddens, num_heads, dropout, bias=False):
        super().__init__()
        self.num_heads = num_heads
        self.dropout = nn.Dropout(dropout)
        for name in ("W_q", "W_k", "W_v", "W_o"):
            setattr(self, name, nn.LazyLinear(num_hiddens, bias=bias))

    def forward(self, queries, keys, values, valid_lens):
        pairs = ((self.W_q, queries), (self.W_k, keys), (self.W_v, values))
        q, k, v = (heads_of(layer(tokens), self.num_heads) for layer, tokens in pairs)
        weights = (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).softmax(dim=-1)
        return self.W_o((self.dropout(weights) @ v).transpose(1, 2).flatten(2))


class NoLayerForOneHead(nn.Module):
    """As x-transformers': a single head needs nobody to mix it; masks of two kinds."""

    def __init__(self, dim, dim_head=64, heads=8, dropout=0.0, kv_heads=None):
        super().__init__()
        self.heads, self.dropout = heads, nn.Dropout(dropout)
        for name in ("to_q", "to_k", "to_v"):
            setattr(self, name, nn.Linear(dim, dim_head * heads, bias=False))
        mixes = heads > 1 or dim != dim_head
        self.to_out = nn.Linear(dim_head * heads, dim, bias=False) if mixes else nn.Identity()

    def forward(self, x, context=None, mask=None, attn_mask=None):
        context = x if context is None else context
        pairs = ((self.to_q, x), (self.to_k, context), (self.to_v, context))
        q, k, v = (heads_of(layer(tokens), self.heads) for layer, tokens in pairs)
        sim = q @ k.mT * q.shape[-1] ** -0.5
        attn_mask = torch.ones(()).bool() if attn_mask is None else attn_mask
        attn = sim.masked_fill(~attn_mask, -1e9).softmax(dim=-1)
        return self.to_out((self.dropout(attn) @ v).transpose(1, 2).flatten(2))


def heads_of(x, num_heads):
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)
