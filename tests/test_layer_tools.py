"""The modules in the hands of PyTorch's tools, their state, their guards, wrong calls."""

import copy
import inspect
import re
import subprocess
import sys

import pytest
import torch
from jaxtyping import Float
from torch import nn

from mha_utils import (
    FusedMultiHeadAttention,
    MultiHeadAttention,
    SelfAttentionHead,
    StackedHeads,
    attend,
    attention_scores,
    causal_mask,
    checked,
    from_torch,
    padding_mask,
    to_torch,
)

KINDS = [MultiHeadAttention, FusedMultiHeadAttention]
both = pytest.mark.parametrize("kind", KINDS)


def draw(*shape, seed=0, dtype=torch.float32):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def make(kind, **options):
    torch.manual_seed(0)
    return kind(8, 2, **options)


# ---- tools that take a module ------------------------------------------------------------


def test_both_modules_have_the_same_parameters_in_the_same_order():
    names = [[name for name, _ in make(kind).named_parameters()] for kind in KINDS]
    assert names[0] == names[1] == list(make(FusedMultiHeadAttention).state_dict())
    assert "forward" not in vars(FusedMultiHeadAttention)
    assert "__init__" not in vars(FusedMultiHeadAttention)


@both
def test_the_state_is_the_parameters_not_a_copy(kind):
    """What writes into the state (an average of weights, a checkpoint in place) changes them."""
    module = make(kind)
    state, parameters = module.state_dict(), dict(module.named_parameters())
    for name in parameters:
        assert state[name].data_ptr() == parameters[name].data_ptr()
    state["k_proj.weight"].zero_()
    assert not module.k_proj.weight.any()


@both
def test_functional_call_with_the_state_and_with_another(kind):
    module, x = make(kind), draw(2, 5, 8)
    state = module.state_dict()
    assert torch.equal(torch.func.functional_call(module, state, x), module(x))
    halved = {name: tensor / 2 for name, tensor in state.items()}
    other = make(kind)
    other.load_state_dict(halved)
    assert torch.equal(torch.func.functional_call(module, halved, x), other(x))


@both
@pytest.mark.parametrize("part", ["q_proj.weight", "k_proj.bias", "out_proj.weight"])
def test_a_part_of_the_state_is_loaded_and_the_rest_is_named(kind, part):
    module, before = make(kind), copy.deepcopy(make(kind).state_dict())
    missing, unexpected = module.load_state_dict({part: before[part] + 1}, strict=False)
    assert (set(missing), unexpected) == (set(before) - {part}, [])
    for name, tensor in module.state_dict().items():
        assert torch.equal(tensor, before[name] + (name == part))
    with pytest.raises(RuntimeError, match=re.escape(part)):
        module.load_state_dict({n: t for n, t in before.items() if n != part})
    with pytest.raises(RuntimeError, match=re.escape(part)):
        module.load_state_dict(before | {part: torch.ones(3, 3, 3)})


@both
def test_distributed_checkpoints_take_the_module(kind):
    from torch.distributed.checkpoint.state_dict import (
        get_model_state_dict,
        set_model_state_dict,
    )

    module, other, x = make(kind), kind(8, 2), draw(2, 5, 8)
    set_model_state_dict(other, get_model_state_dict(module))
    assert torch.equal(other(x), module(x))


@both
def test_a_copy_and_an_average_of_weights(kind):
    module, x = make(kind), draw(2, 5, 8)
    copied = copy.deepcopy(module)
    averaged = torch.optim.swa_utils.AveragedModel(module)
    averaged.update_parameters(module)
    assert torch.equal(copied(x), module(x))
    assert torch.equal(averaged(x), module(x))
    copied.q_proj.weight.data.zero_()
    assert not torch.equal(copied(x), module(x))


def test_the_state_of_an_optimizer_goes_from_one_module_to_the_other():
    modules = [make(kind) for kind in KINDS]
    modules = [module.double() for module in modules]
    x, target = (draw(2, 5, 8, seed=i, dtype=torch.float64) for i in range(2))

    def step(module, optimizer):
        optimizer.zero_grad()
        (module(x, is_causal=True) - target).square().mean().backward()
        optimizer.step()

    ends = []
    for order in ((0, 0), (0, 1), (1, 0)):  # which module takes the first steps, which the last
        first, last = (copy.deepcopy(modules[i]) for i in order)
        optimizer = torch.optim.AdamW(first.parameters(), lr=0.05)
        for _ in range(3):
            step(first, optimizer)
        last.load_state_dict(first.state_dict())
        states = optimizer.state_dict()
        optimizer = torch.optim.AdamW(last.parameters(), lr=0.05)
        optimizer.load_state_dict(states)
        for _ in range(3):
            step(last, optimizer)
        ends.append(last.state_dict())
    for end in ends[1:]:
        for name, tensor in end.items():
            torch.testing.assert_close(tensor, ends[0][name], atol=1e-5, rtol=1e-4)


