"""The whole module as one picture: every tensor a box with its shape and its numbers."""

import functools

import numpy as np
import torch
import torch.nn.functional as F
import traitlets
from PIL import Image
from torch import Tensor

from mha_utils import theme
from mha_utils.core.contracts import require_divisible, require_probability, require_sizes
from mha_utils.core.steps import (
    attention_scores,
    attention_weights,
    causal_mask,
    merge_heads,
    split_heads,
)
from mha_utils.widgets.kit.base import LiveView, refuses, shows_problems
from mha_utils.widgets.kit.still import Box, boxes_picture

BATCH, LENGTH, DIMS, MOST_DROPPED = 3, 12, (4, 6, 8, 12, 16, 24), 0.9
WIDTH = DIMS[-1]

# name: (letters of the shape, what makes it, place in the picture as column and row)
TENSORS = {
    "x": ("B T D", "the tokens", (0, 1)),
    "q": ("B T D", "q_proj(x)", (1, 0)),
    "k": ("B T D", "k_proj(x)", (1, 1)),
    "v": ("B T D", "v_proj(x)", (1, 2)),
    "q by head": ("B H T Dh", "split, transpose", (2, 0)),
    "k by head": ("B H T Dh", "split, transpose", (2, 1)),
    "v by head": ("B H T Dh", "split, transpose", (2, 2)),
    "scores": ("B H T T", "q kᵀ / √Dh", (3, 1)),
    "masked": ("B H T T", "mask", (4, 1)),
    "weights": ("B H T T", "softmax", (4, 3)),
    "dropped": ("B H T T", "dropout", (3, 3)),
    "heads": ("B H T Dh", "dropped · v", (2, 3)),
    "merged": ("B T D", "transpose, concat", (1, 3)),
    "out": ("B T D", "out_proj(merged)", (0, 3)),
}
ARROWS = (
    ("x", "q"),
    ("x", "k"),
    ("x", "v"),
    ("q", "q by head"),
    ("k", "k by head"),
    ("v", "v by head"),
    ("q by head", "scores"),
    ("k by head", "scores"),
    ("scores", "masked"),
    ("masked", "weights"),
    ("weights", "dropped"),
    ("dropped", "heads"),
    ("v by head", "heads"),
    ("heads", "merged"),
    ("merged", "out"),
)
SHARES = ("weights", "dropped")
HIDDEN = (170, 170, 170)  # the colour of −∞
FACTS = {
    "x": "What the module gets.",
    "q by head": "The numbers of q, cut into H = {H} pieces of Dh = D / H = {Dh} columns.",
    "k by head": "The numbers of k, cut into H = {H} pieces of Dh = D / H = {Dh} columns.",
    "v by head": "The numbers of v, cut into H = {H} pieces of Dh = D / H = {Dh} columns.",
    "scores": "Each query meets each key in each head: H·T·T = {HTT} for a sequence.",
    "weights": "Each row of T = {T} shares sums to 1.",
    "dropped": "With p = 0 nothing is dropped.",
    "heads": "Each row is a sum of rows of v, each times its weight.",
    "merged": "The heads side by side again.",
    "out": "The shape of x again.",
} | {
    name: f"One product with {name}_proj.weight, (D, D) = ({{D}}, {{D}}), for all heads."
    for name in "qkv"
}


