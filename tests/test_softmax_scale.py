"""The numbers beside the two softmaxes, against torch."""

import re

import pytest
import torch

from mha_utils import attention_weights, widgets
from mha_utils.widgets.softmax_scale import WIDTHS


def largest_slope(scores: torch.Tensor) -> float:
    slopes = torch.autograd.functional.jacobian(lambda s: s.softmax(dim=0), scores)
    return slopes.abs().max().item()


@pytest.mark.parametrize("num_keys", [2, 8, 16])
@pytest.mark.parametrize("head_dim", WIDTHS)
def test_both_sides_are_measured_right(head_dim, num_keys):
    view = widgets.SoftmaxScale(head_dim, num_keys, seed=3)
    for side in view.sides():
        assert len(side.scores) == num_keys
        torch.testing.assert_close(attention_weights(side.scores[None])[0], side.weights)
        assert side.slope == pytest.approx(largest_slope(side.scores), abs=1e-12)
        assert side.spread == pytest.approx(side.scores.std().item())
        expected = torch.distributions.Categorical(side.weights).entropy().item()
        assert side.entropy == pytest.approx(expected, abs=1e-6)


def test_the_draws_have_variance_one_and_shorter_heads_are_their_first_numbers():
    """16 x 16 scores of width 512: spread about 1 divided, about root 512 undivided."""
    view = widgets.SoftmaxScale(512, 16)
    undivided, divided = [], []
    for view.query in range(16):
        left, right = view.sides()
        undivided.append(left.scores)
        divided.append(right.scores)
    assert 0.9 < torch.stack(divided).std() < 1.1
    assert 0.9 < torch.stack(undivided).std() / 512**0.5 < 1.1
    by_width = {}
    for view.head_dim in (1, 2):
        by_width[view.head_dim] = view.sides()[0].scores
    q, k = (torch.frombuffer(bytearray(sent), dtype=torch.float32) for sent in (view.q, view.k))
    q, k = q.view(16, 512).double(), k.view(16, 512).double()
    torch.testing.assert_close(by_width[2] - by_width[1], q[15, 1] * k[:, 1])


def test_the_left_side_loses_its_slopes_and_the_right_one_keeps_them():
    """What the view is there to show, as the mean over its queries."""
    view = widgets.SoftmaxScale(512)
    slopes = []
    for view.query in range(16):
        slopes.append([side.slope for side in view.sides()])
    left, right = torch.tensor(slopes).mean(dim=0)
    assert left < 0.06
    assert right > 0.18


def test_temperature_of_root_dh_undoes_a_missing_divisor():
    view = widgets.SoftmaxScale(64)
    view.temperature = 8.0
    left, right = view.sides()
    assert torch.equal(left.weights, right.weights)
    view.temperature = 7.5
    assert view.sides()[0].slope != right.slope


def test_the_finding_in_full():
    view = widgets.SoftmaxScale(seed=2)
    assert view.finding() == (
        "Query 0, Dh = 64, not divided: scores spread by 7.1, the largest weight is 0.598, "
        "entropy 0.68 of 2.08 nats, largest slope 0.240. Divided by √64: scores spread by 0.9, "
        "the largest weight is 0.296, entropy 1.79 of 2.08 nats, largest slope 0.208."
    )
    view.temperature, view.head_dim, view.query = 2.5, 1, 99
    assert view.finding().startswith("Query 15, Dh = 1, divided by temperature 2.5: scores spread")
    assert " Divided by √1: scores spread" in view.finding()


def test_the_same_seed_draws_the_same():
    first, again, other = (widgets.SoftmaxScale(seed=seed) for seed in (5, 5, 6))
    assert (first.q, first.k) == (again.q, again.k)
    assert (first.q, first.k) != (other.q, other.k)
    assert len(first.q) + len(first.k) <= 50_000  # it travels with every page


ERRORS = {
    "no power of two": (
        {"head_dim": 48},
        "head_dim must be a power of two from 1 to 512, got 48",
    ),
    "too wide": ({"head_dim": 1024}, "head_dim must be a power of two from 1 to 512, got 1024"),
    "width 0": ({"head_dim": 0}, "head_dim must be an integer of at least 1, got 0"),
    "one key": ({"num_keys": 1}, "num_keys must be 2 to 16, got 1"),
    "too many keys": ({"num_keys": 17}, "num_keys must be 2 to 16, got 17"),
    "negative seed": ({"seed": -1}, "seed must be an integer of at least 0, got -1"),
    "seed of True": ({"seed": True}, "seed must be an integer of at least 0, got True"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_wrong_input_is_refused(name):
    arguments, text = ERRORS[name]
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        widgets.SoftmaxScale(**arguments)
