"""Checks that a reader calls on their own function: `check_attention(my_attention)`.

Each is an exercise: one object in a file of `exercises/`, found here by its name `check_...`.
Called with an answer it returns a `Report`, which prints as text and counts as True when passed.
"""

import importlib
import pkgutil

from mha_utils.checks import exercises
from mha_utils.checks.module import (
    Adapter,
    adapter_for,
    adopt,
    check_module,
    proposal,
    usable_class,
    with_options,
)
from mha_utils.checks.report import Report

for _found in pkgutil.iter_modules(exercises.__path__, f"{exercises.__name__}."):
    _file = importlib.import_module(_found.name)
    globals().update({n: e for n, e in vars(_file).items() if n.startswith("check_")})


def check_multi_head_attention(
    answer, adapter: Adapter | None = None, seed: int = 0, **options
) -> Report:
    """Check a whole multi-head attention: a class, a module or a function, yours or anybody's.

    Outputs, gradients and weights are compared with NumPy for many sizes, masks and modes, in
    training and in evaluation; dropout is looked at from outside. A class with `num_kv_heads`,
    `rotary` and `cache` is tried with them, too. A wrong answer is compared with every bug of the
    museum, and read in other ways: perhaps it always hides the future, or its masks are added.

    Args:
        answer: a class called with sizes (`embed_dim`, `num_heads`, or other usual names), a
            module, or a function of (q, k, v) like `F.scaled_dot_product_attention`.
        adapter: how to build, load and call it; found out by itself for the usual kinds.
        options: `causal`, `true_means`, `empty_rows` of `checks.module.adapter_for`.

    Raises:
        ValueError: if it is unclear how to build, load or call the answer.
    """
    report = check_module(answer, adapter or adapter_for(answer, **options), seed)
    if not report and not adapter and not repr(report).startswith("○"):
        report = Report(False, f"{report}{proposal(answer, options, seed, report)}")
    return with_options(answer, report, seed)
