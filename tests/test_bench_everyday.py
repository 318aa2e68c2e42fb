"""Everyday tasks of the bench: every way computes the same, claims are decided by numbers."""

import json
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import mha_utils
from mha_utils import causal_mask
from mha_utils.bench import Case, load_records
from mha_utils.bench import __main__ as command
from mha_utils.bench.claims import CLAIMS, Claim, compared, decided
from mha_utils.bench.limits import PARTS
from mha_utils.bench.record import STORED
from mha_utils.bench.run import measure_task
from mha_utils.bench.tasks import TASKS, Task, tasks_for
from mha_utils.reference import options as oracle

TINY = [Task(kind, (3, 7, 8, 4)) for kind in TASKS]
TINY += [Task(kind, (3, 7, 8, 4), num_kv_heads=2) for kind in ("shared heads", "decoding")]
EACH = pytest.mark.parametrize("task", TINY, ids=lambda task: task.label)


@EACH
@torch.no_grad()
def test_every_way_gives_what_the_oracle_gives(task):
    layer, x = task.layer().double(), task.tokens().double().numpy()
    arrays = {n: p.detach().numpy() for n, p in layer.named_parameters()}
    names = ("q", "k", "v", "out")
    parameters = {n: (arrays[f"{n}_proj.weight"], arrays[f"{n}_proj.bias"]) for n in names}
    mask = np.ones((1, 1, 7, 7), bool) if task.kind == "evaluation" else causal_mask(7).numpy()
    if task.kind == "causal + padding":
        mask = mask & task.padding().numpy()
    expected = oracle.self_attention(x, parameters, 2, np.zeros(x.shape), mask)["out"]
    expected = expected[:, -1:] if task.kind == "decoding" else expected
    np.testing.assert_allclose(task.expected(), expected, atol=1e-12)
    calls = TASKS[task.kind](task)
    assert {"fused", "explicit", PARTS} < set(calls)
    for name in set(calls) - {PARTS}:
        np.testing.assert_allclose(calls[name](), expected, atol=1e-5, err_msg=name)
        np.testing.assert_allclose(calls[name](), expected, atol=1e-5, err_msg=name)  # and again


@EACH
def test_a_task_measured(task):
    row = measure_task(task, seconds=0.001)
    assert row["left_out"] == {}
    assert {entry["rounds"] >= 5 for entry in row["rows"].values()} == {True}
    assert row["rows"][PARTS]["ratio"]["median"] == 1
    assert row["rows"]["fused"]["error"] < 1e-6
    json.dumps(row)


def test_what_computes_something_else_is_not_timed(monkeypatch):
    def planted(task):
        return {"wrong": lambda: task.tokens(), PARTS: lambda: None}

    monkeypatch.setitem(TASKS, "evaluation", planted)
    row = measure_task(TINY[0], seconds=0.001)
    assert set(row["rows"]) == {PARTS}
    assert row["left_out"]["wrong"].startswith("computes something else: off by ")


@pytest.mark.parametrize("fast", [True, False])
def test_the_fast_path_is_as_it_was(fast):
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(fast)
    try:
        for call in TASKS["evaluation"](TINY[0]).values():
            call()
            assert torch.backends.mha.get_fastpath_enabled() == fast
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


def test_padding_leaves_every_sequence_half():
    lengths = replace(TINY[0], shape=(4, 16, 8, 4)).padding().sum(dim=-1).flatten().tolist()
    assert lengths == [16, 14, 12, 10]


def test_the_table_of_tasks():
    tasks = tasks_for("cpu")
    assert len(set(tasks)) == len(tasks) == len({t.label for t in tasks})
    assert {t.kind for t in tasks} == {t.kind for t in tasks_for("cpu", quick=True)} == set(TASKS)
    assert {t.dtype for t in tasks} == {"float32", "bfloat16"}
    assert {t.shape[0] for t in tasks if t.kind == "decoding"} == {1, 8}
    assert any(t.shape[1] == 4096 for t in tasks)
    assert {t.device for t in tasks_for("cuda")} == {"cuda"}


# ---- claims ----------------------------------------------------------------------------


def record_of(ratio, seconds=1.0):
    rows = {"fused": {"seconds": seconds, "ratio": {"median": ratio}}}
    rows |= {PARTS: {"seconds": 9.0}, "explicit": {"seconds": 4.0}}
    return {"machine": {"device": "cpu"}, "everyday": [{"label": "it", "kind": "a", "rows": rows}]}


def test_a_claim_is_decided_by_the_row_furthest_off():
    claim = Claim("quick", 1.1, compared("everyday", "fused", PARTS, kind="a"))
    assert decided(claim, record_of(1.05)) == "✓ quick: at most 1.05"
    assert decided(claim, record_of(1.2)) == "✗ quick: 1.20 in it"
    two = {"everyday": record_of(1.0)["everyday"] + record_of(3.0)["everyday"]}
    assert decided(claim, record_of(1.0) | two) == "✗ quick: 3.00 in it"
    assert decided(claim, record_of(1.0) | {"everyday": []}) == "? quick"
    on_gpu = replace(claim, device="cuda")
    assert decided(on_gpu, record_of(1.0)) == "? quick"
    half = Claim("half", 0.5, compared("everyday", "fused", "explicit"))
    assert decided(half, record_of(1.0, seconds=2.0)) == "✓ half: at most 0.50"
    assert decided(half, record_of(1.0, seconds=3.0)) == "✗ half: 0.75 in it"


@pytest.fixture
def tiny_bench(tmp_path, monkeypatch):
    """`make bench` with one small case and one task; called, it gives the record it wrote."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr(command, "cases_for", lambda device, quick: [Case((2, 7, 12, 3))])
    monkeypatch.setattr(command, "tasks_for", lambda device, quick: TINY[:1])
    options = ["--quick", "--device", "cpu", "--seconds", "0.001", "--only", "fused"]

    def run() -> dict:
        assert command.main([*options, "--out", str(tmp_path / "a.json")]) == 0
        (record,) = load_records(tmp_path)
        return record

    return run


def test_a_quick_bench_says_every_claim(tiny_bench, capsys):
    record = tiny_bench()
    printed = capsys.readouterr().out
    for claim in CLAIMS:
        assert claim.sentence in printed
    assert [task["label"] for task in record["everyday"]] == [TINY[0].label]
    assert record["race"]["shape"] == [1, 12, 128, 64]


def test_ctrl_c_in_the_race_keeps_the_rest(tiny_bench, monkeypatch):
    def stopped(*given):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "measure_race", stopped)
    record = tiny_bench()
    assert record["cases"]
    assert record["everyday"]
    assert "race" not in record


# ---- records ---------------------------------------------------------------------------


def test_records_ship_with_the_package():
    root = Path(mha_utils.__file__).parent
    assert STORED.is_relative_to(root)
    assert list(STORED.glob("*.json"))
    settings = tomllib.loads((root.parent / "pyproject.toml").read_text())
    assert settings["tool"]["setuptools"]["package-data"]["mha_utils.bench"] == ["records/*.json"]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_the_whole_table_comes_first_among_records_of_a_device(device):
    found = [record for record in load_records() if record["machine"]["device"] == device]
    sizes = [len(record["cases"]) for record in found]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes
