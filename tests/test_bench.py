"""The benchmark measures what it says, refuses to compare unlike things, and records where."""

import json
import os
import subprocess
import sys
import time
import types
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch.utils.flop_counter import FlopCounterMode

from mha_utils.bench import (
    Case,
    cases_for,
    find_case,
    kept_bytes,
    load_records,
    measure,
    measure_case,
    new_pages,
    peak_bytes,
    peak_of_each,
    race,
    ratio_of,
    save_record,
    time_in_turns,
)
from mha_utils.bench import __main__ as command
from mha_utils.bench.cases import LARGEST, SHAPES, SMALL, call_of
from mha_utils.bench.contestants import CONTESTANTS, LeftOut, allowed
from mha_utils.bench.limits import (
    PARTS,
    copy_rate,
    matmul_rate,
    parts_call,
)
from mha_utils.bench.peers import PEERS, require_package
from mha_utils.bench.run import WITHOUT_MAPS, build_layers, relative_error, useful_flops
from mha_utils.bench.tasks import Task
from mha_utils.core.costs import attention_flops, projection_flops
from mha_utils.core.modules import MultiHeadAttention

TINY = Case((2, 7, 12, 3))
EAGER = [name for name in CONTESTANTS | PEERS if not name.endswith("compiled")]


def test_ratios_are_taken_round_by_round():
    times = {"a": [2.0, 6.0, 40.0, 1.0, 5.0], "b": [1.0, 2.0, 10.0, 1.0, 1.0]}
    ratio = ratio_of(times, "a", "b")  # 2, 3, 4, 1, 5
    assert (ratio.low, ratio.median, ratio.high) == (2, 3, 4)


def test_twice_the_work_takes_longer():
    def work():
        sum(range(40_000))

    def twice():
        work(), work()

    times = time_in_turns({"once": work, "twice": twice}, seconds=60, rounds=7)
    assert {len(rounds) for rounds in times.values()} == {7}
    assert 1.4 < ratio_of(times, "twice", "once").median < 2.9


def test_waiting_is_not_work():
    times = time_in_turns({"sleep": lambda: time.sleep(0.02)}, seconds=0.01)
    assert len(times["sleep"]) == 5  # never fewer
    assert max(times["sleep"]) < 0.01


def test_peak_bytes_counts_what_lives_at_once():
    def one_after_the_other():
        torch.empty(50_000)
        torch.empty(20_000)

    def together():
        return torch.empty(50_000), torch.empty(20_000)

    assert peak_bytes(one_after_the_other) == 200_000
    assert peak_bytes(together) == 280_000


def test_peak_bytes_sees_inside_a_kernel(capfd):
    rows = torch.randn(100, 1000).T  # softmax makes its own copy of a turned tensor
    assert peak_bytes(lambda: rows.softmax(dim=-1)) >= 400_000
    assert "profiler" not in capfd.readouterr().err
    os.write(2, b"afterwards errors are seen again")
    assert capfd.readouterr().err == "afterwards errors are seen again"


def test_the_peak_of_each_goes_on_after_an_error(capsys):
    calls = {"a": lambda: torch.ones(256), "b": lambda: 1 / 0, "c": lambda: torch.ones(512)}
    assert peak_of_each(calls) == {"a": 1024, "c": 2048}
    assert capsys.readouterr().out == "b is not measured. ZeroDivisionError: division by zero\n"


def test_kept_bytes_are_what_autograd_keeps_each_memory_once():
    a, b = torch.ones(2, 10, requires_grad=True), torch.ones(2, 10, requires_grad=True)
    assert kept_bytes(lambda: a + b) == 0  # a sum needs neither of them for the way back
    assert kept_bytes(lambda: a * b) == 160
    assert kept_bytes(lambda: a[0] * a[1] * b[0]) == 200  # all of a, once; b; the first product


def test_new_pages_are_what_the_system_counts_in_between(monkeypatch):
    counted = iter([100, 107])
    usage = types.SimpleNamespace(RUSAGE_SELF=0)
    usage.getrusage = lambda who: types.SimpleNamespace(ru_minflt=next(counted))
    monkeypatch.setitem(sys.modules, "resource", usage)
    called = []
    assert new_pages(lambda: called.append(1)) == 7
    assert called == [1]


def test_a_system_that_counts_no_pages_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "resource", None)  # as on Windows
    assert new_pages(lambda: None) is None


@pytest.mark.parametrize("is_training", [False, True])
@pytest.mark.parametrize("is_causal", [False, True])
def test_all_contestants_compute_the_same_layer(is_causal, is_training):
    case = replace(TINY, is_causal=is_causal, is_training=is_training)
    module = case.draw_module()
    layers, left_out = build_layers(case, module, EAGER)
    assert set(layers) | set(left_out) == set(EAGER)
    may_be_missing = {"NumPy", "fused, boolean mask", "x-transformers", "transformers, GPT-2"}
    assert set(left_out) <= may_be_missing
    for layer in layers.values():
        assert relative_error(layer, case, module) < 1e-6


