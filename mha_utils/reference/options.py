"""The oracle, with options: shared heads, turned queries and keys, pair by pair in NumPy.

float64 and no torch. `parameters` maps "q", "k", "v" and "out" to (weight, bias), as in
`heads.py`; how many heads there are follows from the widths.
"""

import math

import numpy as np

from mha_utils.reference import attention_gradients_loops, attention_loops


def turned(vectors, positions, head_dim: int, base: float, sign: int = 1) -> np.ndarray:
    """(T, H Dh): features i and i + Dh / 2 of each head turned by position / base^(2 i / Dh)."""
    result, half = np.array(vectors, dtype=np.float64), head_dim // 2
    for t, position in enumerate(positions):
        for i in range(half):
            angle = sign * float(position) / base ** (2 * i / head_dim)
            matrix = [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
            for a in range(i, result.shape[-1], head_dim):
                result[t, [a, a + half]] = np.array(matrix) @ result[t, [a, a + half]]
    return result


def self_attention(
    x, parameters: dict, head_dim: int, grad_out, mask, positions=None, base=10_000.0
) -> dict[str, np.ndarray]:
    """The output and the gradients of sum(out x grad_out).

    Args:
        x, grad_out: (B, T, D).
        head_dim: Dh.
        mask: broadcasts to (B, H, T, T), True = may attend.
        positions: T numbers; queries and keys are turned by them. Left out: not at all.

    Returns:
        "out", "x", "q.weight", "q.bias", ..., "out.bias".
    """
    x, grad_out = (np.asarray(a, dtype=np.float64) for a in (x, grad_out))
    num_heads = parameters["q"][0].shape[0] // head_dim
    shape = (len(x), num_heads, x.shape[1], x.shape[1])
    masks = np.broadcast_to(mask, shape)
    rows = [
        _one_sequence(*given, parameters, head_dim, positions, base)
        for given in zip(x, grad_out, masks)
    ]
    results = {name: np.stack([row[name] for row in rows]) for name in rows[0]}
    return {n: a if n in ("out", "x") else a.sum(axis=0) for n, a in results.items()}


def _one_sequence(x, grad_out, masks, parameters, head_dim, positions, base):
    q, k, v = (_linear(x, *parameters[name]) for name in "qkv")
    if positions is not None:
        q, k = (turned(a, positions, head_dim, base) for a in (q, k))
    merged, grad_merged = np.zeros_like(q), grad_out @ parameters["out"][0]
    grads = {name: np.zeros_like(a) for name, a in zip("qkv", (q, k, v))}
    copies = q.shape[-1] // k.shape[-1]
    for h, mask in enumerate(masks):
        own, shared = (slice(n * head_dim, (n + 1) * head_dim) for n in (h, h // copies))
        head = q[:, own], k[:, shared], v[:, shared]
        merged[:, own], _ = attention_loops(*head, mask)
        of_head = attention_gradients_loops(*head, grad_merged[:, own], mask)
        for name, columns, grad in zip("qkv", (own, shared, shared), of_head):
            grads[name][:, columns] += grad
    if positions is not None:
        grads |= {n: turned(grads[n], positions, head_dim, base, sign=-1) for n in "qk"}
    results = {"out": _linear(merged, *parameters["out"])}
    results["x"] = sum(grads[name] @ parameters[name][0] for name in "qkv")
    for name, grad, source in zip((*"qkv", "out"), (*grads.values(), grad_out), (x, x, x, merged)):
        results |= {f"{name}.weight": grad.T @ source, f"{name}.bias": grad.sum(axis=0)}
    return results


def _linear(x, weight, bias) -> np.ndarray:
    out = x @ np.asarray(weight, dtype=np.float64).T
    return out if bias is None else out + bias
