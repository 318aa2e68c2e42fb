"""The cast of chapter 12, and the checks of the reader's probes."""

from contextlib import nullcontext

import pytest
import torch

from mha_utils import MultiHeadAttention, checks
from mha_utils.core.guards import require_seed
from mha_utils.museum import MUSEUM, bug
from mha_utils.museum.hunt import LEVELS, WRONG_LINES, four_layers, wrong_line
from tools.notebooks import FOLDER
from tools.suite.chapter_runner import code_cells


def test_levels_share_out_the_museum():
    rooms = [room for rooms in LEVELS.values() for room in rooms]
    assert sorted(rooms) == sorted({bug.room for bug in MUSEUM})


@pytest.mark.parametrize(("seed", "is_one"), [(-1, False), (2**63, False), (2**63 - 1, True)])
def test_a_seed_is_what_a_generator_takes(seed, is_one):
    expected = f"seed must be an integer of at least 0, got {seed}"
    with nullcontext() if is_one else pytest.raises(ValueError, match=f"^{expected}$"):
        require_seed(seed)


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


def test_one_of_the_four_birds_has_the_right_layer_and_the_others_are_in_the_museum():
    wrong = [kind for kind in four_layers().values() if kind is not MultiHeadAttention]
    assert len(set(wrong)) == len(wrong) == 3
    assert set(wrong) < {bug.module for bug in MUSEUM}


SUSPECTS = {
    "X": ("F.softmax", "softmax over the heads", {}),
    "Y": ("none: it is right", None, {}),
    "Z": ("the mask and its place", "mask after the softmax", {"is_causal": True}),
}


@pytest.mark.parametrize("who", SUSPECTS)
def test_what_settles_a_bet_on_a_layer_is_among_its_answers(who):
    line, like, options = SUSPECTS[who]
    assert wrong_line(bug(like).module if like else MultiHeadAttention, **options) == line
    sources = [cell.source for cell in code_cells(FOLDER / "12_bug_hunt.ipynb")]
    (bet,) = (source for source in sources if f"Which step of Layer {who} is wrong?" in source)
    assert f'"{line}"' in bet


@pytest.mark.parametrize("line", WRONG_LINES)
def test_a_wrong_line_is_known_by_its_numbers(line):
    for name in WRONG_LINES[line]:
        assert wrong_line(bug(name).module, is_causal=True) == line


def test_of_a_layer_that_is_wrong_in_its_own_way_no_line_is_named():
    class Louder(MultiHeadAttention):
        def forward(self, x):
            return 2 * super().forward(x)

    assert wrong_line(Louder) == "a line that no exhibit has: it is not the right layer"
