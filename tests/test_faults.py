"""The regressions bite: planted faults are noticed. All of them at once: `make faults`."""

import json
import re
import shutil
from decimal import Decimal
from pathlib import Path

import nbformat
import pytest
import torch
from helpers import check_scores
from nbformat.v4 import new_code_cell, new_notebook, new_output

from mha_utils import checks
from mha_utils.museum import MUSEUM
from tools import faults
from tools.notebooks import chapters
from tools.planting import ROOT, copy_project, planted
from tools.planting.fault_list import FAULTS
from tools.suite.comparing import FLOAT, same_text

PACKAGE = ROOT / "mha_utils"
SAMPLE = [
    f for f in FAULTS if f.name in ("causal off by one", "direct view", "merge mixes columns")
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name)
def test_what_is_replaced_is_there(fault):
    assert (PACKAGE / fault.file).read_text().count(fault.old) == 1
    assert fault.new != fault.old


def test_there_are_many_and_each_has_a_name():
    assert len(FAULTS) >= 40
    assert len({f.name for f in FAULTS}) == len({(f.file, f.old, f.new) for f in FAULTS})


THREE_CELLS = {
    "import torch\nfrom mha_utils import *": "",
    "print(causal_mask(3).int().tolist())\nprint(attention_weights(torch.zeros(2, 5)).sum(-1))": (
        "[[1, 0, 0], [1, 1, 0], [1, 1, 1]]\ntensor([1., 1.])\n"
    ),
    "x = torch.arange(24.0).view(1, 3, 8)\nheads = split_heads(x, 2)\n"
    "print(heads.shape[1:], heads[0, 0, :, 0].tolist(), torch.equal(merge_heads(heads), x))": (
        "torch.Size([2, 3, 4]) [0.0, 8.0, 16.0] True\n"
    ),
}


def small_chapter():
    stored = {s: [new_output("stream", text=t)] if t else [] for s, t in THREE_CELLS.items()}
    return new_notebook(cells=[new_code_cell(s, outputs=o) for s, o in stored.items()])


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the project with one chapter of three cells in the place of fourteen."""
    folder = tmp_path_factory.mktemp("copy")
    copy_project(folder)
    for path in (folder / "notebooks").glob("*.ipynb"):
        path.unlink()
    nbformat.write(small_chapter(), folder / "notebooks" / "05_small.ipynb")
    return folder


def test_a_chapter_without_a_fault_runs_as_stored(copy):
    assert faults.by_chapters(copy, "05", only=True) is None


@pytest.mark.parametrize("fault", SAMPLE, ids=lambda f: f.name)
def test_a_chapter_notices_a_fault(copy, fault):
    with planted(copy, fault):
        assert faults.by_chapters(copy, "05", only=True).startswith("05_small, cell ")
    assert (copy / "mha_utils" / fault.file).read_text() == (PACKAGE / fault.file).read_text()


def test_a_fault_that_is_not_there_cannot_be_planted(copy):
    fault = FAULTS[0]._replace(old="no such line")
    expected = f"{fault.name}: 'no such line' should stand once in {fault.file}"
    with pytest.raises(ValueError, match=re.escape(expected)), planted(copy, fault):
        pass


@pytest.mark.parametrize("path", chapters(), ids=lambda p: p.stem)
def test_a_changed_number_is_seen(path):
    """Every stored decimal number, moved by two of its last places, one at a time."""
    for text in stored_texts(path):
        for number in FLOAT.finditer(text):
            places = len(number[0].split(".")[1])
            moved = f"{Decimal(number[0]) + 2 * Decimal(10) ** -places:.{places}f}"
            assert not same_text(text[: number.start()] + moved + text[number.end() :], text)


@pytest.mark.parametrize("path", chapters(), ids=lambda p: p.stem)
def test_every_chapter_can_be_tampered_with(path, tmp_path):
    copied = Path(shutil.copy(path, tmp_path))
    before = list(stored_texts(path))
    assert " -> " in faults.tamper(copied)
    assert [a for a, b in zip(before, stored_texts(copied), strict=True) if not same_text(b, a)]


def stored_texts(path):
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        for output in cell.get("outputs", []):
            texts = (output.get("text", []), output.get("data", {}).get("text/plain", []))
            yield from ("".join(text) for text in texts)


def made(piece):
    return piece.module(8, 2).eval()


def windowed(layer):
    """The window mask of a layer: what its causal mask allows, but for old keys."""

    def answer(query_len, key_len, window):
        recent = torch.ones(query_len, key_len).triu(key_len - query_len - window + 1).bool()
        return layer.causal(query_len, key_len) & recent

    return answer


STEP_CHECKS = {  # a step of the museum, the check of that step, and how the step answers
    "merge": (checks.check_merge_heads, lambda m: m.merge),
    "causal": (checks.check_window_mask, windowed),
    "hide": (checks.check_masked_weights, lambda m: m.weigh),
    "weigh": (checks.check_masked_weights, lambda m: m.weigh),
}
STEPS = [m for m in MUSEUM if m.step in STEP_CHECKS]


@pytest.mark.parametrize("piece", STEPS, ids=lambda m: m.name)
def test_the_check_of_a_step_rejects_every_piece_about_it(piece):
    check, answer = STEP_CHECKS[piece.step]
    assert not check(answer(made(piece)))


@pytest.mark.parametrize("piece", [m for m in MUSEUM if m.step == "split"], ids=lambda m: m.name)
def test_the_check_of_splitting_rejects_every_split(piece):
    def split(x, num_heads):
        module = made(piece)
        module.num_heads = num_heads
        return module.split(x)

    assert not checks.check_split_heads(split)


SCORES = [
    m for m in MUSEUM if m.step == "score" and "num_heads" not in m.module.score.__code__.co_names
]


@pytest.mark.parametrize("piece", SCORES, ids=lambda m: m.name)
def test_the_check_of_scores_rejects_every_score(piece):
    assert not check_scores(made(piece).score)


@pytest.mark.parametrize(
    "name",
    ["softmax over the queries", "softmax over the whole map", "no softmax"],
)
def test_the_check_of_softmax_rejects_every_softmax(name):
    piece = next(m for m in MUSEUM if m.name == name)
    assert not checks.check_stable_softmax(made(piece).softmax)


def test_the_right_steps_are_no_fault(tmp_path):
    """What is red for the way in which bugs are planted would kill them all."""
    copy_project(tmp_path)
    with planted(tmp_path, "Steps"):
        assert faults.by_chapters(tmp_path, "10", only=True) is None


def test_the_stored_table_is_of_these_faults_and_none_survives():
    if not faults.TABLE.exists():
        pytest.skip("make faults has not been run")
    table = json.loads(faults.TABLE.read_text("utf-8"))
    assert set(table["faults"]) == {f"museum: {m.name}" for m in MUSEUM} | {f.name for f in FAULTS}
    assert set(table["tampered"]) == {path.stem for path in chapters()}
    assert all(row["red"] for row in table["tampered"].values())
    assert len(faults.EQUIVALENT) <= 3
    for name, row in table["faults"].items():
        assert name in faults.EQUIVALENT or (row["chapters"] and row["pytest"]), name
