"""The numbers of one cell, step by step, against the package and the loops of the reference."""

import re

import pytest
import torch

from mha_utils import attention, attention_scores, causal_mask, reference, widgets
from mha_utils.widgets.cell_steps import STEPS
from mha_utils.widgets.cell_tables import aligned, fixed, trimmed
from mha_utils.widgets.examples import EXAMPLES

toy_steps = EXAMPLES["CellSteps"]


def random_steps(seed: int, **options) -> widgets.CellSteps:
    g = torch.Generator().manual_seed(seed)
    length, head_dim, value_dim = (int(n) for n in torch.randint(1, 13, (3,), generator=g))
    q, k = torch.randn(2, length, head_dim, generator=g) * 1.5
    v = torch.randn(length, value_dim, generator=g)
    mask = torch.rand(length, length, generator=g) < 0.7
    i, j = (int(n) for n in torch.randint(0, length, (2,), generator=g))
    words = [f"w{n}" for n in range(length)]
    return widgets.CellSteps(words, q, k, v, i, j, mask, bool(seed % 2), **options)


@pytest.mark.parametrize("seed", range(10))
def test_every_number_is_that_of_the_package(seed):
    view = random_steps(seed)
    q, k, v = view._tensors()
    i, j = view.query, view.key
    mask = torch.tensor(view.allowed).view(len(q), len(q))
    mask = mask & causal_mask(len(q)) if seed % 2 else mask
    out, weights = attention(q, k, v, mask)
    numbers = view.numbers()
    torch.testing.assert_close(numbers.products.sum(), q[i] @ k[j])
    torch.testing.assert_close(numbers.scores, attention_scores(q, k)[i])
    assert torch.equal(numbers.masked.isinf(), ~mask[i])
    torch.testing.assert_close(numbers.weights, weights[i])
    torch.testing.assert_close(numbers.out, out[i])
    torch.testing.assert_close(numbers.parts, weights[i][:, None] * v)


@pytest.mark.parametrize("seed", range(4))
def test_powers_over_their_sum_are_the_weights(seed):
    numbers = random_steps(seed).numbers()
    if numbers.powers.sum() > 0:
        torch.testing.assert_close(numbers.powers / numbers.powers.sum(), numbers.weights)
        assert numbers.lowered.max() == 0


def test_the_output_row_is_that_of_the_plain_loops():
    view = toy_steps()
    q, k, v = (x.tolist() for x in view._tensors())
    out, weights = reference.attend_one_query(q[7], k, v)
    assert view.numbers().out.tolist() == pytest.approx(out, abs=1e-12)
    assert view.numbers().weights.tolist() == pytest.approx(weights, abs=1e-12)


def test_a_query_that_may_attend_to_nothing_gets_zeros():
    q, k, v = torch.ones(3, 2, 4)
    view = widgets.CellSteps(["a", "b"], q, k, v, mask=torch.zeros(2, 2, dtype=torch.bool), step=5)
    assert view.table()[1:] == [
        ["a", "−∞", "−∞", "0", "0"],
        ["b", "−∞", "−∞", "0", "0"],
        ["sum", "", "", "0", "0"],
    ]
    view.step = 6
    assert view.finding().endswith(
        "“a” · “a”: 4.00 / √4 = 2.00, forbidden, weight 0.00. Output: 0.00, 0.00, 0.00, 0.00."
    )


FINDINGS = (
    "products. “it” · “cat”: 4 products, the largest in size 4.00.",
    "sum. “it” · “cat”: the products sum to 8.00.",
    "scale. “it” · “cat”: 8.00 / √4 = 4.00.",
    "mask. “it” · “cat”: 4.00, allowed. 10 of 10 keys are allowed.",
    "softmax. “it” · “cat”: 8.00 / √4 = 4.00, weight 0.76.",
    "times v. “it” · “cat”: 8.00 / √4 = 4.00, weight 0.76. Output: 0.86, 0.76, 0.03.",
)


def test_findings_in_full():
    view = toy_steps()
    for view.step, text in enumerate(FINDINGS, start=1):
        assert view.finding() == f"Step {view.step} of 6, {text}"
    view.step, view.is_causal, view.query, view.key = 4, True, 1, 7
    assert view.finding() == (
        "Step 4 of 6, mask. “cat” · “it”: 0.00, forbidden, so it becomes −∞. 2 of 10 keys are "
        "allowed."
    )


