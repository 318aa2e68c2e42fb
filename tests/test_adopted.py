"""A class of somebody else where our layer is expected: the same numbers, gradients and maps."""

import pytest
import strangers
import torch
import wild

from mha_utils import FusedMultiHeadAttention, MultiHeadAttention, leak_map
from mha_utils.checks import adopt, usable_class
from mha_utils.museum import with_numbers
from mha_utils.writing.writer import Writer

X = torch.randn(2, 5, 8, generator=torch.Generator().manual_seed(0))
Einsum, Causal = adopt(wild.EinsumAttention), adopt(strangers.CausalByConfig, causal=True)


@pytest.mark.parametrize("kind", [Einsum, Causal], ids=lambda k: k.__name__)
def test_it_computes_what_our_layer_does_with_the_same_state(kind):
    ours, theirs = with_numbers(MultiHeadAttention), with_numbers(kind)
    theirs.load_state_dict(ours.state_dict())
    for layer in (ours, theirs):
        layer(X, is_causal=True).square().sum().backward()
    torch.testing.assert_close(theirs(X, is_causal=True), ours(X, is_causal=True))
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(q.grad, p.grad, rtol=1e-3, atol=1e-3)
    assert isinstance(theirs, MultiHeadAttention)


def test_its_leak_map_shows_what_it_sees():
    layer = with_numbers(Einsum)
    assert leak_map(lambda one: layer(one[None], is_causal=True)[0], X[0]).triu(1).max() == 0
    assert leak_map(lambda one: layer(one[None])[0], X[0]).triu(1).max() > 0


def test_a_leak_of_a_wrong_one_shows():
    leaking = with_numbers(adopt(wild.SeesTheNextToken, causal=True))
    seen = leak_map(lambda one: leaking(one[None], is_causal=True)[0], X[0])
    assert (seen.diagonal(1) > 0).all()
    assert seen.triu(2).max() == 0


def test_it_learns_in_the_model_of_chapter_16():
    torch.manual_seed(0)
    model = Writer(embed_dim=8, num_heads=2, num_blocks=1, attention=Causal)
    letters = torch.randint(0, 20, (4, 12))
    optimiser = torch.optim.Adam(model.parameters(), lr=0.05)
    losses = []
    for _ in range(8):
        scores = model(letters[:, :-1])
        losses.append(
            torch.nn.functional.cross_entropy(scores.flatten(0, 1), letters[:, 1:].flatten())
        )
        optimiser.zero_grad()
        losses[-1].backward()
        optimiser.step()
    assert losses[-1] < 0.8 * losses[0]
    assert any("q_proj" in name for name, p in model.named_parameters() if p.grad.abs().max() > 0)


def test_what_it_cannot_take_is_refused():
    layer = Causal(8, 2)
    with pytest.raises(ValueError, match="CausalByConfig takes no mask"):
        layer(X, mask=torch.ones(5, 5, dtype=torch.bool))
    with pytest.raises(ValueError, match="CausalByConfig returns no weights"):
        layer(X, need_weights=True)
    with pytest.raises(ValueError, match="FusedThenHeads takes no causal"):
        adopt(wild.FusedThenHeads)(8, 2)(X, is_causal=True)


def test_weights_are_returned_where_there_are_some():
    _, weights = adopt(strangers.EncoderSelfAttention)(8, 2)(X, need_weights=True)
    assert weights.shape == (2, 2, 5, 5)


@pytest.mark.parametrize("kind", [MultiHeadAttention, FusedMultiHeadAttention, Causal])
def test_a_class_that_runs_is_used_without_a_word(kind, capsys):
    assert usable_class(kind) is kind
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("kind", [torch.nn.MultiheadAttention, strangers.EncoderSelfAttention])
def test_a_class_that_is_called_otherwise_is_adopted_and_that_is_said(kind, capsys):
    found = usable_class(kind)
    assert found.__name__ == kind.__name__
    assert capsys.readouterr().out == (
        f"{kind.__name__} is called in a way of its own; `checks.adopt` calls it so.\n"
    )
    leaks = leak_map(lambda one: with_numbers(found)(one[None], is_causal=True)[0], X[0])
    assert leaks.triu(1).max() == 0


@pytest.mark.parametrize("kind", [torch.nn.Linear, MultiHeadAttention(8, 2), 3, None])
def test_what_cannot_be_used_is_replaced_by_ours_and_that_is_said(kind, capsys):
    assert usable_class(kind) is MultiHeadAttention
    assert "cannot be used here (" in capsys.readouterr().out
