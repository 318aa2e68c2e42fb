"""How long calls take, compared within one run: interleaved rounds, ratios, their spread."""

import random
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import torch

FEWEST = 5  # rounds: below that a median and quartiles say little
SHORTEST = 0.005  # seconds; quicker calls are repeated until a sample takes that long


@dataclass(frozen=True)
class Ratio:
    """The middle and the quartiles of ratios of times, round by round."""

    low: float
    median: float
    high: float


def time_call(function: Callable, device: str = "cpu", repeats: int = 1) -> float:
    """Seconds for one call of `function`, averaged over `repeats`.

    On a CPU with one thread the time the process was at work, so that other programs do not
    count; with more threads, whose work that would add up, by the clock on the wall; on a GPU the
    time between two events in its own queue.
    """
    if device == "cuda":
        return time_on_gpu(function, repeats)
    clock = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
    start = clock()
    for _ in range(repeats):
        function()
    return (clock() - start) / repeats


def time_on_gpu(function: Callable, repeats: int = 1) -> float:
    """The same between two events in the queue of the GPU."""
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    start.record()
    for _ in range(repeats):
        function()
    stop.record()
    torch.cuda.synchronize()
    return start.elapsed_time(stop) / 1000 / repeats


def time_in_turns(
    functions: dict[str, Callable], device: str = "cpu", *, seconds: float, rounds: int = 30
) -> dict[str, list[float]]:
    """Time the functions one after the other, in a new order each round.

    Args:
        functions: what to time, by name.
        device: "cpu" or "cuda".
        seconds: stop when about so much time is used, but not before five rounds.
        rounds: most rounds.

    Returns:
        seconds per call, a list for each name; entry r is from round r.
    """
    once = {name: _seconds_when_warm(function) for name, function in functions.items()}
    repeats = {name: max(1, round(SHORTEST / t)) for name, t in once.items()}
    one_round = sum(once[name] * repeats[name] for name in functions)
    rounds = min(rounds, max(FEWEST, int(seconds / one_round)))
    times = {name: [] for name in functions}
    shuffle = random.Random(0).shuffle
    for _ in range(rounds):
        order = list(functions)
        shuffle(order)
        for name in order:
            times[name].append(time_call(functions[name], device, repeats[name]))
    return times


def _seconds_when_warm(function: Callable) -> float:
    """A first call sets things up; it tells the time only if it is neither short nor compiling."""
    first = _seconds_of_one(function)
    return first if 0.2 < first < 5 else _seconds_of_one(function)


def _seconds_of_one(function: Callable) -> float:
    """By the clock on the wall, to choose how often to call."""
    start = time.perf_counter()
    function()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - start


def ratio_of(times: dict[str, list[float]], name: str, reference: str) -> Ratio:
    """Times of `name` divided by those of `reference`, round by round; below 1 is faster."""
    ratios = [mine / its for mine, its in zip(times[name], times[reference], strict=True)]
    if len(ratios) == 1:
        return Ratio(*ratios * 3)
    low, median, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return Ratio(low, median, high)


def row_of(times: dict[str, list[float]], name: str, reference: str) -> dict:
    """What a record keeps of the times of `name`."""
    return {
        "seconds": statistics.median(times[name]),
        "rounds": len(times[name]),
        "ratio": asdict(ratio_of(times, name, reference)),
    }
