"""Attention by others: PyTorch's own, and what the extra `bench` installs.

Builders as in `contestants.py`.
"""

import functools
import importlib

import torch
from torch import Tensor, nn

from mha_utils.bench.cases import Case
from mha_utils.bench.contestants import Layer, LeftOut, allowed, refuse_dropout, require_compiling
from mha_utils.core.modules import MultiHeadAttention
from mha_utils.core.porting import to_torch
from mha_utils.core.steps import merge_heads, split_heads


def require_package(name: str):
    """Import an optional package.

    Raises:
        LeftOut: if it is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError:
        raise LeftOut(f"{name.split('.')[0]} is not installed") from None


def torch_module(case: Case, module: MultiHeadAttention, need_weights: bool = False) -> nn.Module:
    mask = None if not case.is_causal else ~allowed(case)

    def call(theirs: nn.MultiheadAttention, x: Tensor) -> Tensor:
        causal = case.is_causal and not need_weights
        return theirs(x, x, x, attn_mask=mask, is_causal=causal, need_weights=need_weights)[0]

    return Layer(case.placed(to_torch(module)), call)


def flex_attention(case: Case, module: MultiHeadAttention) -> nn.Module:
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    refuse_dropout(case)
    if case.device == "cpu" and case.is_training:
        raise LeftOut("FlexAttention on a CPU has no backward pass")
    require_compiling(case)
    mask, length = None, case.shape[1]
    if case.is_causal:
        made = (lambda b, h, query, key: query >= key), None, None, length, length
        mask = create_block_mask(*made, device=case.device)
    attend = torch.compile(flex_attention, dynamic=False)

    def call(layer: MultiHeadAttention, x: Tensor) -> Tensor:
        q, k, v = (
            split_heads(project(x), layer.num_heads)
            for project in (layer.q_proj, layer.k_proj, layer.v_proj)
        )
        return layer.out_proj(merge_heads(attend(q, k, v, block_mask=mask)))

    return Layer(module, call)


def x_transformers(case: Case, module: MultiHeadAttention) -> nn.Module:
    package = require_package("x_transformers.x_transformers")
    width, num_heads = case.shape[2:]
    sizes = {"dim": width, "heads": num_heads, "dim_head": width // num_heads}
    theirs = package.Attention(**sizes, causal=case.is_causal, dropout=case.dropout, flash=True)
    pairs = ((theirs.to_q, "q"), (theirs.to_k, "k"), (theirs.to_v, "v"), (theirs.to_out, "out"))
    for layer, name in pairs:
        layer.weight.data = getattr(module, f"{name}_proj").weight.detach().clone()
    return Layer(case.placed(theirs), lambda layer, x: _first(layer(x)))


def gpt2(case: Case, module: MultiHeadAttention) -> nn.Module:
    package = require_package("transformers")
    if not case.is_causal:
        raise LeftOut("GPT-2 is causal")
    width, num_heads = case.shape[2:]
    config = package.GPT2Config(
        n_embd=width, n_head=num_heads, attn_pdrop=case.dropout, resid_pdrop=0.0
    )
    config._attn_implementation = "sdpa"
    theirs = importlib.import_module("transformers.models.gpt2.modeling_gpt2").GPT2Attention(
        config, layer_idx=0
    )
    layers = (module.q_proj, module.k_proj, module.v_proj)
    theirs.c_attn.weight.data = torch.cat([layer.weight.detach().T for layer in layers], dim=1)
    theirs.c_proj.weight.data = module.out_proj.weight.detach().T.contiguous()
    return Layer(case.placed(theirs), lambda layer, x: _first(layer(x)))


def _first(result) -> Tensor:
    return result[0] if isinstance(result, tuple) else result


PEERS = {
    "nn.MultiheadAttention": torch_module,
    "nn.MultiheadAttention, weights": functools.partial(torch_module, need_weights=True),
    "FlexAttention, compiled": flex_attention,
    "x-transformers": x_transformers,
    "transformers, GPT-2": gpt2,
}
