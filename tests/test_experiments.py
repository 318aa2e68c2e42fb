"""The record of the experiments: complete, reproducible, and honest about what is not in it."""

import fnmatch
import json
import tomllib
from dataclasses import asdict
from pathlib import Path

import pytest

from mha_utils.experiments import record as experiments
from mha_utils.experiments.model import Shape
from mha_utils.experiments.record import (
    EXPERIMENTS,
    RECORD,
    find,
    recorded,
    run,
    same_size,
    seeds_of,
)
from mha_utils.experiments.tasks import ThreeRelations
from mha_utils.experiments.train import Recipe

ROOT = Path(__file__).parents[1]
TINY = experiments.Experiment(ThreeRelations(), Recipe(2, batch_size=4, warm_up=1), (Shape(2, 4),))


@pytest.mark.parametrize("shape", [Shape(1, 48), Shape(2, 24)])
def test_a_configuration_comes_out_as_recorded(shape):
    """Another processor rounds differently, so not to the last digit."""
    again = run("lookups", shape, (0,))
    row = find("lookups", num_heads=shape.num_heads)
    assert again["parameters"] == row["parameters"]
    for name in again["scores"]:
        assert again["scores"][name][0] == pytest.approx(row["scores"][name][0], abs=0.005)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_configuration_and_seed_is_recorded(name):
    rows = recorded(name)
    for shape in EXPERIMENTS[name].shapes:
        (row,) = [row for row in rows if all(row[k] == v for k, v in asdict(shape).items())]
        assert row["seeds"] == list(seeds_of(shape))
        assert {len(values) for values in row["scores"].values()} == {len(row["seeds"])}
    assert len(rows) == len(set(EXPERIMENTS[name].shapes))


def test_the_record_is_part_of_the_package():
    setup = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    patterns = setup["package-data"]["mha_utils"]
    for inside in (RECORD.relative_to(ROOT / "mha_utils").as_posix(), "trained/sentences.txt"):
        assert any(fnmatch.fnmatch(inside, pattern) for pattern in patterns)


def test_models_of_the_same_size_are_just_that():
    rows = same_size("lookups")
    assert list(rows) == list(experiments.HEADS)
    assert len({row["parameters"] for row in rows.values()}) == 1


def test_the_command_replaces_what_it_measures_and_keeps_the_rest(tmp_path, monkeypatch):
    monkeypatch.setattr(experiments, "EXPERIMENTS", {"relations": TINY, "grammar": TINY})
    path = tmp_path / "there" / "record.json"
    monkeypatch.setattr("sys.argv", ["experiments", "--output", str(path)])
    experiments.main()
    first = json.loads(path.read_text())["rows"]
    assert [row["task"] for row in first] == ["relations", "grammar"]
    monkeypatch.setattr("sys.argv", ["experiments", "relations", "--output", str(path)])
    experiments.main()
    assert [r["task"] for r in json.loads(path.read_text())["rows"]] == ["grammar", "relations"]
    assert json.loads(path.read_text())["rows"][1] == first[0]


def test_removing_a_head_is_measured_head_by_head():
    models = experiments.train(TINY.task, Shape(3, 4), TINY.recipe)
    (layer,) = experiments.scores_without_heads(models[0], TINY.task)
    assert len(layer) == 3
    assert all(set(scores) == {"previous", "named", "first", "all"} for scores in layer)
    assert layer[0] != layer[1]


def test_what_is_not_recorded_is_said(tmp_path):
    with pytest.raises(ValueError, match=r"no recorded result for lookups with \{'num_heads': 5\}"):
        find("lookups", num_heads=5)
    with pytest.raises(ValueError, match=r"task must be one of \['lookups', .*\], got 'chess'"):
        recorded("chess")
    missing = "no recorded results at none.json; make them with `make experiments`"
    with pytest.raises(ValueError, match=missing):
        recorded(path=tmp_path / "none.json")
