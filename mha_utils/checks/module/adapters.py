"""Find out what the arguments of attention by others mean, and call it.

`adapter_for(answer)` recognises four kinds: modules called as `MultiHeadAttention` is (whatever of
it they take), modules called as `nn.MultiheadAttention` is, classes of both kinds (built by sizes
or by a config), and functions called as `F.scaled_dot_product_attention` is. Anything else: make an
`Adapter`; `python -m mha_utils.check --help` shows one of ten lines.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass

from torch import nn

from mha_utils.checks.module.building import (
    WithOutputLayer,
    build_by_names,
    can_drop,
    config_name,
    copies_of,
    outside_dropouts,
    prepared,
    sizes_of,
)
from mha_utils.checks.module.calling import (
    MEANINGS,
    are_q_k_v,
    around,
    call_by_names,
    needed_names,
    torch_call,
    wake,
)
from mha_utils.checks.module.naming import (
    CAUSAL,
    CONTEXTS,
    DROPOUTS,
    MASKS,
    TURNS,
    load_by_names,
    name_among,
    option_names,
)
from mha_utils.checks.report import shown

ALL = frozenset({"context", "mask", "causal", "weights", "weights in training", "empty rows"})
ALL |= {"head masks", "dropout", "strides"}


@dataclass(frozen=True)
class Adapter:
    """Three functions and a list of what they can do.

    build: (embed_dim, num_heads, dropout, bias) -> the module.
    load: (module, ours) -> their tensors by the names of `module.named_parameters()`; `ours` holds
        "q.weight" (D, D), "q.bias" (D,), ..., "out.bias", for layers that compute x @ weight.T +
        bias. Make every tensor from ours with torch, so that gradients flow; a bias that is
        not read counts as absent.
    call: (module, x, context, mask, is_causal, need_weights) -> out, or (out, weights). x is
        (B, T, D), context (B, S, D) or None in self-attention; mask is None or boolean, True =
        may attend, (T, S) or broadcasting to (B, H, T, S); weights are (B, H, T, S).
    takes: which of "context", "mask", "head masks" (not the same for all heads), "causal",
        "weights" (per head), "weights in training" (before dropout), "empty rows" (zeros for a
        query without keys), "strides" (x that is not contiguous) and "dropout" to try.
    always_causal: the module always hides the future.
    causal_as_mask: in place of `is_causal`, `call` gives the module a mask.
    mask_holds_causal: a mask that `call` gives the module hides the future, too.
    sizes: (embed_dim, num_heads) where `build` cannot choose them.
    assumed: what nobody said and the report repeats.
    """

    build: Callable
    load: Callable
    call: Callable
    takes: frozenset[str] = ALL
    always_causal: bool = False
    causal_as_mask: bool = False
    mask_holds_causal: bool = False
    sizes: tuple[int, int] | None = None
    assumed: tuple[str, ...] = ()


def adapter_for(
    answer,
    *,
    causal: bool = False,
    true_means: str | None = None,
    empty_rows: bool | None = None,
) -> Adapter:
    """The adapter for a class, a module or a function of a known kind.

    Args:
        answer: class, factory or instance of a module; or a function of (q, k, v, ...).
        causal: whether the module always hides the future.
        true_means: what a True in its mask says, "may attend" or "not allowed"; or "added": its
            mask is numbers, 0 and -inf, added to the scores. When left out, "may attend", except
            for the `attention_mask` of a class with a config.
        empty_rows: whether queries with nothing to attend to are tried; yes when left out, except
            for `nn.MultiheadAttention` and where masks are added, which give NaN there.

    Raises:
        ValueError: if the answer is of no known kind, or `true_means` says something else.
    """
    if true_means not in (None, *MEANINGS):
        raise ValueError(f"true_means must be one of {MEANINGS}, got {true_means!r}")
    if not callable(answer) or (inspect.isclass(answer) and not issubclass(answer, nn.Module)):
        what = "a class or object of nn.Module or a function is needed"
        raise ValueError(f"{what}, got {shown(answer)}")
    names = option_names(answer)
    if not inspect.isclass(answer) and not isinstance(answer, nn.Module) and are_q_k_v(names):
        takes = takes_of(names, DROPOUTS) - {"weights in training"}
        takes -= {"empty rows"} if empty_rows is False else set()
        return Adapter(*around(answer, names, true_means or MEANINGS[0]), takes=takes)
    return adapter_for_module(answer, causal, true_means, empty_rows)


def adapter_for_module(answer, causal: bool, true_means: str | None, empty_rows) -> Adapter:
    """The adapter for a class or an object of nn.Module."""
    is_there, by_config = isinstance(answer, nn.Module), config_name(answer) is not None
    sizes = sizes_of(answer) if is_there else None
    build = prepared(copies_of(answer) if is_there else build_by_names(answer), wake, by_config)
    example = build(*(sizes or (4, 2)), 0.0, True)
    if not isinstance(example, nn.Module):
        raise ValueError(f"{shown(answer)} should make an nn.Module, got {type(example).__name__}")
    forward = getattr(example, "inner", example).forward
    names = option_names(forward)
    is_added = by_config and name_among(names, MASKS) == "attention_mask"
    assumed = assumptions(example, forward, is_added and true_means is None, is_added and causal)
    true_means = true_means or MEANINGS[2 if is_added else 0]
    is_torch = "attn_mask" in names and "key_padding_mask" in names
    if empty_rows is None:
        empty_rows = not is_torch and true_means != "added"
    left_out = {
        "weights in training": is_torch or by_config,
        "strides": by_config,
        "empty rows": not empty_rows,
        "dropout": not can_drop(answer),
        "causal": causal,
        "context": causal,
    }
    takes = (ALL if is_torch else takes_of(names)) - {name for name, out in left_out.items() if out}
    call = torch_call if is_torch else call_by_names(forward, true_means, causal and is_added)
    as_mask = is_torch or name_among(names, CAUSAL) is None
    holds = causal and is_added
    return Adapter(build, load_by_names, call, takes, causal, as_mask, holds, sizes, assumed)


def assumptions(example: nn.Module, forward: Callable, adds: bool, joins: bool) -> tuple[str, ...]:
    """What a report has to say, because nobody said it."""
    names = option_names(forward)
    needed = needed_names(forward)[3 if are_q_k_v(names) else 1 :]
    unknown = [name for name in needed if name not in (*MASKS, *CONTEXTS, TURNS)]
    texts = {
        "its attention_mask is added to the scores": adds,
        "its output layer stands behind it": isinstance(example, WithOutputLayer),
        f"{TURNS} may turn nothing": TURNS in names,
        "dropout behind the output layer is 0": any(outside_dropouts(example)),
        "a mask that is given holds the causal part, too": joins,
        f"{' and '.join(unknown)} may be None": bool(unknown),
    }
    return tuple(text for text, is_so in texts.items() if is_so)


def takes_of(names: list[str], dropouts: tuple[str, ...] = ()) -> frozenset[str]:
    """What can be tried of something with these arguments; `dropouts` if it needs one of them."""
    has_mask, has_causal = name_among(names, MASKS), name_among(names, CAUSAL)
    missing = {
        "context": not (are_q_k_v(names) or name_among(names, CONTEXTS)),
        "mask": not has_mask,
        "head masks": not has_mask,
        "empty rows": not has_mask,
        "causal": not has_mask and (bool(dropouts) or not has_causal),
        "dropout": bool(dropouts) and not name_among(names, dropouts),
    }
    return ALL - {name for name, is_missing in missing.items() if is_missing}
