"""The layer where it is shipped: failing steps, compiled and exported programs, odd projections."""

import copy
import re
import subprocess
import sys

import pytest
import torch
from test_layer_tools import both
from torch import nn
from torch.nn.utils import parametrize

from mha_utils import (
    FusedMultiHeadAttention,
    MultiHeadAttention,
    Rotary,
    attention_scores,
    from_torch,
)
from mha_utils.distributed import WAYS, cut_heads


def make(kind, **options):
    torch.manual_seed(0)
    layer = kind(8, 2, **options).eval()
    return layer, torch.randn(2, 6, layer.q_proj.in_features)


def refused(text, function, *arguments):
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        function(*arguments)


# ---- a step of decoding that fails -------------------------------------------------------


class Interrupt:
    """A hook that raises once; every later call passes."""

    def __init__(self, error):
        self.errors = [error]

    def __call__(self, *_):
        if self.errors:
            raise self.errors.pop()


@both
@pytest.mark.parametrize("part", ["q_proj", "v_proj", "out_proj"])
@pytest.mark.parametrize("error", [torch.OutOfMemoryError, KeyboardInterrupt])
def test_a_step_that_fails_anywhere_can_be_tried_again(kind, part, error):
    layer, x = make(kind)
    expected = layer(x, is_causal=True)
    cache = layer.new_cache(batch_size=2, capacity=6)
    with torch.no_grad():
        layer(x[:, :3], is_causal=True, cache=cache)
        layer.get_submodule(part).register_forward_pre_hook(Interrupt(error()))
        with pytest.raises(error):
            layer(x[:, 3:4], is_causal=True, cache=cache)
        assert cache.length == 3
        rest = [layer(x[:, t : t + 1], is_causal=True, cache=cache) for t in range(3, 6)]
    torch.testing.assert_close(torch.cat(rest, dim=1), expected[:, 3:])
    assert cache.length == 6


@both
def test_what_could_not_be_written_is_not_in_the_cache(kind):
    """Memory of `inference_mode` can be written to under it alone."""
    layer, x = make(kind)
    with torch.inference_mode():
        cache = layer.new_cache(2, 6)
        layer(x[:, :3], is_causal=True, cache=cache)
    with torch.no_grad(), pytest.raises(RuntimeError):
        cache.append(torch.zeros(2, 2, 1, 4), torch.zeros(2, 2, 1, 4))
    assert cache.length == 3


@both
def test_a_new_cache_is_of_the_layer(kind):
    layer = kind(8, 4, num_kv_heads=2, head_dim=3, dtype=torch.float64, device="meta")
    cache = layer.new_cache(5, capacity=7)
    assert cache.keys.shape == cache.values.shape == (5, 2, 7, 3)
    assert (cache.keys.dtype, cache.keys.device.type) == (torch.float64, "meta")
    assert layer.new_cache(5, 7, dtype=torch.bfloat16).keys.dtype == torch.bfloat16
    text = "0 of 7 tokens; batch_size=5, num_kv_heads=2, head_dim=3, torch.float64"
    assert repr(cache) == f"KeyValueCache({text})"
    assert repr(layer).splitlines()[1].strip() == "num_heads=4, head_dim=3, dropout=0"
    refused("capacity must be an integer of at least 1, got 0", layer.new_cache, 5, 0)


@both
def test_beams_go_on_from_one_another(kind):
    layer, x = make(kind)
    order = torch.tensor([1, 1])
    cache = layer.new_cache(2, 6)
    with torch.no_grad():
        layer(x[:, :4], is_causal=True, cache=cache)
        where = cache.keys.data_ptr()
        cache.reorder(order)
        last = layer(x[:, 4:], is_causal=True, cache=cache)
        known = torch.cat((x[order, :4], x[:, 4:]), dim=1)
        torch.testing.assert_close(last, layer(known, is_causal=True)[:, 4:])
    assert cache.keys.data_ptr() == where
    for wrong, text in {
        (0, 2): "order must be between 0 and 1, got [2]",
        (0, 1, 1): "order must have batch_size = 2 numbers in its last dimension, got shape (3,)",
    }.items():
        refused(text, cache.reorder, torch.tensor(wrong))


# ---- compiled and exported ---------------------------------------------------------------

PROGRAMS = """
import torch
from torch import nn
from mha_utils import FusedMultiHeadAttention, MultiHeadAttention, Rotary, padding_mask
from mha_utils.core.masks import document_mask, sliding_window_mask

torch.manual_seed(0)
x, lengths = torch.randn(2, 6, 8), torch.tensor([6, 3])


def sizes(least):
    return {0: torch.export.Dim("B", min=2, max=64), 1: torch.export.Dim("T", min=least, max=64)}


class Wrapped(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer


class Padded(Wrapped):
    def forward(self, x, lengths):
        return self.layer(x, mask=padding_mask(lengths, x.shape[1]), is_causal=True)


class Looks(Wrapped):
    def forward(self, x, context, values):
        return self.layer(x, context, values)


class Masks(nn.Module):
    def forward(self, x, documents):
        return sliding_window_mask(x.shape[1], window=3, sinks=1) & document_mask(documents)


def same(program, model, *inputs):
    torch.testing.assert_close(program(*inputs), model(*inputs))


other, other_lengths = torch.randn(5, 9, 8), torch.tensor([9, 1, 2, 3, 4])
for kind in (MultiHeadAttention, FusedMultiHeadAttention):
    for options in ({}, {"rotary": Rotary(4)}, {"num_kv_heads": 1}):
        model = Padded(kind(8, 2, **options).eval())
        for strict in {False, "rotary" in options}:
            shapes = {"dynamic_shapes": (sizes(2), {0: sizes(2)[0]}), "strict": strict}
            exported = torch.export.export(model, (x, lengths), **shapes)
            same(exported.module(), model, other, other_lengths)
    same(torch.compile(model, fullgraph=True, backend="eager"), model, x, lengths)

    model = Looks(kind(8, 2).eval())
    compiled = torch.compile(model, backend="eager")
    same(compiled, model, x, x, x)
    for wrong in ((x, x, x[:, :4]), (x, x[:, :4], x), (x, x[:1], x[:1])):
        try:
            compiled(*wrong)
        except ValueError:
            continue
        raise AssertionError("wrong tokens were taken")

given = x, torch.zeros(2, 6, dtype=torch.long)
exported = torch.export.export(Masks(), given, dynamic_shapes=(sizes(4), sizes(4)))
same(exported.module(), Masks(), other, torch.arange(9)[None].expand(5, 9) // 4)
"""


