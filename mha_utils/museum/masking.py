"""Room 3: wrong masks."""

import torch

from mha_utils.museum.label import labelled
from mha_utils.museum.steps import Steps

MAX_LEN = 64  # of the stored mask


def everywhere(query_len: int, key_len: int) -> torch.Tensor:
    """(T, S), True: every query may look at every key."""
    return torch.ones(query_len, key_len, dtype=torch.bool)


@labelled("mask inverted", "06", 4, "InseeFrLab/torchTextClassifiers #92")
class MaskInverted(Steps):
    """The given mask is read upside down: True as "not allowed"."""

    def join(self, mask, *rest):
        return super().join(None if mask is None else ~mask, *rest)


@labelled("mask ignored", "06", 1)
class MaskIgnored(Steps):
    """The given mask is accepted and never used."""

    def join(self, mask, *rest):
        return super().join(None, *rest)


@labelled("causal upside down", "06", 1, "rasbt/LLMs-from-scratch #1061")
class CausalUpsideDown(Steps):
    """triu in the place of tril: a token sees itself and the future, not the past."""

    def causal(self, query_len, key_len):
        return everywhere(query_len, key_len).triu(diagonal=key_len - query_len)


@labelled("causal off by one: a token cannot see itself", "06", 1)
class CausalHidesItself(Steps):
    """One key too few: the first token has nothing to attend to."""

    def causal(self, query_len, key_len):
        return everywhere(query_len, key_len).tril(diagonal=key_len - query_len - 1)


@labelled("causal off by one: the next token is seen", "06", 1)
class CausalShowsTheNext(Steps):
    """One key too many: exactly what a language model has to predict."""

    def causal(self, query_len, key_len):
        return everywhere(query_len, key_len).tril(diagonal=key_len - query_len + 1)


@labelled("top-left causal with a cache", "06", 4, "pytorch/pytorch #108108")
class CausalTopLeft(Steps):
    """With more keys than queries the first query is aligned with the first key."""

    def causal(self, query_len, key_len):
        return everywhere(query_len, key_len).tril()


@labelled("stored mask cut at the wrong end", "06", 1)
class StoredMaskWrongEnd(Steps):
    """Of a stored 64 x 64 mask the last rows are taken: they hide nothing."""

    def causal(self, query_len, key_len):
        return everywhere(MAX_LEN, MAX_LEN).tril()[-query_len:, :key_len]


@labelled("causal only in training", "06", 1, "shiyu-coder/Kronos #199")
class CausalOnlyInTraining(Steps):
    """is_causal=self.training: in evaluation the future is open."""

    def join(self, mask, is_causal, *lengths):
        return super().join(mask, is_causal and self.training, *lengths)


@labelled("causal dropped when a mask is given", "06", 3, "huggingface/transformers #41966")
class CausalDropped(Steps):
    """A padding mask replaces the causal one instead of joining it."""

    def join(self, mask, is_causal, *lengths):
        return super().join(mask, is_causal and mask is None, *lengths)


@labelled("mask dropped when causal", "06", 3, "nari-labs/dia #170")
class MaskDropped(Steps):
    """With is_causal the padding mask is forgotten: padding is attended to."""

    def join(self, mask, is_causal, *lengths):
        return super().join(None if is_causal else mask, is_causal, *lengths)


@labelled("causal skipped without a mask", "06", 3, "facebookresearch/xformers #103")
class CausalSkipped(Steps):
    """The causal mask only ever joins a given one; alone it is not applied."""

    def join(self, mask, is_causal, *lengths):
        return super().join(mask, is_causal and mask is not None, *lengths)


@labelled("either mask is enough", "06", 3)
class EitherMask(Steps):
    """Joined with "or" instead of "and": a key needs only one of two permissions."""

    def join(self, mask, is_causal, *lengths):
        joined = super().join(mask, is_causal, *lengths)
        return joined if mask is None or not is_causal else mask | self.causal(*lengths)


