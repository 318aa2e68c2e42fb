"""Facts of a chapter: told as true or not, never in a reader's way."""

import functools
import subprocess
import sys

import numpy as np
import pytest
import torch

from mha_utils.facts import close, facts

WEIGHTS = torch.tensor([[0.2, 0.8], [0.5, 0.5]])
TOKENS = ["cat", "dog"]


def said(capsys, condition) -> str:
    facts({"so it is": condition})
    return capsys.readouterr().out


HOLD = {
    "a bool": lambda: len(TOKENS) == 2,
    "a tensor": lambda: WEIGHTS > 0.1,
    "an array": lambda: np.array([True, True]),
    "close": lambda: close(WEIGHTS.sum(dim=-1), 1),
    "close, with a gradient": lambda: close(WEIGHTS.clone().requires_grad_(), WEIGHTS),
    "close, relative to the largest": lambda: close([1000.001, 0], [1000, 0.001]),
    "close, nothing": lambda: close(torch.zeros(0), 1),
}
FAIL = {
    "False": (lambda: False, "this is not so here"),
    "the left side": (lambda: TOKENS[WEIGHTS[0].argmax()] == "cat", "found 'dog'"),
    "both sides": (lambda: TOKENS[0] == TOKENS[1], "found 'cat' and 'dog'"),
    "a number": (lambda: WEIGHTS.mean() > 3, "found 0.5000"),
    "a small number": (lambda: WEIGHTS.mean() * 1e-9 > 3, "found 5.0e-10"),
    "nothing": (lambda: WEIGHTS.mean() * 0 > 3, "found 0.0000"),
    "another operator": (lambda: "bird" in TOKENS, "found ['cat', 'dog']"),
    "some elements": (lambda: torch.arange(3) < 2, "found tensor([0, 1, 2])"),
    "something long": (
        lambda: list(range(100)) == 1,
        "found [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16...",
    ),
    "over two lines": (
        lambda: (
            WEIGHTS.clone().masked_fill(torch.tensor([[False, True], [False, False]]), 0.0).max()
            > WEIGHTS.clone().masked_fill(torch.tensor([[True, False], [False, True]]), 9.0).max()
        ),
        "found 0.5000 and 9.0000",
    ),
    "no lambda": (functools.partial(bool, 0), "this is not so here"),
    "the first of two": (lambda: len(TOKENS) == 3 and len(TOKENS) == 2, "found 2"),
    "the second of two": (lambda: len(TOKENS) == 2 and TOKENS[0] == "dog", "found 'cat'"),
    "a flag of two": (lambda: bool(TOKENS) and not len(TOKENS), "this is not so here"),
    "a chain": (lambda: 0 < WEIGHTS.mean() < 0.1, "found 0.5000"),
    "the begin of a chain": (lambda: 0.9 < WEIGHTS.mean() < 2, "found 0.5000"),
    "the end of a chain": (
        lambda: 0.1 < 0.2 < WEIGHTS.mean() < len(TOKENS) - 2,
        "found 0.5000 and 0",
    ),
    "one of all": (lambda: all(word < "d" for word in TOKENS), "found 'dog'"),
    "one of all, in two loops": (
        lambda: all(a * b < 4 for a in range(3) if a for b in range(3)),
        "found 4",
    ),
    "one of all, with a condition of two": (
        lambda: all(n > -1 and n + 10 < 12 for n in range(5)),
        "found 12",
    ),
    "all are close": (lambda: all(close(n, 1) for n in (1, 1.5)), "off by up to 0.5"),
    "all of a list": (lambda: all([1, 0]), "this is not so here"),
    "equal tensors": (lambda: torch.equal(WEIGHTS, WEIGHTS + 0.25), "off by up to 0.25"),
    "tensors of bools": (
        lambda: torch.equal(WEIGHTS > 0.3, WEIGHTS > 0.1),
        "off by up to 1",
    ),
    "almost equal tensors": (
        lambda: torch.allclose(WEIGHTS, WEIGHTS.flip(0), atol=0.1),
        "off by up to 0.3",
    ),
    "off": (lambda: close(WEIGHTS.sum(dim=-1), 2), "off by up to 1"),
    "a little off": (lambda: close(torch.ones(2), 1.00002), "off by up to 2e-05"),
    "other bounds": (lambda: close(1.0, 1.1, within=0.09), "off by up to 0.1"),
    "NaN": (lambda: close(torch.tensor(float("nan")), 1), "off by up to nan"),
    "other shapes": (
        lambda: close(torch.ones(2), torch.ones(3)),
        "shapes (2,) and (3,) do not fit together",
    ),
    "too few": (
        lambda: TOKENS[7] == "cat",
        "this needs more than there is here (list index out of range)",
    ),
    "the least of nothing": (lambda: min([]) == 1, "this needs more than there is here"),
    "no such word": (lambda: TOKENS.index("it") == 1, "there is no 'it' here"),
    "an error": (lambda: int("x") == 1, "ValueError: invalid literal for int() with base 10: 'x'"),
    "an address": (lambda: WEIGHTS.data_ptr() == 0, "this is not so here"),
    "a name that no cell has made": (
        lambda: never_made > 3,
        "the cell that makes 'never_made' has not run to its end",
    ),
    "a key that is missing": (lambda: {"cat": 1}["dog"] == 1, "there is no 'dog' here"),
    "an error without words": (lambda: next(iter(())), "StopIteration"),
}


