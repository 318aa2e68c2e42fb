"""Three ways on several processes: equal to one process, and what they send."""

import inspect
import re
import subprocess
import sys

import nbformat
import psutil
import pytest
import torch
from teams import P, from_notebook, team

from mha_utils import MultiHeadAttention, Rotary
from mha_utils.core.costs import Workload
from mha_utils.distributed import (
    WAYS,
    LostProcessError,
    Team,
    add_up,
    bytes_sent,
    give_out,
    largest_difference,
    layer_bytes,
    notes_kept,
    on_one_process,
    run_way,
    to_neighbour,
    trade,
    whole,
)
from mha_utils.distributed import __main__ as command
from mha_utils.distributed.traffic import taken
from mha_utils.distributed.ways import Ring, attend_block, ring_out
from mha_utils.distributed.worker import LOOPBACK
from tools.notebooks import chapters

__all__ = ["team"]  # a fixture

LAYERS = {
    "as many heads as processes": {"embed_dim": 12, "num_heads": 3},
    "wide heads": {"embed_dim": 5, "num_heads": 6, "head_dim": 4},
    "shared keys and values": {"embed_dim": 24, "num_heads": 12, "num_kv_heads": 3},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", LAYERS)
def test_outputs_and_all_gradients_are_those_of_one_process(team, way, name):
    if way == "ring" and "num_kv_heads" in LAYERS[name]:
        pytest.skip("the ring shows heads with keys of their own")
    torch.manual_seed(3)
    layer = MultiHeadAttention(**LAYERS[name], dtype=torch.float64)
    x, grad_out = torch.randn(2, 2, 9, layer.q_proj.in_features, dtype=torch.float64)
    function, cut = WAYS[way]
    found = team.run(run_way, function, x, layer, grad_out, cut)
    expected = on_one_process(x, layer, grad_out)
    assert [f.shape for f in whole(found, cut)] == [e.shape for e in expected]
    assert largest_difference(whole(found, cut), expected) < 1e-12
    heads, sets = layer.num_heads, layer.k_proj.out_features // layer.head_dim
    sizes = (x.shape[-1], 1) if way == "heads" else (heads * layer.head_dim, heads)
    on_paper = layer_bytes(way, P, Workload(2, 9, *sizes, number_bytes=8), sets)
    notes = 4 * x.nbytes // x.shape[-1] * layer.k_proj.out_features  # two tensors, two gradients
    back = notes if way == "ring" else on_paper
    for part, number in {"forward": on_paper, "backward": back}.items():
        assert {bytes_sent(f[part], P) for f in found} == {number}


def cut_by_pytorch(x, layer, grad_out):
    """Output and gradients in one process, and how often they talk; heads are cut by PyTorch."""
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.debug import CommDebugMode
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        RowwiseParallel,
        parallelize_module,
    )

    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    plan = {name: ColwiseParallel() for name in ("q_proj", "k_proj", "v_proj")}
    parallelize_module(layer, mesh, plan | {"out_proj": RowwiseParallel()})
    x = x.clone().requires_grad_()
    with CommDebugMode() as talk:
        out = layer(x, is_causal=True)
    out.backward(grad_out)
    gradients = [x.grad, *(p.grad.full_tensor() for p in layer.parameters())]
    return [out.detach(), *gradients], talk.get_total_counts()


def test_what_pytorch_cuts_as_chapter_17_says_is_one_process_too(team):
    torch.manual_seed(3)
    layer = MultiHeadAttention(12, 3, dtype=torch.float64)
    x, grad_out = torch.randn(2, 2, 9, 12, dtype=torch.float64)
    cut = from_notebook(inspect.getsource(cut_by_pytorch), "cut_by_pytorch")
    for found, times in team.run(cut, x, layer, grad_out):
        assert largest_difference(found, on_one_process(x, layer, grad_out)) < 1e-12
        assert times == 1


