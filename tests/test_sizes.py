"""Sizes that a reader sets: what is possible stays, what is not is named once and replaced."""

import subprocess
import sys

import pytest
import torch

from mha_utils import FusedMultiHeadAttention, MultiHeadAttention, Rotary
from mha_utils.sizes import (
    several,
    usable,
    usable_base,
    usable_device,
    usable_layer,
    usable_mask,
    usable_names,
    usable_offsets,
    usable_place,
    usable_probability,
    usable_rate,
    usable_rows,
    usable_seed,
    usable_sentence,
    usable_temperature,
)


@pytest.mark.parametrize(
    ("sizes", "found"),
    [
        ({"T": 1}, 1),
        ({"T": 64}, 64),
        ({"T": 4, "D": 6, "H": 3}, (4, 6, 3)),
        ({"H": 3, "D": 6, "T": 4}, (3, 6, 4)),
        ({"D": 7, "H": 7}, (7, 7)),
        ({"D": 7, "Dh": 3}, (7, 3)),
        ({"most": 100, "T": 100}, 100),
    ],
)
def test_what_is_possible_stays_without_a_word(sizes, found, capsys):
    assert usable(**sizes) == found
    assert capsys.readouterr().out == ""


LAYERS = {
    "a plain one": (MultiHeadAttention(8, 2), True),
    "fused": (FusedMultiHeadAttention(8, 2), True),
    "its drops are allowed": (MultiHeadAttention(8, 2, dropout=0.5), True, True),
    "it drops": (MultiHeadAttention(8, 2, dropout=0.5), False),
    "without biases": (MultiHeadAttention(8, 2, bias=False), False),
    "shared heads": (MultiHeadAttention(8, 2, num_kv_heads=1), False),
    "other heads": (MultiHeadAttention(8, 2, head_dim=5), False),
    "turned": (MultiHeadAttention(8, 2, rotary=Rotary(4)), False),
    "another module": (torch.nn.Linear(8, 8).double(), False),
    "a class": (MultiHeadAttention, False),
    "a number": (3, False),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_of_another_kind_is_replaced_and_said(name, capsys):
    given, fits, *may_drop = LAYERS[name]
    found = usable_layer(given, 8, 2, *may_drop)
    assert (found is given) == fits
    assert bool(capsys.readouterr().out) != fits
    assert found(torch.ones(1, 3, 8, dtype=found.q_proj.weight.dtype)).shape == (1, 3, 8)
    assert (found.q_proj.weight.dtype == torch.float64) == (name == "another module")
    assert found.dropout == 0 or fits


FIRST = "the cat sat on the mat because it was tired"
WHOLE = "T has to be a whole number from 1 to 64, and {} is not. We go on with T = {}.\n"
KV_HEADS = "H = {} cannot be shared evenly by Hkv = {} KV heads. We go on with Hkv = {}.\n"
SHARED = "D = {} cannot be shared evenly by H = {} heads. We go on with H = {}.\n"


@pytest.mark.parametrize(
    ("sizes", "found", "said"),
    [
        ({"T": 0}, 1, WHOLE.format(0, 1)),
        ({"T": -3}, 1, WHOLE.format(-3, 1)),
        ({"T": 65}, 64, WHOLE.format(65, 64)),
        ({"T": 10**400}, 64, WHOLE.format(10**400, 64)),
        ({"T": 2.6}, 3, WHOLE.format(2.6, 3)),
        ({"T": float("nan")}, 1, WHOLE.format("nan", 1)),
        ({"T": float("inf")}, 64, WHOLE.format("inf", 64)),
        ({"T": "four"}, 1, WHOLE.format("'four'", 1)),
        ({"T": None}, 1, WHOLE.format(None, 1)),
        ({"T": True}, 1, WHOLE.format(True, 1)),
        ({"D": 6, "H": 4}, (6, 3), SHARED.format(6, 4, 3)),
        ({"D": 8, "H": 6}, (8, 4), SHARED.format(8, 6, 4)),
        ({"D": 7, "H": 12}, (7, 7), SHARED.format(7, 12, 7)),
        ({"H": 2, "D": 7, "T": 0}, (1, 7, 1), WHOLE.format(0, 1) + SHARED.format(7, 2, 1)),
        ({"H": 5, "Hkv": 2}, (5, 1), KV_HEADS.format(5, 2, 1)),
        ({"D": 9, "H": 2, "Hkv": 2}, (9, 1, 1), SHARED.format(9, 2, 1) + KV_HEADS.format(1, 2, 1)),
    ],
)
def test_what_is_impossible_is_named_and_replaced(sizes, found, said, capsys):
    assert usable(**sizes) == found
    assert capsys.readouterr().out == said


@pytest.mark.parametrize(
    ("text", "found", "said"),
    [
        ("Cat", "cat", ""),
        ("The cat's mat!", "the cat's mat", ""),
        ("a " * 64, "a " * 63 + "a", ""),
        ("a " * 65, "a " * 63 + "a", "The sentence has 65 words. We go on with the first 64.\n"),
        (
            "?!",
            FIRST,
            "There is no word in '?!'. We go on with “The cat sat on the mat because it was",
        ),
        (None, "none", ""),
    ],
)
def test_a_sentence_has_words_and_not_too_many(text, found, said, capsys):
    assert usable_sentence(text) == found
    printed = capsys.readouterr().out
    assert printed.startswith(said)
    assert bool(printed) == bool(said)


@pytest.mark.parametrize(("most", "kept"), [(2, "the cat"), (1, "the"), (0, "the"), (-3, "the")])
def test_a_sentence_keeps_at_least_one_word(most, kept, capsys):
    assert usable_sentence("The cat sat", most=most) == kept
    assert f"the first {len(kept.split())}." in capsys.readouterr().out


@pytest.mark.parametrize("p", [0, 0.4, 1, 1.0])
def test_a_probability_stays_without_a_word(p, capsys):
    assert usable_probability(p) == p
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("p", "found"),
    [(40, 1), (1.01, 1), (-0.1, 0), (float("nan"), 0), (float("inf"), 1), ("half", 0), (None, 0)],
)
def test_what_is_no_probability_is_named_and_replaced(p, found, capsys):
    assert usable_probability(p) == found
    said = f"p has to be a number from 0 to 1, and {p!r} is not. We go on with p = {found}.\n"
    assert capsys.readouterr().out == said


