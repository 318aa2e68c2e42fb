"""One answer on one drawn case: its output, its weights and its gradients by name."""

import functools
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn

from mha_utils.checks.module.adapter import Adapter, run
from mha_utils.checks.module.scenarios import BIAS_NAMES, Drawn

Results = dict[str, np.ndarray]


class Asked(dict):
    """Our parameters; remembers which were asked for."""

    def __init__(self, tensors: dict[str, Tensor]):
        super().__init__(tensors)
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> Tensor:
        self.names.add(name)
        return super().__getitem__(name)


class Caller(nn.Module):
    """Gives an adapter's `call` the form of a module, so that parameters can be exchanged."""

    def __init__(self, adapter: Adapter, module: nn.Module):
        super().__init__()
        self.adapter, self.module = adapter, module

    def forward(self, *arguments):
        return run(self.adapter, self.module, *arguments)


@dataclass
class Attempt:
    """One answer, on one drawn case."""

    adapter: Adapter
    case: Drawn
    dropout: float = 0.0
    biases: set[str] = field(default_factory=set)
    changed: list[str] = field(default_factory=list)  # inputs that were written to
    came: str = ""  # the type of the output
    dtypes: dict[str, torch.dtype] = field(default_factory=dict)  # of output and weights
    played: dict[bool, Results] = field(default_factory=dict)

    def results(self, need_weights: bool = True) -> Results:
        """Output, weights if there are any and, with weights, gradients, by name; once."""
        if need_weights not in self.played:
            self.played[need_weights] = self.play(need_weights)
        return self.played[need_weights]

    def play(self, need_weights: bool) -> Results:
        scenario = self.case.scenario
        module = self.adapter.build(scenario.embed_dim, scenario.num_heads, self.dropout, True)
        module.float().train(scenario.training)
        leaves = {n: torch.tensor(a).requires_grad_() for n, a in self.case.parameters.items()}
        ours = Asked(leaves)
        named = {f"module.{n}": t for n, t in self.adapter.load(module, ours).items()}
        self.biases = ours.names & set(BIAS_NAMES)
        inputs = {"x": self._tokens(self.case.x)}
        if scenario.key_len is not None:
            inputs["context"] = self._tokens(self.case.context)
        arguments = (inputs["x"], inputs.get("context"), *self._masks(), need_weights)
        with torch.set_grad_enabled(scenario.with_gradient):
            caller = Caller(self.adapter, module)
            out, weights = torch.func.functional_call(caller, named, arguments)
        self.came, given = type(out).__name__, {"out": out, "weights": weights}
        self.dtypes |= {n: t.dtype for n, t in given.items() if isinstance(t, Tensor)}
        self.changed = [n for n, t in inputs.items() if not self._is_as_drawn(n, t)]
        inputs |= {n: leaves[n] for n in leaves if n in ours.names}
        has_gradient = scenario.with_gradient and need_weights and not self.changed
        gradients = self._gradients(out, inputs) if has_gradient else {}
        return {"out": _array(out)} | _named("weights", weights) | gradients

    @functools.cached_property
    def expected(self) -> Results:
        """What the reference gives, with the biases that were asked for."""
        return self.case.expected(frozenset(self.biases))

    def _is_as_drawn(self, name: str, tokens: Tensor) -> bool:
        return np.array_equal(tokens.detach().numpy(), getattr(self.case, name))

    def _tokens(self, array: np.ndarray) -> Tensor:
        tokens = torch.tensor(array)
        if not self.case.scenario.contiguous:
            tokens = tokens.transpose(1, 2).contiguous().transpose(1, 2)
        return tokens.requires_grad_()

    def _masks(self) -> tuple[Tensor | None, bool]:
        mask = None if self.case.mask is None else torch.tensor(self.case.mask)
        return mask, self.case.scenario.is_causal and not self.adapter.always_causal

    def _gradients(self, out, inputs: dict[str, Tensor]) -> Results:
        if not isinstance(out, Tensor) or not out.requires_grad or out.shape != self.case.x.shape:
            return {}
        grad_out = torch.tensor(self.case.grad_out)
        grads = torch.autograd.grad(out, list(inputs.values()), grad_out, allow_unused=True)
        grads = [torch.zeros(1) if g is None else g for g in grads]
        return {n: _array(g.expand(t.shape)) for (n, t), g in zip(inputs.items(), grads)}


def _array(tensor) -> np.ndarray:
    return tensor.detach().double().numpy() if isinstance(tensor, Tensor) else np.empty(0)


def _named(name: str, tensor: Tensor | None) -> Results:
    return {} if tensor is None else {name: _array(tensor)}
