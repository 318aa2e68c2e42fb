"""Heads that share keys or values: the tasks, the model, the ceiling, the record."""

import pytest
import torch

from mha_utils import MultiHeadAttention
from mha_utils.experiments import recorded
from mha_utils.experiments.record import EXPERIMENTS, run
from mha_utils.experiments.sharing import WANTED, Fetches, ceiling, sharing

SETS = ((4, 4), (2, 2), (1, 1), (1, 4), (4, 1))


def row_of(wanted, head_dim, num_keys, num_values) -> dict:
    sizes = {"head_dim": head_dim, "num_keys": num_keys, "num_values": num_values}
    (row,) = (r for r in recorded(wanted) if sizes.items() <= r.items())
    return row


@pytest.mark.parametrize("wanted", WANTED)
def test_every_position_wants_eight_numbers_of_four_others(wanted):
    batch = Fetches(wanted).draw(3, torch.Generator().manual_seed(0))
    for t in range(12):
        for n, offset in enumerate((1, 2, 3, 5)):
            part = 8 * n * (wanted == "other parts")
            source = batch.inputs[:, (t - offset) % 12, part : part + 8]
            assert torch.equal(batch.targets[:, t, 8 * n : 8 * n + 8], source)


def test_the_model_is_the_layer_of_the_package():
    model = sharing(12, 2, 2).build(Fetches("same part"))
    layer = MultiHeadAttention(32, 4, bias=False, num_kv_heads=2, head_dim=12, qdim=12, kdim=12)
    layer.load_state_dict(model.layers[0].attention.state_dict())
    tokens = torch.randn(3, 12, 32)
    places = model.waves.expand(3, -1, -1)
    assert torch.equal(model(tokens)[0], layer(places, places, tokens))


def test_nothing_gets_past_shared_values():
    """What no row of `v_proj` sees of a token changes no output, whatever the weights are."""
    torch.manual_seed(0)
    model = sharing(12, 4, 1).build(Fetches("other parts")).double()
    tokens = torch.randn(2, 12, 32, dtype=torch.float64)
    rows = model.layers[0].attention.v_proj.weight.detach()
    unseen = torch.linalg.svd(rows).Vh[len(rows) :]
    assert len(unseen) == 32 - 12
    hidden = torch.randn(2, 12, len(unseen), dtype=torch.float64) @ unseen
    assert torch.allclose(model(tokens)[0], model(tokens + hidden)[0], atol=1e-12)


def test_the_ceiling():
    assert [ceiling("other parts", 12, m) for m in (4, 2, 1)] == [1.0, 0.75, 0.375]
    assert [ceiling("other parts", 8, m) for m in (4, 2, 1)] == [1.0, 0.5, 0.25]
    assert [ceiling("same part", width, 1) for width in (12, 8, 4)] == [1.0, 1.0, 0.5]


@pytest.mark.parametrize("wanted", WANTED)
def test_no_recorded_model_is_above_its_ceiling(wanted):
    for width in (12, 8):
        for sets in SETS:
            scores = row_of(wanted, width, *sets)["scores"]["all"]
            assert len(scores) == 10
            assert max(scores) <= ceiling(wanted, width, sets[1]) + 0.005  # of 256 sequences


@pytest.mark.parametrize(("num_keys", "missed"), [(4, 2), (1, 4)])
def test_with_no_number_to_spare_some_seeds_leave_one_job_of_four_undone(num_keys, missed):
    """Heads of width 8, each with values of its own: the ceiling is 1."""
    below = [s for s in row_of("other parts", 8, num_keys, 4)["scores"]["all"] if s < 0.9]
    assert len(below) == missed
    assert below == pytest.approx([0.75] * missed, abs=0.01)


@pytest.mark.parametrize(("sets", "share"), [(2, 1 / 2), (1, 1 / 4)])
def test_shared_values_of_width_8_are_on_their_ceiling(sets, share):
    scores = row_of("other parts", 8, sets, sets)["scores"]["all"]
    assert scores == pytest.approx([share] * 10, abs=0.01)


def test_a_recorded_model_is_trained_again():
    """One seed; another processor rounds differently, so not to the last digit."""
    again = run("other parts", sharing(12, 1, 1), (0,))
    row = row_of("other parts", 12, 1, 1)
    assert again["parameters"] == row["parameters"]
    for name, (score,) in again["scores"].items():
        assert score == pytest.approx(row["scores"][name][0], abs=0.02), name


def test_a_task_that_is_none_is_refused():
    with pytest.raises(ValueError, match="wanted must be"):
        Fetches("everything")
    assert set(WANTED) <= set(EXPERIMENTS)
