"""Wrong input: the condition and the full text of what is said."""

import re
import subprocess
import sys

import pytest
import torch

import mha_utils
from mha_utils import SelfAttentionHead, data, plots, widgets
from mha_utils.core import masks
from mha_utils.experiments import scores

q, k, v = torch.randn(2, 4, 5), torch.randn(2, 6, 5), torch.randn(2, 6, 3)


def x(*shape, dtype=torch.float32):
    return torch.zeros(shape, dtype=dtype)


SCORES = "  q: expected Float (*B T Dh), got {}\n  k: expected Float (*B S Dh), got {}"
CASES = {
    "widths differ": (
        lambda: mha_utils.attention_scores(x(4, 5), x(6, 3)),
        "attention_scores: k does not fit: the size of dimension Dh is 3 which does not equal "
        "the existing value of 5\n" + SCORES.format("float32 (4, 5)", "float32 (6, 3)"),
    ),
    "leading dimensions differ": (
        lambda: mha_utils.attention_scores(x(2, 4, 5), x(3, 6, 5)),
        "attention_scores: k does not fit: the shape of its variadic dimensions '*B' is ([3]), "
        "which does not equal the existing value of ([2])\n"
        + SCORES.format("float32 (2, 4, 5)", "float32 (3, 6, 5)"),
    ),
    "rank too small": (
        lambda: mha_utils.attention_scores(x(5), x(6, 5)),
        "attention_scores: q does not fit: this array has 1 dimensions, which is fewer than 2 "
        "that is the minimum expected by the type hint\n"
        + SCORES.format("float32 (5,)", "float32 (6, 5)"),
    ),
    "integers": (
        lambda: mha_utils.attention_scores(x(4, 5, dtype=torch.int64), x(6, 5)),
        "attention_scores: q does not fit: its dtype is int64, not float\n"
        + SCORES.format("int64 (4, 5)", "float32 (6, 5)"),
    ),
    "dtypes differ": (
        lambda: mha_utils.attention_scores(x(4, 5), x(6, 5, dtype=torch.float64)),
        "attention_scores: k does not fit: its dtype is float64, that of the first argument "
        "float32\n" + SCORES.format("float32 (4, 5)", "float64 (6, 5)"),
    ),
    "devices differ": (
        lambda: mha_utils.attention_scores(x(4, 5), x(6, 5).to("meta")),
        "attention_scores: k does not fit: it is on device meta, the first argument on cpu\n"
        + SCORES.format("float32 (4, 5)", "float32 (6, 5)"),
    ),
    "no tensor": (
        lambda: mha_utils.attention_scores(x(4, 5), [[1.0]]),
        "attention_scores: k does not fit: a list is not a torch.Tensor\n"
        + SCORES.format("float32 (4, 5)", "list"),
    ),
    "empty sequence of queries": (
        lambda: mha_utils.attention_scores(x(0, 5), x(6, 5)),
        "attention_scores: q does not fit: a dimension of size 0: there is nothing to attend "
        "with or to\n" + SCORES.format("float32 (0, 5)", "float32 (6, 5)"),
    ),
    "empty sequence of keys": (
        lambda: mha_utils.attention_weights(x(2, 4, 0)),
        "attention_weights: scores does not fit: a dimension of size 0: there is nothing to "
        "attend with or to\n  scores: expected Float (*B T S), got float32 (2, 4, 0)",
    ),
    "fewer values than keys": (
        lambda: mha_utils.attention(x(4, 5), x(6, 5), x(7, 3)),
        "attention: v does not fit: the size of dimension S is 7 which does not equal the "
        "existing value of 6\n"
        + SCORES.format("float32 (4, 5)", "float32 (6, 5)")
        + "\n  v: expected Float (*B S Dv), got float32 (7, 3)",
    ),
    "mask of floats": (
        lambda: mha_utils.attention_weights(x(4, 6), x(4, 6)),
        "attention_weights: mask does not fit: its dtype is float32, not bool\n"
        "  scores: expected Float (*B T S), got float32 (4, 6)\n"
        "  mask: expected Bool (*#B #T #S), got float32 (4, 6)",
    ),
    "mask not sliced to T": (
        lambda: mha_utils.attention_weights(x(1, 6), torch.ones(6, 6, dtype=torch.bool)),
        "attention_weights: mask does not fit: the size of dimension T is 6 which does not "
        "equal the existing value of 1\n"
        "  scores: expected Float (*B T S), got float32 (1, 6)\n"
        "  mask: expected Bool (*#B #T #S), got bool (6, 6)",
    ),
    "causal mask of nothing": (
        lambda: mha_utils.causal_mask(0),
        "query_len must be an integer of at least 1, got 0",
    ),
    "causal mask with fewer keys than queries": (
        lambda: mha_utils.causal_mask(3, 2),
        "key_len must be at least query_len=3, got 2",
    ),
    "heads do not divide": (
        lambda: mha_utils.split_heads(x(1, 2, 10), 3),
        "embed_dim must be divisible by num_heads, got embed_dim=10 and num_heads=3 (remainder 1)",
    ),
    "no heads": (
        lambda: mha_utils.split_heads(x(1, 2, 10), 0),
        "num_heads must be an integer of at least 1, got 0",
    ),
    "dropout NaN": (
        lambda: mha_utils.drop_weights(x(2, 2), float("nan")),
        "p must be a probability between 0 and 1, got nan",
    ),
    "dropout above 1": (
        lambda: mha_utils.drop_weights(x(2, 2), 1.5),
        "p must be a probability between 0 and 1, got 1.5",
    ),
    "dropout below 0": (
        lambda: mha_utils.drop_weights(x(2, 2), -0.1),
        "p must be a probability between 0 and 1, got -0.1",
    ),
    "width of a head 0": (
        lambda: SelfAttentionHead(4, 0),
        "head_dim must be an integer of at least 1, got 0",
    ),
    "width of values negative": (
        lambda: SelfAttentionHead(4, 2, -1),
        "value_dim must be an integer of at least 1, got -1",
    ),
    "x of another width": (
        lambda: SelfAttentionHead(4, 2)(x(3, 5)),
        "x must have embed_dim = 4 numbers in its last dimension, got shape (3, 5)",
    ),
    "x empty": (
        lambda: SelfAttentionHead(4, 2)(x(0, 4)),
        "forward: x does not fit: a dimension of size 0: there is nothing to attend with or "
        "to\n  x: expected Float (*B T D), got float32 (0, 4)",
    ),
    "lengths of padding": (
        lambda: mha_utils.padding_mask(torch.tensor([3, 9, -1]), 5),
        "lengths must be between 0 and 5, got [9, -1]",
    ),
    "module: heads do not divide": (
        lambda: mha_utils.MultiHeadAttention(10, 4),
        "embed_dim must be divisible by num_heads, got embed_dim=10 and num_heads=4 (remainder 2)",
    ),
    "module: dropout NaN": (
        lambda: mha_utils.MultiHeadAttention(8, 4, dropout=float("nan")),
        "dropout must be a probability between 0 and 1, got nan",
    ),
    "module: width 0": (
        lambda: mha_utils.MultiHeadAttention(8, 4, kdim=0),
        "kdim must be an integer of at least 1, got 0",
    ),
    "module: x of another width": (
        lambda: mha_utils.MultiHeadAttention(8, 4)(x(1, 3, 6)),
        "x must have qdim = 8 numbers in its last dimension, got shape (1, 3, 6)",
    ),
    "module: context of another width": (
        lambda: mha_utils.MultiHeadAttention(8, 4)(x(1, 3, 8), x(1, 3, 6)),
        "context must have kdim = 8 numbers in its last dimension, got shape (1, 3, 6)",
    ),
    "module: values of another width": (
        lambda: mha_utils.MultiHeadAttention(8, 4)(x(1, 3, 8), x(1, 3, 8), x(1, 3, 6)),
        "values must have vdim = 8 numbers in its last dimension, got shape (1, 3, 6)",
    ),
    "module: x without a batch": (
        lambda: mha_utils.MultiHeadAttention(8, 4)(x(3, 8)),
        "forward: x does not fit: this array has 2 dimensions, not the 3 expected by the type "
        "hint\n  x: expected Float (B T Dq), got float32 (3, 8)",
    ),
    "module: fewer values than keys": (
        lambda: mha_utils.MultiHeadAttention(8, 4)(x(1, 3, 8), x(1, 5, 8), x(1, 6, 8)),
        "forward: values does not fit: the size of dimension S is 6 which does not equal the "
        "existing value of 5\n  x: expected Float (B T Dq), got float32 (1, 3, 8)\n"
        "  context: expected Float (B S Dk), got float32 (1, 5, 8)\n"
        "  values: expected Float (B S Dx), got float32 (1, 6, 8)",
    ),
    "module: mask of three dimensions": (
        lambda: mha_utils.MultiHeadAttention(8, 4)(
            x(4, 3, 8), mask=torch.ones(4, 3, 3, dtype=torch.bool)
        ),
        "mask must be (T, S) = (3, 3) or broadcast to (B, H, T, S) = (4, 4, 3, 3) from four "
        "dimensions, as padding (B, 1, 1, S) does, got (4, 3, 3)",
    ),
    "module: mask not sliced": (
        lambda: mha_utils.MultiHeadAttention(8, 4)(
            x(2, 1, 8), mask=torch.ones(6, 6, dtype=torch.bool)
        ),
        "mask must be (T, S) = (1, 1) or broadcast to (B, H, T, S) = (2, 4, 1, 1) from four "
        "dimensions, as padding (B, 1, 1, S) does, got (6, 6)",
    ),
    "module: causal with fewer keys than queries": (
        lambda: mha_utils.MultiHeadAttention(8, 4)(x(1, 3, 8), x(1, 2, 8), is_causal=True),
        "key_len must be at least query_len=3, got 2",
    ),
    "stacked: width of x": (
        lambda: mha_utils.StackedHeads(8, 2, 4)(x(1, 3, 6)),
        "x must have embed_dim = 8 numbers in its last dimension, got shape (1, 3, 6)",
    ),
    "stacked: no heads": (
        lambda: mha_utils.StackedHeads(8, 0, 4),
        "num_heads must be an integer of at least 1, got 0",
    ),
    "attention: as many tokens as features, but another width": (
        lambda: mha_utils.MultiHeadAttention(12, 3)(x(1, 12, 10)),
        "x must have qdim = 12 numbers in its last dimension, got shape (1, 12, 10)",
    ),
    "porting: extra keys": (
        lambda: mha_utils.from_torch(torch.nn.MultiheadAttention(8, 2, add_bias_kv=True)),
        "add_bias_kv and add_zero_attn have no counterpart here",
    ),
    "porting: another width of queries": (
        lambda: mha_utils.to_torch(mha_utils.MultiHeadAttention(8, 2, qdim=6)),
        "q_proj.weight must have embed_dim = 8 numbers in its last dimension, got shape (8, 6)",
    ),
    "masks: additive of integers": (
        lambda: masks.to_additive(torch.ones(2, 2, dtype=torch.bool), torch.int64),
        "dtype must be a floating dtype, got torch.int64",
    ),
    "masks: three dimensions": (
        lambda: masks.to_torch_mha(torch.ones(2, 3, 3, dtype=torch.bool), (2, 4, 3, 3)),
        "mask must be (T, S) = (3, 3) or broadcast to (B, H, T, S) = (2, 4, 3, 3) from four "
        "dimensions, as padding (B, 1, 1, S) does, got (2, 3, 3)",
    ),
    "unknown words": (
        lambda: data.Vocabulary("a cat").encode("a dog"),
        "unknown words ['dog']; the vocabulary is ['a', 'cat']",
    ),
    "empty text": (
        lambda: data.Vocabulary(" ... "),
        "text must contain at least one word, got ' ... '",
    ),
    "empty text to encode": (
        lambda: data.Vocabulary("a cat").encode(""),
        "text must contain at least one word, got ''",
    ),
    "ids out of range": (
        lambda: data.Vocabulary("a cat").decode(torch.tensor([0, 7, -1])),
        "ids must be between 0 and 1, got [7, -1]",
    ),
    "many unknown words": (
        lambda: data.Vocabulary("a cat").encode(" ".join(f"x{n}" for n in range(10_000, 20_000))),
        f"unknown words {[*(f'x{n}' for n in range(10_000, 10_030)), '... 10000 in all']}; "
        "the vocabulary is ['a', 'cat']",
    ),
    "only punctuation": (
        lambda: data.Vocabulary("a cat").encode("’ … — ?"),
        "text must contain at least one word, got '’ … — ?'",
    ),
    "word without a vector": (
        lambda: data.toy_word_vectors(data.Vocabulary("the zebra")),
        f"no hand-made vector for ['zebra']; there are vectors for {data.toy_vocabulary().words}",
    ),
    "mass of infinity": (
        lambda: scores.mass_on(x(1, 1, 2, 2) + float("inf"), x(1, 2, 2, dtype=torch.bool)),
        "weights must be finite, got 4 NaN or infinite numbers",
    ),
    "entropy of NaN": (
        lambda: scores.entropy_share(x(1, 1, 1, 2) / 0),
        "weights must be finite, got 2 NaN or infinite numbers",
    ),
    "probe of NaN": (
        lambda: masks.leak_map(lambda tokens: tokens, x(2, 3) / 0),
        "x must be finite, got 6 NaN or infinite numbers",
    ),
    "plot of nothing": (
        lambda: plots.draw_matrix(x(0, 3)),
        "values must be a matrix (rows, columns), got shape (0, 3)",
    ),
    "plot of a leak of NaN": (
        lambda: plots.draw_leak(x(2, 2) / 0, ["a", "b"]),
        "leak must be finite: NaN would hide who sees whom",
    ),
    "plot of a vector": (
        lambda: plots.draw_matrix([1.0, 2.0]),
        "values must be a matrix (rows, columns), got shape (2,)",
    ),
    "labels do not fit": (
        lambda: plots.draw_matrix([[1.0, 2.0]], columns=["a"]),
        "columns must be 2 labels, got 1",
    ),
    "bars without labels": (
        lambda: plots.draw_shares([0.5, 0.5], ["a"]),
        "labels must be 2 labels, got 1",
    ),
    "view with too few queries": (
        lambda: widgets.HeadExplorer(["a", "b"], x(1, 4), x(2, 4)),
        "q must be (H, 2, Dh) or (2, Dh) for 2 words, got (1, 4)",
    ),
    "view with unlike q and k": (
        lambda: widgets.HeadExplorer(["a", "b"], x(2, 4), x(2, 3)),
        "q and k must have one shape, got (1, 2, 4) and (1, 2, 3)",
    ),
    "view with unknown words": (
        lambda: widgets.HeadExplorer(["a", "b"], x(2, 4), x(2, 4), "a c"),
        "sentence has words without a query and a key: ['c']",
    ),
    "view without words": (
        lambda: widgets.HeadExplorer(["a", "b"], x(2, 4), x(2, 4), " "),
        "expected 1 to 128 tokens, got 0",
    ),
    "view of a head that is not there": (
        lambda: widgets.HeadExplorer(["a", "b"], x(2, 4), x(2, 4), head=1),
        "head must be 0 to 0, got 1",
    ),
    "view with too many names": (
        lambda: widgets.HeadExplorer(["a", "b"], x(2, 4), x(2, 4), names=["0.0", "0.1"]),
        "names must be 1 strings, got 2",
    ),
    "view with names for heads that change": (
        lambda: widgets.HeadExplorer(["a"], x(2, 1, 4), x(2, 1, 4), names=["a", "b"], resplit=True),
        "names must be left out with resplit=True, got 2",
    ),
    "view without temperature": (
        lambda: widgets.HeadExplorer(["a", "b"], x(2, 4), x(2, 4), temperature=0.0),
        "temperature must be above 0 and finite, got 0.0",
    ),
    "view with heads that do not divide": (
        lambda: widgets.ShapeLetters(embed_dim=12, num_heads=5),
        "embed_dim must be divisible by num_heads, got embed_dim=12 and num_heads=5 (remainder 2)",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_says_what_was_expected_and_what_came(name):
    wrong, text = CASES[name]
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        wrong()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("SelfAttentionHead(4, 2.0)", "head_dim must be an integer of at least 1, got 2.0"),
        ("SelfAttentionHead(True, 2)", "embed_dim must be an integer of at least 1, got True"),
        (
            "SelfAttentionHead(2, 2)(w, need_weights=1)",
            "need_weights must be True or False, got 1",
        ),
        ("drop_weights(w, '0.1')", "p must be a probability between 0 and 1, got '0.1'"),
    ],
)
def test_wrong_types_are_named_too(call, text):
    """In a process of its own: here the import hook would speak first."""
    code = f"import torch; from mha_utils import *; w = torch.ones(2, 2); {call}"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stderr.splitlines()[-1] == f"ValueError: {text}"


