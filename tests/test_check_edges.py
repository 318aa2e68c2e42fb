"""Where the checks draw their lines: how far off is wrong, what is tried, what may be missing."""

import dataclasses
import re

import numpy as np
import pytest
import torch

from mha_utils import MultiHeadAttention, attention, checks
from mha_utils.checks.exercise import Asked
from mha_utils.checks.judge import close
from mha_utils.checks.module import Adapter, adapter_for
from mha_utils.checks.module.attempts import are_same
from mha_utils.checks.module.dropout import RIGHT, P, look, one_hot_case
from mha_utils.checks.module.scenarios import SCENARIOS, draw, draw_mask


@pytest.mark.parametrize("size", [0.01, 1.0, 30.0])
@pytest.mark.parametrize(("error", "is_close"), [(0.95e-4, True), (1.05e-4, False)])
def test_values_may_be_off_by_a_ten_thousandth_of_the_largest_or_of_1(size, error, is_close):
    expected = size * np.array([1.0, -0.5])
    for shift in ([0.0, 1.0], [-1.0, 0.0]):
        came = expected + error * max(1.0, size) * np.array(shift)
        assert close(came, expected) == is_close


@pytest.mark.parametrize(("error", "passes"), [(0.95e-6, True), (1.05e-6, False)])
def test_numbers_may_be_off_by_a_millionth(error, passes):
    solve = checks.check_ceiling.solve
    assert bool(checks.check_ceiling(lambda h, dh: solve(h, dh) * (1 + error))) == passes


@pytest.mark.parametrize("name", ["scale", "some_row_lost", "ceiling", "best_offset"])
def test_a_number_that_is_wrong_in_one_case_is_found(name):
    exercise = getattr(checks, f"check_{name}")
    assert exercise(exercise.solve)
    for case in exercise.tried:
        report = exercise(lambda *a, case=case: exercise.solve(*a) + (a == case))
        assert not report
        assert str(case[0]) in repr(report)


@pytest.mark.parametrize("number", range(len(SCENARIOS)))
def test_masks_hide_something_from_some_and_nobody_from_themselves(number):
    scenario = SCENARIOS[number]
    for seed in range(20):
        mask = draw_mask(scenario, np.random.default_rng(seed))
        assert (mask is None) == (not scenario.mask)
        if scenario.mask in ("all", "heads", "empty"):
            first, last = mask[..., 0, :], mask[..., -1, :]
            assert not first[..., -1].any()
            assert last[..., scenario.lengths[0] - 1].all()
        if scenario.mask in ("all", "heads"):
            assert np.diagonal(mask, axis1=-2, axis2=-1).all()
        if scenario.mask == "padding":
            assert mask[..., 0].all()
            assert not mask[0].all()
            assert mask[-1].all()


def test_expected_weights_keep_to_the_mask():
    for scenario in SCENARIOS:
        drawn = draw(scenario, 0)
        mask, weights = drawn.joined_mask(), drawn.expected(frozenset())["weights"]
        if mask is not None:
            assert (np.where(mask, 0, weights) == 0).all()
            seen = np.broadcast_to(mask.any(axis=-1), weights.shape[:-1])
            assert np.allclose(weights.sum(axis=-1), seen)


class WithoutContext(MultiHeadAttention):
    """Nothing flows back to the context, and not to k_proj."""

    def forward(self, x, context=None, **options):
        return self.out_proj(self.v_proj(x)) + 0 * super().forward(x, context).detach()


def test_an_answer_through_which_no_gradient_flows_gets_a_report():
    report = checks.check_multi_head_attention(WithoutContext)
    assert not report
    assert "wrong numbers" in repr(report)
    assert "Error" not in repr(report)


def test_gradients_alone_can_be_wrong():
    def answer(q, k, v):
        weights = attention(q, k, v)[1]
        return weights.detach() @ v

    report = checks.check_attention(answer)
    assert "gradient" in repr(report)
    assert torch.is_grad_enabled()


def test_what_is_not_a_number_is_furthest_off():
    def answer(q, k, v):
        out = attention(q, k, v)[0] + 5
        out[..., -1, 0] = torch.nan
        return out

    assert "Furthest off at [1, 0]: expected" in repr(checks.check_attention(answer))


@pytest.mark.parametrize(
    ("exercise", "call"),
    [
        ("induction_places", r"\(tokens=\[\d+(, \d+)*\]\)"),
        ("masked_weights", r"\(scores\(2, 4\), mask\(2, 4\)\)"),
        ("split_heads", r"\(q\(5, 2, 12\), num_heads=4\)"),
    ],
)
def test_a_report_quotes_few_whole_numbers_and_the_shape_of_everything_else(exercise, call):
    report = repr(getattr(checks, f"check_{exercise}")(lambda *given: torch.ones(1)))
    assert re.match(f"✗ <lambda>{call} ", report), report


def test_what_an_adapter_tries():
    everything = {"context", "mask", "causal", "weights", "weights in training", "empty rows"}
    everything |= {"strides", "head masks"}
    usual = adapter_for(MultiHeadAttention)
    assert Adapter(print, print, print).takes == usual.takes == everything | {"dropout"}
    assert not usual.always_causal
    always = adapter_for(MultiHeadAttention, causal=True)
    assert always.takes == usual.takes - {"causal", "context"}
    assert always.always_causal
    assert adapter_for(MultiHeadAttention, empty_rows=False).takes == usual.takes - {"empty rows"}


class AskedForItsHeadDim(MultiHeadAttention):
    def __init__(self, d_model, n_heads, head_dim):
        assert head_dim * n_heads == d_model
        super().__init__(d_model, n_heads)


def test_a_class_may_ask_for_the_width_of_a_head():
    assert checks.check_multi_head_attention(AskedForItsHeadDim)


def test_which_weights_a_caller_is_given():
    case = one_hot_case(2, 6, False)
    weights = case.expected(frozenset())["weights"]
    used = weights * (np.random.default_rng(0).random(weights.shape) >= P) / (1 - P)
    gathered = np.concatenate([used, used.sum(axis=-1, keepdims=True)], axis=-1)
    merged = np.concatenate(list(np.moveaxis(gathered, 1, 0)), axis=-1)
    out = merged @ np.linalg.inv(case.parameters["out.weight"].astype(np.float64))
    for returned, name in (
        (None, "before"),
        (weights, "before"),
        (used, "after"),
        (0 * used, "other"),
    ):
        assert look(case, out, returned) == dataclasses.replace(RIGHT, returned=name)


def test_what_could_not_run_is_not_the_same():
    """A bug that this layer cannot have is not its name."""
    results = {"out": np.zeros((1, 2, 3))}
    assert are_same(results, results)
    assert not are_same(results, None)


@pytest.mark.parametrize("name", [name for name in dir(checks) if name.startswith("check_")])
def test_help_says_what_is_asked(name):
    check = getattr(checks, name)
    if isinstance(check, Asked):
        assert check.__doc__ == f"Check {check.asks}"
        assert len(check.asks.split()) > 4
