"""What is recorded of small and published models is what was measured, with its digits."""

import math

import IPython
import ipywidgets
import pytest
import torch

from mha_utils.experiments import progress
from mha_utils.experiments import record as experiments
from mha_utils.experiments import train as training
from mha_utils.experiments.model import Shape
from mha_utils.experiments.record import Experiment, measure
from mha_utils.experiments.tasks import RepeatedBlock, ThreeRelations
from mha_utils.experiments.train import Recipe, evaluate, train
from mha_utils.trained import results
from mha_utils.trained.results import BLOCK, copy_losses, measure_twins, repeated_tokens, to_remove

TASK, SHORT = ThreeRelations(), Recipe(2, batch_size=4, warm_up=1)


def test_scores_are_recorded_to_four_digits():
    (model,) = train(TASK, Shape(2, 4), SHORT)
    scores, batch, maps = evaluate(model, TASK, 64)
    found = measure(model, TASK, 64)
    assert found["scores"] == pytest.approx(scores, abs=0.5001e-4)
    (layer,) = found["mass"]
    for name, where in TASK.places(batch).items():
        mass = (maps[0] * where[:, None]).sum(dim=-1).mean(dim=(0, 2))  # every query has a source
        assert layer[name] == pytest.approx(mass.tolist(), abs=0.5001e-4)
    assert len(str(found)) < 400


def test_a_film_keeps_every_twentieth_step_of_every_seed(monkeypatch):
    task = Experiment(RepeatedBlock(), Recipe(21, batch_size=2, warm_up=1), ())
    monkeypatch.setattr(experiments, "EXPERIMENTS", {"repeats": task})
    row = experiments.run("repeats", Shape(1, 4, causal=True), (0, 1))
    assert list(row["curve"]) == ["0", "20", "21"]
    assert {len(models) for models in row["curve"].values()} == {2}
    assert set(row["curve"]["0"][0]) == {"scores", "mass"}
    assert (row["task"], row["num_heads"], row["seeds"]) == ("repeats", 1, [0, 1])


class Fails(ThreeRelations):
    def draw(self, batch_size, generator):
        raise ZeroDivisionError


def fails(*arguments):
    raise ZeroDivisionError


@pytest.mark.parametrize(("task", "watch"), [(Fails(), None), (TASK, fails)])
def test_threads_are_as_before_after_a_training_that_raises(task, watch):
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with pytest.raises(ZeroDivisionError):
            train(task, Shape(1, 4), SHORT, watch=watch)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_one_thread_trains():
    seen, before = [], torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        train(TASK, Shape(1, 4), SHORT, watch=lambda *_: seen.append(torch.get_num_threads()))
    finally:
        torch.set_num_threads(before)
    assert set(seen) == {1}


def test_the_bar_shows_how_far_the_loop_has_come_and_goes(monkeypatch):
    shown = []

    class Display:
        def update(self, data, raw):
            shown.append((data, raw))

    def display(data, raw, display_id):
        shown.append((set(data), raw))
        return Display()

    bars = []
    make = ipywidgets.IntProgress
    monkeypatch.setattr(ipywidgets, "IntProgress", lambda **o: bars.append(make(**o)) or bars[0])
    monkeypatch.setattr(progress, "get_ipython", lambda: type("Shell", (), {"kernel": 1}))
    monkeypatch.setattr("IPython.display.display", display)
    steps = []
    for step in progress.progress(200, "training"):
        steps.append(step)
        assert bars[0].value <= step
        assert step - bars[0].value <= 200 // 50
    assert (steps, bars[0].max, bars[0].description) == (list(range(200)), 200, "training")
    assert shown == [({progress.VIEW}, True), ({}, True)]
    assert IPython.get_ipython() is None


# ---- published models ------------------------------------------------------------------


def test_tokens_are_drawn_once_and_repeated():
    ids = repeated_tokens(seed=3, rows=4, vocabulary=150)
    assert ids.shape == (4, 1 + 2 * BLOCK)
    assert (ids[:, 0] == 0).all()
    assert torch.equal(ids[:, 1 : 1 + BLOCK], ids[:, 1 + BLOCK :])
    assert ids[:, 1:].min() >= 100
    assert ids.max() < 150
    assert torch.equal(ids, repeated_tokens(3, 4, 150))
    assert not torch.equal(ids, repeated_tokens(4, 4, 150))


class Copies(results.Decoder):
    """Foretells what followed the same token before; knows nothing in the first copy."""

    num_heads = 4

    def __init__(self):
        self.asked = ()

    def __call__(self, ids, without=()):
        self.asked = without
        logits = torch.zeros(*ids.shape, 50_000)
        for row, tokens in enumerate(ids[:, 1 : 1 + BLOCK]):
            for place, token in enumerate(tokens):
                logits[row, BLOCK + place, token] = 100.0
        maps = torch.arange(8.0).view(2, 1, 4, 1, 1).expand(2, len(ids), 4, 51, 51)
        return logits, maps


def test_losses_of_the_two_copies_by_hand():
    """Uniform in the first copy: ln V. In the second, all but its first token count."""
    model = Copies()
    first, second, maps = copy_losses(model, repeated_tokens(0), without=[(1, 2)])
    assert first == pytest.approx(math.log(50_000), rel=1e-4)
    assert second == pytest.approx(0, abs=1e-4)
    assert model.asked == [(1, 2)]
    assert maps.shape == (8, 2, 51, 51)
    assert maps[:, 0, 0, 0].tolist() == list(range(8))  # layer 0's heads first


def test_the_strongest_heads_are_removed_and_three_by_lot():
    found = {"previous token": [0.1, 0.2, 0.9, 0.3] * 2, "induction": [0, 0, 0, 0, 0, 0.7, 0, 0]}
    found["previous token"][6] = 0.8
    pairs = to_remove(Copies(), found)
    assert pairs["previous-token head 0.2"] == [(0, 2)]
    assert pairs["induction head 1.1"] == [(1, 1)]
    assert len(pairs) == 5
    for name, ((layer, head),) in pairs.items():
        assert name.endswith(f" {layer}.{head}")
        assert 0 <= layer < 2
        assert 0 <= head < 4


def test_twins_are_scored_by_sentence_and_by_pair():
    """Head 0 is right twice of four, by a large margin; head 1 leans one way whatever comes."""
    difference = torch.tensor([[0.5, 0.1], [-0.1, -0.1], [0.3, 0.1], [-0.2, -0.1]])
    found = measure_twins(difference)
    assert found["pairs"] == 2
    assert found["right"] == [0.5, 0.5]
    assert found["margin"] == [0.125, 0.0]
    assert found["moves"] == [1.0, 0.0]
    assert set(found) >= {"lucky best", "luck", "other half", "lucky moves", "luck of moves"}


def test_numbers_of_maps_are_recorded_to_three_digits():
    assert results._rounded(torch.tensor([0.12345, 2 / 3])) == [0.123, 0.667]


def test_pace_is_a_share():
    recipe = training.Recipe(100, warm_up=10, end=0.05)
    assert [recipe.pace(0), recipe.pace(9)] == pytest.approx([0.1, 1.0])
    assert recipe.pace(55) == pytest.approx(0.525)
    assert recipe.pace(100) == recipe.pace(200) == pytest.approx(0.05)
