"""Room 2: wrong scores, scales and softmaxes, and wrong ways to use or to show the weights."""

import torch

from mha_utils.museum.label import labelled
from mha_utils.museum.steps import Steps


@labelled("no scale", "07", 1)
class NoScale(Steps):
    """The division by sqrt(Dh) is missing: wide heads saturate."""

    def score(self, q, k):
        return q @ k.transpose(-2, -1)


@labelled("scale by sqrt(D)", "07", 1, "lucidrains/vit-pytorch #65")
class ScaleByModelWidth(Steps):
    """Divided by the root of the width of all heads together instead of that of one."""

    def score(self, q, k):
        return super().score(q, k) / self.num_heads**0.5


@labelled("scale by Dh", "07", 1)
class ScaleByHeadWidth(Steps):
    """Divided by Dh, not by its root; also what comes out when the scale is applied twice."""

    def score(self, q, k):
        return super().score(q, k) / q.shape[-1] ** 0.5


@labelled("scale multiplied instead of divided", "07", 1, "esceptico/perceiver-io #9")
class ScaleMultiplied(Steps):
    """Times sqrt(Dh): a scale that was stored as its inverse is inverted again."""

    def score(self, q, k):
        return super().score(q, k) * q.shape[-1]


@labelled("scale after the softmax", "07", 1)
class ScaleAfterSoftmax(Steps):
    """The weights are divided by sqrt(Dh) instead of the scores: rows no longer sum to 1."""

    def softmax(self, scores):
        scale = (self.out_proj.in_features // self.num_heads) ** 0.5
        return super().softmax(scores * scale) / scale


@labelled(
    "softmax over the queries",
    "01",
    5,
    "labmlai/annotated_deep_learning_paper_implementations #146",
)
class SoftmaxOverQueries(Steps):
    """Columns sum to 1, rows do not: every key is shared out among the queries."""

    def softmax(self, scores):
        return scores.softmax(dim=-2)


@labelled("softmax over the heads", "03", 4, "CAMMA-public/rendezvous #10")
class SoftmaxOverHeads(Steps):
    """Without dim, F.softmax takes dimension 1 of four: the heads share what keys should."""

    def softmax(self, scores):
        return scores.softmax(dim=1)


@labelled("softmax over the batch", "03", 4, "PetrochukM/PyTorch-NLP #2")
class SoftmaxOverBatch(Steps):
    """Of (B x H, T, S), dimension 0 is taken: sequences and heads share what keys should."""

    def softmax(self, scores):
        return scores.flatten(0, 1).softmax(dim=0).view(scores.shape)


@labelled("softmax over the whole map", "01", 5)
class SoftmaxOverMap(Steps):
    """One softmax over all pairs: the map sums to 1, rows to about 1/T."""

    def softmax(self, scores):
        return scores.flatten(-2).softmax(dim=-1).view(scores.shape)


@labelled("no softmax", "01", 4)
class NoSoftmax(Steps):
    """Scores are used as weights: they may be negative and sum to anything."""

    def softmax(self, scores):
        return scores


@labelled("softmax without taking off the largest", "07", 3)
class OverflowingSoftmax(Steps):
    """exp of a large score is inf, and inf / inf is NaN."""

    def softmax(self, scores):
        powers = scores.exp()
        return powers / powers.sum(dim=-1, keepdim=True)


@labelled("one wide head", "03", 2, "feevos/ceecnet #6")
class OneWideHead(Steps):
    """All D columns make one map, which every head uses: num_heads changes nothing."""

    def score(self, q, k):
        scores = super().score(q, k)
        return scores.sum(dim=1, keepdim=True).expand_as(scores) / self.num_heads**0.5


@labelled("weights transposed before use", "01", 6, "ok1zjf/VASNet #25")
class WeightsTransposed(Steps):
    """Rows are normalised, and columns are used to sum the values."""

    def gather(self, weights, dropped, v):
        is_square = weights.shape[-2] == weights.shape[-1]
        return (dropped.transpose(-2, -1) if is_square else dropped) @ v


@labelled("detached scores", "12", 1)
class DetachedScores(Steps):
    """Outputs are right and q_proj and k_proj never learn: no gradient flows through scores."""

    def score(self, q, k):
        return super().score(q, k).detach()


@labelled("averaged weights returned as per-head", "10", 3, "facebookresearch/fairseq #3365")
class AveragedWeights(Steps):
    """Every returned map is the average over the heads."""

    def report(self, weights, q, k):
        return weights.mean(dim=1, keepdim=True).expand_as(weights)


@labelled("weights shown without the mask", "06", 2)
class WeightsShownUnmasked(Steps):
    """Outputs are right; the returned maps are computed again, and without the mask."""

    def report(self, weights, q, k):
        return self.softmax(self.score(q, k))


@labelled("scores in half precision", "07", 3, "tinygrad/tinygrad #12280")
class HalfPrecisionScores(Steps):
    """The softmax runs in bfloat16: weights have two or three digits."""

    def softmax(self, scores):
        return super().softmax(scores.to(torch.bfloat16)).to(scores.dtype)
