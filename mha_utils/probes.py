"""Ways to find out what a function of a sequence really does."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor


def leak_map(function: Callable, x: Float[Tensor, "S D"]) -> Float[Tensor, "T S"]:
    """How strongly output i depends on token j: |d out_i / d x_j|.

    Args:
        function: takes x (S, D) and gives out (T, Dv).
        x: token vectors, (S, D).

    Returns:
        (T, S), not negative: the Frobenius norm of each block of the Jacobian. Exactly 0 where
        nothing of token j reaches output i.

    Raises:
        ValueError: if x or the output of the function is not a matrix.
    """
    if x.ndim != 2:
        raise ValueError(f"x must be one sequence (S, D), got shape {tuple(x.shape)}")
    jacobian = torch.autograd.functional.jacobian(function, x)  # (T, Dv, S, D)
    if jacobian.ndim != 4:
        raise ValueError(f"function must return (T, Dv), got {jacobian.ndim - 2} dimensions")
    return jacobian.square().sum(dim=(1, 3)).sqrt()
