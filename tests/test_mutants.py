"""The generator of faults: what it makes, and that it tells a tested function from an untested."""

import json
import re

import pytest

from tools import mutants
from tools.mutation.choice import choose_tests
from tools.mutation.javascript import js_mutants
from tools.mutation.operators import OPERATORS
from tools.mutation.python import python_mutants
from tools.mutation.sample import GROUPS, PACKAGE, files_of, mutants_of, sample
from tools.mutation.trial import Trial

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


CODE = [path for path in files_of("core") if "def " in path.read_text("utf-8")]  # or only imports


@pytest.mark.parametrize("path", CODE, ids=lambda p: p.name)
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
TESTS = """import pathlib
from mha_utils.toy import below, tested, untested

def test_tested():
    assert tested(1) == 2

def test_that_notices_nothing():
    untested(1)

def test_below():
    assert below(2) and not below(3)

def test_that_is_red_by_itself_later():
    untested(1)
    runs = pathlib.Path("runs")
    runs.write_text(runs.read_text() + "." if runs.exists() else ".")
    assert runs.read_text() == "."
"""


def test_a_hole_survives_and_what_is_tested_is_killed(tmp_path):
    """In bodies of functions, and in what runs at import."""
    for part, text in (("mha_utils/toy.py", TOY), ("tests/test_toy.py", TESTS)):
        (tmp_path / part).parent.mkdir(exist_ok=True)
        (tmp_path / part).write_text(text)
    (tmp_path / "mha_utils/__init__.py").touch()
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "conftest.py").touch()
    found = python_mutants("toy.py", TOY)
    trial = Trial(tmp_path, tmp_path / "log.jsonl", cache=tmp_path)
    noticed = trial.run(found)
    assert len(noticed) == len(found) >= 6
    assert trial.unreliable == {"tests/test_toy.py::test_that_is_red_by_itself_later"}
    for mutant in found:
        assert bool(noticed[mutant.name]) == (mutant.scope != "untested"), mutant.name
    assert (tmp_path / "mha_utils/toy.py").read_text() == TOY
    again = Trial(tmp_path, tmp_path / "log.jsonl", cache=tmp_path)
    again.verdict = lambda mutant: pytest.fail("what is in the log is not tried again")
    assert again.run(found) == noticed


def test_what_no_test_calls_is_tried_by_tests_of_its_folder():
    rows = {
        "starts a team": {"calls": [["distributed/team.py", "Team.run"]], "seconds": 1},
        "adds": {"calls": [["core/steps.py", "add"]], "seconds": 1},
    }
    files = ("distributed/worker.py", "core/toy.py", "elsewhere/toy.py")
    found = [choose_tests(python_mutants(file, TOY)[0], rows, seconds=9) for file in files]
    assert found == [["starts a team"], ["adds"], []]


def test_a_mutant_without_end_is_killed(tmp_path, monkeypatch):
    """What a child that was stopped says is not a test, which could be tried without the mutant."""
    (tmp_path / "mha_utils").mkdir()
    (tmp_path / "mha_utils/toy.py").write_text(TOY)
    trial = Trial(tmp_path, tmp_path / "log.jsonl", cache=tmp_path)
    monkeypatch.setattr(Trial, "tests", {})
    monkeypatch.setattr(trial, "by_tests", lambda names: "ended with status 14")
    assert trial.verdict(python_mutants("toy.py", TOY)[0]) == "ended with status 14"


def test_a_small_sample_is_kept_apart_and_the_same_one_once(tmp_path, monkeypatch):
    monkeypatch.setattr(mutants, "TABLE", tmp_path / "mutants.json")
    sizes = (60, 200, 129, 130, 61)
    for seed, size in zip((1, 2, 3, 4, 1), sizes):
        groups = {"core": {"planted": size - 9}, "checks": {"planted": 9}}
        mutants.store({"seed": seed, "commit": "abc", "groups": groups})
    table = json.loads(mutants.TABLE.read_text("utf-8"))
    assert {kind: [row["seed"] for row in rows] for kind, rows in table.items()} == {
        "samples": [2, 4],
        "small": [3, 1],
    }


def test_the_stored_table_is_honest():
    if not mutants.TABLE.exists():
        pytest.skip("make mutants has not been run")
    table = json.loads(mutants.TABLE.read_text("utf-8"))
    samples, small = table["samples"], table["small"]
    assert len({row["seed"] for row in samples}) >= 2
    for row in samples + small:
        planted = sum(group["planted"] for group in row["groups"].values())
        alive = planted - sum(group["killed"] for group in row["groups"].values())
        equivalent = sum(group["equivalent"] for group in row["groups"].values())
        assert (planted >= mutants.ENOUGH, len(row["survivors"])) == (row in samples, alive)
        assert sum(why != "hole" for why in row["survivors"].values()) == equivalent
    whole = [row for row in samples if set(row["groups"]) == set(GROUPS)]
    assert len(whole) >= 4  # one asks Python alone
    rates = [killed / of for killed, of in (mutants.rate(row["groups"]) for row in samples)]
    assert min(rates[1:]) > 0.9
    assert sum(rate >= 0.95 for rate in rates[1:]) >= 2  # the first is what holes were found by


@pytest.mark.parametrize("name", json.loads(mutants.REASONS.read_text("utf-8")))
def test_what_no_test_can_notice_is_still_there(name):
    file, line = name.split(" ", 1)[0], name.split(": ", 2)[2]
    before = re.sub(r"⟦(.*?)→.*?⟧", r"\1", line)  # as it stands, without the mutation
    assert "".join(before.split()) in "".join((PACKAGE / file).read_text("utf-8").split())


def test_a_test_that_starts_a_program_and_names_the_function_is_tried():
    here = "tests/test_errors.py::test_no_module_is_refused_where_nobody_checks_types"
    other = "tests/test_errors.py::test_wrong_types_are_named_too[1]"
    rows = {name: {"calls": [], "seconds": 1} for name in (other, here, "01_single_head.ipynb")}
    mutant = python_mutants("core/toy.py", "def from_torch(a):\n    return a + 1\n")[0]
    assert choose_tests(mutant, rows, seconds=9) == [here]