class Adapter(nn.Module):
    """A frozen layer and a product of two thin matrices; it has no `weight`."""

    def __init__(self, layer: nn.Linear):
        super().__init__()
        self.layer, self.down = layer, nn.Linear(layer.in_features, 2, bias=False)
        self.up = nn.Linear(2, layer.out_features, bias=False)

    def forward(self, x):
        return self.layer(x) + self.up(self.down(x))


@both
@pytest.mark.parametrize("name", ["q_proj", "k_proj", "v_proj", "out_proj"])
@pytest.mark.parametrize("lengths", [(5, 5), (3, 6), (140, 140)], ids=str)
def test_an_adapter_around_any_projection_is_used_and_trained(kind, name, lengths):
    module, merged = make(kind), make(kind)
    adapter = Adapter(getattr(module, name))
    setattr(module, name, adapter)
    added = (adapter.up.weight @ adapter.down.weight).detach()
    getattr(merged, name).weight.data += added
    x, context = draw(2, lengths[0], 8), draw(2, lengths[1], 8, seed=1)
    inputs = (x,) if lengths[0] == lengths[1] else (x, context)
    for options in ({}, {"is_causal": True}, {"need_weights": True}):
        torch.testing.assert_close(module(*inputs, **options), merged(*inputs, **options))
    module(*inputs).sum().backward()
    assert adapter.up.weight.grad.any()
    assert adapter.down.weight.grad.any()


@both
def test_hooks_of_every_projection_are_called(kind):
    module, seen = make(kind), []
    for name, layer in module.named_children():
        layer.register_forward_hook(lambda *_, name=name: seen.append(name))
    module(draw(1, 3, 8), draw(1, 4, 8))
    assert seen == ["q_proj", "k_proj", "v_proj", "out_proj"]


@both
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_dynamic_quantisation(kind):
    module, x = make(kind).eval(), draw(2, 5, 8)
    quantised = torch.ao.quantization.quantize_dynamic(module, {nn.Linear}, dtype=torch.qint8)
    assert not isinstance(quantised.q_proj, nn.Linear)
    torch.testing.assert_close(quantised(x), module(x), atol=0.05, rtol=0.05)


@both
@pytest.mark.parametrize("options", [{}, {"bias": False}, {"kdim": 5, "vdim": 6}], ids=str)
def test_porting_keeps_everything(kind, options):
    module = make(kind, dropout=0.25, **options).double().eval()
    theirs = to_torch(module)
    back = from_torch(theirs)
    assert (theirs.dropout, back.dropout) == (0.25, 0.25)
    assert (theirs.num_heads, back.num_heads, theirs.batch_first) == (2, 2, True)
    assert not theirs.training
    assert not back.training
    assert from_torch(theirs.train()).training
    assert to_torch(back.train()).training
    assert list(back.state_dict()) == list(module.state_dict())
    assert theirs.out_proj.weight.dtype == torch.float64
    for name, tensor in back.state_dict().items():
        assert torch.equal(tensor, module.state_dict()[name])
        assert tensor.data_ptr() != module.state_dict()[name].data_ptr()
    x, context = draw(2, 3, 8, dtype=torch.float64), draw(2, 4, 8, dtype=torch.float64, seed=1)
    if not options.get("kdim"):
        out, weights = module(x, context, need_weights=True)
        expected = theirs.eval()(x, context, context, average_attn_weights=False)
        for ours, other in zip((out, weights), expected):
            torch.testing.assert_close(ours, other)


# ---- what `checked` remembers --- ---------------------------------------------------------


def sets_in(function) -> list[set]:
    """What the closures of a function keep; the tests' import hook adds closures around it."""
    kept, todo, seen = [], [function], set()
    while todo:
        value = todo.pop()
        if isinstance(value, set):
            kept.append(value)
        elif inspect.isfunction(value) and id(value) not in seen:
            seen.add(id(value))
            todo += [cell.cell_contents for cell in value.__closure__ or ()]
    return kept