def test_tables_in_full():
    view = toy_steps()
    view.step = 3
    assert view.table() == [
        ["d", "q", "k", "q × k"],
        ["0", "2", "2", "4"],
        ["1", "2", "2", "4"],
        ["2", "0", "0", "0"],
        ["3", "0", "0", "0"],
        ["sum = q · k", "", "", "8"],
        ["÷ √4 = score", "", "", "4"],
    ]
    view.step = 2
    assert view.table()[-1] == ["sum = q · k", "", "", "8"]
    view.step = 1
    assert view.table()[-1] == ["3", "0", "0", "0"]
    view.step = 5
    assert view.table()[2] == ["cat", "4", "0", "1.0000", "0.7614"]
    view.step = 6
    assert view.table()[-1] == ["sum = out", "", "0.8645", "0.7614", "0.0279"]
    assert view.table()[2][2] == "0.7614 × 1 = 0.7614"


def test_the_pictures_of_all_steps_differ():
    view = toy_steps()
    assert len({view.png() for view.step in range(1, len(STEPS) + 1)}) == len(STEPS)


def test_the_picture_holds_the_largest_view():
    wide = torch.randn(3, 12, 16, generator=torch.Generator().manual_seed(0))
    view = widgets.CellSteps(["a long word"] * 12, *wide, step=6)
    assert view.still().height < 900
    assert view.finding().endswith(", …")


def test_numbers_are_written_as_javascript_writes_them():
    assert [fixed(x) for x in (0.125, -0.125, 2.5, -0.001, -torch.inf)] == [
        "0.13",
        "−0.13",
        "2.50",
        "0.00",
        "−∞",
    ]
    assert [trimmed(x) for x in (10.0, 0.5, -1.25, 0.001)] == ["10", "0.5", "−1.25", "0"]
    assert aligned([1.0, -20.0, 0.00001]) == ["1", "−20", "0"]
    assert aligned([1.0, -torch.inf, 0.5]) == ["1.0000", "−∞", "0.5000"]


x = torch.zeros
ERRORS = {
    "too many tokens": (
        lambda: widgets.CellSteps(["a"] * 13, x(13, 2), x(13, 2), x(13, 2)),
        "q must be one head (T, Dh) with T from 1 to 12, got (13, 2)",
    ),
    "too wide": (
        lambda: widgets.CellSteps(["a"], x(1, 17), x(1, 17), x(1, 2)),
        "expected Dh and Dv of at most 16, got Dh = 17 and Dv = 2",
    ),
    "values too wide": (
        lambda: widgets.CellSteps(["a"], x(1, 2), x(1, 2), x(1, 17)),
        "expected Dh and Dv of at most 16, got Dh = 2 and Dv = 17",
    ),
    "several heads": (
        lambda: widgets.CellSteps(["a"], x(2, 1, 2), x(2, 1, 2), x(2, 1, 2)),
        "q must be one head (T, Dh) with T from 1 to 12, got (2, 1, 2)",
    ),
    "other keys": (
        lambda: widgets.CellSteps(["a"], x(1, 2), x(1, 3), x(1, 2)),
        "k must be (T, Dh) = (1, 2) as q, got (1, 3)",
    ),
    "too few words": (
        lambda: widgets.CellSteps(["a"], x(2, 2), x(2, 2), x(2, 2)),
        "words must be T = 2 words, got 1",
    ),
    "mask of numbers": (
        lambda: widgets.CellSteps(["a"], x(1, 2), x(1, 2), x(1, 2), mask=x(1, 1)),
        "mask must be boolean (T, T) = (1, 1), True = may attend, got float32 (1, 1)",
    ),
    "query outside": (
        lambda: widgets.CellSteps(["a"], x(1, 2), x(1, 2), x(1, 2), query=1),
        "query must be an integer from 0 to 0, got 1",
    ),
    "step outside": (
        lambda: widgets.CellSteps(["a"], x(1, 2), x(1, 2), x(1, 2), step=7),
        "step must be an integer from 1 to 6, got 7",
    ),
    "not a number": (
        lambda: widgets.CellSteps(["a"], x(1, 2), x(1, 2) / 0, x(1, 2)),
        "k must hold finite numbers, got nan",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_wrong_input_is_refused(name):
    wrong, text = ERRORS[name]
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        wrong()
