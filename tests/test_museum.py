"""The museum: its base is right, and every bug is wrong with every shape right."""

import functools
import itertools
import re
from pathlib import Path

import nbformat
import numpy as np
import pytest
import torch

from mha_utils import (
    KeyValueCache,
    MultiHeadAttention,
    Rotary,
    causal_mask,
    padding_mask,
    sliding_window_mask,
)
from mha_utils.museum import EXTENDING, MUSEUM, Bug, Steps, bug
from tools.notebooks import chapters

ROOMS = Path(__file__).parents[1] / "mha_utils" / "museum"
NAMES = [m.name for m in MUSEUM]
EACH = pytest.mark.parametrize("bug", MUSEUM, ids=lambda m: m.name)


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


def window_of(module, **sizes):
    """The window that the layer makes; where it makes none, that of the package."""
    if hasattr(module, "window"):
        return module.window(5, 5, **sizes)
    return sliding_window_mask(5, 5, **sizes)


def in_pieces(*lengths, capacity=5):
    """A text that is read with a cache; a piece that is refused gives -1 everywhere."""

    @torch.no_grad()
    def read(module, x):
        num_kv_heads = module.k_proj.out_features // module.head_dim
        cache = KeyValueCache(len(x), num_kv_heads, capacity, module.head_dim, dtype=x.dtype)
        results = []
        for part in x.detach().split(lengths, dim=1):
            given = {"cache": cache, "is_causal": True, "need_weights": True}
            try:
                out, weights = module(part, **given)
            except ValueError:
                out, weights = torch.full_like(part, -1), torch.zeros(3, 4, part.shape[1], 1)
            results.append((out, torch.nn.functional.pad(weights, (0, 5 - weights.shape[-1]))))
        return [torch.cat(parts, dim=d) for parts, d in zip(zip(*results), (1, 2))]

    return read


def with_window(**sizes):
    return lambda module, x: module(x, mask=window_of(module, **sizes), need_weights=True)


def causal(module, x):
    return module(x, is_causal=True, need_weights=True)


TURNED = {"head_dim": 4, "rotary": Rotary(4)}
WITH_OPTIONS = {  # arguments of the layer, how it is called
    "shared heads": ({"num_kv_heads": 2}, causal),
    "rotary": (TURNED, causal),
    "rotary, pairs": ({"head_dim": 4, "rotary": Rotary(4, layout="pairs")}, causal),
    "positions": (
        TURNED,
        lambda module, x: module(x, positions=3 * torch.arange(5), need_weights=True),
    ),
    "token by token": (TURNED | {"num_kv_heads": 1}, in_pieces(1, 1, 1, 1, 1)),
    "piece by piece": ({"num_kv_heads": 2}, in_pieces(3, 2)),
    "full": ({}, in_pieces(3, 2, capacity=4)),
    "window": ({}, with_window(window=2)),
    "window and sink": ({}, with_window(window=2, sinks=1)),
}


def layer(module_class, **options):
    """In float64, with numbers that depend on a parameter's place and shape alone."""
    module = module_class(8, 4, dtype=torch.float64, **options)
    for seed, parameter in enumerate(module.parameters(), start=2):
        parameter.data = draw(*parameter.shape, seed=seed) / 3
    return module


TAKE_OPTIONS = {MultiHeadAttention, Steps} | {m.module for m in EXTENDING}


def results(module_class):
    """Of every probe: output, weights, and all gradients. Other bugs know no options."""
    found = {}
    for name, (tokens, options, training, dropout) in PROBES.items():
        module = layer(module_class, dropout=dropout).train(training)
        tokens = [t.clone().requires_grad_() for t in tokens]
        if dropout:
            torch.manual_seed(1)
        out, weights = module(*tokens, **options, need_weights=True)
        found[name] = with_gradients(out, weights, [*tokens, *module.parameters()])
    for name, (options, call) in WITH_OPTIONS.items() if module_class in TAKE_OPTIONS else ():
        module, x = layer(module_class, **options).eval(), inputs(5)[0].requires_grad_()
        found[name] = with_gradients(*call(module, x), [x, *module.parameters()])
    return found


