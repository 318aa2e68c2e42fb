"""Exercises that ask for a probe: a function that finds a fault in any module (chapter 12)."""

from mha_utils.checks.probes import Probe

check_future_probe = Probe(
    asks=(
        "`answer(module)`: True if a token sees later ones, called with is_causal=True. The "
        "module (8 columns, 4 heads) comes in evaluation, with dropout=0."
    ),
    does="sees the future",
    guilty=(
        "causal only in training",
        "merge without transpose",
        "causal off by one: the next token is seen",
        "direct view to heads",
        "stored mask cut at the wrong end",
        "softmax over the queries",
    ),
    hint=(
        "is it called with is_causal=True, and are only outputs before the changed token compared?"
    ),
)
check_key_probe = Probe(
    asks=(
        "`answer(module)`: True if the output changes when the bias of k_proj does. The module "
        "(8 columns, 4 heads) comes in evaluation, with dropout=0."
    ),
    does="minds what all keys share",
    guilty=("q and k swapped", "softmax over the queries", "v through k's projection"),
    hint=(
        "does every key move by the same vector (the bias of k_proj, not its weight), is the input "
        "the same, and rounding allowed for (torch.allclose)?"
    ),
)
