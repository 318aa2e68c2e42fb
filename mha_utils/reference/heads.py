"""The oracle, many heads: multi-head attention and its gradients, in loops and in arrays.

NumPy float64 and no torch, and no reshape of the kind that can go wrong.
`parameters` maps "q", "k", "v" and "out" to (weight, bias): weight (outputs, inputs), bias
(outputs,) or None. x is (B, T, Dq), context (B, S, Dk); a mask broadcasts to (B, H, T, S).
"""

from collections.abc import Callable

import numpy as np

from mha_utils.reference import (
    attention_batched,
    attention_gradients,
    attention_gradients_loops,
    attention_loops,
)


def multi_head_loops(x, context, parameters: dict, num_heads: int, mask=None) -> np.ndarray:
    """Sequence by sequence and head by head, all sums in plain Python: (B, T, D)."""
    q, k, v = _project(x, context, parameters)
    merged = _for_each_head(lambda *head: attention_loops(*head)[:1], (q, k, v), num_heads, mask)
    return _linear(merged[0], *parameters["out"])


def multi_head_batched(x, context, parameters: dict, num_heads: int, mask=None) -> np.ndarray:
    """All sequences and heads in one expression: (B, T, D)."""
    heads = [_as_heads(a, num_heads) for a in _project(x, context, parameters)]
    return _linear(_as_tokens(attention_batched(*heads, mask)[0]), *parameters["out"])


def multi_head_weights(x, context, parameters: dict, num_heads: int, mask=None) -> np.ndarray:
    """The weights of every head: (B, H, T, S)."""
    heads = [_as_heads(a, num_heads) for a in _project(x, context, parameters)]
    return attention_batched(*heads, mask)[1]


def multi_head_gradients_loops(
    x, context, parameters: dict, num_heads: int, grad_out, mask=None
) -> dict[str, np.ndarray]:
    """Gradients as `multi_head_gradients` gives them, head by head and pair by pair."""
    q, k, v = _project(x, context, parameters)
    merged = _for_each_head(lambda *head: attention_loops(*head)[:1], (q, k, v), num_heads, mask)
    grad_merged = np.asarray(grad_out, dtype=np.float64) @ parameters["out"][0]
    inputs = (q, k, v, grad_merged)
    grads = _for_each_head(attention_gradients_loops, inputs, num_heads, mask)[:3]
    return _by_parameter(x, context, parameters, merged[0], grads, grad_out)


def multi_head_gradients(
    x, context, parameters: dict, num_heads: int, grad_out, mask=None
) -> dict[str, np.ndarray]:
    """Gradients of sum(out x grad_out).

    Returns:
        "x", "context" and "q.weight", "q.bias", ..., "out.bias"; in self-attention the
        gradient of x is the sum of "x" and "context".
    """
    heads = [_as_heads(a, num_heads) for a in _project(x, context, parameters)]
    merged = _as_tokens(attention_batched(*heads, mask)[0])
    grad_merged = np.asarray(grad_out, dtype=np.float64) @ parameters["out"][0]
    by_heads = attention_gradients(*heads, _as_heads(grad_merged, num_heads), mask)
    grads = [_as_tokens(g) for g in by_heads]
    return _by_parameter(x, context, parameters, merged, grads, grad_out)


def _by_parameter(x, context, parameters, merged, grads, grad_out) -> dict[str, np.ndarray]:
    x, context, grad_out = (np.asarray(a, dtype=np.float64) for a in (x, context, grad_out))
    grad_q, grad_k, grad_v = grads
    gradients = {"x": grad_q @ parameters["q"][0]}
    gradients["context"] = grad_k @ parameters["k"][0] + grad_v @ parameters["v"][0]
    inputs = (x, context, context, merged)
    for name, array, grad in zip(("q", "k", "v", "out"), inputs, (*grads, grad_out)):
        gradients[f"{name}.weight"] = np.einsum("bto,bti->oi", grad, array)
        gradients[f"{name}.bias"] = grad.sum(axis=(0, 1))
    return gradients


def _for_each_head(function: Callable, arrays: tuple, num_heads: int, mask) -> list[np.ndarray]:
    """Call function(*columns of one head of one sequence, its mask) and put the results together.

    Every array is (B, length, D); result i has the shape of array i.
    """
    batch_size, head_dim = len(arrays[0]), arrays[0].shape[-1] // num_heads
    lengths = arrays[0].shape[1], arrays[1].shape[1]
    masks = np.broadcast_to(True if mask is None else mask, (batch_size, num_heads, *lengths))
    results = [np.zeros_like(a) for a in arrays]
    for b in range(batch_size):
        for h in range(num_heads):
            columns = slice(h * head_dim, (h + 1) * head_dim)
            parts = function(*(a[b, :, columns] for a in arrays), masks[b, h])
            for result, part in zip(results, parts):
                result[b, :, columns] = part
    return results


def _project(x, context, parameters: dict) -> list[np.ndarray]:
    return [_linear(a, *parameters[n]) for n, a in zip("qkv", (x, context, context))]


def _linear(x, weight, bias) -> np.ndarray:
    out = np.asarray(x, dtype=np.float64) @ np.asarray(weight, dtype=np.float64).T
    return out if bias is None else out + bias


def _as_heads(x: np.ndarray, num_heads: int) -> np.ndarray:
    """(B, T, D) -> (B, H, T, Dh)."""
    return np.stack(np.split(x, num_heads, axis=-1), axis=1)


def _as_tokens(heads: np.ndarray) -> np.ndarray:
    """(B, H, T, Dh) -> (B, T, D)."""
    return np.concatenate(list(np.moveaxis(heads, 1, 0)), axis=-1)
