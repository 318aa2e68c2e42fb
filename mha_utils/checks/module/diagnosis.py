"""Which mistake it is: the piece of the museum that an answer equals, or where it is wrong."""

import functools
from collections.abc import Callable
from dataclasses import replace

import torch

from mha_utils import museum
from mha_utils.checks.judge import close
from mha_utils.checks.module import dropout_probe
from mha_utils.checks.module.adapter import Adapter, joined
from mha_utils.checks.module.attempts import Attempt, Results
from mha_utils.checks.module.naming import load_by_names
from mha_utils.checks.module.scenarios import Drawn, Scenario
from mha_utils.checks.report import RAISED

POLARITY = "If True means 'not allowed' in yours, say true_means='not allowed'."
MEETING = "Sequences of a batch see each other: is (B, T, D) read as (T, B, D)? See chapter 10."
REMEMBERED: dict[tuple, Results | None] = {}  # what the pieces gave


def diagnosis(adapter: Adapter, attempts: list[Attempt]) -> str:
    """The piece of the museum that the answer equals everywhere, or where it is wrong."""
    found = [quietly(attempt) for attempt in attempts]
    is_wrong = [f is None or not same(f, a.expected) for f, a in zip(found, attempts)]
    pairs = sorted(zip(is_wrong, found, attempts), key=lambda triple: not triple[0])
    for piece in museum.MUSEUM:
        if all(same(f, twin_results(piece, attempt)) for _, f, attempt in pairs):
            return named(piece)
    if sequences_meet(adapter, attempts[0].case):
        return f"\n  {MEETING}"
    return where_it_is_wrong([a.case.scenario for a in attempts], is_wrong)


def dropout_diagnosis(adapter: Adapter) -> str:
    """The piece about dropout that does what the answer does; all of them are right without it."""
    found = [quiet_dropout(adapter, training) for training in (True, False)]
    for piece in museum.DROPPING:
        twin = twin_of(piece, adapter)
        if all(f == quiet_dropout(twin, t) for f, t in zip(found, (True, False))):
            return named(piece)
    return ""


def named(piece: museum.Mutant) -> str:
    hint = f"\n  {POLARITY}" if piece.name == "mask inverted" else ""
    return f"\n  Your result equals: {piece.name} ({piece.place}).\n  {piece.wrong}{hint}"


def can_probe_dropout(adapter: Adapter) -> bool:
    """Whether it drops at all, and has heads that are wide enough for one-hot values."""
    wide_enough = adapter.sizes is None or adapter.sizes[0] // adapter.sizes[1] >= 3
    return "dropout" in adapter.takes and wide_enough


