"""Every fact of every chapter can turn false: no sentence holds whatever is computed."""

import functools

import pytest
from fact_breaker import is_breakable
from tweaking import SLOW, TABLES, played

from tools.notebooks import FOLDER, chapters
from tools.suite.chapter_runner import code_cells, run

EACH = [
    pytest.param(path, id=path.stem, marks=SLOW if TABLES[path.stem].get("slow") else ())
    for path in chapters()
]


@pytest.mark.parametrize("path", EACH)
def test_every_fact_can_fail(path):
    assert played(path.stem, functools.partial(unbreakable, path)) is None


def unbreakable(path) -> str | None:
    """Facts that hold whatever is computed."""
    import os

    import matplotlib.pyplot as plt
    from IPython.core.interactiveshell import InteractiveShell

    from mha_utils import facts

    os.chdir(FOLDER)
    plt.switch_backend("agg")
    found = []
    facts.facts = lambda claims: found.extend(s for s, c in claims.items() if not is_breakable(c))
    for cell in code_cells(path):
        *_, error = run(InteractiveShell.instance(), cell.source)
        plt.close("all")
        assert error is None, f"{error} in\n{cell.source}"
    return "\n".join(found) or None


HOLDS = [1, 2]


@pytest.mark.parametrize(
    ("condition", "can_fail"),
    [
        (lambda: HOLDS == [1, 2], True),
        (lambda: len(HOLDS) == 2, True),
        (lambda: 2 > 1, True),
        (lambda: True, False),
        (lambda: isinstance(HOLDS, list), False),
        (lambda: next(iter(())), False),
    ],
)
def test_a_fact_that_holds_whatever_is_computed_is_found(condition, can_fail):
    assert is_breakable(condition) == can_fail