@pytest.mark.parametrize(
    ("temperature", "found"),
    [(0, 0.01), (-1, 0.01), (1e-9, 0.01), (1e9, 100.0), (float("nan"), 0.01), ("hot", 0.01)],
)
def test_what_is_no_temperature_is_named_and_replaced(temperature, found, capsys):
    assert [usable_temperature(t) for t in (0.01, 0.7, 1, 100)] == [0.01, 0.7, 1, 100]
    assert capsys.readouterr().out == ""
    assert usable_temperature(temperature) == found
    said = f"temperature has to be a number from 0.01 to 100, and {temperature!r} is not."
    assert capsys.readouterr().out == f"{said} We go on with temperature = {found:g}.\n"


@pytest.mark.parametrize(("name", "usable_one"), [("rate", usable_rate), ("base", usable_base)])
@pytest.mark.parametrize("given", [0, -10_000.0, 0.5, float("nan"), "slow", None])
def test_what_is_no_rate_or_base_is_named_and_replaced(name, usable_one, given, capsys):
    assert [usable_one(n) for n in (1, 10_000.0, 400e12)] == [1, 10_000.0, 400e12]
    assert capsys.readouterr().out == ""
    assert usable_one(given) == 1
    said = f"{name} has to be a number from 1 to 1e+30, and {given!r} is not."
    assert capsys.readouterr().out == f"{said} We go on with {name} = 1.\n"


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (("b", "a"), ("b", "a")),
        ("c", ("c",)),
        (["b", "d", "b"], ("b",)),
        ((), ("a",)),
        (None, ("a",)),
        ([["b"]], ("a",)),
    ],
)
def test_names_are_known_each_once(names, found, capsys):
    assert usable_names(names, {"a": 1, "b": 2, "c": 3}) == found
    expected = f"Names among a, b, c are needed, each once, got {names!r}. We go on with {found}.\n"
    is_said = names not in (("b", "a"), "c")
    assert capsys.readouterr().out == (expected if is_said else "")


@pytest.mark.parametrize("is_there", [False, True])
def test_a_device_that_is_there_stays_another_is_named(is_there, capsys, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: is_there)
    assert usable_device("cpu") == "cpu"
    assert usable_device("cuda") == ("cuda" if is_there else "cpu")
    missing = "There is no device {!r} here that this chapter can use. We go on with 'cpu'.\n"
    assert capsys.readouterr().out == ("" if is_there else missing.format("cuda"))
    for name in ("meta", "mps", None):
        assert usable_device(name) == "cpu"
        assert capsys.readouterr().out == missing.format(name)


