"""Judge a layer by its shapes alone, and a question that should tell two wrong ones apart."""

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
from mha_utils.museum import bug

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
    """Sizes for which one wrong layer gives right numbers and another one does not."""

    def judge(self, answer: Callable, seed: int) -> str:
        """Ask layers A and C with the sizes of the answer, and the right one."""
        name, sizes = name_of(answer), call_answer(answer, (), f"{name_of(answer)}()")
        tokens, keys, heads = require_three(sizes, name)
        a, c = (is_wrong(bug(liar).module, tokens, keys, heads, seed) for liar in LIARS)
        asked = f"with T = {tokens}, S = {keys} and H = {heads}"
        if a:
            raise WrongError(f"✗ {name}: {asked} A is wrong, too\n  {A_IS_WRONG}")
        if not c:
            raise WrongError(f"✗ {name}: {asked} C is right, too\n  {why_c_is_right(keys, heads)}")
        return f"{asked} A is right and C is wrong"


LIARS = ("columns dealt out like cards", "scale by sqrt(D)")
A_IS_WRONG = "A deals its columns out: with how many heads does each get a block of neighbours?"
WIDTH = 12


def why_c_is_right(keys: int, heads: int) -> str:
    """Why a wrong scale does no harm with these sizes."""
    if heads == 1:
        return "With one head √D is √Dh: C divides by the right number."
    return "A query with a single key gives it the weight 1, whatever its score is divided by."


def require_three(sizes, name: str) -> tuple[int, int, int]:
    """T, S and H as whole numbers that a layer of WIDTH features can have."""
    if not isinstance(sizes, tuple | list) or len(sizes) != 3:
        raise WrongError(f"✗ {name} should return three numbers, T, S and H, got {shown(sizes)}")
    if not all(isinstance(size, int) and 1 <= size <= 64 for size in sizes):
        raise WrongError(f"✗ {name}: whole numbers from 1 to 64, please, got {shown(sizes)}")
    if WIDTH % sizes[2]:
        raise WrongError(f"✗ {name}: {sizes[2]} heads do not divide {WIDTH} features")
    return tuple(sizes)


def is_wrong(kind: type, tokens: int, keys: int, heads: int, seed: int) -> bool:
    """Whether a layer gives other numbers than the right one, with the same parameters."""
    torch.manual_seed(seed)
    right, suspect = MultiHeadAttention(WIDTH, heads).double(), kind(WIDTH, heads).double()
    suspect.load_state_dict(right.state_dict())
    x, context = (torch.randn(B, n, WIDTH, dtype=torch.float64) for n in (tokens, keys))
    return not torch.allclose(suspect(x, context), right(x, context), atol=1e-9)