@pytest.mark.parametrize("name", HOLD)
def test_what_holds_is_ticked(name, capsys):
    assert said(capsys, HOLD[name]) == "✓ so it is\n"


@pytest.mark.parametrize("name", FAIL)
def test_what_does_not_hold_says_what_was_found(name, capsys):
    condition, reason = FAIL[name]
    assert said(capsys, condition) == f"✗ so it is: {reason}\n"


def test_what_a_function_sees_around_it_counts(capsys):
    number = 5
    assert said(capsys, lambda: number == 6) == "✗ so it is: found 5\n"


def test_all_facts_are_told_and_the_switch_raises_in_the_end(capsys, monkeypatch):
    claims = {"one": lambda: True, "two": lambda: 1 == 2, "three": lambda: True}
    facts(claims)
    printed = "✓ one\n✗ two: found 1\n✓ three\n"
    assert capsys.readouterr().out == printed
    monkeypatch.setenv("MHA_FACTS", "raise")
    with pytest.raises(AssertionError, match=r"^two: found 1$"):
        facts(claims)
    assert capsys.readouterr().out == printed
    facts({"one": lambda: True})


def sentences(number, wrong=()):
    return {f"<{n}> holds": lambda n=n: n == (-1 if n in wrong else n) for n in range(number)}


@pytest.mark.parametrize("number", [1, 3, 4])
def test_a_short_list_is_printed(number, monkeypatch, capsys):
    monkeypatch.setattr("mha_utils.facts.display", pytest.fail)
    facts(sentences(number))
    assert capsys.readouterr().out.count("✓") == number


def test_of_a_long_list_three_are_seen_and_what_does_not_hold(monkeypatch, capsys):
    shown = []
    monkeypatch.setattr("mha_utils.facts.display", shown.append)
    facts(sentences(8, wrong=(1, 6)))
    seen = [
        "✓ <0> holds",
        "✗ <1> holds: found 1 and -1",
        "✓ <2> holds",
        "✗ <6> holds: found 6 and -1",
    ]
    assert [line.split(" (")[0] for line in capsys.readouterr().out.splitlines()] == seen
    (folded,) = shown
    assert repr(folded).splitlines() == [f"✓ <{n}> holds" for n in (3, 4, 5, 7)]
    text = "✓ &lt;3&gt; holds\n✓ &lt;4&gt; holds\n✓ &lt;5&gt; holds\n✓ &lt;7&gt; holds"
    page = f"<details><summary>and 4 more</summary><pre>{text}</pre></details>"
    assert folded._repr_html_() == page


def test_a_shell_without_a_page_prints_all_of_them(capsys):
    facts(sentences(8))
    assert capsys.readouterr().out.count("✓") == 8


WRONG = {
    "{}": "claims must be a dict of sentences and functions, got {}",
    "[1]": "claims must be a dict of sentences and functions, got [1]",
    "{'sums to 1': True}": "'sums to 1' needs a function, lambda: ..., got True",
}


def test_what_is_no_claim_is_named():
    """In a process of its own: here the import hook would speak first."""
    code = "from mha_utils.facts import facts\n"
    code += "".join(f"try: facts({c})\nexcept ValueError as error: print(error)\n" for c in WRONG)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == list(WRONG.values())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_numbers_of_16_bits_are_compared(dtype, capsys):
    numbers = torch.tensor([1.0, 2.0], dtype=dtype)
    assert close(numbers, numbers.double())
    assert not close(numbers, numbers + 1)
    facts({"they are positive": lambda: numbers > 0, "above 1": lambda: numbers > 1})
    assert capsys.readouterr().out.splitlines()[0] == "✓ they are positive"
    assert close(numbers * 30_000, numbers * -30_000).difference == "off by up to 1.2e+05"
