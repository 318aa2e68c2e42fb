"""What the parts of attention are called elsewhere: constructor arguments and parameters."""

import functools
import inspect
import re
from collections.abc import Callable

import torch
from torch import Tensor, nn

from mha_utils.checks.report import RAISED, name_of, raised

ARGUMENTS = {
    "embed_dim": "embed_dim d_model dim n_embd hidden_size hidden_dim hid_dim emb_size embed_size"
    " embedding_dim model_dim d_in d_out width features",
    "num_heads": "num_heads n_heads heads h n_head nhead num_attention_heads",
    "head_dim": "head_dim dim_head d_k d_v head_size",
    "dropout": "dropout dropout_p p attn_dropout dropout_rate attn_drop dropout_prob pdrop",
    "bias": "bias qkv_bias use_bias",
    "length": "context_length block_size max_len max_seq_len seq_len n_ctx",
    "batch_first": "batch_first",
}
MASKS = ("mask", "attn_mask", "attention_mask", "src_mask")
CAUSAL = ("is_causal", "causal")
WEIGHTS = ("need_weights", "return_weights", "return_attention", "output_attentions")
CONTEXTS = ("context", "memory", "encoder_output", "key_value_states")
DROPOUTS = ("dropout_p", "dropout")
LONGEST = 64  # of the sequences that the check tries
LAYERS = {
    "q": "q qproj query queries wq toq wquery qlinear linearq fcq wqs queryproj qlin projq",
    "k": "k kproj key keys wk tok wkey klinear lineark fck wks keyproj klin projk",
    "v": "v vproj value values wv tov wvalue vlinear linearv fcv wvs valueproj vlin projv",
    "out": "out o outproj oproj wo toout wout proj cproj dense fc fcout fco output outlinear"
    " linearo linearout outputproj outputlinear projection unifyheads outlin projout",
    "qkv": "qkv inproj qkvproj cattn toqkv wqkv querykeyvalue qkvlinear",
    "kv": "kv tokv kvproj wkv",
}
MEANING = {word: meaning for meaning, words in ARGUMENTS.items() for word in words.split()}
LAYER = {word: layer for layer, words in LAYERS.items() for word in words.split()}


class UnclearError(ValueError):
    """Nothing can be tried: the caller has to say what a name means, or to mend a constructor."""


def option_names(function: Callable) -> list[str]:
    """The names of the arguments; those of F.scaled_dot_product_attention, which hides them."""
    if function is torch.nn.functional.scaled_dot_product_attention:
        return ["query", "key", "value", "attn_mask", "dropout_p", "is_causal"]
    try:
        return list(inspect.signature(function).parameters)
    except ValueError:
        return []


def name_among(names: list[str], known: tuple[str, ...]) -> str | None:
    """The first of the known names that is there."""
    return next((name for name in known if name in names), None)


def build_by_names(answer: Callable) -> Callable:
    """(embed_dim, num_heads, dropout, bias) -> answer(...), by the names of its arguments."""

    def build(embed_dim, num_heads, dropout, bias):
        values = {"embed_dim": embed_dim, "num_heads": num_heads, "dropout": dropout, "bias": bias}
        values |= {"head_dim": embed_dim // num_heads, "length": LONGEST, "batch_first": True}
        given = {}
        for name, parameter in inspect.signature(answer).parameters.items():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            if name in MEANING:
                given[name] = values[MEANING[name]]
            elif parameter.default is parameter.empty:
                raise UnclearError(
                    f"what is the argument {name!r} of {name_of(answer)}? Names like embed_dim, "
                    "d_model, num_heads, n_head, dropout are known; for others make an Adapter "
                    "with `build`"
                )
        options = ", ".join(f"{name}={value}" for name, value in given.items())
        return building(f"{name_of(answer)}({options})", lambda: answer(**given))

    return build


def building(what: str, make: Callable):
    """make(); what it raises becomes an UnclearError that says so in one line."""
    try:
        return make()
    except RAISED as error:
        raise UnclearError(f"{what} {raised(error)}") from error


def takes_argument(answer: Callable, meaning: str) -> bool:
    """Whether a class has a constructor argument of that meaning."""
    return any(MEANING.get(name) == meaning for name in option_names(answer))


def load_by_names(module: nn.Module, ours) -> dict[str, Tensor]:
    """Our parameters under the names, and in the layout, of another module.

    Raises:
        UnclearError: if a parameter is none of the four layers by its name.
    """
    return {name: _counterpart(module, name, p, ours) for name, p in module.named_parameters()}


def _counterpart(module: nn.Module, name: str, parameter: Tensor, ours) -> Tensor:
    parts, kind = _parts(name)
    if not parts:
        raise UnclearError(
            f"which layer is the parameter {name!r} {tuple(parameter.shape)}? Names like q_proj, "
            "k_proj, v_proj, qkv_proj, out_proj are known; for others make an Adapter with `load`"
        )
    pieces = [ours[f"{part}.{kind}"] for part in parts]
    made = pieces[0] if len(pieces) == 1 else torch.cat(pieces)
    if kind == "weight" and parameter.shape == made.T.shape != made.shape:
        made = made.T  # as in GPT-2, which stores x @ weight
    if made.shape != parameter.shape:
        wanted = tuple(made.shape)
        raise UnclearError(f"{name} should be {wanted} here, got {tuple(parameter.shape)}")
    return made


@functools.cache
def _parts(name: str) -> tuple[tuple[str, ...], str | None]:
    """ "self.to_kv.weight" -> (("k", "v"), "weight"); no parts if the name is unknown."""
    stem, kind = re.fullmatch(r"(.*?)[._]?(weight|bias)?", name).groups()
    words = [part for part in stem.split(".") if not part.isdigit()]
    layer = LAYER.get(re.sub("[^a-z]", "", words[-1].lower()), "") if words and kind else ""
    return ("out",) if layer == "out" else tuple(layer), kind
