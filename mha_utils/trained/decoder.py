"""A published causal model, out of this series' steps of attention.

Three query heads share one pair of key and value heads, and positions are rotations of q and k.
Source: Touvron et al., "LLaMA" (2023); Su et al., "RoFormer" (2021); Ainslie et al., "GQA" (2023).
"""

from collections.abc import Collection

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from mha_utils.core.steps import (
    attention_scores,
    attention_weights,
    causal_mask,
    merge_heads,
    split_heads,
)
from mha_utils.trained.files import DECODER, locate


class Decoder(nn.Module):
    """Token ids to scores of the next token.

    Args:
        settings, tensors: of a GGUF file with architecture "llama".
    """

    def __init__(self, settings: dict, tensors: dict[str, Tensor]):
        super().__init__()
        self.num_layers = settings["llama.block_count"]
        self.num_heads = settings["llama.attention.head_count"]
        self.kv_heads = settings["llama.attention.head_count_kv"]
        self.epsilon = settings["llama.attention.layer_norm_rms_epsilon"]
        self.rotation_base = settings.get("llama.rope.freq_base", 10_000.0)
        self.tensors = tensors

    @torch.no_grad()
    def forward(
        self, ids: Int[Tensor, "B T"], without: Collection[tuple[int, int]] = ()
    ) -> tuple[Float[Tensor, "B T V"], Float[Tensor, "L B H T T"]]:
        """Scores of every next token, and the weights of every layer.

        Args:
            ids: token numbers.
            without: (layer, head) pairs whose output is set to zero.
        """
        x, maps = self.tensors["token_embd.weight"][ids], []
        for layer in range(self.num_layers):
            removed = [head for at, head in without if at == layer]
            out, weights = self._attend(layer, self._norm(x, f"blk.{layer}.attn_norm"), removed)
            x = x + out
            x = x + self._feed_forward(layer, self._norm(x, f"blk.{layer}.ffn_norm"))
            maps.append(weights)
        logits = self._norm(x, "output_norm") @ self.tensors["token_embd.weight"].T
        return logits, torch.stack(maps)

    def _attend(self, layer: int, x: Tensor, removed: list[int]) -> tuple[Tensor, Tensor]:
        q = split_heads(self._linear(layer, "attn_q", x), self.num_heads)
        k = split_heads(self._linear(layer, "attn_k", x), self.kv_heads)
        v = split_heads(self._linear(layer, "attn_v", x), self.kv_heads)
        q, k = rotate(q, self.rotation_base), rotate(k, self.rotation_base)
        k, v = (t.repeat_interleave(self.num_heads // self.kv_heads, dim=1) for t in (k, v))
        weights = attention_weights(attention_scores(q, k), causal_mask(x.shape[1]))
        heads = weights @ v
        heads[:, removed] = 0.0
        return self._linear(layer, "attn_output", merge_heads(heads)), weights

    def _feed_forward(self, layer: int, x: Tensor) -> Tensor:
        gate = F.silu(self._linear(layer, "ffn_gate", x))
        return self._linear(layer, "ffn_down", gate * self._linear(layer, "ffn_up", x))

    def _linear(self, layer: int, name: str, x: Tensor) -> Tensor:
        return F.linear(x, self.tensors[f"blk.{layer}.{name}.weight"])

    def _norm(self, x: Tensor, name: str) -> Tensor:
        size = x.square().mean(dim=-1, keepdim=True) + self.epsilon
        return x * size.rsqrt() * self.tensors[f"{name}.weight"]


def rotate(x: Float[Tensor, "B H T Dh"], base: float) -> Float[Tensor, "B H T Dh"]:
    """Turn each pair of neighbouring numbers by an angle that grows with the position."""
    _, _, length, head_dim = x.shape
    speeds = base ** (-torch.arange(0, head_dim, 2) / head_dim)
    angles = torch.arange(length)[:, None] * speeds
    first, second = x[..., 0::2], x[..., 1::2]
    turned = (
        first * angles.cos() - second * angles.sin(),
        first * angles.sin() + second * angles.cos(),
    )
    return torch.stack(turned, dim=-1).flatten(-2)


def load_decoder() -> Decoder:
    """The published causal model.

    Raises:
        ValueError: if the package is not installed, or its weights are not the known ones.
    """
    import gguf

    (path,) = locate(DECODER)
    reader = gguf.GGUFReader(path)
    fields = {name: field for name, field in reader.fields.items() if name.startswith("llama.")}
    tensors = {t.name: gguf.dequantize(t.data, t.tensor_type) for t in reader.tensors}
    return Decoder(
        {name: field.contents() for name, field in fields.items()},
        {name: torch.tensor(numbers) for name, numbers in tensors.items()},
    )
