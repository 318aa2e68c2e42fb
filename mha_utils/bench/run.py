"""Measure cases and everyday tasks: prove that all ways agree, time them in turns."""

import contextlib
import functools
import gc
from collections.abc import Callable, Iterable
from dataclasses import asdict

import psutil
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from mha_utils.bench.cases import LARGEST, Case, call_of
from mha_utils.bench.contestants import CONTESTANTS, LeftOut
from mha_utils.bench.limits import PARTS, copy_rate, matmul_rate, parts_call
from mha_utils.bench.memory import peak_bytes
from mha_utils.bench.peers import PEERS
from mha_utils.bench.record import describe_machine
from mha_utils.bench.tasks import TASKS, Task
from mha_utils.bench.timing import row_of, time_in_turns
from mha_utils.core.costs import attention_flops, projection_flops
from mha_utils.core.modules import MultiHeadAttention

# Relative norm of the difference from a float64 result that rounding alone explains.
TOLERANCE = {"float32": 1e-3, "bfloat16": 2e-2, "float16": 5e-3}
OF_TASKS = {"float32": 1e-3, "bfloat16": 3e-2, "float16": 1e-2}
WITHOUT_MAPS = (
    "fused",
    "fused, boolean mask",
    "x-transformers",
    "transformers, GPT-2",
    "FlexAttention, compiled",
)
WRONG = "computes something else"  # its time would mean nothing
NAMES = (*CONTESTANTS, *PEERS)


def measure(
    cases: Iterable[Case],
    names: Iterable[str] = NAMES,
    seconds: float = 5.0,
    tasks: Iterable[Task] = (),
) -> dict:
    """Measure every case and everyday task; the record that `save_record` writes.

    Ctrl-C ends the cases, or the tasks, early: the record holds what was measured before.
    """
    names = list(names)
    measured = until_interrupted(cases, lambda case: measure_case(case, names, seconds))
    if not measured:
        raise KeyboardInterrupt
    device = measured[0]["device"]
    dtypes = sorted({case["dtype"] for case in measured})
    rates = {dtype: matmul_rate(dtype, device) for dtype in dtypes}
    limits = {"matmul_flops_per_second": rates, "copied_bytes_per_second": copy_rate(device)}
    everyday = until_interrupted(tasks, lambda task: measure_task(task, seconds))
    record = {"machine": describe_machine(device), "limits": limits, "cases": measured}
    return record | {"everyday": everyday}


def until_interrupted(things: Iterable, measure_one: Callable) -> list[dict]:
    """The results for all things, or for those before Ctrl-C."""
    found = []
    with contextlib.suppress(KeyboardInterrupt):
        for thing in things:
            found.append(measure_one(thing))
    return found


def measure_case(case: Case, names: Iterable[str] = NAMES, seconds: float = 5.0) -> dict:
    """Times, ratios to the parts, memory and error of every contestant that can take part."""
    torch.compiler.reset()  # nothing compiled for another case
    module = case.draw_module()
    layers, left_out = build_layers(case, module, names)
    errors = {name: relative_error(layer, case, module) for name, layer in layers.items()}
    for name, why in disagreeing(case, layers, errors).items():
        layers.pop(name)
        left_out[name] = f"{WRONG}: {why}"
    calls = {name: call_of(layer, case) for name, layer in layers.items()}
    calls[PARTS] = parts_call(case, module)
    times = time_in_turns(calls, case.device, seconds=seconds)
    rows = {name: row_of(times, name, PARTS) for name in calls}
    for name, layer in layers.items():
        rows[name]["error"] = errors[name]
        if not case.is_training:
            x = case.draw_input()
            rows[name]["peak_bytes"] = peak_bytes(lambda run=layer, x=x: run(x), case.device)
    gc.collect()
    about = asdict(case) | {"label": case.label, "flops": useful_flops(case)}
    return about | {"rows": rows, "left_out": left_out}


@torch.no_grad()
def measure_task(task: Task, seconds: float = 5.0) -> dict:
    """Times, ratios to the parts, memory and error of every way that computes the same."""
    calls, expected = TASKS[task.kind](task), task.expected()
    errors = {n: _distance(call(), expected) for n, call in calls.items() if n != PARTS}
    wrong = {n: e for n, e in errors.items() if not e < OF_TASKS[task.dtype]}
    calls = {name: call for name, call in calls.items() if name not in wrong}
    times = time_in_turns(calls, task.device, seconds=seconds)
    rows = {name: row_of(times, name, PARTS) for name in calls}
    for name, call in calls.items():
        rows[name]["peak_bytes"] = peak_bytes(call, task.device)
        rows[name] |= {"error": errors[name]} if name in errors else {}
    left_out = {n: f"{WRONG}: off by {e:.2g}" for n, e in wrong.items()}
    return asdict(task) | {"label": task.label, "rows": rows, "left_out": left_out}


