"""Which mistake it is: the piece of the museum that an answer equals, or where it is wrong."""

from collections.abc import Callable
from dataclasses import replace

import torch

from mha_utils import museum
from mha_utils.checking import close
from mha_utils.module_check import dropout_probe
from mha_utils.module_check.adapter import Adapter
from mha_utils.module_check.adapters import series_call
from mha_utils.module_check.attempts import Attempt, Results
from mha_utils.module_check.naming import load_by_names, option_names
from mha_utils.module_check.scenarios import Drawn, Scenario
from mha_utils.modules import MultiHeadAttention

CALL, _ = series_call(option_names(MultiHeadAttention.forward), "may attend")


def can_probe_dropout(adapter: Adapter) -> bool:
    wide_enough = adapter.sizes is None or adapter.sizes[0] // adapter.sizes[1] >= 3
    return "dropout" in adapter.takes and wide_enough


def dropout_findings(adapter: Adapter, training: bool) -> dropout_probe.Findings:
    """What dropout does, with returned weights and without."""
    sizes = adapter.sizes or (36, 4)
    one_hot = dropout_probe.one_hot_case(sizes[1], sizes[0] // sizes[1], adapter.always_causal)
    case = replace(one_hot, scenario=replace(one_hot.scenario, training=training))
    attempt = Attempt(adapter, case, dropout_probe.P)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        found = [attempt.results(need_weights) for need_weights in (False, True)]
    weights = found[1].get("weights")
    given = weights if not training or "weights in training" in adapter.takes else None
    seen = [dropout_probe.look(case, f["out"], w) for f, w in zip(found, (None, given))]
    expected = dropout_probe.RIGHT if training else dropout_probe.NO_DROPOUT
    return seen[0] if seen[0] != expected else seen[1]


def diagnosis(adapter: Adapter, cases: list[Drawn]) -> str:
    """The piece of the museum that the answer equals everywhere, or where it is wrong."""
    attempts = [Attempt(adapter, case) for case in cases]
    found = [quietly(attempt) for attempt in attempts]
    is_wrong = [not same(f, a.expected()) for f, a in zip(found, attempts)]
    pairs = sorted(zip(is_wrong, found, attempts), key=lambda triple: not triple[0])
    for piece in museum.MUSEUM:
        twin = Adapter(piece.module, load_by_names, CALL, adapter.takes, sizes=adapter.sizes)
        if all(same(f, twin_results(twin, attempt)) for _, f, attempt in pairs):
            return named(piece)
    return where_it_is_wrong([c.scenario for c in cases], is_wrong)


def dropout_diagnosis(adapter: Adapter) -> str:
    """The piece about dropout that does what the answer does; all of them are right without it."""
    found = [quiet_dropout(adapter, training) for training in (True, False)]
    for piece in museum.DROPPING:
        twin = Adapter(piece.module, load_by_names, causally(adapter), adapter.takes)
        twin = replace(twin, sizes=adapter.sizes, always_causal=adapter.always_causal)
        if all(f == quiet_dropout(twin, t) for f, t in zip(found, (True, False))):
            return named(piece)
    return ""


def named(piece: museum.Mutant) -> str:
    return f"\n  Your result equals: {piece.name} ({piece.place}).\n  {piece.wrong}"


def causally(adapter: Adapter) -> Callable:
    """The museum's call, always causal if the answer is."""
    if not adapter.always_causal:
        return CALL
    return lambda module, x, context, mask, is_causal, need: CALL(
        module, x, context, mask, True, need
    )


def twin_results(twin: Adapter, attempt: Attempt) -> Results | None:
    """What a piece gives for the same case, with the biases that the answer has."""
    given = attempt.case.parameters
    kept = {n: a if n in attempt.biases or "weight" in n else 0 * a for n, a in given.items()}
    try:
        return Attempt(twin, replace(attempt.case, parameters=kept)).results()
    except Exception:
        return None


def quietly(attempt: Attempt) -> Results | None:
    """Results with weights, and the output without, which may come in another way."""
    try:
        plain = attempt.results(need_weights=False)["out"]
        return attempt.results() | {"plain out": plain}
    except Exception:
        return None


def quiet_dropout(adapter: Adapter, training: bool) -> dropout_probe.Findings | None:
    try:
        return dropout_findings(adapter, training)
    except Exception:
        return None


def same(found: Results | None, others: Results | None) -> bool:
    """Whether all that both have is equal, NaN included."""
    if found is None or others is None:
        return False
    others = {"plain out": others["out"]} | others
    shared = [n for n in found if n in others]
    return all(found[n].shape == others[n].shape and close(found[n], others[n]) for n in shared)


KINDS: dict[str, Callable[[Scenario], bool]] = {
    "there is more than one head and more than one token": lambda s: (
        s.num_heads > 1 and s.query_len > 1
    ),
    "there is more than one head": lambda s: s.num_heads > 1,
    "there is more than one token": lambda s: max(s.lengths) > 1,
    "a mask is given": lambda s: bool(s.mask),
    "the mask is not the same for all heads and sequences": lambda s: (
        s.mask in ("padding", "heads")
    ),
    "the mask is not the same for all heads": lambda s: s.mask == "heads",
    "a query may attend to nothing": lambda s: s.mask == "empty",
    "is_causal is on": lambda s: s.is_causal,
    "is_causal is on, in evaluation": lambda s: s.is_causal and not s.training,
    "a mask and is_causal meet": lambda s: bool(s.mask) and s.is_causal,
    "something is hidden": lambda s: bool(s.mask) or s.is_causal,
    "keys come from other tokens than queries": lambda s: s.key_len is not None,
    "x is not contiguous": lambda s: not s.contiguous,
    "scores are large": lambda s: s.spread > 1,
    "in training": lambda s: s.training,
    "in evaluation": lambda s: not s.training,
}


def where_it_is_wrong(scenarios: list[Scenario], wrong: list[bool]) -> str:
    """The kind of input that all wrong cases are and no right one is, if there is one."""
    for text, belongs in KINDS.items():
        if any(wrong) and [belongs(s) for s in scenarios] == wrong:
            return f"\n  It is wrong wherever {text}, and right everywhere else."
    return (
        f"\n  It is wrong in {sum(wrong)} of {len(wrong)} cases, and equals no piece of the museum."
    )
