"""What travels between processes: noted while a layer runs, and on paper."""

from torch import Tensor

from mha_utils.core.costs import Workload

CALLS: list[tuple[str, int]] = []  # of this process, each with the bytes of its tensor


def count_bytes(name: str, tensor: Tensor) -> None:
    CALLS.append((name, tensor.nbytes))


def taken() -> list[tuple[str, int]]:
    """All calls since this was last asked."""
    calls = list(CALLS)
    CALLS.clear()
    return calls


def share_sent(name: str, size: int) -> float:
    """Which share of its tensor a process sends to others.

    In an all-to-all it keeps its own part. An all-reduce in which nobody sends more than needed
    takes two rounds, one that adds up parts and one that spreads the sums
    (Patarasuk and Yuan, 2009).
    """
    kept = (size - 1) / size
    return {"all-reduce": 2 * kept, "all-to-all": kept, "pass on": float(size > 1)}[name]


def bytes_sent(calls: list[tuple[str, int]], size: int) -> int:
    """The bytes that one of `size` processes sends to the others in these calls."""
    return round(sum(share_sent(name, size) * number for name, number in calls))


def layer_bytes(way: str, size: int, work: Workload, num_kv_heads: int | None = None) -> int:
    """What a process sends in one forward pass of a layer.

    Heads and trading send as much again backward. The ring sends notes once more, each with its
    gradient and as far as home: 4 times what a process has of x, P times.

    Args:
        way: "heads", "trading" or "ring".
        size: P.
        work: sizes of the whole layer.
        num_kv_heads: sets of keys and values, H where left out. Trading copies them where there
            are more processes than sets, so that each process has the set of its heads.
    """
    whole = work.numbers * work.number_bytes
    sets, of_one_set = num_kv_heads or work.num_heads, whole // work.num_heads
    copied = of_one_set * max(sets, min(size, work.num_heads))
    calls = {
        "heads": [("all-reduce", whole)],
        "trading": [("all-to-all", whole // size)] * 2 + [("all-to-all", copied // size)] * 2,
        "ring": [("pass on", 2 * sets * of_one_set // size)] * (size - 1),
    }
    return bytes_sent(calls[way], size)
