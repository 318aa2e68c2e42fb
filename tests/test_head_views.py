"""The head budget and the training film on the side of Python."""

import numpy as np
import pytest
import torch

from mha_utils import widgets
from mha_utils.widgets.examples import EXAMPLES

ROWS = [
    {"num_heads": 1, "head_dim": 4, "scores": [0.25, 0.5]},
    {"num_heads": 2, "head_dim": 2, "scores": [1.0, 0.5]},
]


def test_budget_names_mean_and_range():
    view = widgets.HeadBudget(ROWS, "R²", 4, lambda h, dh: h / 2, num_heads=2, head_dim=2)
    assert view.finding() == (
        "2 heads of width 2 (4 columns): R² 0.750, from 0.500 to 1.000 over 2 seeds. "
        "Theory allows at most 1.000."
    )
    view.head_dim = 4
    assert view.finding() == "2 heads of width 4 (8 columns): not tried."


def test_budget_refuses_a_model_that_is_not_there():
    with pytest.raises(ValueError, match="no result for 2 heads of width 4"):
        widgets.HeadBudget(ROWS, "R²", 4, num_heads=2, head_dim=4)
    with pytest.raises(ValueError, match="num_heads"):
        widgets.HeadBudget(ROWS, "R²", 4, num_heads=0, head_dim=4)


def film(**changes):
    given = {
        "steps": [0, 5],
        "maps": torch.full((2, 1, 2, 3, 3), 1 / 3),
        "labels": [list("abc")],
        "heads": ["left", "right"],
        "curves": {"first": [0.0, 1.0]},
        "sources": {"first": torch.zeros(1, 3).long()},
    }
    return widgets.TrainingFilm(**given | changes)


def test_film_keeps_weights_to_a_byte():
    weights = torch.rand(2, 1, 2, 3, 3, generator=torch.Generator().manual_seed(0)).softmax(-1)
    view = film(maps=weights)
    np.testing.assert_allclose(view.weights(), weights[1, 0], atol=1 / 510 + 1e-9)
    view.frame = 0
    np.testing.assert_allclose(view.weights(), weights[0, 0], atol=1 / 510 + 1e-9)


def test_film_says_where_each_head_looks():
    maps = torch.zeros(2, 1, 2, 3, 3)
    maps[:, :, 0, :, 0] = 1  # the first head looks at the first key
    maps[:, :, 1] = torch.eye(3)
    places = {"first": torch.zeros(1, 3).long(), "itself": torch.tensor([[-1, 1, 2]])}
    view = film(maps=maps, sources=places)
    assert view.mass().tolist() == [[1, 0], [1 / 3, 1]]
    assert view.finding() == (
        "Step 5. Right: first 1.0. Here left gives 1.0 to “first”, right gives 1.0 to “itself”."
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"maps": torch.zeros(2, 1, 2, 3)}, r"maps must be \(S, E, H, T, T\), got \(2, 1, 2, 3\)"),
        ({"steps": [0]}, "steps must have 2 entries, got 1"),
        ({"heads": ["one"]}, "heads must have 2 entries, got 1"),
        ({"labels": [list("ab")]}, r"labels\[0\] must have 3 entries, got 2"),
        ({"curves": {"first": [1.0]}}, r"curves\['first'\] must have 2 entries, got 1"),
        ({"sources": {"first": torch.zeros(3)}}, r"sources\['first'\] must be \(1, 3\), got \(3,"),
    ],
)
def test_film_refuses_what_does_not_fit(changes, message):
    with pytest.raises(ValueError, match=message):
        film(**changes)


@pytest.mark.parametrize("name", ["HeadBudget", "TrainingFilm"])
def test_still_picture_has_room_for_all(name):
    view = EXAMPLES[name]()
    assert view.still().width > 300
