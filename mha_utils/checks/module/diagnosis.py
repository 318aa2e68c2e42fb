"""Why is it wrong? The bug that gives the same numbers, or the kind of input that is wrong."""

import functools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from mha_utils.checks.judge import close
from mha_utils.checks.module.adapters import Adapter
from mha_utils.checks.module.attempts import (
    Attempt,
    are_same,
    bug_adapter,
    bug_results,
    dropout_findings,
    play,
    way_of_calling,
)
from mha_utils.checks.module.scenarios import Drawn, Scenario, draw, where_it_is_wrong
from mha_utils.checks.module.suspects import DROPPING_TOO, FIRST, SUSPECTS
from mha_utils.checks.module.suspects.scores import WAYS
from mha_utils.checks.report import or_none
from mha_utils.museum import DROPPING, MUSEUM, Bug

ROUNDING = (
    "The differences are as small as those of rounding, up and down alike: does it compute scores "
    "or weights in float16 or bfloat16? (chapter 07, section 3)"
)


def looks_like_rounding(pairs: list[tuple[np.ndarray, np.ndarray]]) -> bool:
    """Whether all numbers are off by a little, and no more often up than down."""
    if any(found.shape != right.shape for found, right in pairs):
        return False
    if all(close(found, right) for found, right in pairs):
        return False
    sizes = [max(np.abs(right).max(), 1.0) for _, right in pairs]
    off = np.concatenate([(f - r).ravel() / size for (f, r), size in zip(pairs, sizes)])
    right = np.concatenate([r.ravel() / size for (_, r), size in zip(pairs, sizes)])
    return bool(np.abs(off).max() < 0.02 and np.abs(np.corrcoef(off, right)[0, 1]) < 0.3)


MEETING = "Sequences of a batch see each other: is (B, T, D) read as (T, B, D)? See chapter 10."


FEW = 4  # bugs that nothing tells apart; more of them are no name


def diagnosis(adapter: Adapter, attempts: list, scenarios: list[Scenario], seed: int) -> str:
    """The bug that the answer equals everywhere, or where it is wrong."""
    rest = scenarios[len(attempts) :]
    attempts = attempts + [or_none(play, adapter, draw(s, seed)) for s in rest]
    wrong = [a is None or not are_same(a.results, a.expected()) for a in attempts]
    judged = [(a, is_wrong) for a, is_wrong in zip(attempts, wrong) if has_right_shape(a)]
    if bugs := same_bugs(judged, adapter, seed):
        return named(*bugs)
    if None not in attempts and looks_like_rounding([p for a in attempts for p in pairs_of(a)]):
        return ROUNDING
    if bugs := same_bugs([p for p in judged if not p[0].case.scenario.hides], adapter, seed):
        return f"Where nothing is hidden: {named(*bugs)}"
    if sequences_meet(adapter, draw(scenarios[0], seed)):
        return MEETING
    return where_it_is_wrong(scenarios, wrong)


def has_right_shape(attempt: Attempt | None) -> bool:
    """Whether there are numbers that can be compared."""
    out = None if attempt is None else attempt.results.get("out")
    return out is not None and out.shape == attempt.case.x.shape


def same_bugs(judged: list[tuple[Attempt, bool]], adapter: Adapter, seed: int) -> list[Bug]:
    """The bugs that give what the answer gives in all of these cases, some of which are wrong."""
    wrong_first = sorted(judged, key=lambda pair: not pair[1])  # they tell bugs apart soonest
    if not wrong_first or not wrong_first[0][1]:
        return []
    for bugs in candidates("empty rows" in adapter.takes):
        found = [b for b in bugs if all(equals(a, b, adapter, seed) for a, _ in wrong_first)]
        if found:
            return found if len(found) <= FEW else []
    return []


def candidates(fills_empty_rows: bool) -> Iterator[tuple[Bug, ...]]:
    """All bugs; then, each together with what a right layer may do with rows without a key."""
    yield (*FIRST, *MUSEUM, *SUSPECTS)
    for way in () if fills_empty_rows else WAYS:
        yield tuple(with_way(bug, way) for bug in (*FIRST, *MUSEUM, *SUSPECTS))


@functools.cache
def with_way(bug: Bug, way: type) -> Bug:
    """The bug where rows without a key are treated in this way."""
    return replace(bug, module=type(bug.module.__name__, (bug.module, way), {}))


def pairs_of(attempt: Attempt) -> list[tuple]:
    """What was found and what is right: output, weights, gradients."""
    found, right = attempt.results, attempt.expected()
    return [(found[name], right[name]) for name in right if name in found]


def equals(attempt: Attempt, bug: Bug, adapter: Adapter, seed: int) -> bool:
    how = way_of_calling(adapter)
    of_bug = bug_results(bug, attempt.case.scenario, seed, attempt.biases, *how)
    return are_same(attempt.results, of_bug)


def named(*bugs: Bug) -> str:
    """What a report says of bugs that nothing tells apart here."""
    return "\n  ".join(f"Your result equals: {bug.label}" for bug in bugs)


def sequences_meet(adapter: Adapter, case: Drawn) -> bool:
    """Whether sequence 0 comes out differently when it is alone."""
    first = {name: getattr(case, name)[:1] for name in ("x", "context", "grad_out")}
    together, single = (or_none(play, adapter, c) for c in (case, replace(case, **first)))
    if together is None or single is None:
        return False
    return not close(together.results["out"][:1], single.results["out"])


def dropout_diagnosis(adapter: Adapter) -> str:
    """The bug that does with dropout what the answer does; all of them are right without it."""

    def findings(adapter):
        return [dropout_findings(adapter, training) for training in (True, False)]

    found, how = or_none(findings, adapter), way_of_calling(adapter)
    for bug in (*DROPPING, *DROPPING_TOO) if found else ():
        twin = replace(bug_adapter(bug, *how), takes=adapter.takes, sizes=adapter.sizes)
        if or_none(findings, twin) == found:
            return f"\n  {named(bug)}"
    return ""
