"""What one layer of self-attention costs, counted on paper: FLOPs and bytes.

N below is the size of one (B, T, D) tensor, M that of all attention maps (B, H, T, T). Every
step is taken to read its inputs once and to write its result once. `tests/test_costs.py` holds
the FLOPs to PyTorch's own counter and the memory to its profiler.
"""

from dataclasses import dataclass

from mha_utils.core.guards import require_divisible, require_groups, require_sizes

IMPLEMENTATIONS = ("loop over heads", "explicit", "fused")


@dataclass(frozen=True)
class Workload:
    """One forward pass: B sequences of T tokens, vectors of width D, H heads.

    Raises:
        ValueError: if a size is not an integer of at least 1, or H does not divide D.
    """

    batch_size: int
    seq_len: int
    embed_dim: int
    num_heads: int
    is_causal: bool = False
    number_bytes: int = 4  # of one number: 4 in float32, 2 in bfloat16 and float16

    def __post_init__(self):
        require_sizes(batch_size=self.batch_size, seq_len=self.seq_len)
        require_sizes(number_bytes=self.number_bytes)
        require_divisible(self.embed_dim, self.num_heads)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """(B, T, D, H)."""
        return self.batch_size, self.seq_len, self.embed_dim, self.num_heads

    @property
    def numbers(self) -> int:
        """N: numbers in one (B, T, D) tensor."""
        return self.batch_size * self.seq_len * self.embed_dim

    @property
    def map_numbers(self) -> int:
        """M: numbers in the maps (B, H, T, T)."""
        return self.batch_size * self.num_heads * self.seq_len**2


@dataclass(frozen=True)
class Cost:
    """What an implementation needs for one forward pass."""

    flops: int  # a multiplication and an addition are two
    moved_bytes: int  # read and written
    map_bytes: int  # of attention maps that exist at once


def projection_flops(work: Workload, num_kv_heads: int | None = None) -> int:
    """FLOPs of the four projections q, k, v and out: 8 B T D², less with fewer heads of k and v.

    Raises:
        ValueError: if `num_kv_heads` is given and no number of heads that H heads can share.
    """
    kept = work.num_heads if num_kv_heads is None else num_kv_heads
    require_groups(work.num_heads, kept)
    return 4 * work.numbers * work.embed_dim * (work.num_heads + kept) // work.num_heads


def attention_flops(work: Workload, skips_future: bool = False) -> int:
    """FLOPs of scores and weighted averages, 4 B D for each pair (query, key).

    Args:
        work: the sizes.
        skips_future: count only pairs that a causal mask leaves, T (T + 1) / 2 of T².
    """
    pairs = work.seq_len * (work.seq_len + 1) // 2 if skips_future else work.seq_len**2
    return 4 * work.batch_size * work.embed_dim * pairs


def cost_of(implementation: str, work: Workload) -> Cost:
    """Count one forward pass without dropout.

    Args:
        implementation: "loop over heads" (chapter 03), "explicit" (`MultiHeadAttention`) or
            "fused" (`FusedMultiHeadAttention`).
        work: the sizes.

    Raises:
        ValueError: if the implementation is none of the three.
    """
    if implementation not in IMPLEMENTATIONS:
        known = ", ".join(IMPLEMENTATIONS)
        raise ValueError(f"implementation must be one of {known}, got {implementation!r}")
    is_fused = implementation == "fused"
    flops = projection_flops(work) + attention_flops(work, is_fused and work.is_causal)
    numbers = PASSES[implementation](work) + 4 * work.embed_dim**2
    maps = {"loop over heads": 1 / work.num_heads, "explicit": 1, "fused": 0}[implementation]
    size = work.number_bytes
    return Cost(flops, numbers * size, round(2 * maps * work.map_numbers) * size)


def _fused_passes(work: Workload) -> int:
    """q, k and v (1 in, 1 out each), attend (3 in, 1 out), out (1 in, 1 out)."""
    return 12 * work.numbers


def _explicit_passes(work: Workload) -> int:
    """The vectors, and the maps: out of the scores, through mask and softmax, into the average."""
    per_number = 6 + 2 + 2 + 2 + 2 + 2  # q k v, scaled q, into scores, v and heads, merge, out
    per_map = 6 if work.is_causal else 4
    return per_number * work.numbers + per_map * work.map_numbers


def _loop_passes(work: Workload) -> int:
    """Like explicit, but every head reads all of x three times."""
    return _explicit_passes(work) + 3 * (work.num_heads - 1) * work.numbers


PASSES = {
    "loop over heads": _loop_passes,
    "explicit": _explicit_passes,
    "fused": _fused_passes,
}