def build_layers(case: Case, module: MultiHeadAttention, names: Iterable[str]) -> tuple:
    """(layers by name, reasons of those left out by name)."""
    layers, left_out = {}, {}
    for name in names:
        try:
            _require_memory(case, name)
            layers[name] = (CONTESTANTS | PEERS)[name](case, module)
        except LeftOut as reason:
            left_out[name] = str(reason)
    return layers, left_out


def relative_error(layer: Callable, case: Case, module: MultiHeadAttention) -> float:
    """Relative norm of the difference from float64, without dropout: the larger of two.

    Of the output for the first and the last sequence; in training also of their x's gradient.
    """
    ends = sorted({0, case.shape[0] - 1})
    x = case.draw_input()
    wide = x.detach()[ends].double().requires_grad_(case.is_training)
    is_training = getattr(layer, "training", False)
    with torch.set_grad_enabled(case.is_training):
        if is_training:
            layer.eval()
        out, expected = layer(x), in_float64(module, wide, case.is_causal)
        if is_training:
            layer.train()
    errors = [_distance(out.detach()[ends], expected.detach())]
    if case.is_training:
        grad_out = torch.randn_like(out)
        (grad,) = torch.autograd.grad(out, x, grad_out)
        (right,) = torch.autograd.grad(expected, wide, grad_out[ends].double())
        errors.append(_distance(grad[ends], right))
    return float("nan") if any(e != e for e in errors) else max(errors)


def _distance(result: Tensor, expected: Tensor) -> float:
    return ((result.double().to(expected) - expected).norm() / expected.norm()).item()


def in_float64(module: MultiHeadAttention, x: Tensor, is_causal: bool) -> Tensor:
    """The layer's result in float64, with none of the series' attention code.

    One head of one sequence at a time: on a GPU, float64 has no kernel that makes no maps.
    """
    layers = (module.q_proj, module.k_proj, module.v_proj)
    wide = [F.linear(x.double(), layer.weight.double(), layer.bias.double()) for layer in layers]
    q, k, v = (tokens.unflatten(-1, (module.num_heads, -1)).transpose(1, 2) for tokens in wide)
    attend = functools.partial(F.scaled_dot_product_attention, is_causal=is_causal)
    heads = [
        checkpoint(attend, *(t[b : b + 1, h : h + 1] for t in (q, k, v)), use_reentrant=False)
        for b in range(len(q))
        for h in range(module.num_heads)
    ]
    merged = torch.cat(heads).view(*q.shape).transpose(1, 2).flatten(2)
    return F.linear(merged, module.out_proj.weight.double(), module.out_proj.bias.double())


def disagreeing(case: Case, layers: dict, errors: dict[str, float]) -> dict[str, str]:
    """The contestants that compute something else, and in what."""
    allowed, x = TOLERANCE[case.dtype], case.draw_input()
    off = {n: f"off by {e:.2g}, allowed {allowed:g}" for n, e in errors.items() if not e < allowed}
    dropping = layers.items() if case.dropout else ()
    return off | {n: "it drops nothing" for n, run in dropping if torch.equal(run(x), run(x))}


def useful_flops(case: Case) -> int:
    """FLOPs of the layer, half the pairs if causal, three times that with the backward pass."""
    forward = projection_flops(case.work) + attention_flops(case.work, case.is_causal)
    return forward * (3 if case.is_training else 1)


def _require_memory(case: Case, name: str) -> None:
    """Keep out what would not fit; and at the largest size everything but the fused module."""
    if case.shape == LARGEST and name != "fused":
        raise LeftOut("measured at smaller sizes only")
    maps = case.work.map_numbers * max(case.work.number_bytes, 4)
    needed = maps * (6 if case.is_training else 4)
    if name not in WITHOUT_MAPS and needed > _free_bytes(case.device):
        raise LeftOut(f"its attention maps need about {needed / 2**30:.0f} GiB")


def _free_bytes(device: str) -> float:
    if device == "cuda":
        return torch.cuda.mem_get_info()[0]
    return psutil.virtual_memory().available
