"""The pipeline's tensors, shapes and facts, against the package's module."""

import re

import pytest
import torch

from mha_utils import MultiHeadAttention, widgets
from mha_utils.widgets.pipeline import ARROWS, DIMS, TENSORS

STATES = [
    (1, 1, 4, 1, False),
    (2, 4, 12, 3, False),
    (2, 4, 12, 3, True),
    (3, 12, 24, 24, True),
    (2, 7, 16, 8, True),
    (1, 12, 6, 2, False),
    (3, 2, 8, 8, True),
]
EACH = pytest.mark.parametrize("state", STATES, ids=str)
EACH_TENSOR = pytest.mark.parametrize("name", TENSORS)


def pipeline(state, **options) -> widgets.Pipeline:
    *sizes, causal = state
    return widgets.Pipeline(*sizes, causal=causal, **options)


@EACH
def test_out_and_weights_are_those_of_the_module(state):
    view = pipeline(state)
    tensors = view.tensors()
    module = MultiHeadAttention(view.embed_dim, view.num_heads)
    module.load_state_dict(view.parameters())
    out, weights = module(tensors["x"], is_causal=view.causal, need_weights=True)
    torch.testing.assert_close(tensors["out"], out, atol=1e-5, rtol=0)
    torch.testing.assert_close(tensors["weights"], weights, atol=1e-6, rtol=0)


@EACH
def test_live_shapes_are_those_of_the_tensors(state):
    view = pipeline(state, dropout=0.5)
    assert {n: tuple(t.shape) for n, t in view.tensors().items()} == {
        name: view.shape(name) for name in TENSORS
    }


@EACH
def test_dropout_keeps_or_scales(state):
    view = pipeline(state)
    plain = view.tensors()
    assert torch.equal(plain["dropped"], plain["weights"])
    view.dropout = 0.4
    dropped, weights = view.tensors()["dropped"], plain["weights"]
    kept = dropped != 0
    torch.testing.assert_close(dropped[kept], weights[kept] / 0.6)
    merged = (dropped @ plain["v by head"]).transpose(1, 2).flatten(2)
    torch.testing.assert_close(view.tensors()["merged"], merged)


def test_dropout_drops_about_its_share():
    view = widgets.Pipeline(3, 12, 24, 24, dropout=0.25, tensor="dropped")
    gone, among = map(int, re.search(r"(\d+) of (\d+) weights", view.finding()).groups())
    assert among == 3 * 24 * 12 * 12
    assert gone == (view.tensors()["dropped"] == 0).sum()
    assert abs(gone / among - 0.25) < 0.02


# ---- what the sentence says ------------------------------------------------------------


@EACH
@EACH_TENSOR
def test_sentence_gives_shape_and_count(name, state):
    view = pipeline(state, tensor=name)
    tensor = view.tensors()[name]
    text = view.finding()
    assert text.startswith(f"{name} is (")
    assert f" = {tuple(tensor.shape)}: {tensor.numel()} numbers." in text
    letters = re.search(r"is \((.*?)\)", text)[1].split(", ")
    assert [view.sizes[letter] for letter in letters] == list(tensor.shape)


@EACH_TENSOR
def test_sentence_is_right_about_twice_as_many_tokens(name):
    view = pipeline((2, 5, 12, 3, True), tensor=name)
    more, times = map(int, re.search(r"make (\d+), (\d) times", view.finding()).groups())
    before = view.tensors()[name].numel()
    view.seq_len = 10
    assert view.tensors()[name].numel() == more == times * before


