"""Rare bugs between scores and output: other scales, other softmaxes, other fills."""

from collections.abc import Callable

import torch

from mha_utils.museum import Steps


def scaled(divisor: Callable, wrong: str) -> type[Steps]:
    """Scores are divided by divisor(layer, q, k)."""

    class Scaled(Steps):
        def score(self, q, k):
            return q @ k.transpose(-2, -1) / divisor(self, q, k)

    Scaled.__doc__ = f"Divided by {wrong}, not by the root of the width of a head."
    return Scaled


def filled(number: float, wrong: str) -> type[Steps]:
    """Hidden scores are set to this number."""

    class Filled(Steps):
        def weigh(self, scores, mask):
            scores = scores if mask is None else scores.masked_fill(~mask, number)
            return scores.softmax(dim=-1)

    Filled.__doc__ = wrong
    return Filled


class AddedTen(Steps):
    """-10 is added to hidden scores: they keep a share, and more of it where others are low."""

    def hide(self, scores, mask):
        return scores - 10.0 * ~mask

    def weigh(self, scores, mask):
        return self.softmax(scores if mask is None else self.hide(scores, mask))


class ClippedScores(Steps):
    """Scores are cut at -10 and 10: what is larger counts no more than 10."""

    def score(self, q, k):
        return super().score(q, k).clamp(-10, 10)


class SoftmaxOverSequences(Steps):
    """dim=0 of (B, H, T, S): the sequences of the batch share what keys should."""

    def softmax(self, scores):
        return scores.softmax(dim=0)


class SoftmaxTwice(Steps):
    """The weights go through a second softmax: they are nearly equal for all keys."""

    def softmax(self, scores):
        return super().softmax(super().softmax(scores))


class Sigmoid(Steps):
    """Every weight stands for itself, so rows do not sum to 1."""

    def softmax(self, scores):
        return scores.sigmoid()


class AverageMap(Steps):
    """The weights are averaged over the heads before they are used: every head has one map."""

    def attend(self, scores, mask):
        weights = self.weigh(scores, mask)
        weights = weights.mean(dim=1, keepdim=True).expand_as(weights)
        return weights, self.drop(weights)


class HeadsMeetHeads(Steps):
    """A transpose(1, 2) is missing at the split: maps are (B, T, H, H), and tokens never meet."""

    def split(self, x):
        return x.unflatten(-1, (self.num_heads, -1))

    def join(self, mask, *rest):
        return None

    def merge(self, heads):
        return heads.flatten(2)


class HeadsMeetHeadsAndMix(HeadsMeetHeads):
    """A transpose(1, 2) is missing at the split: tokens never meet but by the one at the merge."""

    def merge(self, heads):
        return heads.transpose(1, 2).reshape(len(heads), heads.shape[1], -1)


SMALL = "Hidden scores are set to {}: they keep a share, and more of it where scores are low."
LARGE = "The sign is wrong: what should be hidden gets all the weight."
SCORING = {
    "scale by sqrt(S), the number of keys": scaled(
        lambda layer, q, k: k.shape[-2] ** 0.5, "the root of the number of keys"
    ),
    "scale by sqrt(T), the number of queries": scaled(
        lambda layer, q, k: q.shape[-2] ** 0.5, "the root of the number of queries"
    ),
    "scale by sqrt(H), the number of heads": scaled(
        lambda layer, q, k: q.shape[1] ** 0.5, "the root of the number of heads"
    ),
    "scale by D": scaled(lambda layer, q, k: layer.out_proj.in_features, "the width of the model"),
    "scores clipped at 10": ClippedScores,
    "softmax over the sequences": SoftmaxOverSequences,
    "softmax twice": SoftmaxTwice,
    "sigmoid in place of the softmax": Sigmoid,
    "average of the heads' weights used by all": AverageMap,
    "heads attend to heads": HeadsMeetHeads,
    "heads attend to heads, merged with a transpose": HeadsMeetHeadsAndMix,
    "fill too small: -1": filled(-1.0, SMALL.format(-1)),
    "fill too small: -100": filled(-100.0, SMALL.format(-100)),
    "fill too small: -10 is added": AddedTen,
    "fill of the wrong sign": filled(1e9, LARGE),
    "fill of the wrong sign: +inf": filled(torch.inf, LARGE + " inf / inf is NaN."),
}


# ---- what right layers do with rows where every key is hidden: bugs are tried with it


class NaNInEmptyRows(Steps):
    """The softmax of nothing but -inf."""

    def weigh(self, scores, mask):
        return self.softmax(scores if mask is None else self.hide(scores, mask))

    def softmax(self, scores):
        return scores.softmax(dim=-1)


class EqualInEmptyRows(NaNInEmptyRows):
    """A large negative number in the place of -inf."""

    def hide(self, scores, mask):
        return scores.masked_fill(~mask, torch.finfo(scores.dtype).min)


class AddedToFilled(NaNInEmptyRows):
    """-inf is added where the given mask hides; the causal one fills with a large number."""

    def join(self, mask, *rest):
        self.given = mask
        return super().join(mask, *rest)

    def hide(self, scores, mask):
        filled = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        if self.given is None:
            return filled
        return filled + torch.zeros(self.given.shape).masked_fill(~self.given, -torch.inf)


WAYS = (NaNInEmptyRows, EqualInEmptyRows, AddedToFilled)