def with_gradients(out, weights, leaves):
    if out.requires_grad:
        (out * draw(*out.shape)).sum().backward()
    grads = [torch.zeros_like(t) if t.grad is None else t.grad for t in leaves]
    return [out.detach(), weights.detach(), *grads]


def numbers(tensors):
    """All of them in one row; NaN and inf as numbers that nothing else is."""
    return torch.cat([t.flatten() for t in tensors]).nan_to_num(1e30, 1e31, -1e31).numpy()


@functools.cache
def results_of(name):
    return results(MultiHeadAttention if name == "right" else bug(name).module)


@functools.cache
def numbers_of(name):
    return {probe: numbers(tensors) for probe, tensors in results_of(name).items()}


def differ(name, other):
    a, b = numbers_of(name), numbers_of(other)
    return any(np.abs(a[probe] - b[probe]).max() > 1e-6 for probe in a if probe in b)


def test_the_museum_is_large_and_every_name_is_its_own():
    assert len(MUSEUM) >= 36
    assert len(set(NAMES)) == len({m.module for m in MUSEUM}) == len(MUSEUM)


def test_the_order_of_the_rooms_is_written_down():
    rooms = [room for room, _ in itertools.groupby(MUSEUM, key=lambda bug: bug.room)]
    assert rooms == ["projecting", "weighing", "masking", "dropping", "extending"]


def test_the_steps_make_no_nan_on_the_way():
    module = Steps(8, 4, dtype=torch.float64)
    with torch.autograd.set_detect_anomaly(True):
        module(*inputs(4), mask=EMPTY).sum().backward()
    assert all(p.grad.isfinite().all() for p in module.parameters())


def test_the_steps_without_a_bug_are_the_module():
    for name, ours in results(Steps).items():
        for a, b in zip(ours, results_of("right")[name], strict=True):
            torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)


def test_a_bug_of_the_last_room_is_right_without_options():
    for piece in EXTENDING:
        for name in PROBES:
            for a, b in zip(results_of(piece.name)[name], results_of("right")[name], strict=True):
                assert torch.equal(a, b), (piece.name, name)


@EACH
def test_a_bug_keeps_every_shape(bug):
    for name, found in results_of(bug.name).items():
        assert [t.shape for t in found] == [t.shape for t in results_of("right")[name]], name


@EACH
def test_a_bug_is_wrong_somewhere(bug):
    assert differ(bug.name, "right")


def test_no_two_bugs_are_the_same():
    for a, b in itertools.combinations(NAMES, 2):
        assert differ(a, b), f"{a} equals {b}"


@EACH
def test_a_bug_exchanges_one_short_step(bug):
    methods = [name for name, value in vars(bug.module).items() if callable(value)]
    assert methods == [bug.step]
    source = (ROOMS / f"{bug.module.__module__.split('.')[-1]}.py").read_text()
    pattern = rf"class {bug.module.__name__}\(.*?\n    def [^\n]*\n(.*?)\n(?:\n|$)"
    body = re.search(pattern, source, re.DOTALL)
    assert 1 <= len(body.group(1).splitlines()) <= 6
    assert bug.module.__init__ is Steps.__init__


@EACH
def test_a_label_says_what_where_and_who(bug):
    assert bug.wrong.endswith(".")
    assert len(bug.wrong.split()) >= 5
    assert bug.source == "common mistake in tutorials" or re.fullmatch(
        r"[\w.-]+/[\w.-]+ #\d+", bug.source
    )
    path = next(p for p in chapters() if p.name.startswith(f"{bug.chapter}_"))
    text = "\n".join(c.source for c in nbformat.read(path, as_version=4).cells)
    assert f"\n## {bug.section} · " in text, bug.place


def test_bugs_are_found_by_name():
    assert isinstance(bug("NaN rows"), Bug)
    with pytest.raises(ValueError, match=r"no bug is called 'nonsense'; there are \['dir"):
        bug("nonsense")
