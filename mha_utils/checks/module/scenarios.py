"""The inputs on which multi-head attention is tried, and what has to come out: NumPy only."""

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from mha_utils.reference import heads as reference_heads

NAMES = ("q", "k", "v", "out")
WEIGHT_NAMES = tuple(f"{name}.weight" for name in NAMES)
BIAS_NAMES = tuple(f"{name}.bias" for name in NAMES)


@dataclass(frozen=True)
class Scenario:
    """Sizes, kind of mask and mode of one try.

    `key_len` is None in self-attention. `mask` is one of "", "all", "padding", "heads", "empty".
    `needs` names what a module must be able to do to be tried.
    """

    batch_size: int
    query_len: int
    num_heads: int
    head_dim: int
    key_len: int | None = None
    mask: str = ""
    is_causal: bool = False
    training: bool = False
    contiguous: bool = True
    with_gradient: bool = True
    spread: float = 1.0

    @property
    def embed_dim(self) -> int:
        return self.num_heads * self.head_dim

    @property
    def lengths(self) -> tuple[int, int]:
        return self.query_len, self.key_len or self.query_len

    @property
    def needs(self) -> set[str]:
        wanted = {
            "context": self.key_len is not None,
            "causal": self.is_causal,
            "mask": bool(self.mask),
            "empty rows": self.mask == "empty",
        }
        return {name for name, is_wanted in wanted.items() if is_wanted}


@dataclass(frozen=True, eq=False)  # so that results can be remembered for each
class Drawn:
    """The arrays of a scenario; `mask` is the given one, without the causal part."""

    scenario: Scenario
    x: np.ndarray
    context: np.ndarray
    mask: np.ndarray | None
    parameters: dict[str, np.ndarray]
    grad_out: np.ndarray
    seed: int = 0

    def joined_mask(self) -> np.ndarray | None:
        """The given mask and the causal one, the last query aligned with the last key."""
        if not self.scenario.is_causal:
            return self.mask
        query_len, key_len = self.scenario.lengths
        causal = np.tri(query_len, key_len, key_len - query_len, dtype=bool)
        return causal if self.mask is None else self.mask & causal

    @functools.cache  # noqa: B019  (cases are drawn once, see `draw`)
    def expected(self, biases: frozenset[str]) -> dict[str, np.ndarray]:
        """Output, weights and gradients by name, with these biases and no others."""
        given = self.parameters
        parameters = {
            n: (given[f"{n}.weight"], given[f"{n}.bias"] if f"{n}.bias" in biases else None)
            for n in NAMES
        }
        inputs = (self.x, self.context, parameters, self.scenario.num_heads)
        mask = self.joined_mask()
        grads = reference_heads.multi_head_gradients(*inputs, self.grad_out, mask)
        if self.scenario.key_len is None:
            grads["x"] = grads["x"] + grads.pop("context")
        return {
            "out": reference_heads.multi_head_batched(*inputs, mask),
            "weights": reference_heads.multi_head_weights(*inputs, mask),
            **grads,
        }


SELF = (  # smallest first
    Scenario(2, 1, 1, 2),
    Scenario(2, 3, 1, 2),
    Scenario(2, 1, 2, 2, training=True),
    Scenario(2, 2, 2, 2),
    Scenario(2, 3, 2, 2, training=True),
    Scenario(3, 5, 4, 1),
    Scenario(2, 7, 4, 3, training=True),
)
SMALL, LARGER = SELF[3], Scenario(3, 5, 4, 2)
SCENARIOS = (
    *SELF,
    *(replace(s, is_causal=True, training=t) for s in (SMALL, LARGER) for t in (False, True)),
    *(replace(s, mask="all") for s in (SMALL, LARGER)),
    *(replace(s, mask="padding") for s in (SMALL, LARGER)),
    *(replace(s, mask="padding", is_causal=True) for s in (SMALL, LARGER)),
    *(replace(s, mask="heads", training=True) for s in (SMALL, LARGER)),
    *(replace(s, key_len=4) for s in (SMALL, LARGER)),
    Scenario(2, 1, 2, 2, key_len=5, mask="padding"),
    Scenario(2, 2, 2, 2, key_len=4, is_causal=True),
    Scenario(2, 1, 2, 2, key_len=3, is_causal=True),
    replace(LARGER, contiguous=False),
    replace(LARGER, with_gradient=False),
    *(replace(LARGER, spread=12.0, is_causal=c, with_gradient=False) for c in (False, True)),
    *(replace(s, mask="empty") for s in (SMALL, LARGER)),
)


@functools.cache
def draw(scenario: Scenario, seed: int) -> Drawn:
    """Fresh numbers for a scenario."""
    random = np.random.default_rng([seed, *map(int, scenario.lengths), scenario.num_heads])
    width, (query_len, key_len) = scenario.embed_dim, scenario.lengths

    def normal(*shape, spread=1.0):
        return (spread * random.normal(size=shape)).astype(np.float32)

    x = normal(scenario.batch_size, query_len, width, spread=scenario.spread)
    context = x if scenario.key_len is None else normal(scenario.batch_size, key_len, width)
    parameters = {n: normal(width, width, spread=1.5 * width**-0.5) for n in WEIGHT_NAMES}
    parameters |= {n: normal(width, spread=0.5) for n in BIAS_NAMES}
    grad_out = normal(scenario.batch_size, query_len, width)
    return Drawn(scenario, x, context, draw_mask(scenario, random), parameters, grad_out, seed)


def draw_mask(scenario: Scenario, random) -> np.ndarray | None:
    """True = may attend: (T, S), or four dimensions that broadcast to (B, H, T, S)."""
    query_len, key_len = scenario.lengths
    if not scenario.mask:
        return None
    if scenario.mask == "padding":
        lengths = np.maximum(key_len - np.arange(scenario.batch_size)[::-1], 1)
        return (np.arange(key_len) < lengths[:, None])[:, None, None, :]
    has_heads = scenario.mask == "heads"
    shape = (scenario.batch_size, scenario.num_heads) if has_heads else ()
    mask = random.random((*shape, query_len, key_len)) < 0.6
    mask[..., np.arange(query_len), np.arange(query_len)] = True
    mask[..., 0, -1] = False  # something is hidden, and not the same for all queries
    if scenario.mask == "empty":
        mask[0] = False
    return mask


def for_sizes(embed_dim: int, num_heads: int) -> Iterator[Scenario]:
    """The scenarios with the sizes of a module that is there already."""
    for scenario in SCENARIOS:
        yield replace(scenario, num_heads=num_heads, head_dim=embed_dim // num_heads)
