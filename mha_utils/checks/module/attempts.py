"""What an answer, or a bug of the museum, makes of one drawn case."""

import functools
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from mha_utils.checks.judge import close
from mha_utils.checks.module import dropout
from mha_utils.checks.module.adapters import Adapter
from mha_utils.checks.module.calling import joined
from mha_utils.checks.module.naming import load_by_names
from mha_utils.checks.module.scenarios import BIAS_NAMES, Drawn, Results, Scenario, draw
from mha_utils.checks.report import or_none
from mha_utils.museum import Bug


@dataclass(frozen=True)
class Attempt:
    """The outcome: `results` has the output, the weights if there are any, "plain out" (the
    output where no weights were asked for) and gradients by name; `outputs` are those of both
    calls as they were returned; `changed` lists the inputs that were written to.
    """

    case: Drawn
    results: Results
    outputs: list
    dtypes: dict[str, torch.dtype]
    changed: list[str]
    biases: frozenset[str]

    def expected(self) -> Results:
        """What the reference gives, with the biases that the answer has."""
        return self.case.expected(self.biases)


class Read(dict):
    """Our parameters; remembers which were read."""

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
        """(out, weights or None)."""
        result = self.adapter.call(self.module, *arguments)
        if not isinstance(result, tuple | list) or not result:
            return result, None
        out, weights = (*result, None)[:2]
        return out, weights if isinstance(weights, Tensor) else None


def play(adapter: Adapter, case: Drawn, p: float = 0.0, ways=(True, False)) -> Attempt:
    """Build a module, give it our parameters, call it with weights and without."""
    scenario = case.scenario
    module = adapter.build(scenario.embed_dim, scenario.num_heads, p, True)
    module.float().train(scenario.training)
    leaves = {n: torch.tensor(a).requires_grad_() for n, a in case.parameters.items()}
    ours = Read(leaves)
    named = {f"module.{n}": t for n, t in adapter.load(module, ours).items()}
    inputs = {"x": _tokens(case.x, scenario)}
    if scenario.key_len is not None:
        inputs["context"] = _tokens(case.context, scenario)
    mask = None if case.mask is None else torch.tensor(case.mask)
    is_causal = scenario.is_causal and not adapter.always_causal
    arguments = (inputs["x"], inputs.get("context"), mask, is_causal)
    caller = Caller(adapter, module)
    with torch.set_grad_enabled(scenario.with_gradient), torch.random.fork_rng(devices=[]):
        if p:
            torch.manual_seed(0)
        calls = [torch.func.functional_call(caller, named, (*arguments, need)) for need in ways]
    (out, weights), (plain, _) = calls[0], calls[-1]
    changed = [n for n, t in inputs.items() if not np.array_equal(_array(t), getattr(case, n))]
    tensors = {"out": out, "weights": weights, "plain out": plain}
    tensors = {name: t for name, t in tensors.items() if isinstance(t, Tensor)}
    results = {name: _array(t) for name, t in tensors.items()}
    if scenario.with_gradient and not changed:
        leaves = inputs | {n: leaves[n] for n in leaves if n in ours.names}
        results |= _gradients(out, leaves, case)
    dtypes = {name: t.dtype for name, t in tensors.items()}
    biases = frozenset(ours.names & set(BIAS_NAMES))
    return Attempt(case, results, [out, plain], dtypes, changed, biases)


def _tokens(array: np.ndarray, scenario: Scenario) -> Tensor:
    tokens = torch.tensor(array)
    if not scenario.contiguous:
        tokens = tokens.transpose(1, 2).contiguous().transpose(1, 2)
    return tokens.requires_grad_()


def _gradients(out, leaves: dict[str, Tensor], case: Drawn) -> Results:
    if not isinstance(out, Tensor) or not out.requires_grad or out.shape != case.x.shape:
        return {}
    grad_out = torch.tensor(case.grad_out).to(out)
    grads = torch.autograd.grad(out, list(leaves.values()), grad_out, allow_unused=True)
    grads = (torch.zeros_like(t) if g is None else g for g, t in zip(grads, leaves.values()))
    return {name: _array(grad) for name, grad in zip(leaves, grads)}


def _array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().double().numpy()


def way_of_calling(adapter: Adapter) -> tuple[bool, bool, bool]:
    """What decides how a bug is called in the place of an answer."""
    return adapter.causal_as_mask, adapter.always_causal, adapter.mask_holds_causal


def bug_adapter(bug: Bug, causal_as_mask: bool, always_causal: bool, holds: bool) -> Adapter:
    """Calls a bug as the answer is called that it is compared with."""

    def call(module, x, context, mask, is_causal, need_weights):
        keys = x if context is None else context
        if causal_as_mask and not always_causal:
            mask, is_causal = joined(mask, is_causal, x.shape[1], keys.shape[1]), False
        if holds and mask is not None:
            mask = joined(mask, True, x.shape[1], keys.shape[1])
        options = {"mask": mask, "is_causal": is_causal or always_causal}
        return module(x, context, need_weights=need_weights, **options)

    return Adapter(bug.module, load_by_names, call, always_causal=always_causal)


@functools.cache
def bug_results(bug: Bug, scenario: Scenario, seed: int, biases: frozenset, *how) -> Results | None:
    """What a bug gives, with these biases and no others; `how` as in `bug_adapter`."""
    case = draw(scenario, seed)
    parameters = {
        name: array if "weight" in name or name in biases else 0 * array
        for name, array in case.parameters.items()
    }
    case = replace(case, parameters=parameters)
    attempt = or_none(play, bug_adapter(bug, *how), case, 0.0, (True,))
    return attempt and attempt.results


def are_same(results: Results, others: Results | None) -> bool:
    """Whether all that both have is equal, NaN included."""
    if others is None:
        return False
    others = {"plain out": others["out"]} | others
    pairs = [(results[name], others[name]) for name in results if name in others]
    return all(a.shape == b.shape and close(a, b) for a, b in pairs)


def can_look_at_dropout(adapter: Adapter) -> bool:
    """Whether it drops at all, and has heads that are wide enough for one-hot values."""
    wide_enough = adapter.sizes is None or adapter.sizes[0] // adapter.sizes[1] >= 3
    return "dropout" in adapter.takes and wide_enough


def dropout_findings(adapter: Adapter, training: bool) -> dropout.Findings:
    """What dropout does, with returned weights and without: the first that is not as it should."""
    width, num_heads = adapter.sizes or (40, 4)
    case = dropout.one_hot_case(num_heads, width // num_heads, adapter.always_causal, training)
    results = play(adapter, case, dropout.P).results
    is_promised = not training or "weights in training" in adapter.takes
    weights = results.get("weights") if is_promised else None
    plain = dropout.look(case, results["plain out"], None)
    return (
        plain if plain != dropout.right(training) else dropout.look(case, results["out"], weights)
    )
