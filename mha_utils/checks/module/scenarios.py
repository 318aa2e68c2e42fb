"""The inputs on which multi-head attention is tried, and what has to come out: NumPy only."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from mha_utils.reference import heads as reference_heads

NAMES = ("q", "k", "v", "out")
WEIGHT_NAMES = tuple(f"{name}.weight" for name in NAMES)
BIAS_NAMES = tuple(f"{name}.bias" for name in NAMES)
MASK_SHAPES = {"all": "(T, S)", "padding": "(B, 1, 1, S)", "heads": "(B, H, T, S)"}
MASK_SHAPES |= {"empty": MASK_SHAPES["all"]}
Results = dict[str, np.ndarray]  # output, weights and gradients by name


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
    def hides(self) -> bool:
        return bool(self.mask) or self.is_causal

    @property
    def needs(self) -> set[str]:
        needed = {
            "context": self.key_len is not None,
            "causal": self.is_causal,
            "mask": bool(self.mask),
            "head masks": self.mask == "heads",
            "empty rows": self.mask == "empty",
            "strides": not self.contiguous,
        }
        return {name for name, is_needed in needed.items() if is_needed}

    def described(self) -> str:
        """What follows the name of an answer in a report."""
        width, (query_len, key_len) = self.embed_dim, self.lengths
        x = (self.batch_size, query_len, width)
        context = f", context {(self.batch_size, key_len, width)}" if self.key_len else ""
        mask = f", mask {MASK_SHAPES[self.mask]}" if self.mask else ""
        causal = ", is_causal=True" if self.is_causal else ""
        mode = "training" if self.training else "evaluation"
        sizes = f"embed_dim={width}, num_heads={self.num_heads}"
        return f"({sizes}) in {mode}, x {x}{context}{mask}{causal}"


@dataclass(frozen=True, eq=False)
class Drawn:
    """The arrays of a scenario; `mask` is without the causal part."""

    scenario: Scenario
    x: np.ndarray
    context: np.ndarray
    mask: np.ndarray | None
    parameters: dict[str, np.ndarray]
    grad_out: np.ndarray

    def joined_mask(self) -> np.ndarray | None:
        """The mask of the scenario and the causal one, the last query aligned with the last key."""
        if not self.scenario.is_causal:
            return self.mask
        query_len, key_len = self.scenario.lengths
        causal = np.tri(query_len, key_len, key_len - query_len, dtype=bool)
        return causal if self.mask is None else self.mask & causal

    def expected(self, biases: frozenset[str]) -> Results:
        """What is right, with these biases and no others."""
        inputs, mask = self._inputs(biases), self.joined_mask()
        grads = reference_heads.multi_head_gradients(*inputs, self.grad_out, mask)
        if self.scenario.key_len is None:
            grads["x"] = grads["x"] + grads.pop("context")
        out = reference_heads.multi_head_batched(*inputs, mask)
        return {"out": out, "weights": self.expected_weights(biases), **grads}

    def expected_weights(self, biases: frozenset[str] = frozenset()) -> np.ndarray:
        return reference_heads.multi_head_weights(*self._inputs(biases), self.joined_mask())

    def _inputs(self, biases: frozenset[str]) -> tuple:
        weights = [self.parameters[name] for name in WEIGHT_NAMES]
        added = [self.parameters[name] if name in biases else None for name in BIAS_NAMES]
        parameters = dict(zip(NAMES, zip(weights, added)))
        return self.x, self.context, parameters, self.scenario.num_heads


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
    return Drawn(scenario, x, context, draw_mask(scenario, random), parameters, grad_out)


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


KINDS: dict[str, Callable[[Scenario], bool]] = {
    "there is more than one head and more than one token": lambda s: (
        s.num_heads > 1 and s.query_len > 1
    ),
    "there is more than one head": lambda s: s.num_heads > 1,
    "there is more than one token": lambda s: max(s.lengths) > 1,
    "a mask is given": lambda s: bool(s.mask),
    "the mask is not the same for all sequences": lambda s: s.mask in ("padding", "heads"),
    "the mask is not the same for all heads": lambda s: s.mask == "heads",
    "a query may attend to nothing": lambda s: s.mask == "empty",
    "is_causal is on": lambda s: s.is_causal,
    "is_causal is on, in evaluation": lambda s: s.is_causal and not s.training,
    "a mask and is_causal meet": lambda s: bool(s.mask) and s.is_causal,
    "something is hidden": lambda s: s.hides,
    "keys come from other tokens than queries": lambda s: s.key_len is not None,
    "x is not contiguous": lambda s: not s.contiguous,
    "scores are large": lambda s: s.spread > 1,
    "it is in training": lambda s: s.training,
    "it is in evaluation": lambda s: not s.training,
}


def where_it_is_wrong(scenarios: list[Scenario], wrong: list[bool]) -> str:
    """The kind of input that all wrong cases are and no right one is, if there is one."""
    for text, belongs in KINDS.items():
        if any(wrong) and not all(wrong) and [belongs(s) for s in scenarios] == wrong:
            return f"It is wrong wherever {text}, and right everywhere else."
    if all(wrong):
        return "It is wrong in every case, and equals no bug of the museum."
    return f"It is wrong in {sum(wrong)} of {len(wrong)} cases, and equals no bug of the museum."
