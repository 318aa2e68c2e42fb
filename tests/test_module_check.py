"""The check of a whole module: right ones pass, wrong ones are told which mistake it is."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import wild
from torch import nn

from mha_utils import FusedMultiHeadAttention, MultiHeadAttention, attend
from mha_utils.checks import __main__ as check
from mha_utils.checks import check_multi_head_attention
from mha_utils.checks.module import Adapter, adapter_for, diagnosis
from mha_utils.checks.module.attempts import dropout_findings
from mha_utils.checks.module.dropout import NO_DROPOUT, RIGHT
from mha_utils.checks.module.scenarios import (
    KINDS,
    SCENARIOS,
    draw,
    for_sizes,
    where_it_is_wrong,
)
from mha_utils.museum import DROPPING, MUSEUM, Steps, bug

ROOT = Path(__file__).parents[1]
CAUSAL = {"causal": True}


@pytest.mark.parametrize(("number", "named"), [(1, 1), (diagnosis.FEW, 4), (diagnosis.FEW + 1, 0)])
def test_a_few_bugs_that_nothing_tells_apart_are_all_named(monkeypatch, number, named):
    monkeypatch.setattr(diagnosis, "candidates", lambda fills: [tuple(MUSEUM[:number])])
    monkeypatch.setattr(diagnosis, "equals", lambda *given: True)
    attempt, adapter = object.__new__(diagnosis.Attempt), adapter_for(MultiHeadAttention)
    found = diagnosis.same_bugs([(attempt, True), (attempt, False)], adapter, seed=0)
    assert found == list(MUSEUM[:named])


def adapter_of_list(head_list) -> Adapter:
    return Adapter(
        build=lambda embed_dim, num_heads, dropout, bias: head_list(num_heads, embed_dim),
        load=wild.load_head_list,
        call=lambda module, x, context, mask, is_causal, need_weights: module(x),
        takes=frozenset(),
        always_causal=True,
    )


RIGHT_ONES = {
    "MultiHeadAttention": (MultiHeadAttention, {}),
    "FusedMultiHeadAttention": (FusedMultiHeadAttention, {}),
    "Steps": (Steps, {}),
    "nn.MultiheadAttention": (nn.MultiheadAttention, {}),
    "a module": (MultiHeadAttention(8, 2), {}),
    "a fused module": (FusedMultiHeadAttention(12, 4, dropout=0.1), {}),
    "their module": (nn.MultiheadAttention(8, 2, batch_first=True), {}),
    "their module, time first": (nn.MultiheadAttention(8, 2), {}),
    "their function": (F.scaled_dot_product_attention, {}),
    "our function": (attend, {}),
    "einsum": (wild.EinsumAttention, {}),
    "as in GPT-2": (wild.CausalSelfAttention, CAUSAL),
    "a list of heads": (wild.HeadList, {"adapter": adapter_of_list(wild.HeadList)}),
}


@pytest.mark.parametrize("name", RIGHT_ONES)
def test_right_ones_pass_in_one_line(name):
    answer, options = RIGHT_ONES[name]
    report = check_multi_head_attention(answer, **options)
    assert report, report
    assert repr(report).startswith("✓ ")
    assert len(repr(report).splitlines()) == 1


def test_a_pass_says_what_was_not_tried():
    text = repr(check_multi_head_attention(wild.CausalSelfAttention, causal=True))
    assert text == (
        "✓ CausalSelfAttention: outputs and gradients right in 10 cases; not tried: "
        "cross-attention, masks, is_causal, rows with nothing to attend to"
    )


@pytest.mark.parametrize("seed", range(1, 4))
def test_fresh_numbers_change_nothing(seed):
    assert check_multi_head_attention(MultiHeadAttention, seed=seed)
    assert not check_multi_head_attention(bug("scale by sqrt(D)").module, seed=seed)


@pytest.mark.parametrize("known", MUSEUM, ids=lambda m: m.name)
def test_a_bug_of_the_museum_is_named(known):
    report = check_multi_head_attention(known.module)
    assert not report
    lines = repr(report).splitlines()
    assert f"  Your result equals: {known.name} ({known.place})." in lines, report
    assert f"  {known.wrong}" in lines


WILD = {  # what the report has to say
    "FusedThenHeads": ({}, "equals: heads split before cutting a fused qkv"),
    "CausalWithoutTranspose": (CAUSAL, "equals: merge without transpose"),
    "BertSelfAttention": ({}, "wrong wherever something is hidden, and right everywhere else"),
    "HeadListScaledByModelWidth": (
        {"adapter": adapter_of_list(wild.HeadListScaledByModelWidth)},
        "equals: scale by sqrt(D)",
    ),
    "WrapsTorch": ({}, "Sequences of a batch see each other"),
    "FlatBatchAndHeads": ({}, "equals: mask repeated in the wrong order"),
    "AlwaysDropping": ({}, "equals: dropout left on in evaluation"),
    "adds_the_mask": ({}, "mask (T, S): the output has the right shape and wrong numbers"),
    "SeesTheNextToken": (CAUSAL, "equals: causal off by one: the next token is seen"),
    "SavesMemory": ({}, "equals: detached scores"),
}


@pytest.mark.parametrize("name", WILD)
def test_wrong_ones_from_outside_the_museum_are_rejected(name):
    options, text = WILD[name]
    report = check_multi_head_attention(getattr(wild, name), **options)
    assert not report
    assert text in repr(report), report


def test_ten_wrong_ones_are_tried():
    marked = [v for v in vars(wild).values() if (getattr(v, "__doc__", "") or "")[:6] == "Wrong:"]
    assert {v.__name__ for v in marked} == set(WILD)
    assert len(WILD) == 10


class Stub(MultiHeadAttention):
    def forward(self, x, **options):
        return ...  # your turn


class NotYet(MultiHeadAttention):
    def forward(self, x, **options):
        raise NotImplementedError


class Raises(MultiHeadAttention):
    def forward(self, x, mask=None):
        return x.no_such_method()


class WrongShape(MultiHeadAttention):
    def forward(self, x):
        return x[..., :1]


class AveragedMaps(MultiHeadAttention):
    def forward(self, x, need_weights=False):
        out, weights = super().forward(x, need_weights=True)
        return out, weights.mean(dim=1)


class WithoutGradient(MultiHeadAttention):
    def forward(self, x):
        return super().forward(x).detach()


class FastPathIsWrong(MultiHeadAttention):
    def forward(self, x, need_weights=False):
        out, weights = super().forward(x, need_weights=True)
        return (out, weights) if need_weights else out * 1.01


class OnlyWithManyHeads(MultiHeadAttention):
    def forward(self, x):
        return super().forward(x) + 0.1 * (self.num_heads > 1)


class NeedsContiguous(MultiHeadAttention):
    def forward(self, x):
        return super().forward(x.view(-1).view(x.shape))


class SlightlyOff(MultiHeadAttention):
    def forward(self, x):
        return super().forward(x) * 1.001


class ScalesItsInput(MultiHeadAttention):
    def forward(self, x):
        out = super().forward(x)
        with torch.no_grad():
            x *= 2
        return out


TOLD = {
    Stub: "○ Stub: not solved yet (it returned `...`)",
    NotYet: "○ NotYet: not solved yet (it raised NotImplementedError)",
    Raises: "raised AttributeError in your line `return x.no_such_method()`: 'Tensor' object has",
    WrongShape: "the output should have shape (2, 1, 2), got (2, 1, 1)",
    AveragedMaps: "the weights should have shape (2, 1, 1, 1), got (2, 1, 1)",
    WithoutGradient: "the output is right, but no gradient flows back",
    FastPathIsWrong: "the output has the right shape and wrong numbers",
    OnlyWithManyHeads: "It is wrong wherever there is more than one head, and right everywhere",
    NeedsContiguous: "raised RuntimeError in your line `return super().forward(x.view(-1)",
    SlightlyOff: "the output has the right shape and wrong numbers",
    ScalesItsInput: "changes its input x in place",
}


@pytest.mark.parametrize("answer", TOLD, ids=lambda a: a.__name__)
def test_wrong_answers_are_told_how(answer):
    report = check_multi_head_attention(answer)
    assert not report
    assert TOLD[answer] in repr(report), report


def test_the_smallest_failing_case_is_shown_with_its_numbers():
    lines = repr(check_multi_head_attention(bug("no scale").module)).splitlines()
    assert lines[0].startswith("✗ NoScale(embed_dim=2, num_heads=1) in evaluation, x (2, 3, 2): ")
    assert lines[1].startswith("  Furthest off in out[")
    assert lines[2].lstrip().startswith("got      [")
    assert lines[1].index("[", 30) == lines[2].index("[")


def test_reports_are_the_same_every_time_and_leave_the_generator_alone():
    torch.manual_seed(0)
    before = torch.get_rng_state()
    first, second = (repr(check_multi_head_attention(p.module)) for p in (DROPPING[0],) * 2)
    assert first == second
    module = MultiHeadAttention(4, 2)
    torch.manual_seed(0)
    check_multi_head_attention(module)
    assert torch.equal(torch.get_rng_state(), before)


def test_the_probe_of_dropout_sees_what_is_right():
    for answer in (MultiHeadAttention, FusedMultiHeadAttention):
        assert dropout_findings(adapter_for(answer), True) == RIGHT
        assert dropout_findings(adapter_for(answer), False) == NO_DROPOUT


def test_the_scenarios_cover_what_they_promise():
    assert {s.batch_size >= 2 for s in SCENARIOS} == {True}
    assert {s.num_heads for s in SCENARIOS} >= {1, 2, 4}
    assert any(s.num_heads == s.embed_dim > 1 for s in SCENARIOS)
    assert {s.query_len for s in SCENARIOS} >= {1, 3, 5, 7}
    assert any(s.lengths[0] < s.lengths[1] for s in SCENARIOS)
    assert {s.mask for s in SCENARIOS} == {"", "all", "padding", "heads", "empty"}
    for kind in ("training", "is_causal", "contiguous", "with_gradient"):
        assert {getattr(s, kind) for s in SCENARIOS} == {True, False}
    for scenario in SCENARIOS:
        mask = draw(scenario, 0).joined_mask()
        is_empty = mask is not None and not np.broadcast_to(mask, mask.shape).any(axis=-1).all()
        assert is_empty == (scenario.mask == "empty"), scenario


def test_true_may_mean_the_opposite():
    class TheirMask(MultiHeadAttention):
        def forward(self, x, mask=None):
            return super().forward(x, mask=None if mask is None else ~mask)

    assert check_multi_head_attention(TheirMask, true_means="not allowed")
    told = repr(check_multi_head_attention(TheirMask))
    assert "Your result equals: mask inverted" in told
    assert "say true_means='not allowed'" in told


def test_empty_rows_are_left_out_on_request():
    piece = bug("NaN rows").module
    assert not check_multi_head_attention(piece)
    assert check_multi_head_attention(piece, empty_rows=False)


class Unknown(nn.Module):
    def __init__(self, config):
        super().__init__()


class OddNames(nn.Module):
    def __init__(self, d_model, h):
        super().__init__()
        self.linears = nn.ModuleList(nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, x):
        return x


UNCLEAR = {
    "no callable": (3, {}, "a class or object of nn.Module or a function is needed, got 3"),
    "unknown argument": (Unknown, {}, "what is the argument 'config' of Unknown?"),
    "unknown parameter": (OddNames, {}, "which layer is the parameter 'linears.0.weight' (2, 2)?"),
    "no module class": (
        dict,
        {},
        "nn.Module or a function is needed, got <class 'dict'>",
    ),
    "makes no module": (lambda embed_dim: 1, {}, "should make an nn.Module, got int"),
    "no number of heads": (nn.Linear(4, 4), {}, "the number of heads is not an attribute"),
    "polarity": (Steps, {"true_means": "yes"}, "true_means must be one of ('may attend', 'not"),
}


@pytest.mark.parametrize("name", UNCLEAR)
def test_what_is_unclear_raises(name):
    answer, options, text = UNCLEAR[name]
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        check_multi_head_attention(answer, **options)
    assert text in str(raised.value)


SHELL = {
    "tests/wild.py:EinsumAttention": (0, "✓ EinsumAttention: "),
    "torch.nn:MultiheadAttention": (0, "✓ MultiheadAttention: "),
    "tests/wild.py:AlwaysDropping": (1, "equals: dropout left on in evaluation"),
    "tests/wild.py:Nope": (
        2,
        "tests/wild.py has no 'Nope'; it has EinsumAttention, Fused",
    ),
    "tests/wilder.py:Nope": (2, "there is no file tests/wilder.py"),
    "no.such.module:Name": (2, "there is no module 'no.such.module'"),
    "torch.nn": (2, "expected path.to:Class or path/to/file.py:Class, got 'torch.nn'"),
    "torch.nn:Linear": (2, "what is the argument 'in_features' of Linear?"),
}


@pytest.mark.parametrize("target", SHELL)
def test_from_a_shell(target, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    status, text = SHELL[target]
    assert check.main([target]) == status
    assert text in "".join(capsys.readouterr())


def test_as_a_command():
    command = [
        sys.executable,
        "-m",
        "mha_utils.check",
        "tests/wild.py:SeesTheNextToken",
        "--causal",
    ]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 1, result.stderr
    assert (
        "equals: causal off by one: the next token is seen (chapter 06, section 1)" in result.stdout
    )


class OneNumberOff(MultiHeadAttention):
    def forward(self, x, context=None, **options):
        result = super().forward(x, context, **options)
        out = result[0] if isinstance(result, tuple) else result
        out[-1, -1, 0] += 0.5
        return result


def test_the_number_that_is_shown_is_the_one_furthest_off():
    report = repr(check_multi_head_attention(OneNumberOff))
    batch_size, seq_len = map(int, re.search(r"x \((\d+), (\d+), ", report).groups())
    assert f"Furthest off in out[{batch_size - 1}, {seq_len - 1}]" in report


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_input_is_named_and_unlike_the_others(kind):
    rows = {name: [belongs(s) for s in SCENARIOS] for name, belongs in KINDS.items()}
    assert set(rows[kind]) == {True, False}
    assert f"wherever {kind}, and" in where_it_is_wrong(list(SCENARIOS), rows[kind])


def test_dropout_of_a_module_that_is_there_is_tried():
    for piece in DROPPING:
        report = check_multi_head_attention(piece.module(8, 2, dropout=0.1))
        assert not report, piece.name


class WrongWithPadding(MultiHeadAttention):
    def forward(self, x, context=None, *, mask=None, **options):
        mask = mask if mask is None or mask.ndim != 4 else mask.roll(1, dims=0)
        return super().forward(x, context, mask=mask, **options)


def test_a_module_that_is_there_is_tried_in_every_scenario():
    scenarios = list(for_sizes(8, 2))
    assert [(s.num_heads, s.head_dim) for s in scenarios] == [(2, 4)] * len(SCENARIOS)
    assert [s.mask for s in scenarios] == [s.mask for s in SCENARIOS]
    assert not check_multi_head_attention(WrongWithPadding(8, 2))
