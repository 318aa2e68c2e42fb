"""The dropout view's draws are those of `drop_weights`."""

import re

import numpy as np
import pytest
import torch

from mha_utils import drop_weights, widgets
from mha_utils.widgets.dropout_draws import _cells


def random_view(seed: int) -> tuple[widgets.DropoutDraws, torch.Tensor]:
    g = torch.Generator().manual_seed(seed)
    rows, columns = (int(n) for n in torch.randint(1, 13, (2,), generator=g))
    weights = torch.randn(rows, columns, generator=g).softmax(dim=-1)
    p = float(torch.rand((), generator=g)) * 0.9
    return widgets.DropoutDraws(weights, p=p, num_draws=20, seed=seed), weights


@pytest.mark.parametrize("seed", range(5))
def test_draws_are_those_of_drop_weights(seed):
    view, weights = random_view(seed)
    view.draw = 20
    repeated = weights.expand(20, *weights.shape)
    expected = drop_weights(repeated, view.p, torch.Generator().manual_seed(seed))
    torch.testing.assert_close(torch.tensor(view.dropped()).float(), expected)


def test_evaluation_drops_nothing():
    view, weights = random_view(0)
    view.training = False
    assert torch.equal(torch.tensor(view.dropped()[0]).float(), weights)
    assert view.finding() == "Evaluation: nothing is dropped, whatever p is."


def test_a_row_that_lost_everything_is_named():
    view = widgets.DropoutDraws(torch.eye(3), ["a", "b", "c"], p=0.9, num_draws=1)
    lost = [name for name, row in zip("abc", view.dropped()[0]) if not row.any()]
    named = ", ".join(f"“{name}”" for name in lost)
    assert lost
    assert f"Lost everything: {named}." in view.finding()
    view.p = 0.0
    assert "Lost" not in view.finding()
    assert "0 of 3 weights dropped, the others times 1.00" in view.finding()


def test_the_average_comes_closer_with_more_draws():
    view = widgets.DropoutDraws(torch.full((4, 4), 0.25), p=0.5, num_draws=500)
    weights = torch.full((4, 4), 0.25).double()
    off = []
    for draw in (1, 20, 500):
        view.draw = draw
        off.append((torch.tensor(view.dropped()).mean(dim=0) - weights).abs().max())
    assert off[0] > off[1] > off[2]


def test_the_finding_in_full():
    view = widgets.DropoutDraws(torch.full((2, 3), 1 / 3), ["a", "b", "c"], seed=1)
    assert view.finding() == (
        "p = 0.40, draw 1: 2 of 6 weights dropped, the others times 1.67; row sums from 1.11 to "
        "1.11. Averaged over 1 draw, the weights are off by at most 0.33."
    )
    view.draw = 3
    assert "Averaged over 3 draws, the weights are off by at most 0." in view.finding()


def test_the_picture_tells_dropped_from_small_and_marks_what_is_above_1():
    weights = torch.tensor([[0.9, 0.1, 0.0]])
    crosses, kept = [
        _cells(np.array([row]), weights.double().numpy())[0]
        for row in ([0.0, 0.0, 0.0], [1.5, 0.17, 0.0])
    ]
    assert [cell.text for cell in crosses] == ["×", "×", "0.00"]
    assert [cell.marked for cell in kept] == [True, False, False]


WRONG = {
    "vector": (
        {"weights": torch.ones(3)},
        "weights must be (T, S) with T and S from 1 to 12 and values from 0 to 1, got shape (3,)",
    ),
    "too large": (
        {"weights": torch.ones(13, 2)},
        "weights must be (T, S) with T and S from 1 to "
        "12 and values from 0 to 1, got shape (13, 2)",
    ),
    "not shares": (
        {"weights": -torch.ones(2, 2)},
        "weights must be (T, S) with T and S from 1 to 12 and values from 0 to 1, got shape (2, 2)",
    ),
    "tokens": ({"tokens": ["a"]}, "tokens must be S = 2 words, got 1"),
    "p": ({"p": 1.5}, "p must be a probability between 0 and 1, got 1.5"),
    "large p": ({"p": 0.95}, "p must be at most 0.9 to be drawn, got 0.95"),
    "many draws": ({"num_draws": 501}, "num_draws must be at most 500, got 501"),
    "seed": ({"seed": -1}, "seed must be an integer of at least 0, got -1"),
    "draws": ({"num_draws": 0}, "num_draws must be an integer of at least 1, got 0"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_named(name):
    arguments, text = WRONG[name]
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        widgets.DropoutDraws(**({"weights": torch.eye(2)} | arguments))