@EACH
def test_facts_of_the_sentences_hold(state):
    view = pipeline(state)
    tensors, sizes = view.tensors(), view.sizes
    assert torch.allclose(tensors["weights"].sum(dim=-1), torch.ones(()))
    for name in "qkv":
        by_head = tensors[f"{name} by head"]
        pieces = tensors[name].split(sizes["Dh"], dim=-1)
        assert len(pieces) == sizes["H"]
        assert all(torch.equal(by_head[:, h], piece) for h, piece in enumerate(pieces))
        assert view.parameters()[f"{name}_proj.weight"].shape == (sizes["D"], sizes["D"])
    assert torch.equal(tensors["merged"], torch.cat(tensors["heads"].unbind(1), dim=-1))
    assert tensors["out"].shape == tensors["x"].shape
    view.tensor = "scores"
    assert f"H·T·T = {tensors['scores'][0].numel()} for a sequence" in view.finding()
    view.tensor = "masked"
    hidden = int(tensors["masked"].isinf().sum())
    said = f"{hidden} are −∞: the future." if view.causal else "Nothing is hidden."
    assert said in view.finding()
    assert bool(hidden) <= view.causal


def test_sentences_in_full():
    view = widgets.Pipeline(2, 4, 12, 3)
    assert view.finding() == (
        "scores is (B, H, T, T) = (2, 3, 4, 4): 96 numbers. Each query meets each key in each "
        "head: H·T·T = 48 for a sequence. Twice as many tokens make 384, 4 times as many."
    )
    view.tensor = "q by head"
    assert view.finding() == (
        "q by head is (B, H, T, Dh) = (2, 3, 4, 4): 96 numbers. The numbers of q, cut into H = 3 "
        "pieces of Dh = D / H = 4 columns. Twice as many tokens make 192, 2 times as many."
    )


# ---- pictures and errors ---------------------------------------------------------------


def test_every_box_has_a_place_of_its_own_and_an_arrow():
    places = [place for _, _, place in TENSORS.values()]
    assert len(set(places)) == len(places)
    assert {name for arrow in ARROWS for name in arrow} == set(TENSORS)
    assert {end for _, end in ARROWS} == set(TENSORS) - {"x"}


@pytest.mark.parametrize(
    "traits",
    [{"tensor": "out"}, {"causal": True}, {"dropout": 0.5}, {"sequence": 1}, {"head": 2}],
    ids=str,
)
def test_still_picture_follows_every_choice(traits):
    view = widgets.Pipeline()
    before = view.png()
    for name, value in traits.items():
        setattr(view, name, value)
    assert view.png() != before


def test_the_seed_chooses_the_numbers():
    one, same, other = (widgets.Pipeline(seed=seed).tensors()["out"] for seed in (1, 1, 2))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_a_choice_out_of_range_shows_the_last_sequence_and_head():
    view = widgets.Pipeline(3, 4, 12, 6)
    view.sequence, view.head = 2, 5
    view.batch_size, view.num_heads = 2, 3
    last = widgets.Pipeline(2, 4, 12, 3)
    last.sequence, last.head = 1, 2
    assert view.png() == last.png()


ERRORS = {
    "no sequence": ({"batch_size": 0}, "batch_size must be an integer of at least 1, got 0"),
    "large batch": ({"batch_size": 4}, "batch_size must be at most 3 to be drawn, got 4"),
    "long": ({"seq_len": 13}, "seq_len must be at most 12 to be drawn, got 13"),
    "not divisible": (
        {"num_heads": 5},
        "embed_dim must be divisible by num_heads, got embed_dim=12 and num_heads=5 (remainder 2)",
    ),
    "other width": (
        {"embed_dim": 10, "num_heads": 5},
        f"embed_dim must be one of {DIMS}, got 10",
    ),
    "no probability": (
        {"dropout": 1.5},
        "dropout must be a probability between 0 and 1, got 1.5",
    ),
    "too much": ({"dropout": 0.95}, "dropout must be at most 0.9 to be drawn, got 0.95"),
    "unknown tensor": (
        {"tensor": "scoers"},
        f"tensor must be one of {list(TENSORS)}, got 'scoers'",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_wrong_input_is_refused(name):
    arguments, text = ERRORS[name]
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        widgets.Pipeline(**arguments)
