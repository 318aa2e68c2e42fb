"""Multi-head attention as other people write it: some right, ten wrong. Test data, not the museum.

Written for these tests, in the styles that one meets: einsum, a fused qkv, a mask buffer as in
GPT-2, a list of heads, (B x H) in one dimension, a wrapper around PyTorch's module.
"""

import math

import torch
import torch.nn.functional as F
from torch import einsum, nn


class EinsumAttention(nn.Module):
    """Right: einsum from end to end."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.scale = heads, (dim // heads) ** -0.5
        self.to_q, self.to_kv = nn.Linear(dim, dim), nn.Linear(dim, 2 * dim)
        self.to_out = nn.Sequential(nn.Linear(dim, dim))

    def forward(self, x, context=None, mask=None):
        context = x if context is None else context
        k, v = self.to_kv(context).chunk(2, dim=-1)
        q, k, v = (t.unflatten(-1, (self.heads, -1)) for t in (self.to_q(x), k, v))
        sim = einsum("bihd,bjhd->bhij", q, k) * self.scale
        if mask is not None:
            sim = sim.masked_fill(~mask, -torch.finfo(sim.dtype).max)
        attn = sim.softmax(dim=-1)
        if mask is not None:
            attn = attn * mask.any(dim=-1, keepdim=True)
        return self.to_out(einsum("bhij,bjhd->bihd", attn, v).flatten(2))


class FusedThenHeads(nn.Module):
    """Wrong: the fused qkv is cut into heads first, then each head into q, k and v."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.to_qkv, self.to_out = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim)

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = self.to_qkv(x).reshape(b, n, self.heads, 3, -1).permute(3, 0, 2, 1, 4)
        attn = (einsum("bhid,bhjd->bhij", q, k) / math.sqrt(q.shape[-1])).softmax(dim=-1)
        return self.to_out(einsum("bhij,bhjd->bhid", attn, v).transpose(1, 2).reshape(b, n, -1))


