"""The generator of faults: what it makes, and that it tells a tested function from an untested."""

import json

import pytest

from tools import mutants
from tools.mutant_sample import GROUPS, PACKAGE, files_of, mutants_of, sample
from tools.mutant_stages import Stages
from tools.mutation_operators import OPERATORS
from tools.mutations import python_mutants
from tools.mutations_js import js_mutants

SOURCE = '''"""Not 1 < 2."""


def shown(x, mask: "B 3" = None, *, wide=True):
    """Adds 1."""
    if mask is None or not wide:
        raise ValueError(f"1 + {x}")
    total = 0.5
    for row in x.detach():
        total += -row.sum(dim=-1) * 2
    weights = scale(x, total, wide=not wide)
    weights[0] = other(weights)
    return weights if x.ndim == 3 else weights @ x


def stored(x):
    keep(x)
    keep(2 * x)
'''
EXPECTED = """comparison: if mask ⟦is→is not⟧ None or not wide:
and, or: if mask is None ⟦or→and⟧ not wide:
negation: if mask is None or ⟦not →⟧wide:
condition: if ⟦mask is None or not wide→(not (mask is None or not wide))⟧:
drop statement: ⟦raise ValueError(f"1 + {x}")→pass⟧
constant: total = ⟦0.5→0.6⟧
loop once: total += -row.sum(dim=-1) * 2⟦→; break⟧
drop call: for row in ⟦x.detach()→x⟧:
arithmetic: total ⟦+=→-=⟧ -row.sum(dim=-1) * 2
sign: total += ⟦-→⟧row.sum(dim=-1) * 2
dimension: total += -row.sum(dim=⟦-1→-2⟧) * 2
drop keyword: weights = scale(x, total⟦, wide=not wide→⟧)
drop argument: weights = scale(x, ⟦total, →⟧wide=not wide)
swap arguments: weights = scale(⟦x, total→total, x⟧, wide=not wide)
drop statement: ⟦weights[0] = other(weights)→pass⟧
comparison: return weights if x.ndim ⟦==→!=⟧ 3 else weights @ x
constant: def shown(x, mask: "B 3" = None, *, wide=⟦True→False⟧):
return early: ⟦→return; ⟧keep(2 * x)
arithmetic: keep(2 ⟦*→/⟧ x)"""
SCRIPT = """import { a } from "./base.js";
function mean(rows, name) { // 1 < 2
  const sum = rows.reduce((a, b) => a + b, 0);
  draw(rows, "1 < 2");
  return `${name}: ${sum / rows.length - 1}` + (sum >= 0 && !name ? true : Math.max(...rows, 46));
}
"""
IN_SCRIPT = """arithmetic: const sum = rows.reduce((a, b) => a ⟦+→-⟧ b, 0);
constant: const sum = rows.reduce((a, b) => a + b, ⟦0→1⟧);
drop statement: ⟦draw(rows, "1 < 2");→;⟧
arithmetic: ${sum ⟦/→*⟧ rows.length - 1}
comparison: (sum ⟦>=→>⟧ 0 && !name
and, or: (sum >= 0 ⟦&&→||⟧ !name
comparison: && ⟦!→⟧name ?
word: ? ⟦true→false⟧ :
word: Math.⟦max→min⟧(...rows, 46)"""


def names(found: list) -> list[str]:
    return [mutant.name.split(": ", 1)[1] for mutant in found]


@pytest.mark.parametrize("expected", EXPECTED.splitlines())
def test_what_is_changed_in_python(expected):
    assert expected in names(python_mutants("toy.py", SOURCE))


def test_prose_annotations_and_errors_are_left_alone():
    for mutant in python_mutants("toy.py", SOURCE):
        line = SOURCE[: mutant.start].count("\n")
        assert mutant.operator == "drop statement" or SOURCE.splitlines()[line].count('"') < 4
        assert SOURCE[mutant.start : mutant.end] == mutant.old


@pytest.mark.parametrize("expected", IN_SCRIPT.splitlines())
def test_what_is_changed_in_javascript(expected):
    found = names(js_mutants("toy.js", SCRIPT))
    operator, change = expected.split(": ", 1)
    assert any(name.startswith(operator) and change in name for name in found)
    assert not [name for name in found if "46⟦" in name or "⟦46" in name or "import" in name]


@pytest.mark.parametrize("path", files_of("core"), ids=lambda p: p.name)
def test_every_mutant_parses_and_differs_and_moves_no_line(path):
    source = path.read_text("utf-8")
    seen = set()
    for mutant in mutants_of(path):
        wrong = source[: mutant.start] + mutant.new + source[mutant.end :]
        seen.add(wrong)
        assert len(wrong.splitlines()) == len(source.splitlines()), mutant.name
    assert len(seen) == len(mutants_of(path)) > 5
    assert source not in seen


def test_every_operator_is_used():
    operators = {m.operator for group in GROUPS for f in files_of(group) for m in mutants_of(f)}
    assert len(OPERATORS) == 11
    assert {name.split(":")[0] for name in EXPECTED.splitlines()} <= operators


def test_same_seed_same_sample_with_a_share_for_every_group():
    first, again, other = (sample(seed, 60) for seed in (1, 1, 2))
    assert first == again != other
    assert set(first) == set(GROUPS)
    for group, mutants_of_group in first.items():
        assert abs(len(mutants_of_group) - 60 * GROUPS[group][1]) < 1
        assert {PACKAGE / m.file for m in mutants_of_group} <= set(files_of(group))


TOY = """def tested(x):
    return x + 1


def untested(x):
    return x + 1


LIMIT = 3


def below(x):
    return x < LIMIT
"""
TESTS = """from mha_utils.toy import below, tested, untested

def test_tested():
    assert tested(1) == 2

def test_that_notices_nothing():
    untested(1)

def test_below():
    assert below(2) and not below(3)
"""


def test_a_hole_survives_and_what_is_tested_is_killed(tmp_path):
    """In bodies, which are exchanged, and in what runs at import."""
    for part, text in (("mha_utils/toy.py", TOY), ("tests/test_toy.py", TESTS)):
        (tmp_path / part).parent.mkdir(exist_ok=True)
        (tmp_path / part).write_text(text)
    (tmp_path / "mha_utils/__init__.py").touch()
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "conftest.py").touch()
    found = python_mutants("toy.py", TOY)
    stages = Stages(tmp_path, tmp_path / "log.jsonl", cache=tmp_path)
    noticed = stages.run(found)
    assert len(noticed) == len(found) >= 6
    assert {"cold", "tests", "chapters"} == {row["stage"] for row in stages.verdicts().values()}
    for mutant in found:
        assert bool(noticed[mutant.name]) == (mutant.scope != "untested"), mutant.name
    assert (tmp_path / "mha_utils/toy.py").read_text() == TOY


def test_the_stored_table_is_honest():
    if not mutants.TABLE.exists():
        pytest.skip("make mutants has not been run")
    samples = json.loads(mutants.TABLE.read_text("utf-8"))["samples"]
    assert len({row["seed"] for row in samples}) >= 2
    for row in samples:
        planted = sum(group["planted"] for group in row["groups"].values())
        alive = planted - sum(group["killed"] for group in row["groups"].values())
        assert (planted >= 150, len(row["survivors"])) == (True, alive)
        assert set(row["groups"]) == set(GROUPS)
    killed, of = mutants.rate(samples[-1]["groups"])
    assert killed / of >= 0.95
