"""Room 4: wrong dropout."""

import torch
import torch.nn.functional as F

from mha_utils.museum.label import labelled
from mha_utils.museum.steps import Steps


@labelled("dropout without 1/(1 - p)", "08", 2)
class NoRescaling(Steps):
    """What is kept is not divided by 1 - p: training sees smaller sums than evaluation."""

    def drop(self, weights):
        return super().drop(weights) * (1 - self.dropout if self.training else 1)


@labelled("dropout with p as the probability to keep", "08", 2)
class KeepsWithP(Steps):
    """p is read as keep_prob, as in TensorFlow 1: with p = 0.1, nine of ten are dropped."""

    def drop(self, weights):
        return F.dropout(weights, 1 - self.dropout if self.dropout else 0.0, self.training)


@labelled("dropout on the scores", "08", 2)
class DropsScores(Steps):
    """Scores are dropped before the softmax, and exp(0) = 1 is a share like any other."""

    def attend(self, scores, mask):
        weights = self.weigh(self.drop(scores), mask)
        return weights, weights


@labelled("dropout on the values", "08", 2)
class DropsValues(Steps):
    """Numbers of the values are dropped in the place of weights: all queries miss the same."""

    def gather(self, weights, dropped, v):
        return weights @ self.drop(v)


@labelled("dropout on what is gathered", "08", 2, "nikhilbarhate99/min-decision-transformer #2")
class DropsGathered(Steps):
    """What the heads have gathered is dropped, instead of weights."""

    def gather(self, weights, dropped, v):
        return self.drop(weights @ v)


@labelled("dropout shared by the heads", "08", 2)
class DropsForAllHeads(Steps):
    """One draw of (T, S) for all heads: they lose the same weights."""

    def drop(self, weights):
        return weights * super().drop(torch.ones_like(weights[:, :1]))


@labelled("dropout shared by the batch", "08", 2)
class DropsForAllSequences(Steps):
    """One draw for all sequences: they lose the same weights."""

    def drop(self, weights):
        return weights * super().drop(torch.ones_like(weights[:1]))


@labelled("dropout of whole keys", "08", 2)
class DropsKeys(Steps):
    """One draw for all queries: a dropped key is missing everywhere."""

    def drop(self, weights):
        return weights * super().drop(torch.ones_like(weights[:, :, :1]))


@labelled("dropout left on in evaluation", "08", 5, "pytorch/pytorch #124464")
class DropsInEvaluation(Steps):
    """F.dropout is called without training=self.training, whose default is True."""

    def drop(self, weights):
        return F.dropout(weights, self.dropout)


@labelled("dropout never applied", "08", 2, "zhouhaoyi/Informer2020 #97")
class NeverDrops(Steps):
    """The probability is stored, and nothing uses it."""

    def drop(self, weights):
        return weights


@labelled("rows renormalised after dropout", "08", 2)
class RenormalisesRows(Steps):
    """What is kept is divided by its sum, not by 1 - p: rows sum to 1 again."""

    def drop(self, weights):
        kept = super().drop(weights)
        return kept / kept.sum(dim=-1, keepdim=True).clamp(min=1e-9)


@labelled("weights returned after dropout", "10", 3, "pytorch/pytorch #42929")
class WeightsAfterDropout(Steps):
    """Outputs are right; in training the returned rows do not sum to 1."""

    def attend(self, scores, mask):
        _, dropped = super().attend(scores, mask)
        return dropped, dropped