class CausalSelfAttention(nn.Module):
    """Right: as in GPT-2, with a stored mask; always causal."""

    def __init__(self, n_embd, n_head, dropout, block_size):
        super().__init__()
        self.n_head, self.n_embd = n_head, n_embd
        self.c_attn, self.c_proj = nn.Linear(n_embd, 3 * n_embd), nn.Linear(n_embd, n_embd)
        self.attn_dropout = nn.Dropout(dropout)
        ones = torch.ones(block_size, block_size)
        self.register_buffer("bias", torch.tril(ones).view(1, 1, block_size, block_size))

    def forward(self, x):
        B, T, C = x.size()
        heads = [t.view(B, T, self.n_head, C // self.n_head) for t in self.c_attn(x).split(C, 2)]
        q, k, v = (t.transpose(1, 2) for t in heads)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
        y = self.attn_dropout(F.softmax(att, dim=-1)) @ v
        return self.c_proj(self.join(y, B, T, C))

    def join(self, y, B, T, C):
        return y.transpose(1, 2).contiguous().view(B, T, C)


class CausalWithoutTranspose(CausalSelfAttention):
    """Wrong: the heads are joined as they lie in memory."""

    def join(self, y, B, T, C):
        return y.contiguous().view(B, T, C)


class BertSelfAttention(nn.Module):
    """Wrong: the additive mask is made of the mask itself, not of 1 - mask."""

    def __init__(self, hidden_size, num_attention_heads, attn_dropout):
        super().__init__()
        self.num_attention_heads = num_attention_heads
        self.query = nn.Linear(hidden_size, hidden_size)
        self.key = nn.Linear(hidden_size, hidden_size)
        self.value = nn.Linear(hidden_size, hidden_size)
        self.dense = nn.Linear(hidden_size, hidden_size)
        self.dropout = nn.Dropout(attn_dropout)

    def transpose_for_scores(self, x):
        return x.view(*x.shape[:2], self.num_attention_heads, -1).permute(0, 2, 1, 3)

    def forward(self, hidden_states, attention_mask=None):
        query = self.transpose_for_scores(self.query(hidden_states))
        key = self.transpose_for_scores(self.key(hidden_states))
        value = self.transpose_for_scores(self.value(hidden_states))
        scores = torch.matmul(query, key.transpose(-1, -2)) / math.sqrt(query.size(-1))
        if attention_mask is not None:
            scores = scores + attention_mask.to(scores.dtype) * -10000.0
        probabilities = self.dropout(scores.softmax(dim=-1))
        context = torch.matmul(probabilities, value).permute(0, 2, 1, 3).contiguous()
        return self.dense(context.view(hidden_states.shape))


class Head(nn.Module):
    def __init__(self, n_embd, head_size):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)

    def forward(self, x):
        wei = self.query(x) @ self.key(x).transpose(-2, -1) * self.scale(x)
        wei = wei.masked_fill(torch.ones(wei.shape[-2:]).tril() == 0, float("-inf"))
        return F.softmax(wei, dim=-1) @ self.value(x)

    def scale(self, x):
        return self.key.out_features**-0.5


class HeadScaledByModelWidth(Head):
    def scale(self, x):
        return x.shape[-1] ** -0.5


class HeadList(nn.Module):
    """Right: a list of heads; no biases but in the last layer; always causal."""

    head = Head

    def __init__(self, num_heads, n_embd):
        super().__init__()
        self.heads = nn.ModuleList(
            [self.head(n_embd, n_embd // num_heads) for _ in range(num_heads)]
        )
        self.proj = nn.Linear(n_embd, n_embd)

    def forward(self, x):
        return self.proj(torch.cat([head(x) for head in self.heads], dim=-1))


class HeadListScaledByModelWidth(HeadList):
    """Wrong: every head divides by the root of n_embd."""

    head = HeadScaledByModelWidth


def load_head_list(module, ours):
    """Our parameters for a list of heads: rows h x Dh to (h + 1) x Dh belong to head h."""
    theirs = {"proj.weight": ours["out.weight"], "proj.bias": ours["out.bias"]}
    for name in ("query", "key", "value"):
        rows = ours[f"{name[0]}.weight"].chunk(len(module.heads))
        theirs |= {f"heads.{h}.{name}.weight": row for h, row in enumerate(rows)}
    return theirs


class WrapsTorch(nn.Module):
    """Wrong: PyTorch's module, without batch_first, for (B, T, D)."""

    def __init__(self, d_model, nhead, dropout=0.1):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d_model, nhead, dropout)

    def forward(self, x):
        return self.self_attn(x, x, x, need_weights=False)[0]


class FlatBatchAndHeads(nn.Module):
    """Wrong: maps are (B x H, T, S), batch first; the masks are tiled heads first."""

    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        self.num_heads, self.dropout = num_heads, dropout
        self.in_proj, self.out_proj = (
            nn.Linear(embed_dim, 3 * embed_dim),
            nn.Linear(embed_dim, embed_dim),
        )

    def forward(self, query, mask=None):
        bsz, tgt_len, embed_dim = query.shape
        q, k, v = (
            t.reshape(bsz, tgt_len, self.num_heads, -1).transpose(1, 2).flatten(0, 1)
            for t in self.in_proj(query).chunk(3, dim=-1)
        )
        weights = torch.bmm(q, k.transpose(1, 2)) * q.shape[-1] ** -0.5
        if mask is not None:
            if mask.dim() == 4 and mask.size(1) == 1:
                mask = mask.squeeze(1).repeat(self.num_heads, 1, 1)
            elif mask.dim() == 4:
                mask = mask.flatten(0, 1)
            weights = weights.masked_fill(~mask, float("-inf"))
        weights = weights.softmax(dim=-1).nan_to_num()
        weights = F.dropout(weights, self.dropout, self.training)
        heads = torch.bmm(weights, v).view(bsz, self.num_heads, tgt_len, -1)
        return self.out_proj(heads.transpose(1, 2).reshape(bsz, tgt_len, embed_dim))


class AlwaysDropping(nn.Module):
    """Wrong: scaled_dot_product_attention keeps on dropping in evaluation."""

    def __init__(self, dim, num_heads, qkv_bias=True, attn_drop=0.0):
        super().__init__()
        self.num_heads, self.attn_drop = num_heads, attn_drop
        self.qkv = nn.Linear(dim, 3 * dim, bias=qkv_bias)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x, is_causal=False):
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.num_heads, C // self.num_heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        x = F.scaled_dot_product_attention(q, k, v, dropout_p=self.attn_drop, is_causal=is_causal)
        return self.proj(x.transpose(1, 2).reshape(B, N, C))


def adds_the_mask(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False):
    """Wrong: a boolean mask is turned to 0.0 and 1.0 and added."""
    L, S = query.size(-2), key.size(-2)
    attn_bias = torch.zeros(L, S, dtype=query.dtype)
    if is_causal:
        attn_bias = attn_bias.masked_fill(~torch.ones(L, S, dtype=torch.bool).tril(), float("-inf"))
    if attn_mask is not None:
        attn_bias = attn_bias + attn_mask.to(query.dtype)
    attn_weight = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1)) + attn_bias
    return torch.dropout(attn_weight.softmax(dim=-1), dropout_p, train=True) @ value


class SeesTheNextToken(nn.Module):
    """Wrong: triu with diagonal=2, so the next token is not hidden; always causal."""

    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        ones = torch.ones(context_length, context_length)
        self.register_buffer("mask", torch.triu(ones, diagonal=2))

    def forward(self, x):
        b, num_tokens, _ = x.shape
        shape = (b, num_tokens, self.num_heads, self.head_dim)
        keys = self.W_key(x).view(shape).transpose(1, 2)
        queries = self.W_query(x).view(shape).transpose(1, 2)
        values = self.W_value(x).view(shape).transpose(1, 2)
        attn_scores = queries @ keys.transpose(2, 3)
        attn_scores.masked_fill_(self.mask.bool()[:num_tokens, :num_tokens], -torch.inf)
        attn_weights = torch.softmax(attn_scores / keys.shape[-1] ** 0.5, dim=-1)
        context = (self.dropout(attn_weights) @ values).transpose(1, 2)
        return self.out_proj(context.contiguous().view(b, num_tokens, -1))


class SavesMemory(nn.Module):
    """Wrong: the weights are made under no_grad, so queries and keys never learn."""

    def __init__(self, d_model, h):
        super().__init__()
        self.h = h
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, q, k, v, mask=None):
        q, k, v = (
            layer(t).unflatten(-1, (self.h, -1)).transpose(1, 2)
            for layer, t in ((self.wq, q), (self.wk, k), (self.wv, v))
        )
        with torch.no_grad():
            scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
            if mask is not None:
                scores = scores.masked_fill(mask == 0, float("-inf"))
            weights = scores.softmax(dim=-1).nan_to_num()
        return self.wo((weights @ v).transpose(1, 2).flatten(2))
