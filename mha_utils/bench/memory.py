"""Peak memory of a call, what autograd keeps of it, and pages that are new to it."""

import gc
import os
from collections.abc import Callable
from contextlib import contextmanager

import torch
from torch.profiler import ProfilerActivity, profile


def peak_bytes(function: Callable, device: str = "cpu") -> int:
    """Most bytes that PyTorch held for `function()` at one time, without gradients.

    Exact on a CPU, where the profiler reports every allocation; on a GPU from the allocator's
    own counter. Call the function once before, if its first call sets things up.
    """
    with torch.no_grad():
        return _peak_on_gpu(function) if device == "cuda" else _peak_on_cpu(function)


def peak_of_each(functions: dict[str, Callable], device: str = "cpu") -> dict[str, int]:
    """`peak_bytes` of each by its name; where one raises, the error is printed in its place."""
    peaks = {}
    for name, function in functions.items():
        try:
            peaks[name] = peak_bytes(function, device)
        except Exception as error:
            print(f"{name} is not measured. {type(error).__name__}: {error}")
    return peaks


def kept_bytes(function: Callable) -> int:
    """Bytes that autograd keeps of `function()` for the way back, each memory counted once."""
    sizes = {}

    def note(tensor: torch.Tensor) -> torch.Tensor:
        sizes[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor.detach()  # the tensor itself would keep its graph alive for ever

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        _out = function()  # while it lives, so does what is kept
    return sum(sizes.values())


def new_pages(function: Callable) -> int | None:
    """Pages of memory that the system had to find while `function()` ran: its minor page faults.

    None where Python has no `resource` module (Windows).
    """
    try:
        import resource
    except ImportError:
        return None
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    function()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def _peak_on_gpu(function: Callable) -> int:
    gc.collect()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    function()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


def _peak_on_cpu(function: Callable) -> int:
    with _silent_stderr(), profile(activities=[ProfilerActivity.CPU], profile_memory=True) as run:
        function()
    events = run.profiler.kineto_results.events()
    changes = sorted((e.start_ns(), e.nbytes()) for e in events if e.name() == "[memory]")
    held = peak = 0
    for _, change in changes:
        held += change
        peak = max(peak, held)
    return peak


@contextmanager
def _silent_stderr():
    """The profiler writes two lines to the process's standard error on every start."""
    saved, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(nowhere)
