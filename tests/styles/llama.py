"""As Llama's in Hugging Face's transformers: turned by angles, shared keys, added masks."""

import torch
from torch import nn


class LlamaConfig:
    def __init__(self, **options):
        self.hidden_size, self.num_attention_heads, self.num_key_value_heads = 32, 4, 4
        self.attention_dropout, self.attention_bias = 0.0, False
        vars(self).update(options)


def rotate_half(x):
    first, second = x.chunk(2, dim=-1) if x.shape[-1] > 1 else (x, x)
    return torch.cat((-second, first), dim=-1)[..., : x.shape[-1]]


def repeat_kv(x, n_rep):
    return x.repeat_interleave(n_rep, dim=1)


class Attention(nn.Module):
    def __init__(self, config: LlamaConfig, layer_idx: int):
        super().__init__()
        self.head_dim = config.hidden_size // config.num_attention_heads
        self.groups = config.num_attention_heads // config.num_key_value_heads
        self.scaling, self.attention_dropout = self.head_dim**-0.5, config.attention_dropout
        width, kv_width = config.hidden_size, config.num_key_value_heads * self.head_dim
        self.q_proj = nn.Linear(width, width, bias=config.attention_bias)
        self.k_proj = nn.Linear(width, kv_width, bias=config.attention_bias)
        self.v_proj = nn.Linear(width, kv_width, bias=config.attention_bias)
        self.o_proj = nn.Linear(width, width, bias=config.attention_bias)

    def forward(self, hidden_states, position_embeddings, attention_mask=None, **kwargs):
        input_shape = hidden_states.shape[:-1]
        shape = (*input_shape, -1, self.head_dim)
        query = self.q_proj(hidden_states).view(shape).transpose(1, 2)
        key = self.k_proj(hidden_states).view(shape).transpose(1, 2)
        value = self.v_proj(hidden_states).view(shape).transpose(1, 2)
        cos, sin = (t.unsqueeze(1) for t in position_embeddings)
        query, key = (t * cos + rotate_half(t) * sin for t in (query, key))
        key, value = repeat_kv(key, self.groups), repeat_kv(value, self.groups)
        attn_weights = torch.matmul(query, key.transpose(2, 3)) * self.scaling
        if attention_mask is not None:
            attn_weights = attn_weights + attention_mask
        attn_weights = nn.functional.softmax(attn_weights, dim=-1, dtype=torch.float32)
        attn_weights = attn_weights.to(query.dtype)
        p = self.attention_dropout
        dropped = nn.functional.dropout(attn_weights, p=p, training=self.training)
        attn_output = torch.matmul(dropped, value)
        attn_output = attn_output.transpose(1, 2).contiguous()
        attn_output = attn_output.reshape(*input_shape, -1).contiguous()
        return self.o_proj(attn_output), attn_weights
