"""A published BERT encoder whose attention layers are this series' `MultiHeadAttention`."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from mha_utils.core.modules import MultiHeadAttention
from mha_utils.core.steps import split_heads
from mha_utils.trained.files import ENCODER, locate

NAMES = {  # in the published file -> here
    "embeddings.word_embeddings": "words",
    "embeddings.position_embeddings": "places",
    "embeddings.token_type_embeddings": "kinds",
    "embeddings.LayerNorm": "norm",
    "encoder.layer": "layers",
    "attention.self.query": "attention.q_proj",
    "attention.self.key": "attention.k_proj",
    "attention.self.value": "attention.v_proj",
    "attention.output.dense": "attention.out_proj",
    "attention.output.LayerNorm": "norm",
    "intermediate.dense": "widen",
    "output.dense": "narrow",
    "output.LayerNorm": "last_norm",
}
MOST_PIECES = 128  # more cannot be told apart in a view
HEAD_NAMES = tuple(f"{layer}.{head}" for layer in range(6) for head in range(12))


class EncoderLayer(nn.Module):
    """Attention, then a two-layer network; each is added to its input and normed."""

    def __init__(self, embed_dim: int, num_heads: int, inner_dim: int):
        super().__init__()
        self.attention = MultiHeadAttention(embed_dim, num_heads)
        self.widen, self.narrow = nn.Linear(embed_dim, inner_dim), nn.Linear(inner_dim, embed_dim)
        self.norm = nn.LayerNorm(embed_dim, eps=1e-12)
        self.last_norm = nn.LayerNorm(embed_dim, eps=1e-12)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        out, weights = self.attention(x, need_weights=True)
        x = self.norm(x + out)
        return self.last_norm(x + self.narrow(nn.functional.gelu(self.widen(x)))), weights


class Encoder(nn.Module):
    """Word pieces to vectors, through L layers of H heads. Source: Devlin et al. (2019), BERT."""

    def __init__(
        self, vocabulary=30522, positions=512, embed_dim=384, num_heads=12, num_layers=6, inner=1536
    ):
        super().__init__()
        self.words = nn.Embedding(vocabulary, embed_dim)
        self.places = nn.Embedding(positions, embed_dim)
        self.kinds = nn.Embedding(2, embed_dim)
        self.norm = nn.LayerNorm(embed_dim, eps=1e-12)
        layers = [EncoderLayer(embed_dim, num_heads, inner) for _ in range(num_layers)]
        self.layers = nn.ModuleList(layers)

    def forward(self, ids: Int[Tensor, "B T"]) -> tuple[list[Tensor], Float[Tensor, "L B H T T"]]:
        """The vectors before, between and after the layers, and the weights of all layers."""
        placed = self.words(ids) + self.places.weight[: ids.shape[1]] + self.kinds.weight[0]
        states, maps = [self.norm(placed)], []
        for layer in self.layers:
            x, weights = layer(states[-1])
            states.append(x)
            maps.append(weights)
        return states, torch.stack(maps)

    def queries_and_keys(self, states: list[Tensor]) -> tuple[Tensor, Tensor]:
        """q and k of every layer, (L, B, H, T, Dh), from the vectors that `forward` gives."""
        both = []
        for name in ("q_proj", "k_proj"):
            made = [
                split_heads(getattr(layer.attention, name)(x), layer.attention.num_heads)
                for layer, x in zip(self.layers, states)
            ]
            both.append(torch.stack(made))
        return tuple(both)

    def lengths_of_values(self, states: list[Tensor]) -> Float[Tensor, "L B H T"]:
        """How long each value is where it leaves its head, read by the head's part of `out_proj`.

        A weight times this length is what a key contributes. Source: Kobayashi et al. (2020).
        """
        lengths = []
        for layer, x in zip(self.layers, states):
            attention, H = layer.attention, layer.attention.num_heads
            v = split_heads(attention.v_proj(x), H)  # (B, H, T, Dh)
            parts = split_heads(attention.out_proj.weight[None], H)  # (1, H, D, Dh)
            lengths.append((v @ parts.mT).norm(dim=-1))
        return torch.stack(lengths)


def load_encoder() -> Encoder:
    """The published encoder, in evaluation mode.

    Raises:
        ValueError: if the package is not installed, or its weights are not the known ones.
    """
    from safetensors.torch import load_file

    tensors = load_file(locate(ENCODER)[0])
    with torch.device("meta"):  # no numbers yet: those of the file take their places
        encoder = Encoder()
    unused = ("pooler", "position_ids")
    named = {_renamed(n): t for n, t in tensors.items() if not any(u in n for u in unused)}
    encoder.load_state_dict(named, assign=True)
    return encoder.requires_grad_(False).eval()


def load_tokenizer():
    """The tokenizer of the published encoder, a `tokenizers.BertWordPieceTokenizer`.

    Of a longer text it reads the first 128 pieces.

    Raises:
        ValueError: if the package is not installed, or its files are not the known ones.
    """
    from tokenizers import BertWordPieceTokenizer

    tokenizer = BertWordPieceTokenizer(str(locate(ENCODER)[1]))
    tokenizer.enable_truncation(MOST_PIECES)
    return tokenizer


def _renamed(name: str) -> str:
    for theirs, ours in NAMES.items():
        name = name.replace(theirs, ours)
    return name
