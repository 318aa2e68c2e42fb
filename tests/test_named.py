"""Layers in the styles of well-known packages: right ones pass, planted bugs are named.

A few bugs of every style are planted here, all of them with MHA_ALL_PLANTED=1 or by `make named`.
"""

import json
import os

import pytest

from tools import named

PLANS = {style: named.plan(style)["bugs"] for style in named.styles()}
EVERY = 1 if os.environ.get("MHA_ALL_PLANTED") else 14
ALL = [(style, *bug) for style, bugs in PLANS.items() for bug in bugs]
RECORD = json.loads(named.TABLE.read_text("utf-8"))
LEFT = RECORD["not named"].items()
NOT_NAMED = [(style, bug) for style, kinds in LEFT for bugs in kinds.values() for bug in bugs]


@pytest.mark.parametrize("style", PLANS)
def test_a_right_layer_passes(style):
    assert named.report_on(style, named.planted(style)).startswith("✓ Attention: ")


@pytest.mark.parametrize("style", PLANS)
def test_every_bug_changes_the_text_into_another_program(style):
    sources = {named.planted(style, *texts) for _, *texts in PLANS[style]}
    assert len(sources | {named.planted(style)}) == len(PLANS[style]) + 1
    for source in sources:
        compile(source, style, "exec")


@pytest.mark.parametrize(("style", "name", "texts"), [(s, n, t) for s, n, *t in ALL[::EVERY]])
def test_a_planted_bug_is_found_and_not_misnamed(style, name, texts):
    report = named.report_on(style, named.planted(style, *texts))
    is_named = (style, named.described(name, *texts)) not in NOT_NAMED
    assert named.outcome(name, report) == ("named" if is_named else "unnamed"), report


def test_the_record_is_of_these_bugs_and_most_are_named():
    counts = RECORD["styles"]
    assert {style: sum(kinds.values()) for style, kinds in counts.items()} == {
        style: len(bugs) for style, bugs in PLANS.items()
    }
    assert all(kinds["not found"] == kinds["misnamed"] == 0 for kinds in counts.values())
    assert sum(kinds["named"] for kinds in counts.values()) >= 0.9 * len(ALL)


OUTCOMES = {
    "✓ Attention: right": "not found",
    "✗ wrong.\n  Your result equals: no scale (chapter 07).": "named",
    "✗ wrong.\n  Your result equals: mask ignored.": "misnamed",
    "✗ wrong.\n  It is wrong in 2 of 3 cases": "unnamed",
}


@pytest.mark.parametrize("report", OUTCOMES)
def test_the_outcome_is_read_from_the_report(report):
    assert named.outcome("no softmax | no scale", report) == OUTCOMES[report]


def test_a_text_that_is_not_there_cannot_be_planted():
    with pytest.raises(ValueError, match="timm has no 'nothing like it'"):
        named.planted("timm", "nothing like it", "")
