"""The game of chapter 12, and the checks of the reader's probes."""

import re

import pytest
import torch

from mha_utils import MultiHeadAttention, checks
from mha_utils.core.guards import require_seed
from mha_utils.museum import MUSEUM, Hunt, bug, with_numbers
from mha_utils.museum.hunt import BIRDS, WRONG_LINES, four_layers


@pytest.mark.parametrize("level", [1, 2, 3, 4])
def test_every_suspect_can_be_found_and_the_sheet_fills(level):
    hunt = Hunt(level, seed=3)
    assert repr(hunt).startswith(f"level {level}: 0 of 3 found")
    for number in (1, 2, 3):
        for name in hunt.names:
            before = hunt.found()
            hunt.accuse(number, name)
            if hunt.found() > before:
                assert f"{number}  ✓ {name} ({bug(name).place})" in repr(hunt)
                break
            assert f"{number}  ? not {name}" in repr(hunt)
    assert hunt.found() == 3


def test_a_suspect_has_the_bug_and_does_not_say_which():
    hunt = Hunt(1, seed=5)
    suspect = hunt.suspect(2)
    x = torch.randn(2, 5, 8, generator=torch.Generator().manual_seed(0))
    equal = [n for n in hunt.names if torch.equal(with_numbers(bug(n).module)(x), suspect(x))]
    hunt.accuse(2, equal[0])
    assert hunt.found() == 1
    assert type(suspect).__name__ == "Suspect"
    assert hunt.suspect(2, dropout=0.5).dropout == 0.5
    assert hunt.suspect(2, num_kv_heads=2).k_proj.out_features == 4


def test_levels_share_out_the_museum_and_seeds_choose():
    names = [name for level in (1, 2, 3, 4) for name in Hunt(level).names]
    assert sorted(names) == sorted(m.name for m in MUSEUM)
    chosen = {tuple(bug.name for bug in Hunt(2, seed)._bugs.values()) for seed in range(5)}
    assert len(chosen) == 5


WRONG = {
    "level": (lambda: Hunt(5), "level must be one of [1, 2, 3, 4], got 5"),
    "large seed": (
        lambda: Hunt(1, 2**63),
        f"seed must be an integer of at least 0, got {2**63}",
    ),
    "seed": (lambda: Hunt(1, -1), "seed must be an integer of at least 0, got -1"),
    "suspect": (lambda: Hunt().suspect(0), "suspects are [1, 2, 3], got 0"),
    "accused": (lambda: Hunt().accuse(4, "no scale"), "suspects are [1, 2, 3], got 4"),
    "name": (lambda: Hunt(3).accuse(1, "no scale"), "level 3 has no 'no scale'; it has ['dropout"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_calls_say_why(name):
    call, text = WRONG[name]
    with pytest.raises(ValueError, match=re.escape(text)):
        call()


def sees_the_future(module):
    x = torch.randn(2, 5, 8, generator=torch.Generator().manual_seed(0))
    changed = x.clone()
    changed[:, -1] += 1
    before, after = (module(t, is_causal=True)[:, :-1] for t in (x, changed))
    return not torch.allclose(before, after, atol=1e-5)


def raises(module):
    return module.no_such_step()


PROBES = {
    "right": (sees_the_future, "✓ sees_the_future: right about all 10 suspects"),
    "blind": (lambda module: False, "lets go: 'causal only in training', which sees the future"),
    "jealous": (lambda module: True, "accuses: 'the right module'"),
    "of training": (
        lambda module: sees_the_future(module.train()),
        "lets go: 'causal only in training'",
    ),
    "unsolved": (lambda module: ..., "not solved yet (it returned `...`)"),
    "no answer": (lambda module: "yes", "should return True or False, got 'yes'"),
    "raises": (raises, "✗ raises (the right module) raised AttributeError in your line"),
}


@pytest.mark.parametrize("name", PROBES)
def test_probes_of_the_future_are_judged(name):
    probe, text = PROBES[name]
    report = checks.check_future_probe(probe)
    assert bool(report) == (name == "right")
    assert text in repr(report)


def test_probes_of_the_keys_are_judged():
    def minds_louder_keys(module):
        x = torch.randn(3, 5, 8, generator=torch.Generator().manual_seed(0))
        before = module(x)
        module.k_proj.bias.data += 3
        return not torch.allclose(module(x), before, atol=1e-3)

    report = checks.check_key_probe(minds_louder_keys)
    assert report
    assert "right about all 6 suspects" in repr(report), "who is guilty is not innocent, too"
    text = "lets go: 'q and k swapped', which minds what all keys share"
    assert text in repr(checks.check_key_probe(lambda module: False))
    assert "accuses: 'the right module'" in repr(checks.check_key_probe(lambda module: True))


def test_any_seed_of_a_generator_will_do():
    require_seed(2**63 - 1)


def test_one_of_the_four_birds_has_the_right_layer():
    layers = four_layers()
    assert [name for name, kind in layers.items() if kind is MultiHeadAttention] == ["Wren"]
    assert [bug(BIRDS[name]).module for name in ("Lark", "Robin", "Thrush")] == [
        layers[name] for name in ("Lark", "Robin", "Thrush")
    ]
    assert WRONG_LINES == {"X": "F.softmax", "Y": "none: it is right", "Z": "masked_fill"}
