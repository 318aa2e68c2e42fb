"""What the check has to know of attention that was written elsewhere."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor, nn

from mha_utils.core.steps import causal_mask

ALL = frozenset({"context", "mask", "causal", "weights", "weights in training", "empty rows"})
ALL |= {"dropout"}


@dataclass(frozen=True)
class Adapter:
    """Three functions and a list of what they can do.

    build: (embed_dim, num_heads, dropout, bias) -> the module.
    load: (module, ours) -> their tensors by the names of `module.named_parameters()`; `ours` holds
        "q.weight" (D, D), "q.bias" (D,), ..., "out.bias", for layers that compute x @ weight.T +
        bias. Make every tensor from ours with torch, so that gradients flow; a bias that is
        not asked for counts as absent.
    call: (module, x, context, mask, is_causal, need_weights) -> out, or (out, weights). x is
        (B, T, D), context (B, S, D) or None in self-attention; mask is None or boolean, True =
        may attend, (T, S) or broadcasting to (B, H, T, S); weights are (B, H, T, S).
    takes: which of "context", "mask", "causal", "weights" (per head), "weights in training"
        (before dropout), "empty rows" (zeros for a query without keys) and "dropout" to try.
    always_causal: the module hides the future without being asked.
    causal_as_mask: `call` gives the module a causal mask where it is asked for `is_causal`.
    sizes: (embed_dim, num_heads) where `build` cannot choose them.
    """

    build: Callable
    load: Callable
    call: Callable
    takes: frozenset[str] = ALL
    always_causal: bool = False
    causal_as_mask: bool = False
    sizes: tuple[int, int] | None = None


def run(adapter: Adapter, module: nn.Module, *arguments):
    """Call through the adapter: (out, weights or None)."""
    result = adapter.call(module, *arguments)
    if isinstance(result, tuple | list):
        out, weights = (*result, None, None)[:2]
        return out, weights if isinstance(weights, Tensor) else None
    return result, None


def joined(mask: Tensor | None, is_causal: bool, query_len: int, key_len: int) -> Tensor | None:
    """One mask for modules that take no `is_causal`."""
    if not is_causal:
        return mask
    causal = causal_mask(query_len, key_len)
    return causal if mask is None else mask & causal
