"""As Bert's in Hugging Face's transformers: added masks, the output layer stands elsewhere."""

import math

import torch
from torch import nn


class BertConfig:
    def __init__(self, **options):
        self.hidden_size, self.num_attention_heads = 32, 4
        self.attention_probs_dropout_prob = 0.1
        vars(self).update(options)


class Attention(nn.Module):
    def __init__(self, config: BertConfig):
        super().__init__()
        self.num_attention_heads = config.num_attention_heads
        self.attention_head_size = config.hidden_size // config.num_attention_heads
        self.query = nn.Linear(config.hidden_size, config.hidden_size)
        self.key = nn.Linear(config.hidden_size, config.hidden_size)
        self.value = nn.Linear(config.hidden_size, config.hidden_size)
        self.dropout = nn.Dropout(config.attention_probs_dropout_prob)

    def transpose_for_scores(self, x):
        shape = (*x.size()[:-1], self.num_attention_heads, self.attention_head_size)
        return x.view(shape).permute(0, 2, 1, 3)

    def forward(self, hidden_states, attention_mask=None):
        query_layer = self.transpose_for_scores(self.query(hidden_states))
        key_layer = self.transpose_for_scores(self.key(hidden_states))
        value_layer = self.transpose_for_scores(self.value(hidden_states))
        scores = torch.matmul(query_layer, key_layer.transpose(-1, -2))
        scores = scores / math.sqrt(self.attention_head_size)
        if attention_mask is not None:
            scores = scores + attention_mask
        probs = nn.functional.softmax(scores, dim=-1)
        dropped = self.dropout(probs)
        context = torch.matmul(dropped, value_layer)
        context = context.permute(0, 2, 1, 3).contiguous()
        context = context.view(hidden_states.size())
        return context, probs
