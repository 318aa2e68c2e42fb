"""The code behind the series: attention step by step, and what it needs to be shown."""

from mha_utils.attention import (
    attention,
    attention_scores,
    attention_weights,
    causal_mask,
    drop_weights,
    merge_heads,
    split_heads,
)
from mha_utils.contracts import checked
from mha_utils.modules import SelfAttentionHead
from mha_utils.theme import setup_chapter

__all__ = [
    "SelfAttentionHead",
    "attention",
    "attention_scores",
    "attention_weights",
    "causal_mask",
    "checked",
    "drop_weights",
    "merge_heads",
    "setup_chapter",
    "split_heads",
]
