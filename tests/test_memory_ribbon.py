"""The memory ribbon's tensors against torch's, for every step and many sizes."""

import itertools
import re

import pytest
import torch

from mha_utils import split_heads, widgets
from mha_utils.widgets.memory_ribbon import LARGEST, RIGHT, STEPS, lay_out

SIZES = list(itertools.product((1, 2), (1, 2, 3, 6), (1, 2, 3, 4), (1, 2, 4)))
EACH_STEP = pytest.mark.parametrize("step", STEPS)


def in_torch(step: str, sizes) -> torch.Tensor:
    """What the shown code makes of a real tensor that holds 0, 1, 2, ..."""
    B, T, H, Dh = sizes
    names = {"B": B, "T": T, "H": H, "Dh": Dh, "D": H * Dh}
    names["q"] = torch.arange(B * T * H * Dh).view(B, T, H * Dh)
    if step in ("merge", "wrong merge"):
        names["heads"] = in_torch("contiguous", sizes)
    return eval(STEPS[step].code, names)


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
        place = "contiguous" if real.is_contiguous() else "not contiguous"
        said = f"shape {tuple(real.shape)}, strides {real.stride()}, {place}"
        assert said in ribbon(sizes, step).finding(), sizes
        assert list(ours.storage) == in_memory(real).tolist(), sizes
        assert ours.values() == real.flatten().tolist(), sizes


# Each step alone, on the tensor of the step before it.
ALONE = {
    "q": lambda x, B, T, H, Dh: x,
    "view": lambda x, B, T, H, Dh: x.view(B, T, H, Dh),
    "transpose": lambda x, B, T, H, Dh: x.transpose(1, 2),
    "contiguous": lambda x, B, T, H, Dh: x.contiguous(),
    "wrong view": lambda x, B, T, H, Dh: x.view(B, H, T, Dh),
    "merge": lambda x, B, T, H, Dh: x.transpose(1, 2).reshape(B, T, H * Dh),
    "wrong merge": lambda x, B, T, H, Dh: x.view(B, T, H * Dh),
}


@EACH_STEP
def test_numbers_move_when_torch_copies_them(step):
    for sizes in SIZES:
        before = in_torch(STEPS[step].start, sizes)
        after = ALONE[step](before, *sizes)
        copied = after.data_ptr() != before.data_ptr()
        assert ribbon(sizes, step).moved == copied, sizes


@EACH_STEP
def test_shown_code_has_the_shape_of_its_letters(step):
    for sizes in SIZES[::7]:
        names = dict(zip(("B", "T", "H", "Dh"), sizes), D=sizes[2] * sizes[3])
        shown = in_torch(step, sizes)
        assert torch.equal(ribbon(sizes, step).tensor.numbers, shown)
        assert [names[letter] for letter in STEPS[step].letters.split()] == list(shown.shape)


def test_right_steps_are_what_the_package_computes():
    for sizes in SIZES:
        x = in_torch("q", sizes)
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
            number = in_torch("q", sizes).view(sizes)[chosen].item()
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
    view.step, view.batch_size, view.sequence = "q", 2, 1
    assert view.finding() == (
        "q: shape (2, 4, 6), strides (24, 6, 1), contiguous. Element [1, 2, 2] is at place 38 "
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


ERRORS = {
    "size 0": ({"seq_len": 0}, "seq_len must be an integer of at least 1, got 0"),
    "no integer": ({"head_dim": True}, "head_dim must be an integer of at least 1, got True"),
    "too many heads": ({"num_heads": 5}, "num_heads must be at most 4 to be drawn, got 5"),
    "too large a batch": ({"batch_size": 3}, "batch_size must be at most 2 to be drawn, got 3"),
    "unknown step": (
        {"steps": ("q", "split")},
        "steps must be some of ['q', 'view', 'transpose', 'contiguous', 'wrong view', 'merge', "
        "'wrong merge'], got ['q', 'split']",
    ),
    "no steps": (
        {"steps": ()},
        "steps must be some of ['q', 'view', 'transpose', 'contiguous', 'wrong view', 'merge', "
        "'wrong merge'], got []",
    ),
    "step not among steps": (
        {"steps": ("q", "view"), "step": "merge"},
        "step must be one of steps=['q', 'view'], got 'merge'",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_wrong_input_is_refused(name):
    arguments, text = ERRORS[name]
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        widgets.MemoryRibbon(**arguments)


def test_the_largest_sizes_can_be_drawn():
    sizes = LARGEST.values()
    assert ribbon(sizes, "wrong view").still().width == ribbon((1, 1, 1, 1), "q").still().width
