"""Attention that people install: the `bench` extra, `pip install '.[bench]'`.

Builders as in `contestants.py`. onnxruntime and OpenVINO run an exported copy of the explicit
module; they mark how fast this machine could be with other kernels.
"""

import contextlib
import importlib
import io
import logging
import warnings
from collections.abc import Callable

import torch
from torch import Tensor, nn

from mha_utils.bench.cases import Case
from mha_utils.bench.contestants import Layer, LeftOut, _refuse_dropout
from mha_utils.core.modules import MultiHeadAttention


def require_package(name: str):
    """Import an optional package.

    Raises:
        LeftOut: if it is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError:
        raise LeftOut(f"{name.split('.')[0]} is not installed") from None


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


def onnxruntime(case: Case, module: MultiHeadAttention) -> Callable[[Tensor], Tensor]:
    model = as_onnx(case, module, "onnxruntime")
    runtime = require_package("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return lambda x: torch.from_numpy(session.run(None, {name: x.numpy()})[0])


def openvino(case: Case, module: MultiHeadAttention) -> Callable[[Tensor], Tensor]:
    model = as_onnx(case, module, "OpenVINO")
    core = require_package("openvino").Core()
    threads = {"INFERENCE_NUM_THREADS": torch.get_num_threads(), "INFERENCE_PRECISION_HINT": "f32"}
    session = core.compile_model(core.read_model(model), "CPU", threads)
    return lambda x: torch.from_numpy(session(x.numpy())[0])


def as_onnx(case: Case, module: MultiHeadAttention, name: str) -> bytes:
    """The explicit module as an ONNX model with fixed sizes.

    Raises:
        LeftOut: if the case is not a forward pass in float32 on a CPU, or no exporter is there.
    """
    _refuse_dropout(case)
    if case.is_training or case.device != "cpu" or case.dtype != "float32":
        raise LeftOut(f"{name}: forward in float32 on a CPU")
    require_package("onnxscript")
    plain, example = _Plain(module, case.is_causal).eval(), (case.draw_input(),)
    program = _quietly(lambda: torch.onnx.export(plain, example, dynamo=True))
    return program.model_proto.SerializeToString()


class _Plain(nn.Module):
    """The explicit module with one input, for exporters."""

    def __init__(self, module: MultiHeadAttention, is_causal: bool):
        super().__init__()
        self.module, self.is_causal = module, is_causal

    def forward(self, x: Tensor) -> Tensor:
        return self.module(x, is_causal=self.is_causal)


def _quietly(function: Callable):
    """Exporters talk a lot."""
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            return function()
    finally:
        logging.disable(logging.NOTSET)


def _first(result) -> Tensor:
    return result[0] if isinstance(result, tuple) else result


PEERS = {
    "x-transformers": x_transformers,
    "transformers, GPT-2": gpt2,
    "onnxruntime": onnxruntime,
    "OpenVINO": openvino,
}
