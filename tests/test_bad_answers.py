"""Answers that are more than wrong: each gets a short report, none ends or spoils the check."""

import sys

import numpy as np
import pytest
import torch
from helpers import check_scores

from mha_utils import MultiHeadAttention, attention_scores, checks
from mha_utils.checks.tensors import Tensors
from mha_utils.core.masks import sliding_window_mask

CALL = "(q(2, 3), k(4, 3))"
LONG = "x" * 300 + " …"


def says_much(q, k):
    raise ValueError("x" * 100_000 + "\nsecond line")


def leaves(q, k):
    sys.exit(0)


def calls_itself(q, k):
    return calls_itself(q, k)


def not_twice():
    """Right when asked for values; then it returns something else."""
    asked = []

    def answer(q, k):
        asked.append(1)
        right = attention_scores(q, k)
        return right if len(asked) <= 10 else (right,)

    return answer


class BackwardRaises(torch.autograd.Function):
    @staticmethod
    def forward(context, scores):
        return scores.clone()

    @staticmethod
    def backward(context, grad):
        raise KeyError("lost")


def with_own_backward(q, k):
    return BackwardRaises.apply(attention_scores(q, k))


BAD = {
    "long message": (
        says_much,
        f'says_much{CALL} raised ValueError in your line `raise ValueError("x" * 100_000 '
        f'+ "\\nsecond line")`: {LONG}',
    ),
    "exit": (leaves, f"leaves{CALL} raised SystemExit in your line `sys.exit(0)`: 0"),
    "recursion": (
        calls_itself,
        f"calls_itself{CALL} raised RecursionError in your line `return calls_itself(q, k)`: "
        "maximum recursion depth exceeded",
    ),
    "tuple": (
        lambda q, k: (attention_scores(q, k),),
        f"<lambda>{CALL} should return a tensor, got tuple",
    ),
    "tuple the second time": (not_twice(), f"answer{CALL} should return a tensor, got tuple"),
    "float64": (
        lambda q, k: attention_scores(q, k).double(),
        f"<lambda>{CALL} has right values, but should be torch.float32, got torch.float64",
    ),
    "complex": (
        lambda q, k: attention_scores(q, k).to(torch.complex64),
        f"<lambda>{CALL} has right values, but should be torch.float32, got torch.complex64",
    ),
    "sparse": (
        lambda q, k: attention_scores(q, k).to_sparse(),
        f"<lambda>{CALL} should return a plain tensor on the CPU, got torch.sparse_coo on 'cpu'",
    ),
    "elsewhere": (
        lambda q, k: attention_scores(q, k).to("meta"),
        f"<lambda>{CALL} should return a plain tensor on the CPU, got torch.strided on 'meta'",
    ),
    "infinity": (
        lambda q, k: attention_scores(q, k) / 0,
        f"<lambda>{CALL} has the right shape and wrong numbers.\n"
        "  Furthest off at [0, 0]: expected -0.1441, got -inf",
    ),
    "NaN": (
        lambda q, k: attention_scores(q, k) * float("nan"),
        f"<lambda>{CALL} has the right shape and wrong numbers.\n"
        "  Furthest off at [0, 0]: expected -0.1441, got nan",
    ),
    "backward raises": (
        with_own_backward,
        f"with_own_backward{CALL} has right values, but no gradient can be computed:\n  'lost'",
    ),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.filterwarnings("ignore:Casting complex")
def test_a_bad_answer_gets_a_short_report(name):
    answer, text = BAD[name]
    report = check_scores(answer)
    assert (bool(report), repr(report)) == (False, f"✗ {text}")


ITSELF = Tensors(  # weights that come from no floats
    asks="`answer(size)`: every token looks at itself.",
    constants=lambda sizes, random: {"size": sizes.T},
    solve=np.eye,
    mistakes={},
)


def test_whole_numbers_are_no_weights():
    said = "has right values, but should be torch.float32, got torch.int64"
    assert repr(ITSELF(lambda size: torch.eye(size).long())).endswith(said)


def in_a_window(query_len, key_len, window):
    return sliding_window_mask(query_len, key_len, window=window)


@pytest.mark.parametrize(
    ("check", "answer"),
    [(check_scores, attention_scores), (checks.check_window_mask, in_a_window)],
)
def test_the_default_dtype_does_not_matter(check, answer):
    torch.set_default_dtype(torch.float64)
    try:
        assert check(answer)
        assert ITSELF(torch.eye)
    finally:
        torch.set_default_dtype(torch.float32)


NUMBERS = {
    "too many digits": ("count", lambda: 10**5000, "should be 24, got a value of type int"),
    "beyond floats": ("count", lambda: 10**310, f"should be 24, got 1{'0' * 299} …"),
    "NaN": ("scale", lambda: float("nan"), "should be 8, got nan"),
    "infinity": ("scale", lambda: float("inf"), "should be 8, got inf"),
    "a tensor": ("count", lambda: torch.tensor(24), "a whole number (int), got tensor(24)"),
    "tensors": (
        "strides",
        lambda: (torch.ones(2),) * 4,
        "should be (24, 2, 6, 1), got (tensor([1., 1.]), tensor([1., 1.]), tensor([1., 1.]), "
        "tensor([1., 1.]))",
    ),
    "a long list": ("count", lambda: [1] * 10_000, f"(int), got [{'1, ' * 99}1, …"[:-3] + ", …"),
    "exit": ("count", lambda: sys.exit("bye"), "raised SystemExit"),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_bad_number_gets_a_short_report(name):
    check, make, text = NUMBERS[name]
    report = getattr(checks, f"check_{check}")(lambda *sizes: make())
    assert not report
    assert text[:60] in repr(report)
    assert len(repr(report)) < 500
    assert len(repr(report).splitlines()) == 1  # no "in every case it is inf times"


def test_a_probe_that_leaves_or_says_much_is_told():
    assert "raised SystemExit" in repr(checks.check_future_probe(lambda module: sys.exit(1)))
    said = repr(checks.check_future_probe(lambda module: [0] * 10_000))
    assert said.startswith("✗ <lambda> should return True or False, got [0, 0")
    assert len(said) < 500


def module_that(returns):
    class Mine(MultiHeadAttention):
        def forward(self, x):
            return returns(self, x, super().forward(x))

    return Mine


def recurses(module, x, out):
    return recurses(module, x, out)


def shouts(module, x, out):
    raise ValueError("x" * 1000 + "\nmore")


WHERE = "Mine(embed_dim=2, num_heads=1) in evaluation, x (2, 1, 2)"
MODULES = {
    "exit": (lambda m, x, out: sys.exit(0), "raised SystemExit in your line `"),
    "recursion": (recurses, "raised RecursionError in your line `return recurses(module, x, out)`"),
    "long message": (shouts, f'`raise ValueError("x" * 1000 + "\\nmore")`: {LONG}'),
    "dict": (lambda m, x, out: {"out": out}, ": the output should be a tensor, got dict"),
    "nothing": (lambda m, x, out: (), ": the output should be a tensor, got tuple"),
    "None": (lambda m, x, out: None, "○ Mine: not solved yet (it returned None)"),
    "no rows": (lambda m, x, out: out[:0], ": the output should have shape (2, 1, 2), got (0, 1,"),
    "NaN": (lambda m, x, out: out * float("nan"), ": the output has the right shape and wrong nu"),
    "float64": (
        lambda m, x, out: out.double(),
        ": the output should be torch.float32, got torch.float64",
    ),
    "float64 weights": (
        lambda m, x, out: (out, torch.ones(2, 1, 1, 1, dtype=torch.float64)),
        ": the weights should be torch.float32, got torch.float64",
    ),
}


@pytest.mark.parametrize("name", MODULES)
def test_a_bad_module_gets_a_short_report(name):
    returns, text = MODULES[name]
    report = checks.check_multi_head_attention(module_that(returns))
    first = repr(report).splitlines()[0]
    assert not report
    assert text in first
    assert WHERE in first or first.startswith("○")
    assert len(first) < 600


def fails(embed_dim, num_heads):
    raise KeyError("size")


class OnlyWide(MultiHeadAttention):
    def __init__(self, embed_dim, num_heads):
        if embed_dim < 4:
            sys.exit("too narrow")
        super().__init__(embed_dim, num_heads)


UNBUILT = {
    "fails": (
        fails,
        "fails(embed_dim=4, num_heads=2) raised KeyError in your line "
        "`raise KeyError(\"size\")`: 'size'",
    ),
    "only wide": (
        OnlyWide,
        "OnlyWide(embed_dim=2, num_heads=1) raised SystemExit in your line "
        '`sys.exit("too narrow")`: too narrow',
    ),
}


@pytest.mark.parametrize("name", UNBUILT)
def test_a_constructor_that_raises_is_named(name):
    answer, text = UNBUILT[name]
    with pytest.raises(ValueError) as said:  # noqa: PT011
        checks.check_multi_head_attention(answer)
    assert str(said.value) == text