def test_the_memory_of_a_contract_does_not_grow_without_end():
    @checked
    def same(x: Float[torch.Tensor, " T"]):
        return x

    for length in range(1, 1500):
        same(torch.zeros(length))
    (remembered,) = sets_in(same)
    assert 1 < len(remembered) <= 1000


def test_what_has_passed_passes_only_with_the_same_dtypes_devices_and_shapes():
    q, k = draw(3, 4), draw(5, 4)
    scores = attention_scores(q, k)
    attention_scores(q, k=k)
    for wrong in (k.double(), k.half(), k.to("meta"), k[:, :3], k[None], k.int(), [[1.0] * 4]):
        with pytest.raises(ValueError, match="does not fit"):
            attention_scores(q, wrong)
        with pytest.raises(ValueError, match="does not fit"):
            attention_scores(q, k=wrong)
        with pytest.raises(ValueError, match="does not fit"):
            attention_scores(k=wrong, q=q)
    torch.testing.assert_close(attention_scores(q, k), scores)


def test_what_autocast_lets_pass_does_not_pass_later():
    module, x = make(MultiHeadAttention), draw(2, 5, 8)
    context = draw(2, 6, 8, dtype=torch.bfloat16)
    for _ in range(2):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert module(x, context).shape == x.shape
        with pytest.raises(ValueError, match="its dtype is bfloat16"):
            module(x, context)


def test_a_result_is_that_of_the_call_whatever_has_passed():
    @checked
    def twice(x: torch.Tensor, factor: int) -> torch.Tensor:
        return x * factor

    assert [twice(torch.ones(1), n).item() for n in (1, 2, 3)] == [1, 2, 3]


# ---- wrong calls -------------------------------------------------------------------------

X = torch.zeros(2, 4, 8)
WRONG = {
    "dtype of x": (
        lambda kind: kind(8, 2)(X.double()),
        "x must have the dtype of the module, float32, got float64",
    ),
    "dtype of the module": (
        lambda kind: kind(8, 2, dtype=torch.bfloat16)(X),
        "x must have the dtype of the module, bfloat16, got float32",
    ),
    "dtypes of both": (
        lambda kind: kind(8, 2)(X, X.double()),
        "forward: context does not fit: its dtype is float64, that of the first argument float32",
    ),
    "integers": (
        lambda kind: kind(8, 2)(X.long()),
        "forward: x does not fit: its dtype is int64, not float",
    ),
    "a list": (lambda kind: kind(8, 2)([1.0]), "forward: x does not fit: a list is not a torch"),
    "mask on another device": (
        lambda kind: kind(8, 2)(X, mask=torch.ones(4, 4, dtype=torch.bool, device="meta")),
        "forward: mask does not fit: it is on device meta, the first argument on cpu",
    ),
    "padding without its form": (
        lambda kind: kind(8, 2)(X, mask=torch.ones(2, 4, dtype=torch.bool)),
        "mask must be (T, S) = (4, 4) or broadcast to (B, H, T, S) = (2, 2, 4, 4) from four "
        "dimensions, as padding (B, 1, 1, S) does, got (2, 4)",
    ),
    "mask of a fifth dimension": (
        lambda kind: kind(8, 2)(X, mask=torch.ones(1, 1, 1, 4, 4, dtype=torch.bool)),
        "mask must be (T, S) = (4, 4) or broadcast to (B, H, T, S) = (2, 2, 4, 4) from four",
    ),
    "fewer keys": (
        lambda kind: kind(8, 2)(X, X[:, :3], is_causal=True),
        "key_len must be at least query_len=4, got 3",
    ),
    "width of q 0": (lambda kind: kind(8, 2, qdim=0), "qdim must be an integer of at least 1"),
    "width of k 0": (lambda kind: kind(8, 2, kdim=0), "kdim must be an integer of at least 1"),
    "width of v 0": (lambda kind: kind(8, 2, vdim=0), "vdim must be an integer of at least 1"),
    "head of width 0": (
        lambda kind: SelfAttentionHead(8, 2, 0),
        "value_dim must be an integer of at least 1, got 0",
    ),
    "heads of width 0": (
        lambda kind: StackedHeads(8, 2, 2, 0),
        "value_dim must be an integer of at least 1, got 0",
    ),
    "no keys": (lambda kind: causal_mask(3, 0), "key_len must be an integer of at least 1, got 0"),
    "dtype of a head": (
        lambda kind: SelfAttentionHead(8, 2)(X.double()),
        "x must have the dtype of the module, float32, got float64",
    ),
    "dtype of heads": (
        lambda kind: StackedHeads(8, 2, 2)(X.half()),
        "x must have the dtype of the module, float32, got float16",
    ),
    "extra keys": (
        lambda kind: from_torch(nn.MultiheadAttention(8, 2, add_bias_kv=True)),
        "add_bias_kv and add_zero_attn have no counterpart here",
    ),
    "a key of zeros": (
        lambda kind: from_torch(nn.MultiheadAttention(8, 2, add_zero_attn=True)),
        "add_bias_kv and add_zero_attn have no counterpart here",
    ),
}


