"""Planting plants: a copy of the project, a fault in it, a child that imports it."""

import re
import textwrap

import pytest

from tools import faults, planting
from tools.planting import ROOT, copy_project, in_a_fork, planted
from tools.planting.fault_list import FAULTS, Fault


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("copy")
    copy_project(folder)
    return folder


def contents(folder) -> dict:
    return {p: p.read_bytes() for p in folder.rglob("*.py")}


def test_the_copy_is_the_project(copy):
    for part in ("mha_utils", "tests", "tools", "notebooks"):
        for path in (ROOT / part).rglob("*.[pi][yp]*"):
            if not {"__pycache__", ".ipynb_checkpoints"} & set(path.parts):
                assert (copy / path.relative_to(ROOT)).read_bytes() == path.read_bytes()


@pytest.mark.parametrize("fault", [FAULTS[0], FAULTS[-1]], ids=lambda f: f.name)
def test_a_fault_stands_in_one_file_and_is_gone_afterwards(copy, fault):
    before = contents(copy)
    with pytest.raises(ZeroDivisionError), planted(copy, fault):  # noqa: PT012
        now = contents(copy)
        (changed,) = [path for path in now if now[path] != before[path]]
        assert changed == copy / "mha_utils" / fault.file
        assert now[changed].decode() == before[changed].decode().replace(fault.old, fault.new)
        raise ZeroDivisionError
    assert contents(copy) == before


def scores_of_ones() -> str:
    """In a child: which copy was imported, and what it computes."""
    import torch

    import mha_utils

    scores = mha_utils.attention_scores(torch.ones(1, 4), torch.ones(1, 4))
    return f"{mha_utils.__file__} {scores.item():g}"


def test_the_child_imports_the_planted_copy(copy):
    source = (copy / "mha_utils" / "core" / "steps.py").read_text()
    body = re.search(r"def attention_scores\(.*?\n    return ([^\n]*)", source, re.DOTALL)
    fault = Fault("four more", "core/steps.py", body[0], f"{body[0]} + 4", "01")
    place = copy / "mha_utils" / "__init__.py"
    assert in_a_fork(copy, scores_of_ones) == f"{place} 2"
    with planted(copy, fault):
        assert in_a_fork(copy, scores_of_ones) == f"{place} 6"


def layer_of_ones() -> str:
    import torch

    from mha_utils import MultiHeadAttention

    torch.manual_seed(0)
    return str(MultiHeadAttention(8, 2)(torch.randn(1, 3, 8), is_causal=True).sum().item())


def test_a_piece_of_the_museum_is_planted_in_the_layer(copy):
    right = in_a_fork(copy, layer_of_ones)
    float(right)
    with planted(copy, "no scale"):
        wrong = in_a_fork(copy, layer_of_ones)
    assert float(wrong) != float(right)
    assert in_a_fork(copy, layer_of_ones) == right


def test_a_child_that_fails_or_says_nothing_is_told_apart(copy):
    assert in_a_fork(copy, lambda: None) is None
    assert in_a_fork(copy, lambda: 1 / 0) == "ZeroDivisionError: division by zero"
    assert in_a_fork(copy, lambda: planting.os._exit(3)).startswith("ended with status ")


def test_the_summary_counts_survivors_and_tampered_chapters(monkeypatch):
    table = {
        "a": {"chapters": "03", "pytest": None},
        "b": {"chapters": None, "pytest": None},
        "c": {"chapters": "04", "pytest": "t"},
    }
    monkeypatch.setattr(faults, "EQUIVALENT", {"b": "no test can"})
    assert faults.summary(table, {"01": {"red": True}, "02": {"red": False}}) == textwrap.dedent(
        """\
        chapters  killed 3 of 3 
        pytest    killed 2 of 3 ['a']
        tampered  red 1 of 2"""
    )
