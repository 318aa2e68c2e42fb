"""Head scores against plain loops, and against maps whose score is known."""

import math

import pytest
import torch

from mha_utils.experiments.model import Shape
from mha_utils.experiments.scores import (
    at_offset,
    chosen_on_half,
    entropy_share,
    marked,
    mass_on,
    without_head,
    without_notes,
)
from mha_utils.experiments.tasks import RepeatedBlock

WEIGHTS = torch.rand(3, 2, 5, 5, generator=torch.Generator().manual_seed(0)).softmax(dim=-1)
SOURCES = torch.tensor([[1, -1, 0, 4, 2], [-1] * 5, [0, 0, -1, 3, 3]])


def test_mass_is_the_mean_over_the_queries_that_have_a_source():
    asked = [
        (b, t, s) for b, row in enumerate(SOURCES.tolist()) for t, s in enumerate(row) if s >= 0
    ]
    expected = [sum(WEIGHTS[b, h, t, s] for b, t, s in asked) / len(asked) for h in range(2)]
    assert torch.allclose(mass_on(WEIGHTS, marked(SOURCES, 5)), torch.stack(expected))


def test_mass_of_several_marked_keys_adds_up():
    everywhere = torch.ones(1, 5, 5, dtype=torch.bool)
    assert torch.allclose(mass_on(WEIGHTS, everywhere), torch.ones(2))
    two = at_offset(5, 0) | at_offset(5, -1)
    apart = mass_on(WEIGHTS, at_offset(5, 0) & two)
    assert (mass_on(WEIGHTS, two) > apart).all()


def test_offset_counts_from_the_query():
    back = at_offset(4, -1)[0]
    assert back.nonzero().tolist() == [[1, 0], [2, 1], [3, 2]]
    shifted = torch.eye(4).roll(1, dims=1)[None, None]
    assert mass_on(shifted, at_offset(4, 1)).item() == 1.0


def test_mass_on_nothing_is_refused():
    nothing = torch.zeros(1, 5, 5, dtype=torch.bool)
    with pytest.raises(ValueError, match="where marks no key: there is nothing to measure"):
        mass_on(WEIGHTS, nothing)
    with pytest.raises(ValueError, match="where does not fit"):
        mass_on(WEIGHTS, at_offset(4, 0))


def test_entropy_share_of_known_maps():
    uniform = torch.full((1, 1, 4, 4), 0.25)
    one = torch.eye(4)[None, None]
    causal = torch.ones(4, 4).tril()
    causal = (causal / causal.sum(dim=-1, keepdim=True))[None, None]
    both = torch.cat([uniform, one, causal], dim=1)
    assert torch.allclose(entropy_share(both), torch.tensor([1.0, 0.0, 0.75]))  # row 0 sees one key


def test_entropy_share_by_hand():
    row = torch.tensor([0.5, 0.25, 0.25])
    expected = -(0.5 * math.log(0.5) + 0.5 * math.log(0.25)) / math.log(3)
    assert entropy_share(row.expand(1, 1, 1, 3)).item() == pytest.approx(expected)


def test_the_best_of_many_lucky_heads_is_no_better_on_the_other_half():
    coins = torch.rand(24, 500, generator=torch.Generator().manual_seed(0)) < 0.5
    assert coins.float().mean(dim=0).max() > 0.75  # the best of 500 looks good
    assert abs(chosen_on_half(coins) - 0.5) < 0.1
    coins[:, 7] = True
    assert chosen_on_half(coins) > 0.95


def test_twins_stay_together_when_sentences_are_split():
    """Coins that fall alike for both twins: split apart, one half would know of the other."""
    coins = torch.rand(12, 500, generator=torch.Generator().manual_seed(0)) < 0.5
    twins = coins.repeat_interleave(2, dim=0)
    assert chosen_on_half(twins, together=1) > 0.6
    assert abs(chosen_on_half(twins, together=2) - 0.5) < 0.1


def test_without_notes_a_part_is_made_of_what_came_in():
    task = RepeatedBlock()
    torch.manual_seed(0)
    model = Shape(2, 8, embed_dim=16, num_layers=2, causal=True, norm=True).build(task).eval()
    inputs = task.draw(3, torch.Generator().manual_seed(0)).inputs
    with torch.no_grad():
        outputs, (_, expected) = model(inputs)
        maps = [without_notes(model, part)(inputs)[1][1] for part in range(3)]
        values = without_notes(model, 2)(inputs)[0]
        silent = without_head(without_head(model, 0, 0), 0, 1)  # nobody writes a note
        for part in range(3):
            assert torch.equal(without_notes(silent, part)(inputs)[0], silent(inputs)[0])
    assert not torch.allclose(maps[0], expected)
    assert not torch.allclose(maps[1], expected)
    assert torch.equal(maps[2], expected)  # values do not decide who looks where
    assert not torch.allclose(values, outputs)
