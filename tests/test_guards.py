"""Every guard of the layer refuses something: no `require_...` and no keyword of one is idle."""

import ast
import importlib
import inspect
import sys
from pathlib import Path

import pytest
import test_errors
import test_layer_options
import torch

import mha_utils
from mha_utils import MultiHeadAttention, SelfAttentionHead, StackedHeads
from mha_utils.core import masks
from mha_utils.core.costs import Workload, projection_flops
from mha_utils.experiments.model import Shape, SmallModel
from mha_utils.experiments.tasks import Lookups

FOLDER = Path(mha_utils.__file__).parent
FILES = [*(FOLDER / "core").glob("*.py"), FOLDER / "experiments" / "model.py"]
FILES += [FOLDER / "experiments" / "scores.py"]
X, WIDE = torch.zeros(2, 5, 8), torch.zeros(2, 5, 9)
MASK = torch.ones(3, 3, dtype=torch.bool)
SIZES = {
    SelfAttentionHead: {"embed_dim": 4, "head_dim": 2, "value_dim": 2},
    StackedHeads: {"embed_dim": 4, "num_heads": 2, "head_dim": 2, "value_dim": 2},
    MultiHeadAttention: dict.fromkeys(("embed_dim", "num_heads", "qdim", "kdim", "vdim"), 4)
    | {"num_kv_heads": 4, "head_dim": 4},
    Workload: dict.fromkeys(("batch_size", "seq_len", "embed_dim", "num_heads"), 2)
    | {"number_bytes": 4},
    mha_utils.KeyValueCache: dict.fromkeys(
        ("batch_size", "num_kv_heads", "capacity", "head_dim"), 2
    ),
    mha_utils.Rotary: {"head_dim": 2},
    mha_utils.causal_mask: {"query_len": 2, "key_len": 2},
    mha_utils.sliding_window_mask: {"query_len": 2, "key_len": 2, "window": 2},
    (lambda **sizes: SmallModel(Lookups(), Shape(**sizes))): {"num_heads": 2, "head_dim": 2},
    (lambda **sizes: mha_utils.padding_mask(torch.tensor([0]), **sizes)): {"key_len": 2},
}
MORE = [
    lambda: MultiHeadAttention(6, 4),
    lambda: MultiHeadAttention(8, 4)(WIDE),
    lambda: MultiHeadAttention(8, 4)(X, WIDE),
    lambda: MultiHeadAttention(8, 4)(X, X, WIDE),
    lambda: MultiHeadAttention(8, 4)(X.double()),
    lambda: MultiHeadAttention(8, 4)(X, mask=MASK),
    lambda: MultiHeadAttention(8, 4)(X, X[:, :3], is_causal=True),
    lambda: MultiHeadAttention(8, 4, dropout=2.0),
    lambda: StackedHeads(4, 2, 2)(X),
    lambda: StackedHeads(8, 2, 2)(X.double()),
    lambda: SelfAttentionHead(4, 2)(X),
    lambda: SelfAttentionHead(8, 2)(X.double()),
    lambda: mha_utils.attend(X[:, None], X[:, None], X[:, None], mask=MASK),
    lambda: mha_utils.attend(X[:, None], X[:, None, :3], X[:, None, :3], is_causal=True),
    lambda: mha_utils.attend(X[:, None], X[:, None], X[:, None], dropout=2.0),
    lambda: inspect.unwrap(MultiHeadAttention.forward)(MultiHeadAttention(8, 4), X, X, X[:, :3]),
    lambda: setattr(layer := MultiHeadAttention(8, 4), "head_dim", 3) or layer(X),
    lambda: mha_utils.KeyValueCache(1, 1, 1, 1).reorder(torch.tensor([1])),
    lambda: mha_utils.KeyValueCache(1, 1, 1, 1).reorder(torch.tensor([0, 0])),
    lambda: mha_utils.split_heads(X, 3),
    lambda: mha_utils.share_heads(torch.zeros(1, 2, 3, 4), 3),
    lambda: masks.to_torch_mha(MASK, (1, 1, 4, 4)),
    lambda: mha_utils.to_torch(MultiHeadAttention(8, 4, qdim=5)),
    lambda: mha_utils.leak_map(lambda x: x.sum(), X[0]),
    lambda: projection_flops(Workload(2, 2, 2, 2), num_kv_heads=0),
]
# Tests elsewhere ask these in a process of their own: here the import hook would speak first.
BY_TYPE = {"require_bools", "require_kind", "require_cache"}


def guards() -> dict[tuple, set]:
    """For each call (file, line) of a guard: its keywords, or None where it has none."""
    found = {}
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            name = getattr(getattr(node, "func", None), "id", "")
            if name.startswith("require_") and name not in BY_TYPE:
                found[path.name, node.lineno] = {k.arg for k in node.keywords} or {None}
    return found


def spied(guard, raised: set):
    """The guard, asked for one keyword at a time: which calls of it have refused something?"""

    def look(*args, **options):
        frame = sys._getframe(1)
        place = Path(frame.f_code.co_filename).name, frame.f_lineno
        many = guard.__name__ in ("require_sizes", "require_bools", "require_probability")
        alone = [{key: value} for key, value in options.items()] if many else [options]
        for given in alone:
            try:
                guard(*args, **given)
            except ValueError:
                raised.update((*place, key) for key in given or (None,))
                raise

    return look


def wrong_calls():
    """All calls of the tables of errors; those above; and every size as 0."""
    yield from MORE
    yield from (call for call, _ in test_errors.CASES.values())
    yield from test_layer_options.WRONG.values()
    for function, sizes in SIZES.items():
        for name in sizes:
            yield lambda f=function, given=sizes | {name: 0}: f(**given)


def test_every_guard_refuses_something(monkeypatch):
    raised = set()
    for path in FILES:
        module = importlib.import_module(f"mha_utils.{path.parent.name}.{path.stem}")
        for name, guard in list(vars(module).items()):
            if name.startswith("require_"):
                monkeypatch.setattr(module, name, spied(guard, raised))
    for call in wrong_calls():
        with pytest.raises(ValueError):  # noqa: PT011 - other tests look at the text
            call()
    expected = {(*place, key) for place, keys in guards().items() for key in keys}
    idle = sorted(map(str, expected - raised))
    assert not idle, "\n".join(idle)


@pytest.mark.parametrize("sizes", SIZES.values(), ids=str)
def test_a_size_of_0_is_refused_by_its_name(sizes):
    (function,) = (f for f, given in SIZES.items() if given is sizes)
    for name in sizes:
        with pytest.raises(ValueError, match=f"{name} must be an integer of at least 1, got 0"):
            function(**sizes | {name: 0})
