"""The equality ladder for what models of today add: shared heads, head width, rotary, windows.

A case names the options of a layer; every rung gets the same parameters and gives the output and
all gradients of sum(out x grad_out). The first rung is the oracle, the others are our modules and
PyTorch's kernel.
"""

import dataclasses
from collections.abc import Iterator

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from mha_utils.core.masks import document_mask, sliding_window_mask
from mha_utils.core.modules import FusedMultiHeadAttention, MultiHeadAttention
from mha_utils.core.rotary import Rotary
from mha_utils.core.steps import causal_mask
from mha_utils.reference import options as oracle

SIZES = {"plain": (4, 4, 2), "shared heads": (4, 2, 2), "one head for all": (4, 1, 2)}
SIZES |= {"wide heads": (3, 3, 6)}  # H, Hkv, Dh; D is 8
EMBED_DIM = 8


@dataclasses.dataclass(frozen=True)
class Case:
    """A layer with its options, and one input in float64."""

    name: str
    num_heads: int
    num_kv_heads: int
    head_dim: int
    has_rotary: bool
    mask: Tensor
    x: Tensor
    grad_out: Tensor

    def layer(self, cls: type = MultiHeadAttention, dtype=torch.float64) -> MultiHeadAttention:
        """The same parameters for every class."""
        torch.manual_seed(0)
        rotary = Rotary(self.head_dim) if self.has_rotary else None
        return cls(
            EMBED_DIM,
            self.num_heads,
            num_kv_heads=self.num_kv_heads,
            head_dim=self.head_dim,
            rotary=rotary,
            dtype=torch.float64,
        ).to(dtype)


def cases(batch_size: int = 2, seq_len: int = 7) -> Iterator[Case]:
    """Every kind of heads, with and without rotary, causal, in a window, in documents."""
    documents = torch.arange(seq_len).expand(batch_size, -1) // 3
    masks = {
        "causal": causal_mask(seq_len),
        "window of 3": sliding_window_mask(seq_len, window=3),
        "window of 2, 1 sink": sliding_window_mask(seq_len, window=2, sinks=1),
        "documents": document_mask(documents) & causal_mask(seq_len),
    }
    generator = torch.Generator().manual_seed(0)
    for kind, sizes in SIZES.items():
        for has_rotary in (False, True):
            for form, mask in masks.items():
                shape = (2, batch_size, seq_len, EMBED_DIM)
                x, grad_out = torch.randn(shape, generator=generator, dtype=torch.float64)
                name = f"{kind}, {'rotary, ' if has_rotary else ''}{form}"
                yield Case(name, *sizes, has_rotary, mask, x, grad_out)


def by_oracle(case: Case) -> dict[str, np.ndarray]:
    """NumPy, pair by pair."""
    named = {n: p.detach().numpy() for n, p in case.layer().named_parameters()}
    names = ("q", "k", "v", "out")
    parameters = {n: (named[f"{n}_proj.weight"], named[f"{n}_proj.bias"]) for n in names}
    positions = range(case.x.shape[1]) if case.has_rotary else None
    given = case.x.numpy(), parameters, case.head_dim, case.grad_out.numpy()
    return oracle.self_attention(*given, case.mask.numpy(), positions)


def by_layer(case: Case, cls: type = MultiHeadAttention, dtype=torch.float64):
    """One of our modules."""
    layer, x = case.layer(cls, dtype), case.x.to(dtype, copy=True).requires_grad_()
    return _with_gradients(layer(x, mask=case.mask), x, layer, case)


def by_sdpa(case: Case, dtype=torch.float64):
    """PyTorch's kernel between four linear layers, its own way to share heads, complex rotation."""
    layer, x = case.layer(dtype=dtype), case.x.to(dtype, copy=True).requires_grad_()
    q, k, v = (
        layer.get_submodule(f"{n}_proj")(x).unflatten(-1, (-1, case.head_dim)).transpose(1, 2)
        for n in "qkv"
    )
    if case.has_rotary:
        q, k = _turn_as_complex(q), _turn_as_complex(k)
    heads = F.scaled_dot_product_attention(q, k, v, case.mask, enable_gqa=True)
    return _with_gradients(layer.out_proj(heads.transpose(1, 2).flatten(2)), x, layer, case)


def _turn_as_complex(heads: Tensor) -> Tensor:
    """A pair of features is a complex number; to turn it is to multiply it by e^(i angle)."""
    real, imaginary = heads.unflatten(-1, (2, -1)).unbind(dim=-2)
    half = real.shape[-1]
    speeds = 10_000.0 ** (-torch.arange(half, dtype=torch.float64) / half)
    angles = torch.arange(heads.shape[-2], dtype=torch.float64).outer(speeds)
    product = torch.complex(real, imaginary) * torch.exp(1j * angles).to(real.dtype.to_complex())
    return torch.cat((product.real, product.imag), dim=-1)


def _with_gradients(out: Tensor, x: Tensor, layer, case: Case) -> dict[str, np.ndarray]:
    named = {"x": x} | {n.replace("_proj", ""): p for n, p in layer.named_parameters()}
    grads = torch.autograd.grad(out, list(named.values()), case.grad_out.to(out.dtype))
    results = {"out": out} | dict(zip(named, grads))
    return {name: tensor.detach().double().numpy() for name, tensor in results.items()}


RUNGS = {
    "MultiHeadAttention": by_layer,
    "FusedMultiHeadAttention": lambda case, dtype=torch.float64: by_layer(
        case, FusedMultiHeadAttention, dtype
    ),
    "F.scaled_dot_product_attention": by_sdpa,
}
