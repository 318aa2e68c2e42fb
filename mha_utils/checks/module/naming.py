"""What the sizes and weights of an attention module of others are called, by name and shape."""

import inspect
import re
from collections.abc import Callable

import torch
from torch import Tensor, nn

ARGUMENTS = {
    "embed_dim": "embed_dim d_model dim n_embd hidden_size hidden_dim hid_dim emb_size embed_size"
    " embedding_dim model_dim d_in d_out width features num_hiddens emb_dim"
    " query_size key_size value_size",
    "num_heads": "num_heads n_heads heads h n_head nhead num_attention_heads",
    "head_dim": "head_dim dim_head d_k d_v head_size",
    "num_kv_heads": "num_kv_heads num_key_value_heads n_kv_heads n_kv_head kv_heads",
    "dropout": "dropout dropout_p p attn_dropout dropout_rate attn_drop dropout_prob drop_rate"
    " pdrop attn_pdrop attention_dropout attention_probs_dropout_prob",
    "no_dropout": "resid_pdrop resid_dropout proj_drop hidden_dropout hidden_dropout_prob",
    "bias": "bias qkv_bias use_bias attention_bias",
    "length": "context_length block_size max_len max_seq_len seq_len n_ctx max_position_embeddings",
    "batch_first": "batch_first",
    "layer": "layer_idx layer_id",
}
MASKS = ("attn_mask", "mask", "attention_mask", "src_mask")
CAUSAL = ("is_causal", "causal")
WEIGHTS = ("need_weights", "return_weights", "return_attention", "output_attentions")
CONTEXTS = ("context", "memory", "encoder_output", "key_value_states")
TURNS = "position_embeddings"  # (cos, sin), as Llama's
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
    """Nothing can be tried: the caller has to say what a name means, or to fix a constructor."""


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
    made = torch.cat([ours[f"{part}.{kind}"] for part in parts])
    if kind == "weight" and parameter.shape == made.T.shape:
        is_square = made.T.shape == made.shape
        made = made.T if not is_square or stores_transposed(module, name) else made
    if made.shape != parameter.shape:
        expected, got = tuple(made.shape), tuple(parameter.shape)
        raise UnclearError(f"{name} should be {expected} here, got {got}")
    return made


@torch.no_grad()
def stores_transposed(module: nn.Module, name: str) -> bool:
    """Whether a layer with this square weight computes x @ weight, as GPT-2's do."""
    layer, weight = module.get_submodule(name.rpartition(".")[0]), module.get_parameter(name)
    if layer is module or isinstance(layer, nn.Linear) or "forward" not in vars(type(layer)):
        return False
    eye = torch.eye(len(weight)).to(weight)
    return torch.allclose(layer(eye) - layer(0 * eye), weight, atol=1e-5)


def has_output_layer(module: nn.Module) -> bool:
    return any("out" in _parts(name)[0] for name, _ in module.named_parameters())


def _parts(name: str) -> tuple[tuple[str, ...], str | None]:
    """ "self.to_kv.weight" -> (("k", "v"), "weight"); no parts if the name is unknown."""
    stem, kind = re.fullmatch(r"(.*?)[._]?(weight|bias)?", name).groups()
    words = [part for part in stem.split(".") if not part.isdigit()]
    layer = LAYER.get(re.sub("[^a-z]", "", words[-1].lower()), "") if words and kind else ""
    return ("out",) if layer == "out" else tuple(layer), kind
