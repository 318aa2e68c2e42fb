"""The mask painter's numbers against the package's own functions."""

import re

import pytest
import torch

from mha_utils import attention, causal_mask, widgets
from mha_utils.widgets.examples import EXAMPLES

toy_painter = EXAMPLES["MaskPainter"]


def random_painter(seed: int) -> widgets.MaskPainter:
    g = torch.Generator().manual_seed(seed)
    length, head_dim, value_dim = (int(n) for n in torch.randint(1, 13, (3,), generator=g))
    q, k = torch.randn(2, length, head_dim, generator=g) * 1.5
    v = torch.randn(length, value_dim, generator=g)
    mask = torch.rand(length, length, generator=g) < 0.5
    return widgets.MaskPainter(q, k, v, mask=mask)


@pytest.mark.parametrize("seed", range(8))
def test_weights_are_those_of_the_package(seed):
    painter = random_painter(seed)
    q, k, v = painter._tensors()
    torch.testing.assert_close(painter.weights(), attention(q, k, v, painter.mask)[1])


@pytest.mark.parametrize("seed", range(8))
def test_leak_map_is_that_of_the_formula_in_the_page(seed):
    """Tokens that hold q, k and v side by side: what the page computes without autograd."""
    painter = random_painter(seed)
    q, k, v = painter._tensors()
    scale = q.shape[1] ** 0.5
    out, weights = attention(q, k, v, painter.mask)
    centred = k - (weights @ k)[:, None]
    by_query = torch.einsum("ts,sv,tsd->tvd", weights, v, centred) / scale
    by_key = torch.linalg.norm(v - out[:, None], dim=-1) * q.norm(dim=-1, keepdim=True) / scale
    squared = weights.square() * (v.shape[1] + by_key.square())
    squared += torch.diag(by_query.square().sum(dim=(1, 2)))
    torch.testing.assert_close(painter.influence(), squared.sqrt(), atol=1e-12, rtol=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_only_allowed_tokens_and_the_query_itself_reach_an_output(seed):
    painter = random_painter(seed)
    reached, mask = painter.influence() > 0, painter.mask
    off_diagonal = ~torch.eye(len(mask), dtype=torch.bool)
    assert torch.equal(reached[off_diagonal], mask[off_diagonal])
    assert reached.diagonal()[mask.diagonal()].all()
    assert not reached[~mask.any(dim=1)].any()


def test_the_mask_is_what_was_given_and_what_was_painted():
    painter = toy_painter()
    assert painter.mask.dtype == torch.bool
    assert torch.equal(painter.mask, causal_mask(7))
    painter.allowed = [True] * 48 + [False]
    assert painter.mask.sum() == 48
    assert not painter.mask[6, 6]
    painter.mask = causal_mask(7)
    assert painter.allowed == causal_mask(7).flatten().tolist()
    q, k, v = painter._tensors()
    assert attention(q, k, v, painter.mask)[1].triu(1).sum() == 0


def test_the_finding_in_full():
    painter = toy_painter()
    assert painter.finding() == (
        "28 of 49 pairs may attend. Row 2, “sat”, looks at 3 keys, most at key 1, “cat” (0.91). "
        "No query sees the future."
    )
    mask = causal_mask(7)
    mask[3], mask[0, 6], painter.row = False, True, 3
    painter.mask = mask
    assert painter.finding() == (
        "25 of 49 pairs may attend. Row 3, “on”, may attend to nothing: its weights and its "
        "output are zeros. 1 query sees the future."
    )
    mask[3, 4] = True
    painter.mask = mask
    assert painter.finding() == (
        "26 of 49 pairs may attend. Row 3, “on”, looks at 1 key only: key 4, “the” (1.00). "
        "2 queries see the future."
    )


def test_without_a_mask_everyone_attends_and_tokens_are_numbered():
    painter = widgets.MaskPainter(*torch.zeros(3, 2, 4))
    assert painter.mask.all()
    assert painter.tokens == ["x0", "x1"]
    assert painter.finding().startswith("4 of 4 pairs may attend. Row 1, “x1”, looks at 2 keys")


@pytest.mark.parametrize("length", [1, 12])
def test_smallest_and_largest_can_be_drawn(length):
    painter = widgets.MaskPainter(*torch.ones(3, length, 2))
    assert painter.still().width == toy_painter().still().width


def test_the_picture_tells_masks_apart():
    painter = toy_painter()
    pictures = {painter.png()}
    for change in ("row", "mask"):
        setattr(painter, change, {"row": 4, "mask": causal_mask(7) ^ True}[change])
        pictures.add(painter.png())
    assert len(pictures) == 3


def test_wrong_length_from_the_browser_is_refused():
    painter = toy_painter()
    text = "^allowed must hold T x T = 49 booleans, got 3$"
    with pytest.raises(ValueError, match=text):
        painter.allowed = [True] * 3
    assert painter.mask.shape == (7, 7)


x = torch.zeros
ERRORS = {
    "q of two heads": (
        lambda: widgets.MaskPainter(x(2, 3, 4), x(2, 3, 4), x(2, 3, 4)),
        "q must be one head (T, Dh) with T from 1 to 12, got (2, 3, 4)",
    ),
    "too many tokens": (
        lambda: widgets.MaskPainter(x(13, 4), x(13, 4), x(13, 4)),
        "q must be one head (T, Dh) with T from 1 to 12, got (13, 4)",
    ),
    "no tokens": (
        lambda: widgets.MaskPainter(x(0, 4), x(0, 4), x(0, 4)),
        "q must be one head (T, Dh) with T from 1 to 12, got (0, 4)",
    ),
    "k of another width": (
        lambda: widgets.MaskPainter(x(3, 4), x(3, 5), x(3, 4)),
        "k must be (T, Dh) = (3, 4) as q, got (3, 5)",
    ),
    "fewer values": (
        lambda: widgets.MaskPainter(x(3, 4), x(3, 4), x(2, 4)),
        "v must be (T, Dv) with T = 3, got (2, 4)",
    ),
    "NaN": (
        lambda: widgets.MaskPainter(x(3, 4), x(3, 4) * torch.nan, x(3, 4)),
        "k must hold finite numbers, got nan",
    ),
    "too few tokens": (
        lambda: widgets.MaskPainter(x(3, 4), x(3, 4), x(3, 4), ["a", "b"]),
        "tokens must be T = 3 words, got 2",
    ),
    "mask of floats": (
        lambda: widgets.MaskPainter(x(3, 4), x(3, 4), x(3, 4), mask=x(3, 3)),
        "mask must be boolean (T, T) = (3, 3), True = may attend, got float32 (3, 3)",
    ),
    "mask of another size": (
        lambda: widgets.MaskPainter(x(3, 4), x(3, 4), x(3, 4), mask=causal_mask(4)),
        "mask must be boolean (T, T) = (3, 3), True = may attend, got bool (4, 4)",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_wrong_input_is_refused(name):
    make, text = ERRORS[name]
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        make()
