"""Ways to find out what a function of a sequence really does."""

import torch
from jaxtyping import Float
from torch import Tensor

from mha_utils.core.contracts import checked, require_finite, require_rank


@checked
def leak_map(function, x: Float[Tensor, "S D"]) -> Float[Tensor, "T S"]:
    """How strongly output i depends on token j: |d out_i / d x_j|.

    Args:
        function: takes x (S, D) and gives out (T, Dv).
        x: token vectors, (S, D).

    Returns:
        (T, S), not negative: the Frobenius norm of each block of the Jacobian. Exactly 0 where
        nothing of token j reaches output i.

    Raises:
        ValueError: if x is not (S, D) or not finite, or function(x) not (T, Dv).
    """
    require_finite(x=x)
    jacobian = torch.autograd.functional.jacobian(function, x)
    require_rank("the Jacobian of function", jacobian, "(T, Dv, S, D)")
    return jacobian.square().sum(dim=(1, 3)).sqrt()