def test_programs_take_any_sizes_and_refuse_what_the_layer_refuses():
    """In a process of its own: the suite's checks of types cannot be traced."""
    done = subprocess.run([sys.executable, "-c", PROGRAMS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


def vmap_sees_bits() -> bool:
    """Whether `vmap` takes a view as another dtype, from which dropout in blocks draws."""
    try:
        torch.vmap(lambda x: x.view(torch.int16))(torch.zeros(2, 2))
    except RuntimeError:  # PyTorch 2.9
        return False
    return True


@both
def test_an_ensemble_drops_weights_of_its_own(kind):
    if kind is FusedMultiHeadAttention and not vmap_sees_bits():
        pytest.skip("this PyTorch cannot")
    layer, x = make(kind, dropout=0.5)
    layer.train()
    several = torch.vmap(lambda x: layer(x[None])[0], randomness="different")(x[:1].expand(4, 6, 8))
    assert several.isfinite().all()
    assert all((several[i] != several[0]).any() for i in (1, 2, 3))


# ---- projections that are not plain ------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors")
@both
def test_projections_that_are_no_whole_heads_are_refused(kind):
    widths = {"q": (6, 8, 8), "k and v": (8, 6, 6), "groups": (12, 8, 8), "none": (8, 8, 0)}
    for given in widths.values():
        layer, x = make(kind)
        layer.q_proj, layer.k_proj, layer.v_proj = (nn.Linear(8, width) for width in given)
        layer.out_proj = nn.Linear(given[0], 8)
        told = "q, k and v must be whole heads of width 4, and q a multiple of k and of v"
        refused(f"{told}, got widths {given}", layer, x)


class Counted(nn.Module):
    """A parametrization that says how often it is asked."""

    calls = 0

    def forward(self, weight):
        self.calls += 1
        return weight


@both
def test_a_weight_that_is_computed_is_computed_once(kind):
    layer, x = make(kind)
    counted = Counted()
    parametrize.register_parametrization(layer.q_proj, "weight", counted)
    counted.calls = 0
    layer(x)
    assert counted.calls == 1


def test_what_a_tensor_is_needed_for_says_so():
    layer, x = make(MultiHeadAttention)
    for call, text in {
        lambda: layer(None): "forward: x must be a torch.Tensor, got None",
        lambda: attention_scores(x, None): "attention_scores: k must be a torch.Tensor, got None",
    }.items():
        refused(text, call)


# ---- parts of a layer --------------------------------------------------------------------


def test_heads_that_cannot_be_shared_are_not_cut():
    for options, rank, size, text in (
        ({"num_heads": 3}, 0, 2, "2 processes cannot share 3 heads evenly"),
        ({"num_heads": 4, "num_kv_heads": 1}, 0, 2, "2 processes cannot share 1 heads evenly"),
        ({"num_heads": 4}, 2, 2, "rank must be an integer between 0 and 1, got 2"),
    ):
        refused(text, cut_heads, MultiHeadAttention(12, **options), rank, size)


@pytest.mark.parametrize("bias", [True, False])
def test_parts_are_layers_that_add_up(bias):
    layer = MultiHeadAttention(12, 6, bias=bias, num_kv_heads=2, rotary=Rotary(2))
    x = torch.randn(2, 5, 12)
    parts = [cut_heads(copy.deepcopy(layer), rank, 2) for rank in range(2)]
    out = sum(part(x, is_causal=True) for part in parts)
    out = out + layer.out_proj.bias if bias else out
    torch.testing.assert_close(out, layer(x, is_causal=True))


@pytest.mark.parametrize("way", ["trading", "ring"])
def test_ways_that_know_no_positions_refuse_them(way):
    function, _ = WAYS[way]
    for options in ({"rotary": Rotary(4)}, {"dropout": 0.1}):
        layer, x = make(MultiHeadAttention, **options)
        refused("layer must have biases, no rotary positions and no dropout", function, x, layer)


@both
def test_what_is_frozen_in_torch_is_frozen_here(kind):
    theirs = nn.MultiheadAttention(8, 2)
    theirs.in_proj_weight.requires_grad_(False)
    ours = from_torch(theirs, kind)
    assert type(ours) is kind
    frozen = {name for name, p in ours.named_parameters() if not p.requires_grad}
    assert frozen == {"q_proj.weight", "k_proj.weight", "v_proj.weight"}
    assert torch.equal(ours.v_proj.weight, theirs.in_proj_weight[16:])