def test_a_step_of_training_gives_every_parameter_a_fresh_gradient():
    case = replace(TINY, is_training=True)
    layer = CONTESTANTS["explicit"](case, case.draw_module())
    step = call_of(layer, case)
    step()
    first = [p.grad.clone() for p in layer.parameters()]
    step()
    assert all(torch.equal(p.grad, g) for p, g in zip(layer.parameters(), first))
    assert not call_of(layer, TINY)().requires_grad


@pytest.mark.parametrize("is_training", [False, True])
def test_comparing_leaves_the_mode_as_the_case_wants_it(is_training):
    """In training mode nn.MultiheadAttention takes another way through its code."""
    case = replace(TINY, is_training=is_training)
    layer = PEERS["nn.MultiheadAttention"](case, case.draw_module())
    relative_error(layer, case, case.draw_module())
    assert {part.training for part in layer.modules()} == {is_training}


def test_a_case_measured():
    row = measure_case(TINY, ["explicit", "fused", "FlexAttention, compiled"], seconds=0.01)
    assert set(row["rows"]) == {"explicit", "fused", PARTS}
    assert row["rows"][PARTS]["ratio"] == {"low": 1, "median": 1, "high": 1}
    assert row["left_out"] == {
        "FlexAttention, compiled": "compiled rows are measured for some shapes only"
    }
    for name in ("explicit", "fused"):
        assert row["rows"][name]["error"] < 1e-6
        assert row["rows"][name]["peak_bytes"] > 0
    training = measure_case(replace(TINY, is_training=True), ["fused"], seconds=0.01)
    assert training["flops"] == 3 * row["flops"] == useful_flops(replace(TINY, is_training=True))
    assert "peak_bytes" not in training["rows"]["fused"]


@pytest.mark.parametrize("is_training", [False, True])
def test_the_parts_are_the_products_and_the_kernel(is_training):
    case = replace(TINY, is_training=is_training)
    with FlopCounterMode(display=False) as counter:
        parts_call(case, case.draw_module())()
    products, kernel = projection_flops(case.work), attention_flops(case.work)
    counted = counter.get_total_flops()
    if is_training:
        assert counted >= 3 * products
    else:
        assert counted in (products, products + kernel)  # since 2.15 it knows the CPU's kernel


def test_all_runners_of_the_race_compute_the_same_attention():
    """Causal, but for the two that take all tiles."""
    torch.manual_seed(0)
    q, k, v = torch.randn(3, 1, 2, 70, 8, dtype=torch.float64)
    expected = {c: F.scaled_dot_product_attention(q, k, v, is_causal=c) for c in (True, False)}
    for name, call in race.runners(q, k, v, block=32).items():
        torch.testing.assert_close(call(), expected["all" not in name])


def test_the_layers_of_the_race_follow_the_causal_rule():
    x = torch.randn(1, 6, race.WIDTH)
    later = torch.cat([x[:, :3], torch.randn(1, 3, race.WIDTH)], dim=1)
    torch.manual_seed(0)
    layers = race.layers(x)
    torch.manual_seed(0)
    others = race.layers(later)
    with torch.no_grad():
        for name, call in layers.items():
            torch.testing.assert_close(call()[:, :3], others[name]()[:, :3], msg=name)
        a, b, _ = (call() for call in layers.values())
    torch.testing.assert_close(a, b)


def test_a_race_is_measured():
    found = race.measure_race(quick=True, seconds=0.01)
    assert found["shape"] == [1, 12, 128, 64]
    a_map, rows = 4 * 12 * 128**2, set(found["seconds"])
    assert len(rows) == 6
    assert rows == set(found["new_pages"]) == set(found["peak_bytes"])
    assert min(found["seconds"].values()) > 0
    assert found["peak_bytes"]["new maps"] > 2 * a_map
    assert found["peak_bytes"]["kept maps"] < 0.6 * a_map
    assert list(found["layers"]) == [
        "is_causal=True",
        "a boolean mask",
        "nn.MultiheadAttention",
        "nn.MultiheadAttention, no fast path",
    ]
    assert found["layers"]["is_causal=True"] <= found["layers"]["a boolean mask"]
    assert torch.backends.mha.get_fastpath_enabled()


def test_who_has_no_dropout_is_left_out_where_there_is_some():
    case = replace(TINY, is_training=True, dropout=0.5)
    for name in ("loop over heads", "stacked heads"):
        with pytest.raises(LeftOut, match="has no dropout"):
            CONTESTANTS[name](case, case.draw_module())


def test_the_mask_is_made_where_the_case_is():
    assert allowed(replace(TINY, device="meta")).device.type == "meta"