FLAGS = """
import inspect, torch, mha_utils

def flags(function):
    parameters = inspect.signature(function, eval_str=True).parameters.values()
    return [p.name for p in parameters if p.annotation is bool]

def refuses(call, name):
    try:
        call(**{name: "no"})
    except ValueError as error:
        return str(error) == f"{name} must be True or False, got 'no'"

x, found = torch.ones(1, 2, 4), {}
for name in dir(mha_utils):
    thing = getattr(mha_utils, name)
    if inspect.isclass(thing) and issubclass(thing, torch.nn.Module):
        make = lambda thing=thing, **more: thing(4, 2, **more)
        for flag in flags(thing):
            found[name, flag] = refuses(make, flag)
        for flag in flags(thing.forward):
            call = lambda make=make, **more: make()(x, **more)
            found[name, "forward", flag] = refuses(call, flag)
    elif inspect.isfunction(thing):
        for flag in flags(thing):
            call = lambda thing=thing, **more: thing(*[x[None]] * 3, **more)
            found[name, flag] = refuses(call, flag)
print(len(found), [key for key, is_refused in found.items() if not is_refused])
"""


def test_no_public_flag_takes_anything_but_true_and_false():
    """Found by annotation; in a process of its own, as above."""
    result = subprocess.run([sys.executable, "-c", FLAGS], capture_output=True, text=True)
    number, taken = result.stdout.split(" ", 1)
    assert int(number) >= 9, result.stderr
    assert taken == "[]\n"