@pytest.mark.parametrize(
    ("seed", "found", "said"),
    [
        (7, 7, ""),
        (-7, -7, ""),
        (1.5, 0, "A seed has to be a whole number, and 1.5 is not. We go on with 0.\n"),
        ("x", 0, "A seed has to be a whole number, and 'x' is not. We go on with 0.\n"),
        (2**70, 0, f"A seed has to be a whole number, and {2**70} is not. We go on with 0.\n"),
    ],
)
def test_a_seed_is_a_whole_number(seed, found, said, capsys):
    assert usable_seed(seed) == found
    torch.manual_seed(usable_seed(seed))
    assert capsys.readouterr().out == 2 * said


CAUSAL = [[True, False], [True, True]]


@pytest.mark.parametrize(
    ("mask", "found", "said"),
    [
        (CAUSAL, CAUSAL, ""),
        (
            [[0.0, 2.0], [1.0, 0.0]],
            [[False, True], [True, False]],
            "float32 (2, 2). We go on with T",
        ),
        ([[True]], CAUSAL, "bool (1, 1). We go on with the causal mask.\n"),
    ],
)
def test_a_mask_is_booleans_for_each_pair(mask, found, said, capsys):
    assert usable_mask(torch.tensor(mask), 2).tolist() == found
    printed = capsys.readouterr().out
    assert said in printed
    assert printed.startswith("The mask has to be bool (2, 2), and this is ") == bool(said)


def test_no_mask_hides_nothing(capsys):
    assert usable_mask(None, 2).tolist() == [[True, True], [True, True]]
    assert capsys.readouterr().out == "Without a mask every word may look at every word.\n"


def test_a_word_that_is_not_there_is_named(capsys):
    assert usable_place(["the", "cat"], "cat") == 1
    assert capsys.readouterr().out == ""
    assert usable_place(["the", "cat"], "dog") == 0
    assert capsys.readouterr().out == "There is no “dog” among: the cat. We go on with “the”.\n"


def test_a_call_without_a_size_is_the_authors_mistake():
    """In a process of its own: here the import hook would speak first."""
    code = "from mha_utils.sizes import usable\n"
    code += "".join(
        f"try: usable({given})\nexcept ValueError as error: print(error)\n"
        for given in ("", "most=0, T=1")
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "count must be an integer of at least 1, got 0",
        "most must be an integer of at least 1, got 0",
    ]


@pytest.mark.parametrize(
    ("numbers", "found"),
    [((5, 6), [5, 6]), ([], []), (range(2), [0, 1]), (5, [5]), (2.5, [2.5]), ("all", ["all"])],
)
def test_one_number_alone_is_a_list_too(numbers, found):
    assert several(numbers) == found


@pytest.mark.parametrize(
    ("offsets", "found", "is_said"),
    [
        ((1, 2, 3, 5), (1, 2, 3, 5), False),
        ([4], (4,), False),
        (range(1, 4), (1, 2, 3), False),
        (11, (11,), False),
        (12, (1,), True),
        ((), (1,), True),
        ((0, 1, 2, 3), (0, 1, 2, 3), False),
        ((0, 2, 2, -1, 3), (0, 2, 3), True),
        ((1.5, 2), (2,), True),
        ("1235", (1,), True),
    ],
)
def test_offsets_are_whole_numbers_each_once(offsets, found, is_said, capsys):
    assert usable_offsets(offsets, most=11) == found
    said = capsys.readouterr().out
    assert said.endswith(f"got {offsets!r}. We go on with {found}.\n") if is_said else not said


def test_a_table_of_rows_becomes_a_matrix(capsys):
    rows = {"alive": [1, 2, 3], "state": 4, "thing": [0.5]}
    found = usable_rows(rows, 2)
    assert found.tolist() == [[0.5, 0], [1, 2], [0, 0], [0, 0], [4, 0], [0, 0]]
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("table", [{"ding": [1]}, {"thing": ["a"]}, {"thing": None}, 7, None])
def test_what_is_no_table_of_rows_is_left_out(table, capsys):
    assert usable_rows(table, 3).tolist() == [[0.0] * 3] * 6
    said = capsys.readouterr().out
    assert ("thing, alive" in said) == isinstance(table, dict)