def test_rates_are_rates():
    assert matmul_rate("float32", size=64) > 1e6
    assert copy_rate(megabytes=1) > 1e6


def test_packages_that_are_missing_are_left_out():
    with pytest.raises(LeftOut, match="no_such_package is not installed"):
        require_package("no_such_package.inner")


def test_at_the_largest_size_only_the_fused_module_is_measured():
    case = next(case for case in cases_for("cpu") if case.shape == LARGEST)
    others = CONTESTANTS.keys() - {"fused"}
    layers, left_out = build_layers(case, MultiHeadAttention(8, 2), others)
    assert layers == {}
    assert left_out == dict.fromkeys(others, "measured at smaller sizes only")


def test_tables():
    cpu, gpu = cases_for("cpu"), cases_for("cuda")
    assert {case.shape for case in cpu} >= {SMALL, *SHAPES, LARGEST}
    assert {case.dtype for case in cpu} == {"float32", "bfloat16"}
    assert {case.dtype for case in gpu} == {"float32", "bfloat16", "float16"}
    assert any(case.shape[2] // case.shape[3] == 128 and case.is_causal for case in gpu)
    assert len(set(cpu)) == len(cpu)
    assert {(c.is_causal, c.is_training) for c in cpu} == {(a, b) for a in (0, 1) for b in (0, 1)}
    assert any(case.dropout for case in cpu)
    assert len(cases_for("cpu", quick=True)) == 3


def test_too_large_maps_are_left_out(monkeypatch):
    monkeypatch.setattr("mha_utils.bench.run._free_bytes", lambda device: 1e4)
    layers, left_out = build_layers(Case((2, 64, 12, 3)), Case((2, 64, 12, 3)).draw_module(), EAGER)
    assert {"fused", "fused, boolean mask"} <= set(layers) <= set(WITHOUT_MAPS)
    assert all(
        "maps need" in left_out[name] for name in set(CONTESTANTS) & set(left_out) - {"NumPy"}
    )
    assert left_out["explicit"] == "its attention maps need about 0 GiB"


def test_a_record_says_where_and_when(tmp_path):
    record = measure([TINY], ["fused"], seconds=0.01)
    save_record(record, tmp_path / "here" / "a.json")
    (loaded,) = load_records(tmp_path / "here")
    machine = loaded["machine"]
    assert machine["versions"]["torch"].split("+")[0] == torch.__version__.split("+")[0]
    assert machine["hardware"]
    assert time.strptime(machine["date"], "%Y-%m-%d")
    assert machine["threads"] == torch.get_num_threads()
    found = find_case(loaded, shape=TINY.shape, is_training=False)
    assert found["label"] == TINY.label
    with pytest.raises(ValueError, match=r"expected one case with .*'dtype': 'int8'.*, found 0"):
        find_case(loaded, dtype="int8")
    with pytest.raises(ValueError, match=r"no records of `python -m mha_utils.bench` in"):
        load_records(tmp_path)


def stopped_after(first, number: int):
    """The first thing again and again, and Ctrl-C in the place of the next."""
    yield from [first] * number
    raise KeyboardInterrupt


def test_ctrl_c_keeps_what_was_measured():
    small = Task("evaluation", (1, 8, 8, 2))
    record = measure(stopped_after(TINY, 2), ["fused"], 0.01, stopped_after(small, 1))
    assert [len(record[part]) for part in ("cases", "everyday")] == [2, 1]
    with pytest.raises(KeyboardInterrupt):
        measure(stopped_after(TINY, 0), ["fused"], 0.01)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--threads", "0"], "must be above 0"),
        (["--seconds", "0"], "must be above 0"),
        (["--only", "fast"], "invalid choice: 'fast'"),
    ],
)
def test_wrong_arguments_end_with_one_clear_line(arguments, message, capsys):
    with pytest.raises(SystemExit):
        command.read_arguments(["--device", "cpu", *arguments])
    assert message in capsys.readouterr().err


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_missing_gpu_is_named(capsys):
    with pytest.raises(SystemExit):
        command.read_arguments(["--device", "cuda"])
    assert "this machine has no GPU that torch can use" in capsys.readouterr().err


def test_command(tmp_path):
    out = tmp_path / "quick.json"
    options = ["--quick", "--seconds", "0.01", "--device", "cpu", "--out", out]
    names = ["--only", "fused", "explicit", "FlexAttention, compiled"]
    program = [sys.executable, "-m", "mha_utils.bench", *options, *names]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    record = json.loads(out.read_text())
    assert record["cases"][0]["shape"] == list(SMALL)
    assert record["machine"]["threads"] == 1
    assert "ratio to parts" in done.stdout
    assert f"Written: {out}" in done.stdout
    assert str(SMALL) in done.stderr  # progress
