"""The waltzes of chapter 12: how often they keep time, what a knower of the rule can reach."""

import math

import pytest
import torch
from torch import nn

from mha_utils.writing.waltz import Waltz, hum_on, learn, print_losses, surprise


def dice(seed=0):
    return torch.Generator().manual_seed(seed)


class Copies(nn.Module):
    """A knower of the rule: gives every note its true chance."""

    def __init__(self, waltz):
        super().__init__()
        rare = (1 - waltz.keeps) / waltz.num_notes
        self.chances = rare + waltz.keeps * torch.eye(waltz.num_notes)
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, notes):
        source = torch.cat([notes[:, :2], notes[:, :-2]], dim=1)[:, : notes.shape[1]]
        return self.scale * self.chances.log()[source]


def test_a_waltz_repeats_the_note_three_before_as_often_as_it_says():
    song = Waltz(num_notes=5, length=9, keeps=0.6)
    notes = song.draw(4000, dice())
    assert notes.shape == (4000, 9)
    assert set(notes.unique().tolist()) == set(range(5))
    kept = (notes[:, 3:] == notes[:, :-3]).float().mean().item()
    assert kept == pytest.approx(0.6 + 0.4 / 5, abs=0.01)
    assert torch.equal(notes, song.draw(4000, dice()))


def test_a_waltz_that_always_keeps_time_surprises_nobody_who_knows_the_rule():
    song = Waltz(keeps=1.0)
    notes = song.draw(20, dice())
    assert torch.equal(notes[:, 3:], notes[:, :-3])
    assert song.surprise_of_a_knower() == 0
    assert Waltz(keeps=0.0).surprise_of_a_knower() == pytest.approx(math.log(8))


def test_who_gives_each_note_its_true_chance_is_surprised_as_the_formula_says():
    song = Waltz(length=12)
    loss = surprise(Copies(song), song.draw(4000, dice(1))).item()
    assert loss == pytest.approx(song.surprise_of_a_knower(), abs=0.02)


def test_the_first_three_notes_are_not_asked():
    song = Waltz(length=8)
    model, notes = Copies(song), song.draw(3, dice())
    other = notes.clone()
    other[:, 0] = (notes[:, 0] + 1) % 8  # heard, and copied by the fourth only
    logits = model(notes[:, :-1])[:, 2:]
    expected = nn.functional.cross_entropy(logits.flatten(0, 1), notes[:, 3:].flatten())
    torch.testing.assert_close(surprise(model, notes), expected)
    assert not torch.equal(surprise(model, notes), surprise(model, other))


def test_learning_is_repeated_by_its_seed_and_ends_in_evaluation():
    song, runs = Waltz(), []
    for seed in (0, 0, 1):
        model, losses = learn(Copies(song), song, steps=3, seed=seed)
        assert not model.training
        assert len(losses) == 3
        runs.append(losses)
    assert runs[0] == runs[1] != runs[2]
    assert model.scale.item() != 1


def test_humming_goes_on_with_the_likeliest_note_until_the_tune_is_long_enough():
    given = [4, 7, 5]
    assert hum_on(Copies(Waltz()), given, 8) == [4, 7, 5, 4, 7, 5, 4, 7]
    assert given == [4, 7, 5]
    assert hum_on(Copies(Waltz()), [1, 2, 3, 0], 3) == [1, 2, 3, 0]


def test_a_table_of_losses_has_a_column_for_each_title(capsys):
    print_losses(["heard", "hummed"], ["Wren", 0.81, 0.84], ("Lark", 0.6, 1.9))
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["heard", "hummed"],
        ["Wren", "0.8", "0.8"],
        ["Lark", "0.6", "1.9"],
    ]