def test_the_contract_is_executed_inside_the_package_too():
    """The suite runs with --jaxtyping-packages: a wrong return shape would raise."""
    inner = mha_utils.attention_scores.__wrapped__
    with pytest.raises(Exception, match="Type-check error"):
        inner(torch.zeros(4, 5), torch.zeros(6, 3))


def test_a_function_with_postponed_annotations_is_checked_as_well(tmp_path, monkeypatch):
    code = "from __future__ import annotations\nfrom jaxtyping import Float\n"
    code += "from torch import Tensor\nfrom mha_utils import checked\n\n\n@checked\n"
    code += 'def dot(a: Float[Tensor, "D"], b: Float[Tensor, "D"]):\n    return a @ b\n'
    (tmp_path / "postponed.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    from postponed import dot

    assert dot(x(3), x(3)) == 0
    with pytest.raises(ValueError, match="dot: b does not fit: the size of dimension D is 4"):
        dot(x(3), x(4))


def test_no_module_is_refused_where_nobody_checks_types():
    program = [sys.executable, "-c", "import mha_utils; mha_utils.from_torch(3)"]
    done = subprocess.run(program, capture_output=True, text=True)
    said = "ValueError: module must be a MultiheadAttention, got 3"
    assert done.stderr.splitlines()[-1] == said
