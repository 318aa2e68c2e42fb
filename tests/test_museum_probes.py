"""The probes that chapter 12 takes from the package, and what it says of layers unlike ours."""

import copy

import pytest
import torch

from mha_utils import MultiHeadAttention, Rotary, sliding_window_mask
from mha_utils.museum import Steps, bug, with_numbers
from mha_utils.museum.probes import EIGHT, draw, leak_of, misses_the_past, tokens_for

SIZES = [{}, *({"embed_dim": D, "num_heads": H} for D, H in ((12, 3), (1, 1), (32, 2)))]
SHAPES = [(3, 5), (1, 1), (1, 4), (2, 2), (4, 8)]
GUILTY = {  # probe -> who is accused by it
    "misses_the_past": ["causal upside down"],
    "sequences_meet": ["batch and time exchanged by view", "softmax over the batch"],
    "heads_have_an_order": ["output weight not transposed", "merge without transpose"],
    "is_not_linear_in_v": ["residual added inside"],
    "hidden_keys_matter": ["padding hides queries, not keys", "mask after the softmax"],
    "modes_differ": ["causal only in training"],
    "gradient_is_missing": ["detached scores", "v through k's projection"],
    "dropout_is_wrong": ["dropout without 1/(1 - p)", "batch and time exchanged by view"],
}
PROBES = {probe.__name__: probe for probe in EIGHT}


def layer_of(kind, probe, **options):
    return with_numbers(kind, 0.5 if probe == "dropout_is_wrong" else 0.0, **options)


def test_each_probe_is_named():
    assert list(PROBES) == list(GUILTY)


@pytest.mark.parametrize("name", PROBES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_no_probe_accuses_a_right_layer(name, shape):
    for kind in (MultiHeadAttention, Steps):
        for options in SIZES:  # the widest has large scores, and many weights that are exactly 0
            assert PROBES[name](layer_of(kind, name, **options), *shape) is False


@pytest.mark.parametrize(("name", "who"), [(name, who) for name in GUILTY for who in GUILTY[name]])
def test_a_probe_accuses_whom_it_is_made_for(name, who):
    assert PROBES[name](layer_of(bug(who).module, name), 3, 5) is True


@pytest.mark.parametrize("name", PROBES)
def test_a_scale_and_exchanged_names_escape_all(name):
    for who in ("no scale", "q and k swapped", "scale by Dh", "one wide head"):
        assert not PROBES[name](layer_of(bug(who).module, name), 3, 5)


def test_a_probe_leaves_the_dice_and_the_layer_as_they_are():
    for name, probe in PROBES.items():
        layer = layer_of(MultiHeadAttention, name)
        before, dice = copy.deepcopy(layer.state_dict()), torch.get_rng_state()
        probe(layer, 3, 5)
        assert torch.equal(torch.get_rng_state(), dice), name
        assert all(torch.equal(before[key], value) for key, value in layer.state_dict().items())
        assert not layer.training


def test_draws_are_the_same_in_each_call_and_fit_the_layer():
    assert torch.equal(draw(2, 3), draw(2, 3))
    assert tokens_for(with_numbers(MultiHeadAttention, embed_dim=12), 2, 5).shape == (2, 5, 12)


def test_the_leak_map_is_causal_and_reaches_all_of_the_past():
    leak = leak_of(with_numbers(MultiHeadAttention), 4)
    assert torch.equal(leak > 0, torch.ones(4, 4).tril().bool())


# ---- what the chapter says of layers that are not in the museum ----------------------------


class Window(MultiHeadAttention):
    def forward(self, x, is_causal=True):
        return super().forward(x, mask=sliding_window_mask(x.shape[1], window=2))


class InPairs(MultiHeadAttention):
    def forward(self, x, is_causal=True):
        pair = torch.arange(x.shape[1]) // 2
        return super().forward(x, mask=pair[:, None] >= pair)


class ByRootOfLength(Steps):
    def score(self, q, k):
        return super().score(q, k) / k.shape[-2] ** 0.5


def same(a, b):
    return torch.allclose(a, b, atol=1e-4)


def test_a_sliding_window_misses_the_past():
    assert misses_the_past(with_numbers(Window), 3, 5)


def test_in_pairs_the_last_cut_tells_nothing_and_the_first_does():
    layer, x = with_numbers(InPairs), draw(3, 5, 8)
    whole = layer(x)
    assert same(whole[:, :4], layer(x[:, :4]))
    assert not same(whole[:, :1], layer(x[:, :1]))


def test_divided_by_the_root_of_the_length_cutting_tells_and_changing_does_not():
    layer, x = with_numbers(ByRootOfLength), draw(3, 5, 8)
    moved = x.clone()
    moved[:, -1] += 1.0
    whole = layer(x, is_causal=True)[:, :4]
    assert same(whole, layer(moved, is_causal=True)[:, :4])
    assert not same(whole, layer(x[:, :4], is_causal=True))


def test_with_rotary_positions_a_layer_knows_places_and_minds_the_bias_of_its_keys():
    torch.manual_seed(0)
    layer, x = MultiHeadAttention(8, 4, rotary=Rotary(2)), draw(3, 5, 8)
    order, twin = torch.tensor([1, 2, 3, 4, 0]), copy.deepcopy(layer)
    assert not same(layer(x)[:, order], layer(x[:, order]))
    twin.k_proj.bias.data += 3.0
    assert not same(twin(x), layer(x))
