"""Make an attention module of others: by the names of its arguments, by a config, or as a copy."""

import copy
import inspect
import sys
from collections.abc import Callable

from torch import nn
from torch.nn.parameter import is_lazy

from mha_utils.checks.module.naming import (
    LONGEST,
    MEANING,
    UnclearError,
    has_output_layer,
    option_names,
)
from mha_utils.checks.report import RAISED, name_of, raised

CONFIGS = ("config", "cfg", "configuration", "args")
HEADS = ("num_heads", "n_heads", "n_head", "heads", "nhead", "h", "num_attention_heads")
OUTSIDE = ("resid", "proj", "out")  # what a dropout behind the output layer is called


def build_by_names(answer: Callable) -> Callable:
    """(embed_dim, num_heads, dropout, bias) -> answer(...), by the names of its arguments."""

    def build(embed_dim, num_heads, dropout, bias):
        values = values_by_meaning(embed_dim, num_heads, dropout, bias)
        options = {}
        for name, parameter in inspect.signature(answer).parameters.items():
            is_needed = parameter.default is parameter.empty
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            if name in CONFIGS and config_class(answer):
                options[name] = make_config(answer, values)
            elif name in MEANING and (is_needed or MEANING[name] not in ("num_kv_heads", "layer")):
                options[name] = values[MEANING[name]]
            elif is_needed:
                raise UnclearError(
                    f"what is the argument {name!r} of {name_of(answer)}? Names like embed_dim, "
                    "d_model, num_heads, n_head, dropout are known; for others make an Adapter "
                    "with `build`"
                )
        written = ", ".join(f"{name}={value}" for name, value in options.items())
        return building(f"{name_of(answer)}({written})", lambda: answer(**options))

    return build


def values_by_meaning(embed_dim, num_heads, dropout, bias) -> dict:
    """What stands for each meaning of a name in a constructor or a config."""
    values = {"embed_dim": embed_dim, "num_heads": num_heads, "dropout": dropout, "bias": bias}
    values |= {"head_dim": embed_dim // num_heads, "length": LONGEST, "batch_first": True}
    return values | {"num_kv_heads": num_heads, "no_dropout": 0.0, "layer": 0}


def building(what: str, make: Callable):
    """make(); what it raises becomes an UnclearError that says so in one line."""
    try:
        return make()
    except RAISED as error:
        raise UnclearError(f"{what} {raised(error)}") from error


# ---- a config in place of sizes: `LlamaAttention(config, layer_idx)`


def config_name(answer) -> str | None:
    """The argument of a class that is a config, or the attribute of a module."""
    if isinstance(answer, nn.Module):
        return next((name for name in CONFIGS if hasattr(answer, name)), None)
    parameters = inspect.signature(answer).parameters.values()
    return next(
        (p.name for p in parameters if p.name in CONFIGS and p.kind != p.VAR_POSITIONAL), None
    )


def config_class(answer) -> type | None:
    """The class of its config: as annotated, or the one in its file that knows of heads."""
    asked = inspect.signature(answer).parameters[config_name(answer)].annotation
    around = vars(sys.modules.get(answer.__module__, object))
    found = [around.get(asked) if isinstance(asked, str) else asked]
    found += [kind for name, kind in around.items() if name.endswith(("Config", "Args"))]
    classes = [kind for kind in found if inspect.isclass(kind) and kind is not inspect._empty]
    return next((kind for kind in classes if "num_heads" in map(MEANING.get, names_in(kind))), None)


def names_in(kind: type) -> list[str]:
    """The attributes of a config of this class, also those that are set when it is made."""
    try:
        return dir(build_by_names(kind)(4, 2, 0.0, True))
    except (UnclearError, ValueError):
        return []


def make_config(answer, values: dict):
    """Its config with its own defaults, and with the sizes that are tried."""
    kind = config_class(answer)
    sizes = (values[meaning] for meaning in ("embed_dim", "num_heads", "dropout", "bias"))
    config = build_by_names(kind)(*sizes)
    for name in dir(config):
        if name in MEANING:
            setattr(config, name, values[MEANING[name]])
    return config


# ---- a module that is there


def copies_of(module: nn.Module) -> Callable:
    """(embed_dim, num_heads, dropout, bias) -> a copy of one module, with another dropout."""

    def build(embed_dim, num_heads, dropout, bias):
        copied = building(f"a copy of {name_of(module)}", lambda: copy.deepcopy(module))
        for part in copied.modules():
            if isinstance(part, nn.Dropout):
                part.p = dropout
            for name in ("dropout", "attention_dropout"):
                if isinstance(getattr(part, name, None), float):
                    setattr(part, name, dropout)
        return copied

    return build


def can_drop(answer: Callable) -> bool:
    """Whether a dropout can be chosen: an argument of the class, or parts of the module."""
    if not isinstance(answer, nn.Module):
        names = option_names(answer)
        names += names_in(config_class(answer)) if config_name(answer) else []
        return any(MEANING.get(name) == "dropout" for name in names)
    parts = list(answer.modules())
    return any(isinstance(getattr(p, "dropout", None), float | nn.Dropout) for p in parts)


def sizes_of(module: nn.Module) -> tuple[int, int]:
    """embed_dim and num_heads of a module, from its attributes, its config and its parameters.

    Raises:
        ValueError: if it has no attribute `num_heads` (or the like).
    """
    places = (module, getattr(module, config_name(module) or "", None))
    found = [getattr(place, n) for place in places for n in HEADS if hasattr(place, n)]
    found = [number for number in found if isinstance(number, int)]
    if not found:
        names = HEADS[:6]
        raise ValueError(f"the number of heads is not an attribute of the module: none of {names}")
    widths = {min(p.shape) for p in module.parameters() if p.ndim == 2}
    if len(widths) != 1:
        raise ValueError(f"all weights should have one side of embed_dim, found {sorted(widths)}")
    return widths.pop(), found[0]


# ---- what is put right before a module is tried


class WithOutputLayer(nn.Module):
    """A module that returns the heads side by side, as Bert's, and the layer behind it."""

    def __init__(self, inner: nn.Module, embed_dim: int):
        super().__init__()
        self.inner, self.out_proj = inner, nn.Linear(embed_dim, embed_dim)

    def forward(self, *arguments, **options):
        result = self.inner(*arguments, **options)
        if not isinstance(result, tuple):
            return self.out_proj(result)
        return self.out_proj(result[0]), *result[1:]


def outside_dropouts(module: nn.Module) -> list[nn.Dropout]:
    """Those behind the output layer, by their names."""
    parts = {name.rpartition(".")[2]: part for name, part in module.named_modules()}
    return [
        p for name, p in parts.items() if isinstance(p, nn.Dropout) and name.startswith(OUTSIDE)
    ]


def prepared(build: Callable, wake: Callable, by_config: bool) -> Callable:
    """build(...), without dropout behind its output layer, and with such a layer.

    Bert's stands in another class, and x-transformers' is missing where there is one head.

    Args:
        build: (embed_dim, num_heads, dropout, bias) -> a module.
        wake: calls the layers of a module that take their widths from the first input.
        by_config: whether the module is made by a config.
    """

    def build_and_prepare(embed_dim, num_heads, *rest):
        module = build(embed_dim, num_heads, *rest)
        if not isinstance(module, nn.Module):
            return module
        for part in outside_dropouts(module):
            part.p = 0.0
        if any(map(is_lazy, module.parameters())):
            wake(module, embed_dim)
        if has_output_layer(module) or not (by_config or has_output_layer(build(4, 2, *rest))):
            return module
        return WithOutputLayer(module, embed_dim)

    return build_and_prepare