@labelled("mask of one sequence used for all", "06", 3)
class MaskOfFirstSequence(Steps):
    """Every sequence of the batch gets the padding mask of the first."""

    def join(self, mask, *rest):
        has_batch = mask is not None and mask.ndim == 4
        return super().join(mask[:1] if has_batch else mask, *rest)


@labelled("mask of one head used for all", "06", 3)
class MaskOfFirstHead(Steps):
    """A mask for each head comes in, and that of head 0 is used."""

    def join(self, mask, *rest):
        has_heads = mask is not None and mask.ndim == 4
        return super().join(mask[:, :1] if has_heads else mask, *rest)


@labelled("mask repeated in the wrong order", "06", 3, "line/lighthouse #77")
class MaskRepeatedWrongly(Steps):
    """For (B x H) maps the batch of masks is tiled with repeat, not with repeat_interleave."""

    def join(self, mask, *rest):
        if mask is not None and mask.ndim == 4 and mask.shape[1] == 1:
            tiled = mask.repeat(self.num_heads, 1, 1, 1)  # (H x B, 1, ., S), heads first
            mask = tiled.view(len(mask), self.num_heads, *mask.shape[2:])  # read batch first
        return super().join(mask, *rest)


@labelled("padding hides queries, not keys", "06", 3, "hyunwoongko/transformer #40")
class PaddingHidesQueries(Steps):
    """The padding mask stands the wrong way: (B, 1, S, 1) instead of (B, 1, 1, S)."""

    def join(self, mask, is_causal, query_len, key_len):
        if mask is not None and mask.shape[-2] == 1 and query_len == key_len:
            mask = mask.transpose(-2, -1)
        return super().join(mask, is_causal, query_len, key_len)


@labelled("mask after the softmax", "06", 2, "huggingface/pytorch-image-models #2236")
class MaskAfterSoftmax(Steps):
    """Hidden weights are set to 0 when the sum over all keys has been divided by."""

    def hide(self, scores, mask):
        return scores


@labelled("float 0/1 mask added", "06", 4, "pytorch/pytorch #21518")
class MaskAdded(Steps):
    """A mask of ones and zeros is added to the scores: it hides nothing."""

    def weigh(self, scores, mask):
        return self.softmax(scores if mask is None else scores + mask.to(scores.dtype))


@labelled("mask multiplied into the scores", "06", 3)
class MaskMultiplied(Steps):
    """Hidden scores become 0, and exp(0) = 1 is a share like any other."""

    def weigh(self, scores, mask):
        return self.softmax(scores if mask is None else scores * mask)


@labelled("-1e9 fill", "07", 3, "NVIDIA/apex #1052")
class LargeNegativeFill(Steps):
    """A row with nothing to attend to attends to everything alike; half precision overflows."""

    def weigh(self, scores, mask):
        return self.softmax(scores if mask is None else scores.masked_fill(~mask, -1e9))


@labelled("fill too small", "07", 3, "karpathy/minGPT #75")
class SmallNegativeFill(Steps):
    """Hidden scores are set to -10: large scores of the model shine through from behind."""

    def weigh(self, scores, mask):
        return self.softmax(scores if mask is None else scores.masked_fill(~mask, -10.0))


@labelled("NaN rows", "06", 3, "pytorch/pytorch #41508")
class NaNRows(Steps):
    """A row of nothing but -inf: the softmax gives NaN."""

    def weigh(self, scores, mask):
        return (scores if mask is None else self.hide(scores, mask)).softmax(dim=-1)


@labelled("NaN only in the gradient", "06", 3, "pytorch/pytorch #41508")
class NaNGradients(Steps):
    """-inf is added, and nan_to_num cleans the weights: values are right, gradients are NaN."""

    def weigh(self, scores, mask):
        if mask is None:
            return self.softmax(scores)
        fill = torch.zeros(mask.shape, dtype=scores.dtype).masked_fill(~mask, -torch.inf)
        return (scores + fill).softmax(dim=-1).nan_to_num()
