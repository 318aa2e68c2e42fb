"""The oracle, one head: attention and its gradients, in plain Python and NumPy float64.

Every check and test is held to it, and `heads` builds on it: it shares no code with `core`
and uses no torch, so a mistake would have to be made twice to stay hidden.
Masks: True = may attend; a query that may attend to nothing gets zeros.
"""

import math

import numpy as np


def softmax(scores: list[float]) -> list[float]:
    """Positive shares that sum to 1; a larger score gets a larger share."""
    largest = max(scores)
    powers = [math.exp(score - largest) for score in scores]
    return [power / sum(powers) for power in powers]


def attend_one_query(query, keys, values) -> tuple[list[float], list[float]]:
    """What one query gets, with nothing but Python's own numbers.

    Args:
        query: Dh numbers.
        keys: S lists of Dh numbers.
        values: S lists of Dv numbers.

    Returns:
        (out, weights): Dv and S numbers.
    """
    scale = math.sqrt(len(query))
    scores = [sum(a * b for a, b in zip(query, key, strict=True)) / scale for key in keys]
    weights = softmax(scores)
    out = [sum(w * number for w, number in zip(weights, column)) for column in zip(*values)]
    return out, weights


def attention_loops(q, k, v, mask=None) -> tuple[np.ndarray, np.ndarray]:
    """One sequence, one query after the other: q (T, Dh), k (S, Dh), v (S, Dv), mask (T, S)."""
    q, k, v = (np.asarray(a, dtype=np.float64).tolist() for a in (q, k, v))
    out, weights = np.zeros((len(q), len(v[0]))), np.zeros((len(q), len(k)))
    for i, query in enumerate(q):
        allowed = [j for j in range(len(k)) if mask is None or mask[i][j]]
        if allowed:
            row = attend_one_query(query, [k[j] for j in allowed], [v[j] for j in allowed])
            out[i], weights[i, allowed] = row
    return out, weights


def attention_batched(q, k, v, mask=None) -> tuple[np.ndarray, np.ndarray]:
    """All queries of all sequences at once: q (*B, T, Dh), k (*B, S, Dh), v (*B, S, Dv)."""
    q, k, v = (np.asarray(a, dtype=np.float64) for a in (q, k, v))
    scores = np.einsum("...td,...sd->...ts", q, k) / math.sqrt(q.shape[-1])
    allowed = np.broadcast_to(True if mask is None else np.asarray(mask), scores.shape)
    largest = np.max(scores, axis=-1, keepdims=True, where=allowed, initial=-1e300)
    powers = np.exp(np.where(allowed, scores - largest, -np.inf))
    total = powers.sum(axis=-1, keepdims=True)
    some = allowed.any(axis=-1, keepdims=True)  # where not: zeros
    weights = np.divide(powers, total, out=np.zeros_like(powers), where=some)
    return np.einsum("...ts,...sv->...tv", weights, v), weights


def attention_gradients(q, k, v, grad_out, mask=None) -> tuple[np.ndarray, ...]:
    """Gradients of sum(out x grad_out) by q, k and v, worked out on paper.

    Source: the softmax Jacobian dw_j/ds_l = w_j (1[j = l] - w_l) and the product rule.
    """
    q, k, v, grad_out = (np.asarray(a, dtype=np.float64) for a in (q, k, v, grad_out))
    _, weights = attention_batched(q, k, v, mask)
    grad_weights = np.einsum("...tv,...sv->...ts", grad_out, v)
    average = (weights * grad_weights).sum(axis=-1, keepdims=True)
    grad_scores = weights * (grad_weights - average) / math.sqrt(q.shape[-1])
    return (
        np.einsum("...ts,...sd->...td", grad_scores, k),
        np.einsum("...ts,...td->...sd", grad_scores, q),
        np.einsum("...ts,...tv->...sv", weights, grad_out),
    )


def attention_gradients_loops(q, k, v, grad_out, mask=None) -> tuple[np.ndarray, ...]:
    """The same gradients for one sequence, one pair of query and key after the other."""
    q, k, v, grad_out = (np.asarray(a, dtype=np.float64) for a in (q, k, v, grad_out))
    _, weights = attention_loops(q, k, v, mask)
    grad_q, grad_k, grad_v = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    for i, row in enumerate(weights):
        grad_row = [float(np.dot(grad_out[i], value)) for value in v]
        average = sum(w * g for w, g in zip(row, grad_row))
        for j, weight in enumerate(row):
            grad_score = weight * (grad_row[j] - average) / math.sqrt(q.shape[1])
            grad_q[i] += grad_score * k[j]
            grad_k[j] += grad_score * q[i]
            grad_v[j] += weight * grad_out[i]
    return grad_q, grad_k, grad_v
