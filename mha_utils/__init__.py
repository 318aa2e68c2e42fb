"""The code behind the series: attention step by step, and what it needs to be shown."""

from mha_utils.core.cache import KeyValueCache
from mha_utils.core.guards import checked
from mha_utils.core.heads import SelfAttentionHead, StackedHeads
from mha_utils.core.kernels import attend
from mha_utils.core.masks import document_mask, leak_map, sliding_window_mask
from mha_utils.core.modules import FusedMultiHeadAttention, MultiHeadAttention
from mha_utils.core.porting import from_torch, to_torch
from mha_utils.core.rotary import Rotary
from mha_utils.core.steps import (
    attention,
    attention_scores,
    attention_weights,
    causal_mask,
    drop_weights,
    merge_heads,
    padding_mask,
    share_heads,
    split_heads,
)

__all__ = [
    "FusedMultiHeadAttention",
    "KeyValueCache",
    "MultiHeadAttention",
    "Rotary",
    "SelfAttentionHead",
    "StackedHeads",
    "attend",
    "attention",
    "attention_scores",
    "attention_weights",
    "causal_mask",
    "checked",
    "document_mask",
    "drop_weights",
    "from_torch",
    "leak_map",
    "merge_heads",
    "padding_mask",
    "setup_chapter",
    "share_heads",
    "sliding_window_mask",
    "split_heads",
    "to_torch",
]


def __getattr__(name: str):
    """Pictures wait until somebody asks for them: matplotlib takes longer than all the rest."""
    if name == "setup_chapter":
        from mha_utils.chapter import setup_chapter

        return setup_chapter
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
