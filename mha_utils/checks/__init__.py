"""Checks that a reader calls on their own function: `check_attention(my_attention)`.

Each is an exercise: one object in a file of `exercises/`, found here by its name `check_...`.
Called with an answer it returns a `Report`, which prints as text and counts as True when passed.
"""

from mha_utils.checks.exercises import (
    counts,
    heads,
    learned,
    multi_head,
    one_head,
    probes,
    rates,
    stacked,
    weights,
)
from mha_utils.checks.module import Adapter, adapter_for, check_module
from mha_utils.checks.report import Report

for _file in (one_head, stacked, heads, weights, multi_head, counts, rates, learned, probes):
    globals().update({n: e for n, e in vars(_file).items() if n.startswith("check_")})


def check_multi_head_attention(
    answer, adapter: Adapter | None = None, seed: int = 0, **options
) -> Report:
    """Check a whole multi-head attention: a class, a module or a function, yours or anybody's.

    Outputs, gradients and weights are compared with NumPy for many sizes, masks and modes, in
    training and in evaluation; dropout is looked at from outside. A wrong answer is compared with
    every piece of the museum.

    Args:
        answer: a class called with sizes (`embed_dim`, `num_heads`, or other usual names), a
            module, or a function of (q, k, v) like `F.scaled_dot_product_attention`.
        adapter: how to build, load and call it; found out by itself for the usual kinds.
        options: `causal`, `true_means`, `empty_rows` of `checks.module.adapter_for`.

    Raises:
        ValueError: if it is unclear how to build, load or call the answer.
    """
    return check_module(answer, adapter or adapter_for(answer, **options), seed)
