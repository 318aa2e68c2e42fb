"""The memory ribbon's tensors against torch's, for every step and many sizes."""

import itertools
import re

import pytest
import torch

from mha_utils import split_heads, widgets
from mha_utils.widgets.memory_ribbon import LARGEST, RIGHT, STEPS, lay_out
from mha_utils.widgets.strided import Strided, numbered, view_strides

SIZES = list(itertools.product((1, 2), (1, 2, 3, 6), (1, 2, 3, 4), (1, 2, 4)))
EACH_STEP = pytest.mark.parametrize("step", STEPS)


def in_torch(step: str, sizes) -> torch.Tensor:
    """The step applied to a real tensor that holds 0, 1, 2, ..."""
    batch_size, seq_len, num_heads, head_dim = sizes
    if step == "x":
        count = batch_size * seq_len * num_heads * head_dim
        return torch.arange(count).view(batch_size, seq_len, num_heads * head_dim)
    return STEPS[step].apply(in_torch(STEPS[step].start, sizes), *sizes)


def in_memory(tensor: torch.Tensor) -> torch.Tensor:
    """The numbers of a tensor in the order of its storage."""
    return torch.as_strided(tensor, (tensor.numel(),), (1,))


def ribbon(sizes, step: str) -> widgets.MemoryRibbon:
    return widgets.MemoryRibbon(*sizes, steps=list(STEPS), step=step)


@EACH_STEP
def test_shape_strides_and_storage_are_those_of_torch(step):
    for sizes in SIZES:
        ours, real = lay_out(step, *sizes), in_torch(step, sizes)
        assert ours.shape == real.shape
        assert ours.strides == real.stride(), sizes
        assert ours.is_contiguous() == real.is_contiguous(), sizes
        assert list(ours.storage) == in_memory(real).tolist(), sizes
        assert ours.values() == real.flatten().tolist(), sizes


@EACH_STEP
def test_numbers_move_when_torch_copies_them(step):
    for sizes in SIZES:
        before = in_torch(STEPS[step].start, sizes)
        after = STEPS[step].apply(before, *sizes) if step != "x" else before
        copied = after.data_ptr() != before.data_ptr()
        assert ribbon(sizes, step).moved == copied, sizes


@EACH_STEP
def test_shown_code_does_what_the_step_does(step):
    for sizes in SIZES[::7]:
        names = dict(zip(("B", "T", "H", "Dh"), sizes), D=sizes[2] * sizes[3])
        names |= {"x": in_torch("x", sizes), "heads": in_torch("contiguous", sizes)}
        shown = eval(STEPS[step].code, names)
        assert torch.equal(shown, in_torch(step, sizes))
        assert shown.stride() == in_torch(step, sizes).stride()
        assert [names[letter] for letter in STEPS[step].letters.split()] == list(shown.shape)


def test_right_steps_are_what_the_package_computes():
    for sizes in SIZES:
        x = in_torch("x", sizes)
        assert torch.equal(in_torch("contiguous", sizes), split_heads(x.double(), sizes[2]).long())
        assert torch.equal(in_torch("merge", sizes), x)


@pytest.mark.parametrize("step", RIGHT)
def test_wrong_steps_are_right_with_one_token_or_one_head_only(step):
    for sizes in SIZES:
        same = torch.equal(in_torch(step, sizes), in_torch(RIGHT[step], sizes))
        assert ribbon(sizes, step).is_right == same == (sizes[1] == 1 or sizes[2] == 1)


@EACH_STEP
def test_the_finding_names_the_place_of_the_chosen_element(step):
    for sizes in SIZES[::11]:
        view, real = ribbon(sizes, step), in_torch(step, sizes)
        for chosen in itertools.product(*map(range, sizes)):
            view.sequence, view.token, view.head, view.column = chosen
            text = view.finding()
            index = tuple(map(int, re.search(r"Element \[(.*?)\]", text)[1].split(", ")))
            place = int(re.search(r"place (\d+)", text)[1])
            number = in_torch("x", sizes).view(sizes)[chosen].item()
            assert real[index].item() == number
            assert in_memory(real)[place].item() == number


