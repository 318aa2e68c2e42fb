"""Your own class in the place of our layer: for leak maps, probes, views and chapter 16's model."""

import contextlib

import torch
from torch import nn

from mha_utils.checks.module.adapters import Adapter, adapter_for
from mha_utils.checks.module.attempts import Caller
from mha_utils.checks.report import name_of
from mha_utils.core.modules import MultiHeadAttention


def adopt(answer, adapter: Adapter | None = None, **options) -> type[MultiHeadAttention]:
    """A class that is built and called as `MultiHeadAttention` is, and computes as `answer` does.

    It has our four layers, whose numbers `answer` gets at each call: so their state can be loaded,
    trained and compared.

        Layer = adopt(MyAttention)
        leak_map(lambda one: Layer(8, 2)(one[None], is_causal=True)[0], x)
        model = Writer(attention=Layer)

    Args:
        answer: a class, as `check_multi_head_attention` takes it.
        adapter, options: as there.

    Raises:
        ValueError: if it is unclear how to build, load or call the answer.
    """
    adapter = adapter or adapter_for(answer, **options)

    class Adopted(MultiHeadAttention):
        __doc__ = f"{name_of(answer)}, called as MultiHeadAttention is."

        def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, **options):
            super().__init__(embed_dim, num_heads, dropout, bias, **options)
            theirs = adapter.build(embed_dim, num_heads, dropout, bias)
            self._callers = [Caller(adapter, theirs)]  # in a list: none of its parameters is ours

        def forward(self, x, context=None, *, mask=None, is_causal=False, need_weights=False):
            require_able(answer, adapter, context=context, mask=mask, causal=is_causal)
            caller = self._callers[0].train(self.training)
            named = adapter.load(caller.module, with_biases(self))
            arguments = x, context, mask, is_causal and not adapter.always_causal, need_weights
            named = {f"module.{name}": tensor for name, tensor in named.items()}
            out, weights = torch.func.functional_call(caller, named, arguments)
            if need_weights and weights is None:
                raise ValueError(f"{name_of(answer)} returns no weights")
            return (out, weights) if need_weights else out

    Adopted.__name__ = Adopted.__qualname__ = name_of(answer)
    return Adopted


def usable_class(answer, **options):
    """The class if it is called as ours is, and adopted if that helps; what is done is said.

    Args:
        answer: a class, or a function that makes a module from a width and a number of heads.
        options: of `adopt`.

    Returns:
        what makes a causal layer; `MultiHeadAttention` if no way is found.
    """
    if runs(answer):
        return answer
    name = name_of(answer) if callable(answer) else repr(answer)
    reason = "needed is a class, or a function of a width and a number of heads"
    if callable(answer) and not isinstance(answer, nn.Module):
        try:
            adopted = adopt(answer, **options)
            if runs(adopted):
                print(f"{name} is called in a way of its own; `checks.adopt` calls it so.")
                return adopted
        except ValueError as error:
            reason = str(error).splitlines()[0]
    print(f"{name} cannot be used here ({reason}). We go on with MultiHeadAttention.")
    return MultiHeadAttention


def runs(kind) -> bool:
    """Whether a causal call on (1, 3, 8) gives as much."""
    with contextlib.suppress(Exception):
        return kind(8, 2)(torch.ones(1, 3, 8), is_causal=True).shape == (1, 3, 8)
    return False


def with_biases(layer: nn.Module) -> dict[str, torch.Tensor]:
    """Our parameters as an adapter reads them; a bias that is not there is zeros."""
    ours = {name.replace("_proj", ""): p for name, p in layer.named_parameters()}
    zeros = {f"{n}.bias": ours[f"{n}.weight"].new_zeros(len(ours[f"{n}.weight"])) for n in "qkv"}
    return zeros | {"out.bias": ours["out.weight"].new_zeros(len(ours["out.weight"]))} | ours


def require_able(answer, adapter: Adapter, **given) -> None:
    """Raise ValueError if something is given that the answer cannot take."""
    missing = [name for name, value in given.items() if value is not None and value is not False]
    missing = [name for name in missing if name not in adapter.takes]
    if adapter.always_causal and missing == ["causal"]:
        return
    if missing:
        raise ValueError(f"{name_of(answer)} takes no {missing[0]}")
