"""The parts of the checks, each by itself: what they call inputs, what they make of odd answers."""

import itertools

import numpy as np
import pytest
import torch
from helpers import check_scores
from torch import nn

from mha_utils import MultiHeadAttention, checks, reference
from mha_utils.checks.module import (
    building,
    diagnosis,
    dropout,
    naming,
    scenarios,
)
from mha_utils.checks.module.suspects import DROPPING_TOO, FIRST, SUSPECTS, scores
from mha_utils.reference import heads

# The same kinds of input again, by what a report says of a scenario.
KINDS = {
    "there is more than one head and more than one token": lambda s, says: (
        min(s.num_heads, s.query_len) >= 2
    ),
    "there is more than one head": lambda s, says: s.embed_dim != s.head_dim,
    "there is more than one token": lambda s, says: s.lengths != (1, 1),
    "a mask is given": lambda s, says: "mask (" in says,
    "the mask is not the same for all sequences": lambda s, says: "mask (B" in says,
    "the mask is not the same for all heads": lambda s, says: "mask (B, H" in says,
    "a query may attend to nothing": lambda s, says: "empty rows" in s.needs,
    "is_causal is on": lambda s, says: "is_causal=True" in says,
    "is_causal is on, in evaluation": lambda s, says: (
        "in evaluation" in says and "is_causal=True" in says
    ),
    "a mask and is_causal meet": lambda s, says: s.needs >= {"mask", "causal"},
    "something is hidden": lambda s, says: bool(s.needs & {"mask", "causal"}),
    "keys come from other tokens than queries": lambda s, says: "context (" in says,
    "x is not contiguous": lambda s, says: s.contiguous is False,
    "scores are large": lambda s, says: s.spread == 12,
    "it is in training": lambda s, says: "in training" in says,
    "it is in evaluation": lambda s, says: "in evaluation" in says,
}


@pytest.mark.parametrize("kind", scenarios.KINDS)
def test_a_kind_of_input_is_what_its_name_says(kind):
    for scenario in scenarios.SCENARIOS:
        expected = KINDS[kind](scenario, scenario.described())
        assert scenarios.KINDS[kind](scenario) == expected, scenario.described()


def test_padding_grows_from_the_last_sequence_to_the_first():
    scenario = scenarios.Scenario(3, 5, 4, 2, mask="padding")
    mask = scenarios.draw(scenario, seed=0).mask
    assert mask.shape == (3, 1, 1, 5)
    assert mask[:, 0, 0].tolist() == [[j < length for j in range(5)] for length in (3, 4, 5)]


# ---- what the weights and options of a module are called ----------------------------------


PARTS = {
    "q_proj.weight": (("q",), "weight"),
    "attn.to_kv.bias": (("k", "v"), "bias"),
    "c_attn.0.weight": (("q", "k", "v"), "weight"),
    "in_proj_weight": (("q", "k", "v"), "weight"),
    "out_proj.bias": (("out",), "bias"),
    "linears.0.weight": ((), "weight"),
    "q_proj": ((), None),
    "W_q": ((), None),
    "weight": ((), "weight"),
    "0.bias": ((), "bias"),
}


@pytest.mark.parametrize("name", PARTS)
def test_which_layer_a_parameter_is_of(name):
    assert naming._parts(name) == PARTS[name]


def test_a_copy_gets_another_dropout_and_the_module_keeps_its_own():
    module = nn.ModuleList([nn.Dropout(0.1), nn.MultiheadAttention(4, 2, dropout=0.2)])
    layer, attention = building.copies_of(module)(4, 2, 0.7, True)
    assert (layer.p, attention.dropout) == (0.7, 0.7)
    assert (module[0].p, module[1].dropout) == (0.1, 0.2)


# ---- dropout, seen from outside -----------------------------------------------------------


def weights_of(num_heads: int, seq_len: int) -> np.ndarray:
    random = np.random.default_rng(0).random((2, num_heads, seq_len, seq_len))
    return random / random.sum(axis=-1, keepdims=True)


KEPT = {
    "1": lambda w, keep: w,
    "1/(1 - p)": lambda w, keep: w / (1 - dropout.P),
    "1/p": lambda w, keep: w / dropout.P,
    "1 - p": lambda w, keep: w * (1 - dropout.P),
    "rows sum to 1": lambda w, keep: w * keep / (w * keep).sum(axis=-1, keepdims=True),
    "other": lambda w, keep: w * keep / (w * keep).sum(axis=1, keepdims=True),
}


@pytest.mark.parametrize("kind", KEPT)
def test_what_kept_weights_are_multiplied_by(kind):
    weights = weights_of(num_heads=3, seq_len=4)
    keep = np.arange(weights.size).reshape(weights.shape) % 5 > 0
    used = KEPT[kind](weights, keep)
    assert dropout._kept(used, weights, keep) == kind


def nearly(size: float, share: float, alike: float) -> tuple[np.ndarray, np.ndarray]:
    """Numbers off by at most this share of the largest, or of 1; their correlation with them."""
    random = np.random.default_rng(0)
    right, noise = (a - a.mean() for a in random.uniform(-1, 1, size=(2, 500)))
    noise -= right * (noise @ right) / (right @ right)
    off = alike * right / np.linalg.norm(right) + (1 - alike**2) ** 0.5 * (
        noise / np.linalg.norm(noise)
    )
    right *= size / np.abs(right).max()
    return right + off / np.abs(off).max() * share * max(size, 1), right


