"""The check on classes of others: recognised, what was assumed is said, bugs are named."""

import textwrap

import pytest
import strangers
import torch
from torch import nn

from mha_utils.checks import __main__ as command
from mha_utils.checks import check_multi_head_attention as check
from mha_utils.checks.module import Adapter, adapter_for
from mha_utils.museum import Steps

ADDED = "its attention_mask is added to the scores"
RIGHT = {  # what the report has to say after "assumed: "
    "EncoderSelfAttention": ({}, f"{ADDED}, its output layer stands behind it"),
    "CausalByConfig": ({"causal": True}, "dropout behind the output layer is 0"),
    "DecoderAttention": (
        {"causal": True},
        f"{ADDED}, position_embeddings may turn nothing, a mask that is given holds the causal "
        "part, too",
    ),
    "LazyAttention": ({}, "valid_lens may be None"),
    "NoLayerForOneHead": ({"empty_rows": False}, ""),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_one_passes_and_the_report_says_what_was_assumed(name):
    options, assumed = RIGHT[name]
    report = check(getattr(strangers, name), **options)
    assert report, report
    assert repr(report).partition("; assumed: ")[2] == assumed
    assert "right in 0 cases" not in repr(report)


def test_an_object_with_a_config_is_recognised():
    layer = strangers.EncoderSelfAttention(
        strangers.EncoderConfig(hidden_size=8, num_attention_heads=2), 0
    )
    layer.config = strangers.EncoderConfig()
    layer.config.num_attention_heads = 2
    report = check(layer)
    assert report, report
    assert ADDED in repr(report)


def test_dropout_is_tried_of_what_has_a_config():
    adapter = adapter_for(strangers.CausalByConfig, causal=True)
    assert "dropout" in adapter.takes
    module = adapter.build(8, 2, 0.5, True)
    assert (module.dropout, module.resid_dropout.p) == (0.5, 0.0)
    assert "dropout" not in repr(check(strangers.EncoderSelfAttention)).partition("not tried")[2]


PROPOSED = {
    "CausalByConfig": "It is right if you say causal=True (in a shell: --causal).",
    "DecoderAttention": "It is right if you say causal=True (in a shell: --causal).",
    "NoLayerForOneHead": ("It is right if you say empty_rows=False (in a shell: --no-empty-rows)."),
}


@pytest.mark.parametrize("name", PROPOSED)
def test_what_would_make_it_right_is_proposed(name):
    report = check(getattr(strangers, name))
    assert not report
    assert repr(report).splitlines()[-1].strip() == PROPOSED[name]


class AddsItsMask(Steps):
    def forward(self, x, context=None, *, mask=None, need_weights=False):
        self.added = mask
        return super().forward(x, context, need_weights=need_weights)

    def weigh(self, scores, mask):
        return self.softmax(scores if self.added is None else scores + self.added)


def test_masks_that_are_added_are_proposed():
    told = repr(check(AddsItsMask))
    assert "say true_means='added' (in a shell: --true-means added)" in told, told
    assert check(AddsItsMask, true_means="added")


def with_step(base, **steps):
    return type("Planted", (base,), {"__module__": base.__module__, **steps})


def planted(name):
    """A class of a stranger with a bug in one step."""
    score, weigh = strangers.EncoderSelfAttention.score, strangers.EncoderSelfAttention.weigh
    steps = {
        "sqrt(T)": {"score": lambda self, q, k: q @ k.mT / q.shape[-2] ** 0.5},
        "clipped": {"score": lambda self, q, k: score(self, q, k).clamp(-10, 10)},
        "float16": {"score": lambda self, q, k: score(self, q, k).half().float()},
        "queries": {"weigh": lambda self, s, m: (s if m is None else s + m).softmax(dim=-2)},
        "diagonal": {
            "weigh": lambda self, s, m: weigh(
                self, s, None if m is None else m.masked_fill(torch.eye(*s.shape[-2:]).bool(), 0.0)
            )
        },
        "ignored": {"weigh": lambda self, scores, mask: weigh(self, scores, None)},
        "no scale": {"score": lambda self, q, k: q @ k.mT},
    }
    return with_step(strangers.EncoderSelfAttention, **steps[name])


NAMED = {
    "sqrt(T)": "Your result equals: scale by sqrt(S), the number of keys.",
    "clipped": "Your result equals: scores clipped at 10.",
    "float16": "as small as those of rounding, up and down alike",
    "queries": "Where nothing is hidden: Your result equals: softmax over the queries",
    "diagonal": "Your result equals: the diagonal is always allowed.",
    "ignored": "Your result equals: mask ignored (chapter 06, section 1).",
    "no scale": "Your result equals: no scale (chapter 07, section 1).",
}


@pytest.mark.parametrize("name", NAMED)
def test_a_planted_bug_is_named(name):
    report = check(planted(name))
    assert not report
    assert NAMED[name] in repr(report), report
    assert f"Assumed: {ADDED}, its output layer stands behind it." in repr(report)


class NextKeySeen(Steps):
    def causal(self, query_len, key_len):
        offset = key_len - query_len + (key_len > query_len)
        return torch.ones(query_len, key_len, dtype=torch.bool).tril(offset)


class OwnKeyHidden(NextKeySeen):
    def causal(self, query_len, key_len):
        offset = key_len - query_len - (key_len > query_len)
        return torch.ones(query_len, key_len, dtype=torch.bool).tril(offset)


class SwappedKeys(Steps):
    def project(self, x, context, values):
        q, k, v = super().project(x, context, values)
        return q, v, k


class UnscaledAndAdded(AddsItsMask):
    def score(self, q, k):
        return q @ k.mT


class UnscaledAndCausal(nn.Module):
    """Without a word of causality in its signature."""

    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q, self.k, self.v, self.o = (nn.Linear(embed_dim, embed_dim) for _ in range(4))

    def forward(self, x):
        heads = (p(x).unflatten(-1, (self.num_heads, -1)) for p in (self.q, self.k, self.v))
        q, k, v = (part.transpose(1, 2) for part in heads)
        future = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
        weights = (q @ k.mT).masked_fill(future, -torch.inf).softmax(dim=-1)
        return self.o((weights @ v).transpose(1, 2).flatten(2))


RARE = {
    UnscaledAndCausal: "If you say causal=True (in a shell: --causal):\n"
    "  Your result equals: no scale",
    NextKeySeen: "causal off by one where S > T: the next key is seen",
    OwnKeyHidden: "causal off by one where S > T: its own key is hidden",
    SwappedKeys: "k and v exchanged",
    UnscaledAndAdded: "If you say true_means='added' (in a shell: --true-means added):\n"
    "  Your result equals: no scale",
}


@pytest.mark.parametrize("answer", RARE, ids=lambda a: a.__name__)
def test_a_rare_bug_is_named(answer):
    assert RARE[answer] in repr(check(answer))


class SlightlyLarger(Steps):
    def project_out(self, merged):
        return super().project_out(merged) * 1.001


def test_a_factor_is_not_taken_for_rounding():
    assert "rounding" not in repr(check(SlightlyLarger))


# ---- an adapter from a shell --------------------------------------------------------------

MINE = """
import torch
from torch import nn

class Mine(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.matrices = nn.Parameter(torch.zeros(4, embed_dim, embed_dim))

    def forward(self, x):
        wide = (x @ matrix for matrix in self.matrices[:3])
        q, k, v = (t.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for t in wide)
        out = (q @ k.mT / q.shape[-1] ** 0.5).softmax(dim=-1) @ v
        return out.transpose(1, 2).flatten(2) @ self.matrices[3]
"""


def test_the_adapter_that_help_shows_works_from_a_shell(tmp_path, capsys):
    example = command.EXAMPLE.partition("\n\n")[2].partition("\n\nhelp(")[0]
    path = tmp_path / "mine.py"
    path.write_text(MINE + textwrap.dedent(example))
    assert command.main([f"{path}:Mine"]) == 2
    assert "which layer is the parameter 'matrices'" in capsys.readouterr().err
    assert command.main([f"{path}:Mine", "--adapter", f"{path}:adapter"]) == 0
    assert capsys.readouterr().out.startswith("✓ Mine: outputs and gradients right in 9 cases")
    assert command.main([f"{path}:Mine", "--adapter", f"{path}:Mine"]) == 2
    assert "should be an Adapter, got <class 'mine" in capsys.readouterr().err


def test_the_shell_takes_what_a_report_proposes(capsys, monkeypatch):
    monkeypatch.setattr(command, "find", lambda target: getattr(strangers, target))
    assert command.main(["NoLayerForOneHead"]) == 1
    assert command.main(["NoLayerForOneHead", "--no-empty-rows"]) == 0
    assert command.main(["CausalByConfig", "--causal"]) == 0
    assert command.main(["EncoderSelfAttention", "--true-means", "may attend"]) == 1


class WithoutConfigClass(nn.Module):
    def __init__(self, config: dict):
        super().__init__()


def test_a_config_of_no_known_class_is_unclear():
    with pytest.raises(ValueError, match="what is the argument 'config' of WithoutConfigClass"):
        check(WithoutConfigClass)


def test_an_adapter_assumes_nothing_by_itself():
    assert Adapter(print, print, print).assumed == ()
