"""Likely wrong answers to the exercises of chapter 16."""

import torch
import torch.nn.functional as F


def shifted(scores, letters, targets=slice(1, None), **options):
    batched = scores.flatten(0, -3) if scores.ndim > 3 else scores
    batched = batched if batched.ndim == 3 else batched[None]
    wanted = letters[targets].expand(len(batched), -1)
    return F.cross_entropy(batched.mT, wanted, **options)


def picked(shares, letters):
    return shares[..., torch.arange(len(letters) - 1), letters[1:]].mean()


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
    "check_next_letter_loss": [
        (lambda s, i: shifted(s, i, slice(-1)), "for itself, which the model has just read"),
        (lambda s, i: -shifted(s, i), "minus the logarithm"),
        (lambda s, i: -picked(s, i), "the softmax is missing"),
        (lambda s, i: -picked(s.softmax(-1), i), "the logarithm is missing"),
        (lambda s, i: -picked(s.log_softmax(-2), i), "over the places, not over the letters"),
        (lambda s, i: shifted(s, i, reduction="none"), "should be one number (shape ())"),
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