@pytest.mark.parametrize("size", [0.3, 1, 40])
def test_rounding_is_small_and_goes_up_and_down_alike(size):
    looks = diagnosis.looks_like_rounding
    for share, alike in itertools.product((0.019, 0.021), (0, -0.28, 0.28, -0.33, 0.33)):
        expected = share < 0.02 and abs(alike) < 0.3
        assert looks([nearly(size, share, alike)]) == expected, (share, alike)
        beside = [nearly(2, 0.01, 0), nearly(size, share, 0)]
        assert looks(beside) == looks(beside[::-1]) == (share < 0.02)
    assert not looks([nearly(size, 0, 0)])  # nothing is off
    found, right = nearly(size, 0.01, 0)
    assert not looks([(found[1:], right), (found, right)])  # other shapes are no rounding


# ---- the oracle and what answers give -----------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.bool])
def test_an_answer_is_read_in_float64(dtype):
    case = check_scores.cases(seed=0)[1]
    found = check_scores.result(lambda *arguments: torch.ones(2, 3, dtype=dtype), case)
    assert (found.dtype, found.tolist()) == (np.float64, [[1.0] * 3] * 2)


@pytest.mark.parametrize(
    "gradients", [heads.multi_head_gradients, heads.multi_head_gradients_loops]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_the_oracle_computes_in_float64_whatever_it_gets(gradients, dtype):
    random = np.random.default_rng(0)
    x, grad_out = (random.normal(size=(2, 3, 4)).astype(dtype) for _ in range(2))
    parameters = {n: (random.normal(size=(4, 4)).astype(dtype), None) for n in scenarios.NAMES}
    wide = {n: (weight.astype(np.float64), None) for n, (weight, _) in parameters.items()}
    found = gradients(x, x, parameters, 2, grad_out)
    expected = gradients(*(x.astype(np.float64),) * 2, wide, 2, grad_out.astype(np.float64))
    for name, gradient in expected.items():
        assert found[name].dtype == np.float64, name
        np.testing.assert_array_equal(found[name], gradient, err_msg=name)
    assert reference.attention_batched(x, x, x)[0].dtype == np.float64


class Stacked(nn.Module):
    """A right layer without the names of ours."""

    def __init__(self, embed_dim, num_heads, bias=True):
        super().__init__()
        self.inner = MultiHeadAttention(embed_dim, num_heads, bias=bias)

    def forward(self, x, context=None, mask=None):
        return self.inner(x, context, mask=mask)


class SameNames(MultiHeadAttention):
    def forward(self, x, context=None, mask=None):
        return super().forward(x, context, mask=mask)


@pytest.mark.parametrize(
    ("kind", "says"),
    [(SameNames, "chapter runs on your forward"), (Stacked, "they go on with our class")],
)
def test_a_chapter_goes_on_with_a_layer_that_has_the_parts_it_asks_for(kind, says, capsys):
    taken = checks.check_forward.complete(kind)
    assert says in capsys.readouterr().out
    assert (taken is kind) == (kind is SameNames)
    assert taken(8, 2, bias=False).q_proj.bias is None
    assert taken(8, 2)(torch.zeros(1, 3, 8)).shape == (1, 3, 8)


# ---- what right layers do with rows where every key is hidden -----------------------------


WEIGHTS = {  # of the first query: key 0 is hidden by the given mask, the others by causality
    "NaNInEmptyRows": [torch.nan, torch.nan, torch.nan],
    "EqualInEmptyRows": [1 / 3, 1 / 3, 1 / 3],
    "AddedToFilled": [0.0, 1 / 2, 1 / 2],
}


@pytest.mark.parametrize("way", scores.WAYS, ids=lambda way: way.__name__)
def test_what_a_right_layer_may_do_with_a_row_without_a_key(way):
    layer = way(8, 2)
    options = {"is_causal": True, "need_weights": True}
    mask = torch.tensor([False, True, True])
    weights = layer(torch.randn(1, 3, 8), mask=mask, **options)[1].detach()
    assert weights.shape == (1, 2, 3, 3)
    torch.testing.assert_close(
        weights[0, :, 0], torch.tensor([WEIGHTS[way.__name__]] * 2), equal_nan=True
    )
    assert weights[0, 0, 1].tolist() == [0.0, 1.0, 0.0], "a row with one key is as ever"


@pytest.mark.parametrize("suspect", [*FIRST, *SUSPECTS, *DROPPING_TOO], ids=lambda s: s.name)
def test_every_suspect_is_named_if_it_is_the_answer(suspect):
    """Also where it shows no weights, whose shape would give some of them away."""

    class Shown(suspect.module):
        def forward(self, x, context=None, values=None, *, mask=None, is_causal=False):
            return super().forward(x, context, values, mask=mask, is_causal=is_causal)

    answer = suspect.module if suspect in DROPPING_TOO else Shown
    report = checks.check_multi_head_attention(answer)
    assert not report
    assert f"Your result equals: {suspect.name}." in str(report)
