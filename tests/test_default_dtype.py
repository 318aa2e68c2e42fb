"""With torch.set_default_dtype(torch.float64): the same numbers, or a fit of everything to it."""

import contextlib
import math

import pytest
import torch

from mha_utils import FusedMultiHeadAttention, bench, checks
from mha_utils.bench.contestants import CONTESTANTS
from mha_utils.core import masks
from mha_utils.experiments import train as training
from mha_utils.experiments.grammar import Grammar
from mha_utils.experiments.model import Shape
from mha_utils.experiments.tasks import Lookups, RepeatedBlock, ThreeRelations
from mha_utils.widgets.examples import EXAMPLES


@contextlib.contextmanager
def in_float64():
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_view_shows_the_same(name):
    """A page reads float32; the suspects of BugHunt are drawn anew."""
    before = EXAMPLES[name]()
    with in_float64():
        after = EXAMPLES[name]()
        finding = after.finding()
    assert "nan" not in finding
    assert finding == before.finding()
    for trait, value in before.get_state().items():
        if isinstance(value, bytes) and name != "BugHunt":
            assert getattr(after, trait) == value, trait
        elif isinstance(value, bytes):
            assert len(getattr(after, trait)) == len(value), trait


@pytest.mark.parametrize(
    "task",
    [Lookups(), ThreeRelations(), RepeatedBlock(), Grammar()],
    ids=lambda task: type(task).__name__,
)
def test_small_models_learn(task):
    with in_float64():
        recipe = training.Recipe(2, batch_size=4, warm_up=1)
        shape = Shape(2, 3, causal=True, mlp=True, norm=True)
        (model,) = training.train(task, shape, recipe)
        found, _, maps = training.evaluate(model, task, 8)
    assert maps[0].dtype == torch.float64
    assert all(math.isfinite(value) for value in found.values())


def test_the_check_of_a_layer_is_right_about_it():
    with in_float64():
        assert checks.check_multi_head_attention(FusedMultiHeadAttention)


def test_probes_see_the_same():
    x = torch.randn(4, 3)
    before = masks.leak_map(lambda tokens: tokens.cumsum(dim=0) ** 2, x)
    with in_float64():
        after = masks.leak_map(lambda tokens: tokens.cumsum(dim=0) ** 2, x.double())
    torch.testing.assert_close(after.float(), before)

    def sees_the_future(module):
        x = torch.randn(1, 5, 8)
        changed = torch.cat([x[:, :3], x[:, 3:] + 1], dim=1)
        outputs = (module(tokens, is_causal=True)[:, :3] for tokens in (x, changed))
        return not torch.allclose(*outputs, atol=1e-4)

    with in_float64():
        assert checks.check_future_probe(sees_the_future)


@pytest.mark.parametrize("is_training", [False, True])
def test_contestants_of_the_bench_agree(is_training):
    case = bench.Case((2, 7, 12, 3), is_training=is_training)
    names = [name for name in CONTESTANTS if not name.endswith("compiled")]
    with in_float64():
        found = bench.measure_case(case, names, seconds=0.001)
    assert not [why for why in found["left_out"].values() if "else" in why]
    assert all(row.get("error", 0) < 1e-6 for row in found["rows"].values())