@both
@pytest.mark.parametrize("name", WRONG)
def test_wrong_calls_say_what_was_expected_and_what_came(kind, name):
    call, text = WRONG[name]
    with pytest.raises(ValueError, match=f"^{re.escape(text)}"):
        call(kind)


@both
def test_autocast_takes_another_dtype(kind):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert make(kind)(draw(2, 3, 8, dtype=torch.bfloat16)).dtype == torch.bfloat16


FLAGS = """
import torch
from mha_utils import *
x = torch.zeros(1, 3, 8)
q = torch.zeros(1, 2, 3, 4)
calls = {
    "is_causal": [lambda v: MultiHeadAttention(8, 2)(x, is_causal=v),
                  lambda v: FusedMultiHeadAttention(8, 2)(x, is_causal=v),
                  lambda v: attend(q, q, q, is_causal=v)],
    "need_weights": [lambda v: MultiHeadAttention(8, 2)(x, need_weights=v),
                     lambda v: FusedMultiHeadAttention(8, 2)(x, need_weights=v),
                     lambda v: SelfAttentionHead(8, 2)(x, need_weights=v)],
    "bias": [lambda v: MultiHeadAttention(8, 2, bias=v), lambda v: SelfAttentionHead(8, 2, bias=v)],
}
for name, functions in calls.items():
    for function in functions:
        for value in ("no", 1, 0, None, torch.tensor(True), 0.5):
            try:
                function(value)
            except ValueError as error:
                assert str(error) == f"{name} must be True or False, got {value!r}", error
            else:
                raise AssertionError((name, value))
for function, kind, wrong in (
    (from_torch, "MultiheadAttention", (3, MultiHeadAttention(8, 2), None)),
    (to_torch, "MultiHeadAttention", (3, torch.nn.MultiheadAttention(8, 2), None)),
):
    for value in wrong:
        try:
            function(value)
        except ValueError as error:
            assert str(error) == f"module must be a {kind}, got {value!r}", error
        else:
            raise AssertionError((function, value))
"""


def test_flags_are_true_or_false_and_modules_are_modules():
    """In a process of its own: here the import hook would speak first."""
    subprocess.run([sys.executable, "-c", FLAGS], check=True)


@both
def test_two_dimensions_of_a_mask_are_queries_and_keys(kind):
    """Where B = T = S a mask (B, S) cannot be told from (T, S): it is always read as the latter."""
    module, x = make(kind), draw(4, 4, 8)
    square, lengths = torch.rand(4, 4) < 0.5, torch.tensor([1, 2, 3, 4])
    torch.testing.assert_close(module(x, mask=square), module(x, mask=square[None, None]))
    rows = padding_mask(lengths, 4)[:, 0, 0]
    torch.testing.assert_close(module(x, mask=rows), module(x, is_causal=True))
    assert not torch.allclose(module(x, mask=rows), module(x, mask=padding_mask(lengths, 4)))


def test_attend_refuses_what_the_modules_refuse():
    q = torch.zeros(2, 2, 3, 4)
    for arguments, text in (
        ({"mask": torch.ones(2, 3, dtype=torch.bool)}, r"mask must be \(T, S\) = \(3, 3\)"),
        ({"dropout": 1.5}, "dropout must be a probability between 0 and 1, got 1.5"),
        ({"k": q[:, :, :2], "v": q[:, :, :2], "is_causal": True}, "key_len must be at least"),
        ({"v": q.double()}, "attend: v does not fit: its dtype is float64"),
    ):
        with pytest.raises(ValueError, match=text):
            attend(**({"q": q, "k": q, "v": q} | arguments))
