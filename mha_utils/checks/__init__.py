"""Checks that a learner calls on their own function: `check_attention(my_attention)`.

Each returns a `Report` that prints as text and counts as True when passed. How an answer is
tried and judged is in `checking.py`.
"""

from collections.abc import Callable

from mha_utils.checks.exercises import heads as tasks_heads
from mha_utils.checks.exercises import learned as tasks_learned
from mha_utils.checks.exercises import module as tasks_module
from mha_utils.checks.exercises import numbers as tasks_numbers
from mha_utils.checks.exercises import one_head as tasks
from mha_utils.checks.exercises import rates as tasks_rates
from mha_utils.checks.exercises import stacked as tasks_stacked
from mha_utils.checks.exercises import weights as tasks_weights
from mha_utils.checks.judge import check_task
from mha_utils.checks.judge_devices import check_mask_on_every_device
from mha_utils.checks.judge_numbers import check_numbers
from mha_utils.checks.module import (
    SEES_OTHER_SEQUENCES,
    SEES_THE_FUTURE,
    Adapter,
    adapter_for,
    check_module,
    check_probe,
)
from mha_utils.checks.report import Report


def check_attention_scores(answer: Callable, seed: int = 0) -> Report:
    """Check `answer(q, k)`: scores (*B, T, S) of q (*B, T, Dh) and k (*B, S, Dh)."""
    return check_task(answer, tasks.SCORES, seed)


def check_attention_weights(answer: Callable, seed: int = 0) -> Report:
    """Check `answer(scores)`: weights (*B, T, S), a softmax over the last dimension."""
    return check_task(answer, tasks.WEIGHTS, seed)


def check_attention(answer: Callable, seed: int = 0) -> Report:
    """Check `answer(q, k, v)`: the output (*B, T, Dv) of scaled dot-product attention."""
    return check_task(answer, tasks.ATTENTION, seed)


def check_head_dim(answer: Callable) -> Report:
    """Check `answer(embed_dim, num_heads)`: the width Dh of one head."""
    return check_numbers(answer, tasks_numbers.HEAD_DIM)


def check_count(answer: Callable) -> Report:
    """Check `answer(B, T, D)`: how many numbers a tensor (B, H, T, Dh) holds."""
    return check_numbers(answer, tasks_numbers.COUNT)


def check_attention_flops(answer: Callable) -> Report:
    """Check `answer(B, T, D)`: FLOPs of scores and averages, without a mask."""
    return check_numbers(answer, tasks_numbers.ATTENTION_FLOPS)


def check_map_bytes(answer: Callable) -> Report:
    """Check `answer(B, H, T, number_bytes)`: bytes of one tensor of attention weights."""
    return check_numbers(answer, tasks_numbers.MAP_BYTES)


def check_mask_beside(answer: Callable) -> Report:
    """Check `answer(scores)`: the causal mask (T, T) of scores (*B, T, T), where they are."""
    return check_mask_on_every_device(answer, tasks_weights.CAUSAL_MASK.mistakes)


def check_parameter_count(answer: Callable) -> Report:
    """Check `answer(embed_dim, num_heads, head_dim)`: numbers in W_q, W_k, W_v of all heads."""
    return check_numbers(answer, tasks_numbers.PARAMETER_COUNT)


def check_stacked_heads(answer: Callable, seed: int = 0) -> Report:
    """Check `answer(x, W_q, W_k, W_v)`: all heads side by side, (T, H x Dv).

    x is (T, D), W_q and W_k are (H, D, Dh), W_v is (H, D, Dv).
    """
    return check_task(answer, tasks_stacked.STACKED, seed)


def check_one_projection(answer: Callable, seed: int = 0) -> Report:
    """Check `answer(W_heads)`: the matrices (H, D, Dh) side by side, (D, H x Dh)."""
    return check_task(answer, tasks_heads.ONE_PROJECTION, seed)


def check_split(answer: Callable, seed: int = 0) -> Report:
    """Check `answer(x, num_heads)`: x (B, T, D) as (B, T, H, Dh)."""
    return check_task(answer, tasks_heads.SPLIT, seed)


def check_storage_place(answer: Callable) -> Report:
    """Check `answer(t, h, d, num_heads, head_dim)`: where x.view(T, H, Dh)[t, h, d] is stored."""
    return check_numbers(answer, tasks_numbers.STORAGE_PLACE)


def check_split_heads(answer: Callable, seed: int = 0) -> Report:
    """Check `answer(x, num_heads)`: x (B, T, D) as (B, H, T, Dh)."""
    return check_task(answer, tasks_heads.SPLIT_HEADS, seed)