class Pipeline(LiveView):
    """Multi-head attention from x to out: live shapes, and the numbers of any tensor.

    Args:
        batch_size: B, 1 to 3.
        seq_len: T, 1 to 12.
        embed_dim: D, one of 4, 6, 8, 12, 16, 24.
        num_heads: H; must divide D.
        causal: whether a query may look only at itself and before.
        dropout: probability to drop a weight, 0 to 0.9.
        tensor: the name in `TENSORS` of the one whose numbers are shown at first.
        seed: of the input, the parameters and the dropout.

    Raises:
        ValueError: if a size is out of its range, H does not divide D, `dropout` is not a
            probability up to 0.9, or no tensor has that name.
    """

    script = "pipeline"

    batch_size = traitlets.Int(2).tag(sync=True)
    seq_len = traitlets.Int(4).tag(sync=True)
    embed_dim = traitlets.Int(12).tag(sync=True)
    num_heads = traitlets.Int(3).tag(sync=True)
    causal = traitlets.Bool(False).tag(sync=True)
    dropout = traitlets.Float(0.0).tag(sync=True)
    tensor = traitlets.Unicode("scores").tag(sync=True)
    sequence = traitlets.Int(0).tag(sync=True)
    head = traitlets.Int(0).tag(sync=True)
    row = traitlets.Int(0).tag(sync=True)
    column = traitlets.Int(0).tag(sync=True)
    inputs = traitlets.Bytes().tag(sync=True)  # (BATCH, LENGTH, WIDTH)
    matrices = traitlets.Bytes().tag(sync=True)  # (4, WIDTH, WIDTH) for q, k, v, out
    biases = traitlets.Bytes().tag(sync=True)  # (4, WIDTH)
    uniforms = traitlets.Bytes().tag(sync=True)  # (BATCH, WIDTH, LENGTH, LENGTH)

    def __init__(
        self,
        batch_size: int = 2,
        seq_len: int = 4,
        embed_dim: int = 12,
        num_heads: int = 3,
        *,
        causal: bool = False,
        dropout: float = 0.0,
        tensor: str = "scores",
        seed: int = 0,
    ):
        _require_drawable(batch_size, seq_len, embed_dim, num_heads)
        _require_choice(dropout, tensor)
        super().__init__(
            batch_size=batch_size,
            seq_len=seq_len,
            embed_dim=embed_dim,
            num_heads=num_heads,
            causal=causal,
            dropout=float(dropout),
            tensor=tensor,
            **_random_numbers(seed),
        )

    @traitlets.observe("embed_dim", "num_heads")
    @shows_problems
    def _keep_divisible(self, change):
        _require_drawable(self.batch_size, self.seq_len, self.embed_dim, self.num_heads)

    @refuses("batch_size", "seq_len")
    def _keep_drawable(self, name, size):
        sizes = {"batch_size": 1, "seq_len": 1, "embed_dim": DIMS[0], "num_heads": 1}
        _require_drawable(**sizes | {name: size})

    @refuses("dropout", "tensor")
    def _keep_choice(self, name, chosen):
        _require_choice(**{"dropout": 0.0, "tensor": "x"} | {name: chosen})

    @property
    def sizes(self) -> dict[str, int]:
        """The size that each letter has now."""
        head_dim = self.embed_dim // self.num_heads
        sizes = {"B": self.batch_size, "T": self.seq_len, "D": self.embed_dim}
        return sizes | {"H": self.num_heads, "Dh": head_dim}

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape that a tensor has now."""
        return tuple(self.sizes[letter] for letter in TENSORS[name][0].split())

    def tensors(self) -> dict[str, Tensor]:
        """Every tensor of the picture, computed with the package."""
        x = _read(self.inputs, BATCH, LENGTH, WIDTH)
        x = x[: self.batch_size, : self.seq_len, : self.embed_dim]
        q, k, v = (self._project(x, i) for i in range(3))
        by_head = {f"{n} by head": split_heads(t, self.num_heads) for n, t in zip("qkv", (q, k, v))}
        scores = attention_scores(by_head["q by head"], by_head["k by head"])
        weights = attention_weights(scores, self._mask())
        dropped = weights * self._kept() / (1 - self.dropout)
        heads = dropped @ by_head["v by head"]
        merged = merge_heads(heads)
        return {"x": x, "q": q, "k": k, "v": v, **by_head, "scores": scores} | {
            "masked": scores.masked_fill(~self._mask(), -torch.inf),
            "weights": weights,
            "dropped": dropped,
            "heads": heads,
            "merged": merged,
            "out": self._project(merged, 3),
        }

    def parameters(self) -> dict[str, Tensor]:
        """The weights and biases in use, named as in `MultiHeadAttention`."""
        matrices, biases = _read(self.matrices, 4, WIDTH, WIDTH), _read(self.biases, 4, WIDTH)
        d = self.embed_dim
        layers = ("q_proj", "k_proj", "v_proj", "out_proj")
        weights = {f"{n}.weight": w[:d, :d] for n, w in zip(layers, matrices)}
        return weights | {f"{n}.bias": b[:d] for n, b in zip(layers, biases)}

    def finding(self) -> str:
        letters, shape = TENSORS[self.tensor][0].split(), self.shape(self.tensor)
        count, times = int(np.prod(shape)), 2 ** letters.count("T")
        return (
            f"{self.tensor} is ({', '.join(letters)}) = {shape}: {count} numbers. "
            f"{self._fact()} Twice as many tokens make {times * count}, {times} times as many."
        )

    def still(self) -> Image.Image:
        boxes = {}
        for name, numbers in self.tensors().items():
            _, formula, place = TENSORS[name]
            pixels = self._pixels(name, numbers)
            boxes[name] = Box(name, formula, str(self.shape(name)), place, pixels)
        return boxes_picture(boxes, ARROWS, self.tensor, self.finding())

    def _fact(self) -> str:
        allowed = self._mask().expand(self.shape("scores"))
        if self.tensor == "masked":
            hidden = int((~allowed).sum())
            return f"{hidden} are −∞: the future." if self.causal else "Nothing is hidden."
        if self.tensor == "dropped" and self.dropout:
            gone, among = int((allowed & ~self._kept()).sum()), int(allowed.sum())
            return f"{gone} of {among} weights became 0, the others were divided by 1 − p."
        sizes = self.sizes
        return FACTS[self.tensor].format(**sizes, HTT=sizes["H"] * sizes["T"] ** 2)

    def _project(self, x: Tensor, layer: int) -> Tensor:
        weight, bias = list(self.parameters().values())[layer::4]
        return F.linear(x, weight, bias)

    def _mask(self) -> Tensor:
        mask = causal_mask(self.seq_len)
        return mask if self.causal else torch.ones_like(mask)

    def _kept(self) -> Tensor:
        b, h, t, _ = self.shape("scores")
        return _read(self.uniforms, BATCH, WIDTH, LENGTH, LENGTH)[:b, :h, :t, :t] >= self.dropout

    def _pixels(self, name: str, numbers: Tensor) -> np.ndarray:
        """The matrix of the chosen sequence and head as colours, (rows, columns, 3)."""
        matrix = numbers[min(self.sequence, self.batch_size - 1)]
        if matrix.ndim == 3:
            matrix = matrix[min(self.head, self.num_heads - 1)]
        if name in SHARES:
            shares = matrix / matrix.max().clamp(min=1)
            return _palette(theme.WEIGHTS)[(shares * 255).round().int()]
        largest = matrix[matrix.isfinite()].abs().max().clamp(min=1e-9)
        shares = (matrix / largest).nan_to_num(neginf=0) / 2 + 0.5
        colours = _palette(theme.SIGNED)[(shares * 255).round().int()]
        colours[matrix.isinf()] = HIDDEN
        return colours


@functools.cache
def _palette(name: str) -> np.ndarray:
    return np.array(theme.palette(name, 256), np.uint8)


def _read(data: bytes, *shape: int) -> Tensor:
    return torch.frombuffer(bytearray(data), dtype=torch.float32).view(shape)


def _random_numbers(seed: int) -> dict[str, bytes]:
    """Inputs and parameters of the largest size; smaller sizes use the first part of them."""
    kind = {"generator": torch.Generator().manual_seed(seed), "dtype": torch.float32}
    made = {
        "inputs": torch.randn(BATCH, LENGTH, WIDTH, **kind),
        "matrices": torch.randn(4, WIDTH, WIDTH, **kind) / 3,
        "biases": torch.randn(4, WIDTH, **kind) / 3,
        "uniforms": torch.rand(BATCH, WIDTH, LENGTH, LENGTH, **kind),
    }
    return {name: tensor.numpy().tobytes() for name, tensor in made.items()}


def _require_drawable(batch_size: int, seq_len: int, embed_dim: int, num_heads: int) -> None:
    require_sizes(batch_size=batch_size, seq_len=seq_len)
    for name, size, most in (("batch_size", batch_size, BATCH), ("seq_len", seq_len, LENGTH)):
        if size > most:
            raise ValueError(f"{name} must be at most {most} to be drawn, got {size}")
    require_divisible(embed_dim, num_heads)
    if embed_dim not in DIMS:
        raise ValueError(f"embed_dim must be one of {DIMS}, got {embed_dim}")


def _require_choice(dropout: float, tensor: str) -> None:
    require_probability(dropout=dropout)
    if dropout > MOST_DROPPED:
        raise ValueError(f"dropout must be at most {MOST_DROPPED} to be drawn, got {dropout}")
    if tensor not in TENSORS:
        raise ValueError(f"tensor must be one of {list(TENSORS)}, got {tensor!r}")
