"""What is recorded of small and published models is what was measured, with its digits."""

import math

import IPython
import ipywidgets
import pytest
import torch

from mha_utils.experiments import progress
from mha_utils.experiments import train as training
from mha_utils.experiments.model import Shape
from mha_utils.experiments.record import measure
from mha_utils.experiments.tasks import ThreeRelations
from mha_utils.experiments.train import Recipe, evaluate, train
from mha_utils.trained import measure as trained_measure
from mha_utils.trained.measure import (
    BLOCK,
    Decoder,
    copy_losses,
    heads_to_remove,
    measure_twins,
    repeated_tokens,
    word_vectors_alone,
)
from mha_utils.trained.sentences import Example

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


@pytest.fixture
def bar(monkeypatch):
    """A notebook: the parts of the bar that is shown, and what is displayed."""
    found = {"shown": []}

    class Display:
        def update(self, data, raw):
            found["shown"].append((data, raw))

    def display(data, raw, display_id):
        found["shown"].append((set(data), raw))
        return Display()

    def kept(name, make):
        return lambda *given, **options: found.setdefault(name, make(*given, **options))

    for name in ("IntProgress", "Label", "HBox"):
        monkeypatch.setattr(ipywidgets, name, kept(name, getattr(ipywidgets, name)))
    monkeypatch.setattr(progress, "get_ipython", lambda: type("Shell", (), {"kernel": 1}))
    monkeypatch.setattr("IPython.display.display", display)
    return found


def test_the_bar_shows_how_far_the_loop_has_come_and_goes(bar):
    steps = []
    for step in progress.progress(200, "training"):
        steps.append(step)
        assert bar["IntProgress"].value <= step
        assert step - bar["IntProgress"].value <= 200 // 50
    assert steps == list(range(200))
    assert (bar["IntProgress"].max, bar["IntProgress"].description) == (200, "training")
    assert bar["HBox"].children == (bar["IntProgress"], bar["Label"])
    assert bar["shown"] == [({progress.VIEW}, True), ({}, True)]
    assert [bar[name].comm for name in ("IntProgress", "Label", "HBox")] == [None] * 3
    assert IPython.get_ipython() is None


def test_beside_the_bar_stand_the_loss_and_the_time_that_is_left(bar, monkeypatch):
    now, seen = [50.0], []
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    for _ in progress.progress(100, "training", lambda: f"loss {len(seen) - 1}"):
        seen.append(bar["Label"].value)
        now[0] += 0.1  # ten seconds in all
    assert seen[:5] == ["", "loss 0", "loss 0", "loss 2, about 10 s left", seen[3]]
    assert seen[51] == "loss 50, about 5 s left"


def test_a_training_tells_its_loss(bar):
    said = []
    recipe = Recipe(4, batch_size=4, warm_up=1)
    train(TASK, Shape(1, 4), recipe, watch=lambda *_: said.append(bar["Label"].value), every=1)
    losses = [float(text.split()[1].rstrip(",")) for text in said[1:-1]]
    assert said[0] == ""
    assert all(0 < loss < 10 for loss in losses)
    assert len(set(losses)) > 1


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (("loss 0.5", 10, 40, 0.1), "loss 0.5"),
        (("loss 0.5", 10, 40, 2.0), "loss 0.5, about 6 s left"),
        (("", 10, 40, 2.0), "about 6 s left"),
        (("", 1, 40, 0.0), ""),
    ],
)
def test_what_is_told_of_a_loop(given, expected):
    assert progress.told(*given) == expected


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


class Copies(Decoder):
    """Predicts what followed the same token before; knows nothing in the first copy."""

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


def test_the_five_heads_of_the_highest_scores_are_removed_of_each_kind():
    found = {
        "previous token": [0.1, 0.2, 0.9, 0.3, 0.0, 0.4, 0.8, 0.05],
        "induction": [0.5, 0.6, 0.1, 0.2, 0.3, 0.7, 0.0, 0.05],
    }
    assert heads_to_remove(Copies(), found) == {
        "previous-token head 1: 0.2": (0, 2),
        "previous-token head 2: 1.2": (1, 2),
        "previous-token head 3: 1.1": (1, 1),
        "previous-token head 4: 0.3": (0, 3),
        "previous-token head 5: 0.1": (0, 1),
        "induction head 1: 1.1": (1, 1),
        "induction head 2: 0.1": (0, 1),
        "induction head 3: 0.0": (0, 0),
        "induction head 4: 1.0": (1, 0),
        "induction head 5: 0.3": (0, 3),
    }


def test_twins_are_scored_by_sentence_and_by_pair():
    """Head 0 is right twice of four, by a large margin; head 1 leans one way whatever comes."""
    difference = torch.tensor([[0.5, 0.1], [-0.1, -0.1], [0.3, 0.1], [-0.2, -0.1]])
    found = measure_twins(difference)
    assert found["pairs"] == 2
    assert found["right"] == [0.5, 0.5]
    assert found["margin"] == [0.125, 0.0]
    assert found["shifted"] == [1.0, 0.0]
    assert set(found) >= {"right by chance", "p of right", "held-out half", "shifted by chance"}
    assert found["right, signs"] == ["++", "--", "++", "--"]
    assert found["shifted, signs"] == ["+0", "+0"]


def test_word_vectors_alone_are_scored_like_heads():
    """ "she" is close to the queen; "he" is as close to her, so one of the twins is wrong."""
    vectors = {"king": [0.0, 1.0], "queen": [1.0, 0.0], "she": [1.0, 0.1], "he": [0.9, 0.2]}

    ids = {word: i for i, word in enumerate(vectors)}
    table = torch.tensor(list(vectors.values()))
    twins = [Example(["king", "queen", who], 2, at) for who, at in (("she", 1), ("he", 0))]
    found = word_vectors_alone(table, ids, twins)
    assert (found["right"], found["shifted"]) == (0.5, 1.0)
    assert (found["right, signs"], found["shifted, signs"]) == ("+-", "+")


def test_loss_on_ordinary_text_by_hand():
    """Without an answer, each of its tokens costs ln V; the head taken out is passed on."""

    class Uniform(Copies):
        def __call__(self, ids, without):
            self.asked = without
            return torch.zeros(*ids.shape, 50_000), None

    model = Uniform()
    assert trained_measure.ordinary_loss(model, [(1, 2)]) == pytest.approx(
        math.log(50_000), rel=1e-4
    )
    assert model.asked == [(1, 2)]


def test_numbers_of_maps_are_recorded_to_three_digits():
    assert trained_measure._rounded(torch.tensor([0.12345, 2 / 3])) == [0.123, 0.667]


def test_pace_is_a_share():
    recipe = training.Recipe(100, warm_up=10, end=0.05)
    assert [recipe.pace(0), recipe.pace(9)] == pytest.approx([0.1, 1.0])
    assert recipe.pace(55) == pytest.approx(0.525)
    assert recipe.pace(100) == recipe.pace(200) == pytest.approx(0.05)
