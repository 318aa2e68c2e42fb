"""What a module does to its weights in training, seen from outside.

Every token's value is one-hot, and the output layer is a rotation that can be undone: so the
output shows the weights that were used, one by one.
"""

from dataclasses import dataclass

import numpy as np

from mha_utils.checks.module.scenarios import BIAS_NAMES, Drawn, Scenario

P = 0.25
ENOUGH = 4096  # weights in all
MARGIN = 0.1  # of the dropped share; 3 standard deviations where sequences share a draw


@dataclass(frozen=True)
class Findings:
    """What was seen.

    `kept` is what kept weights are multiplied by, `dropped` the share of zeros; `shared` lists
    "heads", "sequences", "queries" that lose the same weights. `whole`: whole weights are dropped,
    not single numbers of what they gather. `returned`: which weights a caller gets.
    """

    kept: str
    dropped: str
    shared: tuple[str, ...]
    whole: bool
    returned: str


RIGHT = Findings("1/(1 - p)", "p", (), True, "before")
NO_DROPOUT = Findings("1", "none", (), True, "before")


def right(training: bool) -> Findings:
    return RIGHT if training else NO_DROPOUT


def one_hot_case(num_heads: int, head_dim: int, is_causal: bool, training: bool = True) -> Drawn:
    """Values of token j: 1 in column j and in the last column of every head; no biases."""
    seq_len, width = head_dim - 1, num_heads * head_dim
    batch_size = max(2, -(-ENOUGH // (num_heads * seq_len**2)))
    random = np.random.default_rng(0)
    turn, _ = np.linalg.qr(random.normal(size=(width, width)))
    x = random.normal(size=(batch_size, seq_len, width)) * 0.5
    x[..., : seq_len + 1] = np.concatenate([np.eye(seq_len), np.ones((seq_len, 1))], axis=-1)
    pick = np.concatenate([np.eye(head_dim, width)] * num_heads)  # columns 0 to S of the token
    small = {n: random.normal(size=(width, width)) * width**-0.5 for n in ("q", "k")}
    weights = small | {"v": pick, "out": turn}
    parameters = {f"{n}.weight": w.astype(np.float32) for n, w in weights.items()}
    parameters |= {n: np.zeros(width, np.float32) for n in BIAS_NAMES}
    kind = {"is_causal": is_causal, "training": training, "with_gradient": False}
    scenario = Scenario(batch_size, seq_len, num_heads, head_dim, **kind)
    x = x.astype(np.float32)
    return Drawn(scenario, x, x, None, parameters, np.zeros_like(x))


def used_weights(case: Drawn, out: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The weights (B, H, T, S) that gave this output, and what their rows gathered of ones."""
    merged = out.astype(np.float64) @ case.parameters["out.weight"].astype(np.float64)
    heads = np.stack(np.split(merged, case.scenario.num_heads, axis=-1), axis=1)
    return heads[..., :-1], heads[..., -1]


def look(case: Drawn, out: np.ndarray, returned: np.ndarray | None) -> Findings:
    """Compare the weights that were used with those that dropout was given."""
    weights = case.expected_weights()
    used, sums = used_weights(case, out)
    allowed = weights > 1e-6
    is_zero = (np.abs(used) < 1e-5) & allowed
    return Findings(
        kept=_kept(used, weights, allowed & ~is_zero),
        dropped=_share(is_zero[allowed].mean()),
        shared=_shared(is_zero, allowed),
        whole=bool(np.allclose(used.sum(axis=-1), sums, atol=1e-3)),
        returned=_returned(returned, weights, used),
    )


def _kept(used, weights, is_kept) -> str:
    ratio = used[is_kept] / weights[is_kept]
    factors = {"1": 1.0, "1/(1 - p)": 1 / (1 - P), "1/p": 1 / P, "1 - p": 1 - P}
    for name, factor in factors.items():
        if len(ratio) and np.allclose(ratio, factor, rtol=1e-3):
            return name
    sums = used.sum(axis=-1)
    return "rows sum to 1" if np.allclose(sums[sums > 0.01], 1, atol=1e-3) else "other"


def _share(dropped: float) -> str:
    if dropped in (0.0, 1.0):
        return "all" if dropped else "none"
    near = [
        name for name, share in {"p": P, "1 - p": 1 - P}.items() if abs(dropped - share) < MARGIN
    ]
    return near[0] if near else f"{dropped:.2f}"


def _shared(is_zero, allowed) -> tuple[str, ...]:
    if not is_zero.any() or (is_zero == allowed).all():
        return ()
    axes = {"sequences": 0, "heads": 1, "queries": 2}
    return tuple(
        name
        for name, axis in axes.items()
        if is_zero.shape[axis] > 1
        and (is_zero.any(axis=axis) == (is_zero | ~allowed).all(axis=axis)).all()
    )


def _returned(returned, weights, used) -> str:
    if returned is None or np.allclose(returned, weights, atol=1e-4):
        return "before"
    return "after" if np.allclose(returned, used, atol=1e-4) else "other"


def complaint(found: Findings, training: bool) -> str:
    """The first thing that is wrong, in words; empty if nothing is."""
    expected = right(training)
    if found == expected:
        return ""
    if not training:
        return "dropout is at work in evaluation: the same input gives other outputs"
    if found.dropped == "none" and found.kept == "1":
        return "no weight is dropped in training"
    if found.dropped != expected.dropped:
        return f"the share of dropped weights should be p = {P}, it is {found.dropped}"
    if found.shared:
        return (
            f"all {' and '.join(found.shared)} lose the same weights: every one needs its own draw"
        )
    if not found.whole:
        return "single numbers are dropped of what the weights gather, not whole weights"
    if found.kept != expected.kept:
        return f"kept weights should be multiplied by 1/(1 - p), here it is: {found.kept}"
    return "the returned weights should be those before dropout (their rows sum to 1)"