def check_strides(answer: Callable) -> Report:
    """Check `answer(B, T, H, Dh)`: strides of a contiguous x.view(B, T, H, Dh).transpose(1, 2)."""
    return check_numbers(answer, tasks_numbers.STRIDES)


def check_causal_mask(answer: Callable, seed: int = 0) -> Report:
    """Check `answer(query_len, key_len)`: boolean (T, S), True = may attend, S >= T.

    The last query is aligned with the last key.
    """
    return check_task(answer, tasks_weights.CAUSAL_MASK, seed)


def check_masked_weights(answer: Callable, seed: int = 0) -> Report:
    """Check `answer(scores, mask)`: softmax over the allowed keys, zeros for an empty row."""
    return check_task(answer, tasks_weights.MASKED_WEIGHTS, seed)


def check_stable_softmax(answer: Callable, seed: int = 0) -> Report:
    """Check `answer(scores)`: a softmax over the last dimension for scores of several hundred."""
    return check_task(answer, tasks_weights.STABLE_SOFTMAX, seed)


def check_scale(answer: Callable) -> Report:
    """Check `answer(head_dim, q_std, k_std)`: what makes the scores' standard deviation 1."""
    return check_numbers(answer, tasks_rates.SCALE)


def check_drop_weights(answer: Callable, seed: int = 0) -> Report:
    """Check `answer(weights, p, draw)`: weights dropped where the uniform draw is below p."""
    return check_task(answer, tasks_weights.DROP, seed)


def check_lost_row(answer: Callable) -> Report:
    """Check `answer(p, num_keys)`: the probability that a row loses all its weights."""
    return check_numbers(answer, tasks_rates.LOST_ROW)


def check_merge_heads(answer: Callable, seed: int = 0) -> Report:
    """Check `answer(heads)`: heads (B, H, T, Dh) side by side, (B, T, D)."""
    return check_task(answer, tasks_heads.MERGE_HEADS, seed)


def check_project_heads(answer: Callable, seed: int = 0) -> Report:
    """Check `answer(heads, W_out)`: merged heads through a linear layer, W_out (D, D)."""
    return check_task(answer, tasks_heads.PROJECT_HEADS, seed)


def check_multi_head(answer: Callable, seed: int = 0) -> Report:
    """Check `answer(x, W_q, W_k, W_v, W_out, num_heads, mask)`: all of multi-head self-attention.

    x is (B, T, D), every W (D, D) as in nn.Linear, mask (B, 1, T, T) with True = may attend.
    """
    return check_task(answer, tasks_module.MULTI_HEAD, seed)


def check_module_parameter_count(answer: Callable) -> Report:
    """Check `answer(embed_dim, num_heads)`: numbers in the four projections, biases included."""
    return check_numbers(answer, tasks_numbers.MODULE_PARAMETER_COUNT)


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
        options: `causal`, `true_means`, `empty_rows` of `module_check.adapter_for`.

    Raises:
        ValueError: if it is unclear how to build, load or call the answer.
    """
    return check_module(answer, adapter or adapter_for(answer, **options), seed)


def check_ceiling(answer: Callable) -> Report:
    """Check `answer(num_heads, head_dim)`: the highest R^2 of 4 vectors of width 8 at once."""
    return check_numbers(answer, tasks_rates.CEILING)


def check_lookup_weights(answer: Callable, seed: int = 0) -> Report:
    """Check `answer(offsets, seq_len)`: (H, T, T), head h looks offsets[h] back, on a circle."""
    return check_task(answer, tasks_learned.LOOKUP_WEIGHTS, seed)


def check_mean_mass(answer: Callable, seed: int = 0) -> Report:
    """Check `answer(weights, sources)`: mean weight (T, S) on sources (T,), -1 = none."""
    return check_task(answer, tasks_learned.MEAN_MASS, seed)


def check_induction_places(answer: Callable, seed: int = 0) -> Report:
    """Check `answer(tokens)`: boolean (T, T), True at what followed earlier copies of a token."""
    return check_task(answer, tasks_learned.INDUCTION_PLACES, seed)


def check_best_offset(answer: Callable) -> Report:
    """Check `answer(distances)`: the accuracy of the best rule "look n words away"."""
    return check_numbers(answer, tasks_rates.BEST_OFFSET)


def check_future_probe(answer: Callable) -> Report:
    """Check `answer(module)`: True if a token sees later ones, called with is_causal=True.

    The module (8 columns, 4 heads) comes in evaluation, with dropout=0.
    """
    return check_probe(answer, SEES_THE_FUTURE)


def check_batch_probe(answer: Callable) -> Report:
    """Check `answer(module)`: True if sequences of a batch see each other.

    The module (8 columns, 4 heads) comes in evaluation, with dropout=0.
    """
    return check_probe(answer, SEES_OTHER_SEQUENCES)