def test_few_sets_of_keys_and_values_are_sent_where_their_heads_are():
    """Counted set by set: a process of a trade needs each set that one of its heads reads."""
    B, T, Dh, H, sets = 2, 96, 4, 24, 6
    work = Workload(B, T, H * Dh, H, number_bytes=2)
    for size in (2, 3, 6, 12, 24):
        heads_of = [range(r * H // size, (r + 1) * H // size) for r in range(size)]
        mine = [{h * sets // H for h in heads} for heads in heads_of]
        heads = sum(len(heads) for heads in heads_of[1:])
        read = sum(len(mine[r]) for r in range(1, size))
        one = B * (T // size) * Dh * 2
        assert layer_bytes("trading", size, work, sets) == 2 * one * (heads + read)
        assert layer_bytes("ring", size, work, sets) == (size - 1) * 2 * one * sets
        assert layer_bytes("heads", size, work, sets) == layer_bytes("heads", size, work)


def test_one_process_is_a_team_that_sends_nothing():
    torch.manual_seed(0)
    layer, alone = MultiHeadAttention(8, 2), Team(1)
    x, grad_out = torch.randn(2, 1, 4, 8)
    for function, cut in WAYS.values():
        found = alone.run(run_way, function, x, layer, grad_out, cut)
        expected = on_one_process(x, layer, grad_out)
        assert largest_difference(whole(found, cut), expected) < 1e-5
        assert bytes_sent(found[0]["forward"] + found[0]["backward"], 1) == 0
    alone.stop()


COLLECTIVES = """
def pairs(x):
    rank = dist.get_rank()
    results = []
    for function in (give_out, add_up, lambda x: trade(x, 0, 1)):
        mine = (x * (rank + 1)).requires_grad_()
        out = function(mine)
        out.backward(torch.full_like(out, 10.0**rank))
        results.append((out.detach(), mine.grad))
    return results, to_neighbour(x * (rank + 1))
"""


def test_each_collective_moves_numbers_there_and_gradients_back(team):
    tools = {"give_out": give_out, "add_up": add_up}
    tools |= {"to_neighbour": to_neighbour, "trade": trade}
    x = torch.arange(3.0).view(3, 1)
    found = team.run(from_notebook(COLLECTIVES, "pairs", **tools), x)
    for rank, ((shared, added, traded), passed) in enumerate(found):
        for (out, grad), (same, back) in zip(
            (shared, added), ((x * (rank + 1), 111), (x * 6, 10**rank))
        ):
            assert torch.equal(out, same)
            assert torch.equal(grad, torch.full_like(x, back))
        assert torch.equal(passed, x * ((rank - 1) % 3 + 1))
        assert traded[0].tolist() == [[rank * 1.0, rank * 2.0, rank * 3.0]]
        assert traded[1].flatten().tolist() == [1, 10, 100]


def test_what_is_counted_is_what_the_machine_sends(team):
    """The counters of the loopback device; other programs of this machine count there, too."""
    if not sys.platform.startswith("linux"):
        pytest.skip("Linux counts what its loopback sends")
    x = torch.zeros(3, 1_000_000)
    for function in (
        add_up,
        to_neighbour,
        from_notebook("def f(x): return trade(x, 0, 1)", "f", trade=trade),
    ):
        source = "def send(x):\n    taken()\n    f(x)\n    return taken()"

        before = psutil.net_io_counters(pernic=True)["lo"].bytes_sent
        calls = team.run(from_notebook(source, "send", f=function, taken=taken), x)
        sent = psutil.net_io_counters(pernic=True)["lo"].bytes_sent - before
        on_paper = sum(bytes_sent(c, P) for c in calls)
        assert on_paper == pytest.approx(sent, rel=0.1)


def test_the_ring_keeps_no_note_of_others_until_the_way_back(team):
    """Those who read notes would keep them, if autograd watched the way forward."""
    torch.manual_seed(0)
    layer, x = MultiHeadAttention(12, 3), torch.randn(1, 4, 12)
    saved = """
def saved(ring, x, layer):
    numbers = []
    hook = lambda t: (numbers.append(t.untyped_storage().nbytes()), t)[1]
    q, k, v = layer.project(x, x, x)
    with torch.autograd.graph.saved_tensors_hooks(hook, lambda t: t):
        ring(q, torch.stack((k, v)), block)
    return sum(numbers)
"""
    count_bytes = from_notebook(saved, "saved", block=attend_block)
    assert team.run(notes_kept, ring_out, x, layer) == [0, 1, 2]
    watched = team.run(count_bytes, ring_out, x, layer)
    assert watched[0] < watched[1] < watched[2]
    own = from_notebook("def own(*inputs): return Ring.apply(*inputs)", "own", Ring=Ring)
    assert team.run(notes_kept, own, x, layer) == [0, 0, 0]
    kept = team.run(count_bytes, own, x, layer)
    assert kept[0] == kept[1] == kept[2]


REFUSED = {
    "heads": ({"num_heads": 4}, 9, "heads", "3 processes cannot share 4 heads evenly"),
    "tokens": ({"num_heads": 4}, 8, "tokens", "3 processes cannot share 8 tokens evenly"),
    "cut": ({"num_heads": 4}, 9, "width", "cut must be 'heads' or 'tokens', got 'width'"),
    "positions": (
        {"num_heads": 6, "rotary": Rotary(2)},
        9,
        "tokens",
        "layer must have biases, no rotary positions and no dropout",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_shared_is_refused(team, name):
    options, tokens, cut, text = REFUSED[name]
    layer, x = MultiHeadAttention(12, **options), torch.randn(1, tokens, 12)
    with pytest.raises(LostProcessError) as caught:
        team.run(run_way, WAYS["ring"][0], x, layer, x, cut)
    message = rf"run_way: rank \d failed with ValueError: {re.escape(text)}"
    assert re.fullmatch(message, str(caught.value))


def without_gloo(text: str) -> list[str]:
    """The lines of a text but for those in which Gloo of torch 2.9 counts its connections."""
    lines = text.splitlines()
    if "[Gloo]" in text:  # two ranks may write into one line, and leave an empty one
        lines = [line for line in lines if line and not re.search("Gloo|peer ranks", line)]
    return lines


def test_the_smallest_program_of_chapter_17_sends_a_number(tmp_path):
    (chapter,) = (path for path in chapters() if path.stem.startswith("17"))
    texts = [cell.source for cell in nbformat.read(chapter, as_version=4).cells]
    (program,) = re.findall(r"```python\n([^`]*init_process_group[^`]*)```", "\n".join(texts))
    (tmp_path / "pair.py").write_text(program)
    words = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "pair.py"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert without_gloo(done.stdout) == ["process 1 has read 42.0"], done.stderr


@pytest.mark.parametrize("start", [[], ["torch.distributed.run", "--nproc-per-node", "2"]])
def test_the_command_compares_with_one_process(start):
    words = [sys.executable, "-m", *start, *(["-m"] if start else []), "mha_utils.distributed"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    lines = without_gloo(done.stdout)
    assert [line.split()[0] for line in lines] == [*WAYS]
    sizes = ["32,768 + 32,768"] * 2 + ["32,768 + 131,072"]
    if not start:
        sizes = ["196,608 + 196,608", "98,304 + 98,304", "196,608 + 524,288"]
    for line, size in zip(lines, sizes):
        assert re.fullmatch(rf"\w+ +off by \de-1\d; a process sends {re.escape(size)} bytes", line)


@pytest.mark.parametrize("wrong", [None, *WAYS])
def test_one_wrong_way_is_enough_to_fail(team, monkeypatch, capsys, wrong):
    def each(way, *call):
        found = team.run(run_way, way, *call)
        if wrong and way is WAYS[wrong][0]:
            found[0]["gradients"][0].mul_(1.001)
        return found

    worst, lines = command.compare(P, "cpu", each)
    assert (worst < 1e-12) == (wrong is None)
    assert re.findall(r"(\w+) +off by \de-0\d;", "\n".join(lines)) == [wrong] * bool(wrong)
    monkeypatch.delenv("RANK", raising=False)
    monkeypatch.setattr(command, "Team", lambda size: team)
    monkeypatch.setattr(team, "stop", lambda: None)
    monkeypatch.setattr(command, "compare", lambda *call: (worst, lines))
    assert command.main() == bool(wrong)
    assert capsys.readouterr().out.splitlines() == lines


@pytest.mark.parametrize("rank", [0, 1])
def test_of_processes_that_others_started_only_the_first_writes(monkeypatch, capsys, rank):
    monkeypatch.setenv("RANK", str(rank))
    monkeypatch.setattr(command, "join", lambda: "cpu")
    monkeypatch.setattr(command, "compare", lambda *call: (0.0, ["a line"]))
    for name, value in {
        "get_world_size": 2,
        "get_rank": rank,
        "destroy_process_group": None,
    }.items():
        monkeypatch.setattr(command.dist, name, lambda value=value: value)
    assert command.main() == 0
    assert capsys.readouterr().out == ("a line\n" if rank == 0 else "")


IN_A_WORKER = """
def seen():
    import os
    from mha_utils.distributed.collectives import all_reduce
    return os.environ.get("GLOO_SOCKET_IFNAME"), all_reduce(torch.arange(6.0).view(2, 3).T)
"""


def test_a_worker_stays_on_this_machine_and_adds_up_any_layout(team):
    for interface, total in team.run(from_notebook(IN_A_WORKER, "seen")):
        assert interface == LOOPBACK.get(sys.platform)
        assert torch.equal(total, P * torch.arange(6.0).view(2, 3).T)


def test_what_libraries_write_in_a_worker_goes_nowhere():
    program = "from mha_utils.distributed.worker import silence; silence(); import os; "
    program += "os.write(1, b'out'); os.write(2, b'err')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
