"""Judge a layer by its shapes alone, and a question that should let one of three wrong ones by."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from mha_utils.checks.exercise import Asked
from mha_utils.checks.report import WrongError, call_answer, name_of, shown
from mha_utils.core.modules import MultiHeadAttention
from mha_utils.core.steps import (
    attention_scores,
    attention_weights,
    causal_mask,
    merge_heads,
    split_heads,
)
from mha_utils.museum import Steps, bug

B, T, S, D, H = 2, 5, 7, 8, 2
PARTS = "q_proj, k_proj, v_proj and out_proj with or without bias, and num_heads"
CALLS = ("forward(x)", "forward(x, context)", "forward(x, mask=mask)")
HINTS = {
    (B, H, T, D // H): "these are the heads: `merge_heads` puts them side by side",
    (B, H, T, T): "these are weights or scores: the weights still have to gather v",
    (B, S, D): "there is an output for each key: which of the three is made of x?",
}


class Whole(nn.Module):
    """The solution: what stands in for `MyAttention` where a reader has not written it yet."""

    def __init__(self, embed_dim, num_heads, bias=True):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias)
        self.out_proj = nn.Linear(embed_dim, embed_dim, bias)

    def forward(self, x, context=None, mask=None):
        context = x if context is None else context
        q = split_heads(self.q_proj(x), self.num_heads)
        k = split_heads(self.k_proj(context), self.num_heads)
        v = split_heads(self.v_proj(context), self.num_heads)
        weights = attention_weights(attention_scores(q, k), mask)
        return self.out_proj(merge_heads(weights @ v))


def has_our_parts(kind: Callable) -> bool:
    """Whether a class has the parameters of ours under the same names, and `num_heads`."""
    if not isinstance(kind, type):  # a function that makes layers: nobody can inherit from it
        return False
    try:
        for bias in (True, False):
            made, ours = (each(D, H, bias=bias) for each in (kind, Whole))
            shapes, expected = ({n: p.shape for n, p in m.named_parameters()} for m in (made, ours))
            if shapes != expected or made.num_heads != H:
                return False
    except Exception:
        return False
    return True


class Forward(Asked):
    """Does `forward` run, and is every output of the right shape? Of numbers it says nothing."""

    def judge(self, answer: Callable, seed: int) -> str:
        """Call the layer alone, with a context and with a mask."""
        layer = call_answer(answer, (D, H), call := f"{name_of(answer)}({D}, {H})")
        if not callable(getattr(layer, "forward", None)):
            raise WrongError(f"✗ {call} should make a layer with a forward, got {shown(layer)}")
        dice = torch.Generator().manual_seed(seed)
        x, context = (torch.randn(B, length, D, generator=dice) for length in (T, S))
        for call, given in zip(CALLS, ((x,), (x, context), (x, None, causal_mask(T)))):
            require_shape(call_answer(layer.forward, given, call), call)
        return "it runs, and every shape is right (so are A's and C's)"

    def complete(self, answer: Callable) -> type:
        """The class itself if the cells below can use it; else one that they can, and says so."""
        if getattr(answer, "forward", None) is not Whole.forward and self(answer):
            if has_our_parts(answer):
                print("From here on the chapter runs on your forward.")
                return answer
            print(f"Your forward runs. But the cells below also ask for its parts: {PARTS}.")
            print(
                "So they go on with our class. (`python -m mha_utils.check` takes yours as it is.)"
            )
        else:
            print("Until your forward runs, the chapter goes on with ours.")
        whole = (answer,) if has_our_parts(answer) else (Whole,)
        return type(name_of(answer), whole, {"forward": Whole.forward})


def require_shape(out, call: str) -> None:
    """Raise a WrongError if an output is not a tensor (B, T, D)."""
    if not isinstance(out, Tensor):
        raise WrongError(f"✗ {call} should return a tensor, got {type(out).__name__}")
    if out.shape != (B, T, D):
        shape = tuple(out.shape)
        hint = f"\n  {HINTS[shape]}" if shape in HINTS else ""
        raise WrongError(f"✗ {call} should have shape {(B, T, D)}, got {shape}{hint}")


class Question(Asked):
    """Sizes for which a layer that divides by H gives right numbers, and A and C do not."""

    def judge(self, answer: Callable, seed: int) -> str:
        """Ask the three wrong layers with the sizes of the answer, and the right one."""
        name, sizes = name_of(answer), call_answer(answer, (), f"{name_of(answer)}()")
        tokens, width, heads = require_three(sizes, name)
        asked = f"with T = {tokens}, D = {width} and H = {heads}"
        by_h, dealt, by_d = (is_wrong(kind, tokens, width, heads, seed) for kind in SUSPECTS)
        if by_h:
            raise WrongError(f"✗ {name}: {asked} “by H” is wrong, too\n  {BY_H_IS_WRONG}")
        if not dealt:
            why = ONE_HEAD if heads == 1 else ONE_COLUMN
            raise WrongError(f"✗ {name}: {asked} A is right, too\n  {why}")
        if not by_d:
            raise WrongError(f"✗ {name}: {asked} C is right, too\n  {C_IS_RIGHT}")
        return f"{asked} the layer by H gets through, A and C do not"


class DividesByH(Steps):
    """Divides the scores by the number of heads."""

    def score(self, q, k):
        return q @ k.mT / q.shape[1]


A_AND_C = (bug(name).module for name in ("columns dealt out like cards", "scale by sqrt(D)"))
SUSPECTS = (DividesByH, *A_AND_C)
BY_H_IS_WRONG = "It divides by H. How wide must a head be for that to be the root of its width?"
ONE_HEAD = "With one head, all columns that A deals out end up in one hand."
ONE_COLUMN = "With one column a head, A gives each head its own column, in order."
C_IS_RIGHT = "A single token gives itself the weight 1, whatever its score is divided by."
WIDEST = {"T": 100, "D": 24, "H": 24}


def require_three(sizes, name: str) -> tuple[int, int, int]:
    """T, D and H as whole numbers, at most as large as WIDEST says."""
    if not isinstance(sizes, tuple | list) or len(sizes) != 3:
        raise WrongError(f"✗ {name} should return three numbers, T, D and H, got {shown(sizes)}")
    if not all(isinstance(n, int) and 1 <= n <= most for n, most in zip(sizes, WIDEST.values())):
        wanted = ", ".join(f"{letter} from 1 to {most}" for letter, most in WIDEST.items())
        raise WrongError(f"✗ {name}: whole numbers, please: {wanted}; got {shown(sizes)}")
    if sizes[1] % sizes[2]:
        raise WrongError(f"✗ {name}: {sizes[2]} heads do not divide {sizes[1]} features")
    return tuple(sizes)


def is_wrong(kind: type, tokens: int, width: int, heads: int, seed: int) -> bool:
    """Whether a layer gives other numbers than the right one, with the same parameters."""
    torch.manual_seed(seed)
    right, suspect = MultiHeadAttention(width, heads).double(), kind(width, heads).double()
    suspect.load_state_dict(right.state_dict())
    x = torch.randn(B, tokens, width, dtype=torch.float64)
    return not torch.allclose(suspect(x), right(x), atol=1e-9)
