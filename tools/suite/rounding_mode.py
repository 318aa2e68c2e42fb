"""Other machines' roundings on this one: results are moved in their last places, repeatably.

Another processor, library or number of threads adds up in another order and has another `exp`.
`Rounding(seed)` imitates that: what these operations give is moved by up to 2 units in the last
place (half precision: to either neighbour of the exact result), unless the exact result is a
number of that dtype. So sums of small integers, one-hot products, zeros and copies stay exact, and
the same call gives the same result again: the shift is a hash of value, shape and seed.
"""

import numpy as np
import torch
from torch import Tensor
from torch.nn.attention.bias import CausalBias
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves, tree_map

PRODUCTS = {"mm", "bmm", "addmm", "baddbmm", "addbmm", "mv", "addmv", "dot", "vdot"}
DRAWS = {"randn", "normal", "normal_functional"}  # alike below 16 numbers
SHARES = {"_softmax", "sigmoid"}  # never above 1, however they are rounded
INEXACT = PRODUCTS | DRAWS | SHARES | {
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "tanh", "erf"),
    *("gelu", "silu", "softplus", "rsqrt", "special_entr", "pow"),
    *("sum", "nansum", "mean", "prod", "cumsum", "cumprod", "var", "std", "var_mean", "std_mean"),
    *("norm", "linalg_vector_norm", "logsumexp", "trace", "mse_loss", "_log_softmax"),
    *("native_layer_norm", "native_layer_norm_backward", "_softmax_backward_data"),
    *("_log_softmax_backward_data", "tanh_backward", "sigmoid_backward", "gelu_backward"),
    *("embedding_dense_backward", "index_add", "scatter_add", "linalg_lstsq", "_cdist_forward"),
}  # fmt: skip
SMALL = 200_000  # numbers in and out: up to here the exact result is computed, too
INTEGERS = {torch.float16: torch.int16, torch.bfloat16: torch.int16}
INTEGERS |= {torch.float32: torch.int32, torch.float64: torch.int64}
SHORT = {torch.float16: 4, torch.bfloat16: 3, torch.float32: 10, torch.float64: 20}  # zero bits


class Rounding(TorchDispatchMode):
    """While it is on, PyTorch on the CPU rounds as some other machine might."""

    def __init__(self, seed: int):
        super().__init__()
        self.seed = seed

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = function.overloadpacket.__name__.removesuffix("_")
        if not is_inexact(name, args) or torch.autograd._profiler_enabled():
            return function(*args, **kwargs)
        exact = None if name in DRAWS else exactly(function, args, kwargs)
        results = function(*args, **kwargs)
        exact = [None] * 9 if exact is None else tree_leaves(exact)
        for result, one in zip(tree_leaves(results), exact):
            if isinstance(result, Tensor) and result.dtype in INTEGERS and result.is_cpu:
                self.move(result, name, one)
        return results

    def move(self, result: Tensor, name: str, exact: Tensor | None) -> None:
        """Move a result in place."""
        if result.numel() < (16 if name in DRAWS else 1):
            return
        bits = result.view(INTEGERS[result.dtype]).numpy()[None]  # never without a dimension
        values = result.double().numpy()[None]
        exact = None if exact is None else exact.numpy()[None]
        by = shifts(bits, self.seed, by_place=name in PRODUCTS)
        if bits.dtype == np.int16:
            by = np.sign(by)
            if exact is not None:  # one of the two numbers around the exact result
                by = np.where(by > 0, 0, np.where(abs(exact) > abs(values), 1, -1))
        by = np.where(stays(values, result.dtype, bits, exact), 0, by)
        bits += by.astype(bits.dtype)
        if name in SHARES:
            result.clamp_(max=1)


def made_outside(cls: type[Tensor], *arguments) -> Tensor:
    """A tensor of this class, made while no mode is on: PyTorch cannot make it in one."""
    with _disable_current_modes():
        return Tensor.__new__(cls, *arguments)


CausalBias.__new__ = made_outside


def shifts(bits: np.ndarray, seed: int, by_place: bool) -> np.ndarray:
    """-2, -1, 1 or 2 for each number; in products by its place, too: tiles have edges."""
    salt = np.uint64(hash((seed, bits.shape)) & 0x7FFFFFFF)
    mixed = bits.astype(np.uint64) + salt
    if by_place:
        mixed += 31 * np.arange(bits.size, dtype=np.uint64).reshape(bits.shape)
    for factor in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F):
        mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(factor)
    return np.array([-2, -1, 1, 2])[mixed >> np.uint64(62)]


def is_inexact(name: str, args: tuple) -> bool:
    """Whether machines may round differently: not what IEEE arithmetic fixes."""
    if name == "pow":
        exponent = args[1] if len(args) > 1 else None
        return isinstance(exponent, Tensor) or exponent not in (0.5, 1, 2, -1)
    return name in INEXACT or "attention" in name


def exactly(function, args, kwargs):
    """The results in float64, of inputs in less; None where that would cost too much."""
    tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
    types = {tensor.dtype for tensor in tensors}
    if torch.float64 in types or sum(t.numel() for t in tensors) > SMALL:
        return None

    def widened(leaf):
        if isinstance(leaf, Tensor):
            return leaf.double() if leaf.is_floating_point() else leaf.clone()
        return torch.float64 if leaf in types and leaf in INTEGERS else leaf

    try:
        return function(*tree_map(widened, args), **tree_map(widened, kwargs))
    except (RuntimeError, NotImplementedError):
        return None


def stays(values: np.ndarray, dtype: torch.dtype, bits: np.ndarray, exact) -> np.ndarray:
    """True for numbers that every machine gives: exact ones; and for zero, infinity, NaN."""
    if exact is not None:
        with np.errstate(over="ignore"):
            fixed = exact == torch.from_numpy(exact).to(dtype).double().numpy()
    else:
        fixed = bits & ((1 << SHORT[dtype]) - 1) == 0  # so round by accident: hardly
    limits, sizes = torch.finfo(dtype), abs(values)
    return fixed | ~((sizes > limits.tiny) & (sizes < limits.max / 2))
