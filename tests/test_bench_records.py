"""The bench as a command, and its records: nothing lost, broken files named."""

import json

import numpy as np
import pytest
import torch

from mha_utils import bench
from mha_utils.bench import Case
from mha_utils.bench import __main__ as command
from mha_utils.bench import record as record_module
from mha_utils.bench.contestants import CONTESTANTS, Layer

TINY = Case((2, 7, 12, 3))


def wrong_forward(case, module):
    return Layer(module, lambda m, x: m(x, is_causal=not case.is_causal))


# ---- the command -----------------------------------------------------------------------

MACHINE = {"device": "cpu", "hardware": "A CPU, 2 cores", "threads": 1, "date": "2026-01-02"}
MACHINE |= {"versions": {"torch": "2.13"}}
ROW = {"seconds": 0.5, "ratio": {"low": 1.0, "median": 1.25, "high": 1.5}}
CASE = {"label": "a case", "flops": 3_000_000_000, "left_out": {"slow": "too slow"}}
CASE |= {"rows": {"second": ROW, "first": ROW | {"ratio": dict.fromkeys(ROW["ratio"], 1.0)}}}
CASE["rows"]["first"]["peak_bytes"] = 3 * 2**20
RECORD = {
    "machine": MACHINE,
    "limits": {"matmul_flops_per_second": {"float32": 1e9}, "copied_bytes_per_second": 1e9},
    "cases": [CASE],
}


def test_a_case_is_printed_fastest_first(capsys):
    command.print_case(CASE)
    title, head, first, second, left_out = capsys.readouterr().out.splitlines()[1:]
    assert title == "a case"
    assert head.split() == ["ratio", "to", "parts", "GFLOP/s", "extra", "MiB"]
    assert first.split() == ["first", "1.00", "(1.00", "to", "1.00)", "6.0", "3.0"]
    assert second.split() == ["second", "1.25", "(1.00", "to", "1.50)", "6.0"]
    assert left_out.split() == ["slow", "-", "too", "slow"]


@pytest.fixture
def quick(monkeypatch, tmp_path):
    """The command, with one tiny case; gives its arguments."""
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.setattr(command, "cases_for", lambda device, quick: [TINY])
    monkeypatch.setattr(command, "tasks_for", lambda device, quick: [])
    path = tmp_path / "record.json"
    options = [
        "--quick",
        "--device",
        "cpu",
        "--threads",
        "2",
        "--seconds",
        "0.001",
        "--only",
        "fused",
    ]
    return path, [*options, "--out", str(path)]


def test_the_command_measures_with_the_threads_it_was_given_and_restores_them(quick, capsys):
    path, arguments = quick
    before = torch.get_num_threads()
    assert command.main(arguments) == 0
    assert json.loads(path.read_text())["machine"]["threads"] == 2
    assert torch.get_num_threads() == before
    assert f"Written: {path}" in capsys.readouterr().out


def test_threads_are_restored_after_a_bench_that_raises(quick, monkeypatch):
    before = torch.get_num_threads()
    monkeypatch.setattr(command, "measure", lambda *arguments: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        command.main(quick[1])
    assert torch.get_num_threads() == before


def test_wrong_numbers_are_said_last_and_in_the_exit_status(quick, monkeypatch, capsys):
    path, arguments = quick
    monkeypatch.setitem(CONTESTANTS, "fused", wrong_forward)
    assert command.main(arguments) == 1
    assert capsys.readouterr().err.endswith("NOT COMPARED, wrong numbers: fused\n")
    assert "fused" not in json.loads(path.read_text())["cases"][0]["rows"]


def test_where_nothing_can_be_written_nothing_is_measured(quick, tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(command, "measure", lambda *arguments: pytest.fail("measured"))
    target = tmp_path / "file" / "record.json"
    assert command.main([*quick[1][:-1], str(target)]) == 2
    assert capsys.readouterr().err.startswith(f"cannot write {target}.")


# ---- records ---------------------------------------------------------------------------


def test_a_record_keeps_five_digits_of_every_number(tmp_path):
    random = np.random.default_rng(0)
    numbers = [float(n) for n in random.normal(size=50) * 10.0 ** random.integers(-12, 12, 50)]
    record = RECORD | {"list": numbers, "pair": (numbers[0],), "deep": {"a": {"b": numbers[1]}}}
    bench.save_record(record | {"whole": 123_456_789, "name": "n"}, tmp_path / "a.json")
    (found,) = bench.load_records(tmp_path)
    came = [*found["list"], *found["pair"], found["deep"]["a"]["b"]]
    np.testing.assert_allclose(came, [*numbers, *numbers[:2]], rtol=5e-5)
    assert len(json.dumps(came)) < 14 * len(came)  # and no more
    assert (found["whole"], found["name"]) == (123_456_789, "n")


BROKEN = {
    "cut off": (json.dumps(RECORD)[:200], "got JSONDecodeError: Unterminated string starting"),
    "empty": ("", "got JSONDecodeError: Expecting value: line 1 column 1 (char 0)"),
    "no text": (b"\xff\xfe\x00", "got UnicodeDecodeError: "),
    "a list": ("[1, 2]", "should hold JSON with [], got a list"),
    "no machine": ('{"cases": []}', "['machine', 'limits', 'cases'], got an object without "),
    "no hardware": (
        json.dumps(RECORD | {"machine": {"device": "cpu", "threads": 1, "versions": {}}}),
        "is no whole record: it has no ['machine.hardware', 'machine.date']",
    ),
    "no cases": (json.dumps(RECORD | {"cases": []}), "is no whole record: it has no ['cases']"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_record_is_named(name, tmp_path):
    content, text = BROKEN[name]
    bench.save_record(RECORD, tmp_path / "whole.json")
    path = tmp_path / "broken.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError) as said:  # noqa: PT011
        bench.load_records(tmp_path)
    assert str(said.value).startswith(str(path))
    assert text in str(said.value)


def test_a_record_of_your_own_stands_behind_those_that_chapters_speak_of(tmp_path, monkeypatch):
    shipped = [record for record in bench.load_records() if record["machine"]["device"] == "cpu"]
    monkeypatch.setattr(record_module, "FOLDER", tmp_path)
    own = RECORD | {"cases": RECORD["cases"] * 99, "everyday": [], "race": {}}
    bench.save_record(own, tmp_path / "mine.json")
    *others, mine, _on_a_gpu = bench.load_records()
    assert [record["machine"] for record in others] == [record["machine"] for record in shipped]
    assert len(mine["cases"]) == 99 * len(RECORD["cases"])


def test_other_tables_in_the_folder_are_left_alone(tmp_path):
    bench.save_record(RECORD, tmp_path / "whole.json")
    (tmp_path / "faults.json").write_text('{"faults": {}}')
    assert len(bench.load_records(tmp_path)) == 1
    with pytest.raises(ValueError, match=r"expected one case with \{'colour': 1\}, found 0"):
        bench.find_case(RECORD, colour=1)
