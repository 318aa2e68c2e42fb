"""As GPT-2's in Hugging Face's transformers: weights the other way round, a stored causal mask."""

import torch
from torch import nn


class GPT2Config:
    def __init__(self, **options):
        self.hidden_size, self.num_attention_heads, self.n_positions = 32, 4, 64
        self.attn_pdrop = self.resid_pdrop = 0.1
        vars(self).update(options)


class Conv1D(nn.Module):
    def __init__(self, nf, nx):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(nx, nf) * 0.1)
        self.bias = nn.Parameter(torch.zeros(nf))

    def forward(self, x):
        return x @ self.weight + self.bias


class Attention(nn.Module):
    def __init__(self, config: GPT2Config):
        super().__init__()
        ones = torch.ones(config.n_positions, config.n_positions, dtype=torch.bool)
        self.register_buffer("mask", torch.tril(ones)[None, None], persistent=False)
        self.split_size, self.num_heads = config.hidden_size, config.num_attention_heads
        self.head_dim = config.hidden_size // config.num_attention_heads
        self.c_attn = Conv1D(3 * self.split_size, self.split_size)
        self.c_proj = Conv1D(self.split_size, self.split_size)
        self.attn_dropout = nn.Dropout(config.attn_pdrop)
        self.resid_dropout = nn.Dropout(config.resid_pdrop)

    def forward(self, hidden_states, attention_mask=None):
        query, key, value = self.c_attn(hidden_states).split(self.split_size, dim=2)
        shape = (*query.shape[:-1], -1, self.head_dim)
        query = query.view(shape).transpose(1, 2)
        key = key.view(shape).transpose(1, 2)
        value = value.view(shape).transpose(1, 2)
        attn_weights = torch.matmul(query, key.transpose(-1, -2))
        attn_weights = attn_weights / value.size(-1) ** 0.5
        query_length, key_length = query.size(-2), key.size(-2)
        causal_mask = self.mask[:, :, key_length - query_length : key_length, :key_length]
        mask_value = torch.finfo(attn_weights.dtype).min
        attn_weights = torch.where(causal_mask, attn_weights, mask_value)
        if attention_mask is not None:
            attn_weights = attn_weights + attention_mask
        attn_weights = nn.functional.softmax(attn_weights, dim=-1)
        attn_weights = attn_weights.type(value.dtype)
        attn_output = torch.matmul(self.attn_dropout(attn_weights), value)
        attn_output = attn_output.transpose(1, 2)
        attn_output = attn_output.reshape(*hidden_states.shape).contiguous()
        return self.resid_dropout(self.c_proj(attn_output)), attn_weights
