"""Room 2: wrong scores, scales and softmaxes, and wrong ways to use or to show the weights."""

import torch

from mha_utils.museum.bug import piece
from mha_utils.museum.steps import Steps


@piece("no scale", "07", 1)
class NoScale(Steps):
    """The division by sqrt(Dh) is missing: wide heads saturate."""

    def score(self, q, k):
        return q @ k.transpose(-2, -1)


@piece("scale by sqrt(D)", "07", 1, "lucidrains/vit-pytorch #65")
class ScaleByModelWidth(Steps):
    """Divided by the root of the width of all heads together instead of that of one."""

    def score(self, q, k):
        return super().score(q, k) / self.num_heads**0.5


@piece("scale by Dh", "07", 1)
class ScaleByHeadWidth(Steps):
    """Divided by Dh, not by its root; also what comes out when the scale is applied twice."""

    def score(self, q, k):
        return super().score(q, k) / q.shape[-1] ** 0.5


@piece("scale multiplied instead of divided", "07", 1, "esceptico/perceiver-io #9")
class ScaleMultiplied(Steps):
    """Times sqrt(Dh): a scale that was stored as its inverse is inverted again."""

    def score(self, q, k):
        return super().score(q, k) * q.shape[-1]


@piece("scale after the softmax", "07", 1)
class ScaleAfterSoftmax(Steps):
    """The weights are divided by sqrt(Dh) instead of the scores: rows no longer sum to 1."""

    def softmax(self, scores):
        scale = (self.out_proj.in_features // self.num_heads) ** 0.5
        return super().softmax(scores * scale) / scale


@piece("softmax over the queries", "01", 3, "nerminnuraydogan/vision-transformer #1")
class SoftmaxOverQueries(Steps):
    """Columns sum to 1, rows do not: every key is shared out among the queries."""

    def softmax(self, scores):
        return scores.softmax(dim=-2)


@piece("softmax over the heads", "03", 3, "jadore801120/attention-is-all-you-need-pytorch #52")
class SoftmaxOverHeads(Steps):
    """Without dim, F.softmax takes dimension 1 of four: the heads share what keys should."""

    def softmax(self, scores):
        return scores.softmax(dim=1)


@piece("softmax over the batch", "03", 3, "PetrochukM/PyTorch-NLP #2")
class SoftmaxOverBatch(Steps):
    """Of (B x H, T, S), dimension 0 is taken: sequences and heads share what keys should."""

    def softmax(self, scores):
        return scores.flatten(0, 1).softmax(dim=0).view(scores.shape)


@piece("softmax over the whole map", "01", 3)
class SoftmaxOverMap(Steps):
    """One softmax over all pairs: the map sums to 1, rows to about 1/T."""

    def softmax(self, scores):
        return scores.flatten(-2).softmax(dim=-1).view(scores.shape)


@piece("no softmax", "01", 3)
class NoSoftmax(Steps):
    """Scores are used as weights: they may be negative and sum to anything."""

    def softmax(self, scores):
        return scores


@piece("softmax without taking off the largest", "07", 3)
class OverflowingSoftmax(Steps):
    """exp of a large score is inf, and inf / inf is NaN."""

    def softmax(self, scores):
        powers = scores.exp()
        return powers / powers.sum(dim=-1, keepdim=True)


@piece("one wide head", "03", 1, "feevos/ceecnet #6")
class OneWideHead(Steps):
    """All D columns make one map, which every head uses: num_heads changes nothing."""

    def score(self, q, k):
        scores = super().score(q, k)
        return scores.sum(dim=1, keepdim=True).expand_as(scores) / self.num_heads**0.5


@piece("weights transposed before use", "01", 2, "ok1zjf/VASNet #25")
class WeightsTransposed(Steps):
    """Rows are normalised, and columns are used to sum the values."""

    def gather(self, weights, dropped, v):
        is_square = weights.shape[-2] == weights.shape[-1]
        return (dropped.transpose(-2, -1) if is_square else dropped) @ v


@piece("detached scores", "10", 3)
class DetachedScores(Steps):
    """Outputs are right and q_proj and k_proj never learn: no gradient flows through scores."""

    def score(self, q, k):
        return super().score(q, k).detach()


@piece("averaged weights returned as per-head", "10", 4, "pytorch/pytorch #34537")
class AveragedWeights(Steps):
    """Every returned map is the average over the heads."""

    def report(self, weights, q, k):
        return weights.mean(dim=1, keepdim=True).expand_as(weights)


@piece("weights shown without the mask", "06", 2)
class WeightsShownUnmasked(Steps):
    """Outputs are right; the returned maps are computed again, and without the mask."""

    def report(self, weights, q, k):
        return self.softmax(self.score(q, k))


@piece("scores in half precision", "07", 4, "NVIDIA/apex #1052")
class HalfPrecisionScores(Steps):
    """The softmax runs in bfloat16: weights have two or three digits."""

    def softmax(self, scores):
        return super().softmax(scores.to(torch.bfloat16)).to(scores.dtype)