def dropout_findings(adapter: Adapter, training: bool) -> dropout_probe.Findings:
    """What dropout does, with returned weights and without: the first that is not as it should."""
    width, num_heads = adapter.sizes or (36, 4)
    one_hot = dropout_probe.one_hot_case(num_heads, width // num_heads, adapter.always_causal)
    case = replace(one_hot, scenario=replace(one_hot.scenario, training=training))
    attempt = Attempt(adapter, case, dropout_probe.P)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        found = [attempt.results(need_weights) for need_weights in (False, True)]
    weights = found[1].get("weights")
    promised = weights if not training or "weights in training" in adapter.takes else None
    seen = [dropout_probe.look(case, f["out"], w) for f, w in zip(found, (None, promised))]
    expected = dropout_probe.RIGHT if training else dropout_probe.NO_DROPOUT
    return seen[0] if seen[0] != expected else seen[1]


def twin_of(piece: museum.Mutant, adapter: Adapter) -> Adapter:
    """The piece, asked for what the answer is asked for."""

    def call(module, x, context, mask, is_causal, need_weights):
        keys = x if context is None else context
        if adapter.causal_as_mask and not adapter.always_causal:
            mask, is_causal = joined(mask, is_causal, x.shape[1], keys.shape[1]), False
        options = {"mask": mask, "is_causal": is_causal or adapter.always_causal}
        return module(x, context, need_weights=need_weights, **options)

    build = functools.partial(made, piece.module)
    return replace(adapter, build=build, load=load_by_names, call=call)


@functools.cache
def made(module, *sizes):
    return module(*sizes)


def twin_results(piece: museum.Mutant, attempt: Attempt) -> Results | None:
    """What a piece gives for the same case, with the biases that the answer has; remembered."""
    adapter, case = attempt.adapter, attempt.case
    flags = (adapter.causal_as_mask, adapter.always_causal)
    key = (piece.name, case.scenario, case.seed, frozenset(attempt.biases), *flags)
    if key not in REMEMBERED:
        parameters = {
            name: array if "weight" in name or name in attempt.biases else 0 * array
            for name, array in case.parameters.items()
        }
        twin = Attempt(twin_of(piece, adapter), replace(case, parameters=parameters))
        REMEMBERED[key] = or_none(twin.results)
    return REMEMBERED[key]


def or_none(play: Callable):
    """play(), or None if it raises."""
    try:
        return play()
    except RAISED:
        return None


def quietly(attempt: Attempt) -> Results | None:
    """The results, and the output without weights where it was asked for: another way, perhaps."""
    found = or_none(attempt.results)
    plain = attempt.played.get(False)
    return found if found is None or plain is None else found | {"plain out": plain["out"]}


def quiet_dropout(adapter: Adapter, training: bool) -> dropout_probe.Findings | None:
    return or_none(lambda: dropout_findings(adapter, training))


def same(found: Results | None, others: Results | None) -> bool:
    """Whether all that both have is equal, NaN included."""
    if found is None or others is None:
        return False
    others = {"plain out": others["out"]} | others
    shared = [n for n in found if n in others]
    return all(found[n].shape == others[n].shape and close(found[n], others[n]) for n in shared)


def sequences_meet(adapter: Adapter, case: Drawn) -> bool:
    """Whether sequence 0 comes out differently when it is alone."""
    alone = {name: getattr(case, name)[:1] for name in ("x", "context", "grad_out")}
    scenario = replace(case.scenario, batch_size=1)
    cases = (case, replace(case, scenario=scenario, **alone))
    together, single = (quietly(Attempt(adapter, c)) for c in cases)
    return bool(together and single and not close(together["out"][:1], single["out"]))


KINDS: dict[str, Callable[[Scenario], bool]] = {
    "there is more than one head and more than one token": lambda s: (
        s.num_heads > 1 and s.query_len > 1
    ),
    "there is more than one head": lambda s: s.num_heads > 1,
    "there is more than one token": lambda s: max(s.lengths) > 1,
    "a mask is given": lambda s: bool(s.mask),
    "the mask is not the same for all sequences": lambda s: s.mask in ("padding", "heads"),
    "the mask is not the same for all heads": lambda s: s.mask == "heads",
    "a query may attend to nothing": lambda s: s.mask == "empty",
    "is_causal is on": lambda s: s.is_causal,
    "is_causal is on, in evaluation": lambda s: s.is_causal and not s.training,
    "a mask and is_causal meet": lambda s: bool(s.mask) and s.is_causal,
    "something is hidden": lambda s: bool(s.mask) or s.is_causal,
    "keys come from other tokens than queries": lambda s: s.key_len is not None,
    "x is not contiguous": lambda s: not s.contiguous,
    "scores are large": lambda s: s.spread > 1,
    "it is in training": lambda s: s.training,
    "it is in evaluation": lambda s: not s.training,
}


def where_it_is_wrong(scenarios: list[Scenario], wrong: list[bool]) -> str:
    """The kind of input that all wrong cases are and no right one is, if there is one."""
    for text, belongs in KINDS.items():
        if any(wrong) and [belongs(s) for s in scenarios] == wrong:
            return f"\n  It is wrong wherever {text}, and right everywhere else."
    share = f"{sum(wrong)} of {len(wrong)} cases"
    return f"\n  It is wrong in {share}, and equals no piece of the museum."
