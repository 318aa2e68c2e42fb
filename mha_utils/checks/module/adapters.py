"""How the module check speaks with attention that was written elsewhere.

`adapter_for(answer)` recognises four kinds: modules called as `MultiHeadAttention` is (whatever of
it they take), modules called as `nn.MultiheadAttention` is, classes of both kinds, and functions
called as `F.scaled_dot_product_attention` is. Anything else: make an `Adapter`.
"""

import inspect
from collections.abc import Callable

from torch import nn

from mha_utils.checks.module.adapter import ALL, Adapter, joined
from mha_utils.checks.module.around import function_adapter
from mha_utils.checks.module.instances import can_drop, copies_of, sizes_of
from mha_utils.checks.module.naming import (
    CAUSAL,
    CONTEXTS,
    MASKS,
    WEIGHTS,
    build_by_names,
    load_by_names,
    name_among,
    option_names,
)
from mha_utils.checks.report import shown
from mha_utils.core.masks import to_torch_mha


def adapter_for(
    answer,
    *,
    causal: bool = False,
    true_means: str = "may attend",
    empty_rows: bool | None = None,
) -> Adapter:
    """The adapter for a class, a module or a function of a known kind.

    Args:
        answer: class, factory or instance of a module; or a function of (q, k, v, ...).
        causal: whether the module always hides the future, unasked.
        true_means: what a True in its mask says, "may attend" or "not allowed".
        empty_rows: whether queries with nothing to attend to are tried; yes when left out,
            except for `nn.MultiheadAttention`, which gives NaN there.

    Raises:
        ValueError: if the answer is of no known kind, or `true_means` says something else.
    """
    if true_means not in ("may attend", "not allowed"):
        raise ValueError(f"true_means must be 'may attend' or 'not allowed', got {true_means!r}")
    if not callable(answer) or (inspect.isclass(answer) and not issubclass(answer, nn.Module)):
        what = "a class or object of nn.Module or a function is needed"
        raise ValueError(f"{what}, got {shown(answer)}")
    if is_attention_function(answer):
        return function_adapter(answer, true_means, empty_rows is not False)
    build, sizes = build_by_names(answer), None
    if isinstance(answer, nn.Module):
        build, sizes = copies_of(answer), sizes_of(answer)
    example = build(*(sizes or (4, 2)), 0.0, True)
    if not isinstance(example, nn.Module):
        raise ValueError(f"{shown(answer)} should make an nn.Module, got {type(example).__name__}")
    names = option_names(example.forward)
    is_torch = "attn_mask" in names and "key_padding_mask" in names
    call, takes = (torch_call, ALL) if is_torch else series_call(names, true_means)
    if is_torch:
        takes = takes - {"weights in training"} - ({"empty rows"} if not empty_rows else set())
    takes = takes - ({"empty rows"} if empty_rows is False else set())
    takes = takes - (set() if can_drop(answer) else {"dropout"})
    if causal:
        takes = takes - {"causal", "context"}
    as_mask = name_among(names, CAUSAL) is None or is_torch
    return Adapter(build, load_by_names, call, takes, causal, as_mask, sizes)


def torch_call(module, x, context, mask, is_causal, need_weights):
    """As `nn.MultiheadAttention` is called: True = not allowed, weights not averaged."""
    keys = x if context is None else context
    mask = joined(mask, is_causal, x.shape[1], keys.shape[1])
    options = {"need_weights": need_weights, "average_attn_weights": False}
    if mask is not None:
        shape = (len(x), module.num_heads, x.shape[1], keys.shape[1])
        options["attn_mask"] = to_torch_mha(mask, shape)
    if not getattr(module, "batch_first", True):
        out, weights = module(*(t.transpose(0, 1) for t in (x, keys, keys)), **options)
        return out.transpose(0, 1), weights
    return module(x, keys, keys, **options)


def series_call(names: list[str], true_means: str) -> tuple[Callable, frozenset[str]]:
    """As `MultiHeadAttention` is called, with the options that `forward` has."""
    mask_name, causal_name = name_among(names, MASKS), name_among(names, CAUSAL)
    weights_name, context_name = name_among(names, WEIGHTS), name_among(names, CONTEXTS)
    is_triple = [name[0] for name in names[:3]] == ["q", "k", "v"]
    can = {
        "context": is_triple or context_name is not None,
        "mask": mask_name is not None,
        "causal": bool(mask_name or causal_name),
        "empty rows": mask_name is not None,
    }
    always = {"weights", "weights in training", "dropout"}

    def call(module, x, context, mask, is_causal, need_weights):
        keys = x if context is None else context
        options = {} if context is None or is_triple else {context_name: context}
        if is_causal and causal_name:
            options[causal_name] = True
        else:
            mask = joined(mask, is_causal, x.shape[1], keys.shape[1])
        if mask is not None:
            options[mask_name] = mask if true_means == "may attend" else ~mask
        if need_weights and weights_name:
            options[weights_name] = True
        return module(*((x, keys, keys) if is_triple else (x,)), **options)

    return call, frozenset({name for name, able in can.items() if able} | always)


def is_attention_function(answer: Callable) -> bool:
    """Whether it takes (q, k, v, ...) and is neither a class nor a module."""
    if inspect.isclass(answer) or isinstance(answer, nn.Module):
        return False
    first = [name[0] for name in option_names(answer)[:3]]
    return first == ["q", "k", "v"]