def test_the_finding_in_full():
    view = widgets.MemoryRibbon(steps=list(STEPS), step="transpose")
    assert view.finding() == (
        "After transpose: shape (1, 3, 4, 2), strides (24, 2, 6, 1), not contiguous; "
        "no number moved. Element [0, 1, 2, 0] is at place 14 of the storage: token 2 of head 1."
    )
    view.step = "contiguous"
    assert "strides (24, 8, 2, 1), contiguous; the numbers were copied into" in view.finding()
    view.step, view.batch_size, view.sequence = "x", 2, 1
    assert view.finding() == (
        "x: shape (2, 4, 6), strides (24, 6, 1), contiguous. Element [1, 2, 2] is at place 38 "
        "of the storage: token 2 of head 1 in sequence 1."
    )


@pytest.mark.parametrize("step", RIGHT)
def test_the_finding_says_what_a_wrong_block_holds(step):
    for sizes in SIZES:
        _, tokens, heads, width = sizes
        first = in_torch(step, sizes)[0, 0].flatten()
        held = [
            set((first // d % n).tolist()) for d, n in ((heads * width, tokens), (width, heads))
        ]
        text = ribbon(sizes, step).finding()
        if 1 in (tokens, heads):
            assert "come out right all the same" in text
            continue
        found = re.search(r"holds (tokens? [^.]*) of (heads? [^.]*)\. ", text).groups()
        assert [set(map(int, re.findall(r"\d+", part))) for part in found] == held, sizes
        assert "Right shape, wrong numbers" in text


def test_the_chosen_element_stays_inside_when_sizes_shrink():
    view = widgets.MemoryRibbon(2, 6, 4, 4, steps=["view"])
    view.sequence, view.token, view.head, view.column = 1, 5, 3, 3
    view.batch_size, view.seq_len, view.num_heads, view.head_dim = 1, 2, 2, 1
    assert view.chosen == (0, 1, 1, 0)
    assert "Element [0, 1, 1, 0] is at place 3" in view.finding()


def test_view_is_refused_where_torch_refuses_it():
    with pytest.raises(
        ValueError,
        match=r"^shape \(3, 2\) with strides \(1, 3\) can not be viewed as \(6,\)$",
    ):
        numbered(2, 3).transpose(0, 1).view(6)
    with pytest.raises(ValueError, match=r"can not be viewed as \(5,\)$"):
        numbered(2, 3).view(5)
    assert numbered(2, 3).transpose(0, 1).reshape(6) == Strided((6,), (1,), (0, 3, 1, 4, 2, 5))


SHAPES = [(2, 3, 4), (6, 4), (24,), (2, 1, 3, 4), (4, 6), (3, 8), (1, 24, 1), (2, 12), (2, 3, 2, 2)]


@pytest.mark.parametrize("swap", [None, (0, 1), (1, 2), (0, 2)])
def test_any_view_and_reshape_is_that_of_torch(swap):
    ours, real = numbered(2, 3, 4), torch.arange(24).view(2, 3, 4)
    if swap:
        ours, real = ours.transpose(*swap), real.transpose(*swap)
    for shape in SHAPES:
        reshaped = ours.reshape(*shape)
        assert reshaped.values() == real.reshape(shape).flatten().tolist()
        assert reshaped.strides == real.reshape(shape).stride()
        try:
            expected = real.view(shape).stride()
        except RuntimeError:
            expected = None
        assert view_strides(ours, shape) == expected, shape


ERRORS = {
    "size 0": ({"seq_len": 0}, "seq_len must be an integer of at least 1, got 0"),
    "no integer": ({"head_dim": True}, "head_dim must be an integer of at least 1, got True"),
    "too many heads": ({"num_heads": 5}, "num_heads must be at most 4 to be drawn, got 5"),
    "too large a batch": ({"batch_size": 3}, "batch_size must be at most 2 to be drawn, got 3"),
    "unknown step": (
        {"steps": ("x", "split")},
        "steps must be some of ['x', 'view', 'transpose', 'contiguous', 'wrong view', 'merge', "
        "'wrong merge'], got ['x', 'split']",
    ),
    "no steps": (
        {"steps": ()},
        "steps must be some of ['x', 'view', 'transpose', 'contiguous', 'wrong view', 'merge', "
        "'wrong merge'], got []",
    ),
    "step not among steps": (
        {"steps": ("x", "view"), "step": "merge"},
        "step must be one of steps=['x', 'view'], got 'merge'",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_wrong_input_is_refused(name):
    arguments, text = ERRORS[name]
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        widgets.MemoryRibbon(**arguments)


def test_the_largest_sizes_can_be_drawn():
    sizes = LARGEST.values()
    assert ribbon(sizes, "wrong view").still().width == ribbon((1, 1, 1, 1), "x").still().width
