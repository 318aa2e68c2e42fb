"""The museum: its base is right, and every piece is wrong with every shape right."""

import functools
import itertools
import re
from pathlib import Path

import nbformat
import numpy as np
import pytest
import torch

from mha_utils import MultiHeadAttention, causal_mask, padding_mask
from mha_utils.museum import MUSEUM, Mutant, Steps, mutant
from tools.notebooks import chapters

ROOMS = Path(__file__).parents[1] / "mha_utils" / "museum"
NAMES = [m.name for m in MUSEUM]
EACH = pytest.mark.parametrize("piece", MUSEUM, ids=lambda m: m.name)


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def inputs(query_len, key_len=None, batch_size=3):
    """x, and context where there are other keys."""
    x = 2 * draw(batch_size, query_len, 8)
    return (x,) if key_len is None else (x, 2 * draw(batch_size, key_len, 8, seed=1))


def padded(key_len):
    return padding_mask(torch.tensor([key_len, key_len - 1, 1]), key_len)


def per_head(query_len, key_len):
    mask = draw(1, 4, query_len, key_len) > 0
    mask[..., 0] = True
    return mask


EMPTY = causal_mask(4).clone().fill_diagonal_(False)
PROBES = {  # arguments, options, whether it is in training, dropout
    "no mask": (inputs(5), {}, False, 0.0),
    "one token": (inputs(1), {}, False, 0.0),
    "causal": (inputs(5), {"is_causal": True}, False, 0.0),
    "causal in training": (inputs(5), {"is_causal": True}, True, 0.0),
    "mask for all": (inputs(5), {"mask": causal_mask(5)}, False, 0.0),
    "padding": (inputs(5), {"mask": padded(5)}, False, 0.0),
    "padding and causal": (inputs(5), {"mask": padded(5), "is_causal": True}, False, 0.0),
    "a mask for each head": (inputs(4), {"mask": per_head(4, 4)}, False, 0.0),
    "empty row": (inputs(4), {"mask": EMPTY}, False, 0.0),
    "other keys": (inputs(3, 5), {}, False, 0.0),
    "other keys, padded": (inputs(3, 5), {"mask": padded(5)}, False, 0.0),
    "cache": (inputs(2, 5), {"is_causal": True}, False, 0.0),
    "large": ((300 * inputs(3)[0],), {}, False, 0.0),
    "dropout in training": (inputs(4), {"is_causal": True}, True, 0.4),
    "dropout in evaluation": (inputs(4), {}, False, 0.4),
}


PARAMETERS = {
    name: draw(*p.shape, seed=seed) / 3
    for seed, (name, p) in enumerate(MultiHeadAttention(8, 4).state_dict().items(), start=2)
}


def results(module_class):
    """Of every probe: output, weights, and all gradients."""
    found = {}
    for name, (tokens, options, training, dropout) in PROBES.items():
        module = module_class(8, 4, dropout=dropout, dtype=torch.float64).train(training)
        module.load_state_dict(PARAMETERS)
        tokens = [t.clone().requires_grad_() for t in tokens]
        if dropout:
            torch.manual_seed(1)
        out, weights = module(*tokens, **options, need_weights=True)
        (out * draw(*out.shape)).sum().backward()
        leaves = [*tokens, *module.parameters()]
        grads = [torch.zeros_like(t) if t.grad is None else t.grad for t in leaves]
        found[name] = [out.detach(), weights.detach(), *grads]
    return found


def numbers(found):
    """All of them in one row; NaN and inf as numbers that nothing else is."""
    row = torch.cat([t.flatten() for tensors in found.values() for t in tensors])
    return row.nan_to_num(1e30, 1e31, -1e31).numpy()


@functools.cache
def results_of(name):
    return results(MultiHeadAttention if name == "right" else mutant(name).module)


@functools.cache
def numbers_of(name):
    return numbers(results_of(name))


def differ(name, other):
    return np.abs(numbers_of(name) - numbers_of(other)).max() > 1e-6


def test_the_museum_is_large_and_every_name_is_its_own():
    assert len(MUSEUM) >= 36
    assert len(set(NAMES)) == len({m.module for m in MUSEUM}) == len(MUSEUM)


def test_the_steps_without_mutation_are_the_module():
    for name, ours in results(Steps).items():
        for a, b in zip(ours, results_of("right")[name], strict=True):
            torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)


@EACH
def test_a_piece_keeps_every_shape(piece):
    for name, right in results_of("right").items():
        assert [t.shape for t in results_of(piece.name)[name]] == [t.shape for t in right], name


@EACH
def test_a_piece_is_wrong_somewhere(piece):
    assert differ(piece.name, "right")


def test_no_two_pieces_are_the_same():
    for a, b in itertools.combinations(NAMES, 2):
        assert differ(a, b), f"{a} equals {b}"


@EACH
def test_a_piece_exchanges_one_short_step(piece):
    methods = [name for name, value in vars(piece.module).items() if callable(value)]
    assert methods == [piece.step]
    source = (ROOMS / f"{piece.module.__module__.split('.')[-1]}.py").read_text()
    pattern = rf"class {piece.module.__name__}\(.*?\n    def [^\n]*\n(.*?)\n(?:\n|$)"
    body = re.search(pattern, source, re.DOTALL)
    assert 1 <= len(body.group(1).splitlines()) <= 6
    assert piece.module.__init__ is Steps.__init__


@EACH
def test_a_label_says_what_where_and_who(piece):
    assert piece.wrong.endswith(".")
    assert len(piece.wrong.split()) >= 5
    assert piece.source == "common mistake in tutorials" or re.fullmatch(
        r"[\w.-]+/[\w.-]+ #\d+", piece.source
    )
    path = next(p for p in chapters() if p.name.startswith(f"{piece.chapter}_"))
    text = "\n".join(c.source for c in nbformat.read(path, as_version=4).cells)
    assert f"\n## {piece.section} · " in text, piece.place


def test_mutants_are_found_by_name():
    assert isinstance(mutant("NaN rows"), Mutant)
    with pytest.raises(ValueError, match=r"no mutant is called 'nonsense'; there are \['dir"):
        mutant("nonsense")
