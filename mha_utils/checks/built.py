"""Exercises whose answer is a module that is put together from parts."""

import copy
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from mha_utils.checks.report import name_of
from mha_utils.checks.tensors import Case, Sizes, Tensors
from mha_utils.core.modules import MultiHeadAttention


class Built:
    """A class as a function of inputs and parts: `kind(*parts)(x)`."""

    def __init__(self, kind: type):
        self.kind, self.__name__ = kind, name_of(kind)
        self.__code__ = getattr(getattr(kind, "forward", None), "__code__", None)

    def __call__(self, x, *parts):
        return self.kind(*parts)(x)


@dataclass(frozen=True, kw_only=True)
class Composed(Tensors):
    """The answer is a class, made of the constants (modules) and called with the one input.

    How the class is written is free, because only its numbers are judged. A function of the
    input and the constants is judged as well, and so are `solve` and the mistakes.
    """

    def judge(self, answer: Callable, seed: int) -> str:
        return super().judge(Built(answer) if isinstance(answer, type) else answer, seed)

    def _describe_call(self, answer: Callable, case: Case) -> str:
        shape = tuple(case.arrays[0].shape)
        return f"{name_of(answer)}({', '.join(case.constants)})({self.inputs[0]}{shape})"


def parts_of_a_block(sizes: Sizes, random: np.random.Generator) -> dict[str, nn.Module]:
    """The four parts of a block, D wide, with random weights, so that no two norms are alike."""
    width, heads = sizes.D, 1 + (sizes.D % 2 == 0)
    with torch.random.fork_rng(devices=[]):  # the reader's random numbers stay as they are
        parts = {
            "attention_norm": nn.LayerNorm(width),
            "attention": MultiHeadAttention(width, heads),
            "mlp_norm": nn.LayerNorm(width),
            "mlp": nn.Sequential(nn.Linear(width, 4), nn.GELU(), nn.Linear(4, width)),
        }
    for weights in nn.ModuleDict(parts).parameters():
        weights.data = torch.tensor(random.normal(size=weights.shape), dtype=torch.float32)
    return parts


def composed(compose: Callable) -> Callable:
    """A function of a tensor and parts as one of an array and parts, computed in float64."""

    def numbers(x: np.ndarray, *parts: nn.Module) -> np.ndarray:
        return compose(torch.tensor(x).double(), *in_float64(parts)).detach().numpy()

    return numbers


def slopes(compose: Callable) -> Callable:
    """The gradient of sum(compose(x, *parts) x grad_out) by x, in float64, as a tuple of one."""

    def gradients(x: np.ndarray, *parts_and_grad_out) -> tuple[np.ndarray]:
        *parts, grad_out = parts_and_grad_out
        x = torch.tensor(x).double().requires_grad_()
        result = compose(x, *in_float64(parts))
        (gradient,) = torch.autograd.grad(result, x, torch.tensor(grad_out).double())
        return (gradient.numpy(),)

    return gradients


def in_float64(parts) -> list[nn.Module]:
    """Copies of the parts, in float64."""
    return [copy.deepcopy(part).double() for part in parts]
