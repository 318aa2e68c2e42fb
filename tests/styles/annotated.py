"""As the annotated transformer's: four layers in a list, (B, T, S) masks; with an Adapter."""

import math
from dataclasses import replace

import torch
from torch import nn

from mha_utils import causal_mask
from mha_utils.checks import adapter_for


def attention(query, key, value, mask=None, dropout=None):
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    p_attn = scores.softmax(dim=-1)
    p_used = p_attn if dropout is None else dropout(p_attn)
    return torch.matmul(p_used, value), p_attn


class Attention(nn.Module):
    def __init__(self, h, d_model, dropout=0.1):
        super().__init__()
        self.d_k, self.h = d_model // h, h
        self.linears = nn.ModuleList(nn.Linear(d_model, d_model) for _ in range(4))
        self.attn = None
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, query, key, value, mask=None):
        if mask is not None:
            mask = mask.unsqueeze(1)  # the same for all heads
        nbatches = query.size(0)
        query, key, value = (
            lin(x).view(nbatches, -1, self.h, self.d_k).transpose(1, 2)
            for lin, x in zip(self.linears, (query, key, value))
        )
        x, self.attn = attention(query, key, value, mask=mask, dropout=self.dropout)
        x = x.transpose(1, 2).contiguous().view(nbatches, -1, self.h * self.d_k)
        return self.linears[-1](x)


def load(module, ours):
    layers = enumerate(("q", "k", "v", "out"))
    return {
        f"linears.{i}.{kind}": ours[f"{name}.{kind}"]
        for i, name in layers
        for kind in ("weight", "bias")
    }


known = adapter_for(Attention, empty_rows=False)


def call(module, x, context, mask, is_causal, need_weights):
    if is_causal:
        causal = causal_mask(x.shape[1], (x if context is None else context).shape[1])
        mask = causal if mask is None else mask & causal
    if mask is not None:
        mask = mask.squeeze(1) if mask.dim() == 4 else mask[None]
    return known.call(module, x, context, mask, False, need_weights)


adapter = replace(known, load=load, call=call, takes=known.takes - {"head masks"})
