"""Likely wrong answers to the exercises of chapter 16."""

import torch
from torch import nn


def block_of(forward):
    """A class like that of the exercise, with this `forward`."""

    class MyBlock(nn.Module):
        def __init__(self, norm, attention, mlp_norm, mlp):
            super().__init__()
            self.norm, self.attention = norm, attention
            self.mlp_norm, self.mlp = mlp_norm, mlp

    MyBlock.forward = forward
    return MyBlock


def no_first_sum(self, x):
    x = self.attention(self.norm(x), is_causal=True)
    return x + self.mlp(self.mlp_norm(x))


def no_second_sum(self, x):
    x = x + self.attention(self.norm(x), is_causal=True)
    return self.mlp(self.mlp_norm(x))


def norms_after_the_sums(self, x):
    x = self.norm(x + self.attention(x, is_causal=True))
    return self.mlp_norm(x + self.mlp(x))


def both_read_the_same(self, x):
    gathered = self.attention(self.norm(x), is_causal=True)
    return x + gathered + self.mlp(self.mlp_norm(x))


def sees_the_future(self, x):
    x = x + self.attention(self.norm(x))
    return x + self.mlp(self.mlp_norm(x))


def x_is_overwritten(self, x):
    x = self.norm(x)
    x = self.mlp_norm(x + self.attention(x, is_causal=True))
    return x + self.mlp(x)


def in_place(self, x):
    x += self.attention(self.norm(x), is_causal=True)
    return x + self.mlp(self.mlp_norm(x))


def wrong_name(self, x):
    return x + self.attn(x)


def top(scores, k, fill=-torch.inf, largest=True):
    kept = torch.zeros_like(scores, dtype=torch.bool)
    kept.scatter_(-1, scores.topk(min(k, scores.shape[-1]), largest=largest).indices, True)
    return scores.masked_fill(~kept, fill).softmax(dim=-1)


def cut_after_the_softmax(scores, k):
    return scores.softmax(dim=-1) * (top(scores, k) > 0)


def best_of_all_rows(scores, k):
    least = scores.flatten().topk(k).values[-1]
    return scores.masked_fill(scores < least, -torch.inf).softmax(dim=-1)


CHAPTER_16 = {
    "check_block": [
        (block_of(no_first_sum), "attention replaces x"),
        (block_of(no_second_sum), "the MLP replaces x"),
        (block_of(norms_after_the_sums), "each part should read a normed copy"),
        (block_of(both_read_the_same), "the MLP reads the x from before the attention"),
        (block_of(sees_the_future), "is_causal=True is missing"),
        (block_of(x_is_overwritten), "add to x itself"),
        (block_of(in_place), "change a tensor in place"),
        (block_of(wrong_name), "in your line `return x + self.attn(x)`"),
    ],
    "check_top_k": [
        (cut_after_the_softmax, "does not sum to 1"),
        (lambda scores, k: top(scores, k, fill=0.0), "a score of 0 is not a chance of 0"),
        (lambda scores, k: top(scores, k, largest=False), "the k worst"),
        (lambda scores, k: top(scores, k + 1), "one letter too many"),
        (lambda scores, k: scores.softmax(dim=-1), "k is not used"),
        (lambda scores, k: scores.topk(k).values.softmax(dim=-1), "should have shape"),
        (best_of_all_rows, "nan"),
    ],
}
CHAPTERS = {"16": CHAPTER_16}
