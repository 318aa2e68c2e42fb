"""The whole module as one picture: every tensor a box with its shape and its numbers."""

import math

import torch
import torch.nn.functional as F
import traitlets
from torch import Tensor

from mha_utils import theme
from mha_utils.core import steps
from mha_utils.widgets.kit.judged import choice, probability, size
from mha_utils.widgets.kit.sized import SizedView
from mha_utils.widgets.kit.still import Cell, Grid, picture
from mha_utils.widgets.kit.values import clamped, packed, seeded, unpacked
from mha_utils.widgets.tensors import ARROWS, FACTS, HIDDEN, SHARES, TENSORS

BATCH, LENGTH, DIMS, MOST_DROPPED = 3, 12, (4, 6, 8, 12, 16, 24), 0.9
WIDTH = DIMS[-1]
LAYERS = ("q_proj", "k_proj", "v_proj", "out_proj")


class Pipeline(SizedView):
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

    batch_size = size(2, BATCH)
    seq_len = size(4, LENGTH)
    embed_dim = choice(traitlets.Int, 12, DIMS)
    causal = traitlets.Bool(False).tag(sync=True)
    dropout = probability(0.0, MOST_DROPPED)
    tensor = choice(traitlets.Unicode, "scores", list(TENSORS))
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
        sizes = batch_size, seq_len, embed_dim, num_heads
        chosen = {"causal": causal, "dropout": dropout, "tensor": tensor}
        super().__init__(*sizes, **chosen, **_random_numbers(seed))

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
        x = unpacked(self.inputs, BATCH, LENGTH, WIDTH).float()
        x = x[: self.batch_size, : self.seq_len, : self.embed_dim]
        q, k, v = (self._project(x, layer) for layer in LAYERS[:3])
        by_head = {
            f"{n} by head": steps.split_heads(t, self.num_heads) for n, t in zip("qkv", (q, k, v))
        }
        scores = steps.attention_scores(by_head["q by head"], by_head["k by head"])
        weights = steps.attention_weights(scores, self._mask())
        dropped = weights * self._kept() / (1 - self.dropout)
        heads = dropped @ by_head["v by head"]
        merged = steps.merge_heads(heads)
        return {"x": x, "q": q, "k": k, "v": v, **by_head, "scores": scores} | {
            "masked": scores.masked_fill(~self._mask(), -torch.inf),
            "weights": weights,
            "dropped": dropped,
            "heads": heads,
            "merged": merged,
            "out": self._project(merged, "out_proj"),
        }

    def parameters(self) -> dict[str, Tensor]:
        """The weights and biases in use, named as in `MultiHeadAttention`."""
        d = self.embed_dim
        matrices = unpacked(self.matrices, 4, WIDTH, WIDTH).float()[:, :d, :d]
        biases = unpacked(self.biases, 4, WIDTH).float()[:, :d]
        weights = {f"{layer}.weight": matrix for layer, matrix in zip(LAYERS, matrices)}
        return weights | {f"{layer}.bias": bias for layer, bias in zip(LAYERS, biases)}

    def finding(self) -> str:
        letters, shape = TENSORS[self.tensor][0].split(), self.shape(self.tensor)
        count, times = math.prod(shape), 2 ** letters.count("T")
        return (
            f"{self.tensor} is ({', '.join(letters)}) = {shape}: {count} numbers. "
            f"{self._fact()} Twice as many tokens make {times * count}, {times} times as many."
        )

    def still(self):
        lines: list[list] = [[""] * 5 for _ in range(4)]
        for name, numbers in self.tensors().items():
            _, formula, (column, line) = TENSORS[name]
            lines[line][column] = Grid(
                f"{self._title(name)}\n{formula}\n{self.shape(name)}",
                self._cells(name, numbers),
                largest=(12, 12),
            )
        return picture(self.finding(), *lines)

    def _title(self, name: str) -> str:
        """The name and where it leads; a dot before the chosen one."""
        targets = ", ".join(end for start, end in ARROWS if start == name)
        return "● " * (name == self.tensor) + name + (f" → {targets}" if targets else "")

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

    def _project(self, x: Tensor, layer: str) -> Tensor:
        parameters = self.parameters()
        return F.linear(x, parameters[f"{layer}.weight"], parameters[f"{layer}.bias"])

    def _mask(self) -> Tensor:
        mask = steps.causal_mask(self.seq_len)
        return mask if self.causal else torch.ones_like(mask)

    def _kept(self) -> Tensor:
        b, h, t, _ = self.shape("scores")
        uniforms = unpacked(self.uniforms, BATCH, WIDTH, LENGTH, LENGTH).float()
        return uniforms[:b, :h, :t, :t] >= self.dropout

    def _cells(self, name: str, numbers: Tensor) -> list[list[Cell]]:
        """The matrix of the chosen sequence and head as colours."""
        matrix = numbers[clamped(self.sequence, 0, self.batch_size - 1)]
        if matrix.ndim == 3:
            matrix = matrix[clamped(self.head, 0, self.num_heads - 1)]
        colour = theme.weight_colour if name in SHARES else theme.signed_colour
        least = 1.0 if name in SHARES else 1e-9
        most = max(matrix[matrix.isfinite()].abs().max().item(), least)
        return [
            [Cell(HIDDEN if math.isinf(number) else colour(number / most)) for number in row]
            for row in matrix.tolist()
        ]


def _random_numbers(seed: int) -> dict[str, bytes]:
    """Inputs and parameters of the largest size; smaller sizes use the first part of them."""
    kind = seeded(seed)
    made = {
        "inputs": torch.randn(BATCH, LENGTH, WIDTH, **kind),
        "matrices": torch.randn(4, WIDTH, WIDTH, **kind) / 3,
        "biases": torch.randn(4, WIDTH, **kind) / 3,
        "uniforms": torch.rand(BATCH, WIDTH, LENGTH, LENGTH, **kind),
    }
    return {name: packed(tensor) for name, tensor in made.items()}
