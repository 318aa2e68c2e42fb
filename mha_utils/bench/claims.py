"""What a machine has to confirm: claims about speed and memory, decided by a record.

`make bench` prints them for the machine that it ran on. What a GPU alone can say of numbers,
kernels and memory, `tests/test_on_gpu.py` asks where there is one.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from mha_utils.bench.limits import PARTS

Found = Iterable[tuple[str, float]]  # label of a case or task, ratio


@dataclass(frozen=True)
class Claim:
    """In every row that `ratios` finds in a record the ratio is at most `most`."""

    sentence: str
    most: float
    ratios: Callable[[dict], Found]
    device: str = ""  # "cuda": a GPU alone can say


def compared(part: str, mine: str, other: str, key: str = "seconds", **values) -> Callable:
    """The rows of `mine` divided by those of `other`; `part` is "cases" or "everyday"."""

    def ratios(record: dict) -> Found:
        for case in record.get(part, ()):
            rows = case["rows"]
            if all(case[k] == v for k, v in values.items()) and {mine, other} <= set(rows):
                if key == "seconds" and other == PARTS:
                    yield case["label"], rows[mine]["ratio"]["median"]
                elif key in rows[mine] and key in rows[other]:
                    yield case["label"], rows[mine][key] / rows[other][key]

    return ratios


def unused_rate(record: dict) -> Found:
    """Matmul rate by rate of the fused layer, where texts are long and numbers short."""
    for case in record["cases"]:
        is_long = case["dtype"] == "bfloat16" and case["shape"][1] >= 2048
        if is_long and "fused" in case["rows"]:
            rate = case["flops"] / case["rows"]["fused"]["seconds"]
            yield case["label"], record["limits"]["matmul_flops_per_second"]["bfloat16"] / rate


def memory(record: dict) -> Found:
    """Only where the maps are large."""
    found = compared("everyday", "fused", "explicit", "peak_bytes", kind="evaluation")(record)
    return [(label, ratio) for label, ratio in found if "4096" in label]


FORWARD = {"is_training": False, "dropout": 0.0}
CLAIMS = (
    Claim(
        "float32: the fused layer takes at most 1.05 times its parts",
        1.05,
        compared("cases", "fused", PARTS, dtype="float32", **FORWARD),
    ),
    Claim(
        "bfloat16: the fused layer takes at most 1.05 times its parts",
        1.05,
        compared("cases", "fused", PARTS, dtype="bfloat16", **FORWARD),
    ),
    Claim(
        "causal + padding takes at most 1.15 times one kernel call with the joined mask",
        1.15,
        compared("everyday", "fused", PARTS, kind="causal + padding"),
    ),
    Claim(
        "shared heads take at most 1.05 times heads that are repeated by hand",
        1.05,
        compared("everyday", "fused", "keys repeated by hand"),
    ),
    Claim(
        "a token with a cache takes at most 1.10 times its parts",
        1.10,
        compared("everyday", "fused", PARTS, kind="decoding"),
    ),
    Claim(
        "a token with a cache is at least 5 times faster than with a context",
        0.2,
        compared("everyday", "fused", "no cache, context"),
    ),
    Claim(
        "the fused layer is not behind nn.MultiheadAttention with its fast path",
        1.0,
        compared("everyday", "fused", "nn.MultiheadAttention"),
    ),
    Claim(
        "nor without it", 1.0, compared("everyday", "fused", "nn.MultiheadAttention, no fast path")
    ),
    Claim("4096 tokens need at most 1/25 of the memory of the explicit layer", 1 / 25, memory),
    Claim(
        "causal without a mask takes a flash kernel: it beats the same mask",
        0.95,
        compared("cases", "fused", "fused, boolean mask", is_training=False),
        "cuda",
    ),
    Claim("long texts in bfloat16 reach half the rate of a product", 2.0, unused_rate, "cuda"),
)


def decided(claim: Claim, record: dict) -> str:
    """The claim with ✓, ✗ and the row that is furthest off, or ? where no row can say."""
    is_asked = claim.device in ("", record["machine"]["device"])
    found = list(claim.ratios(record)) if is_asked else []
    if not found:
        return f"? {claim.sentence}"
    label, worst = max(found, key=lambda row: row[1])
    if worst <= claim.most:
        return f"✓ {claim.sentence}: at most {worst:.2f}"
    return f"✗ {claim.sentence}: {worst:.2f} in {label}"


def print_claims(record: dict) -> None:
    """Every claim, decided by this record."""
    print("\nClaims:", *(decided(claim, record) for claim in CLAIMS), sep="\n  ")
