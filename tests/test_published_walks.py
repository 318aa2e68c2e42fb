"""Two published walk-throughs, step by step: chapter 90 prints their numbers.

Both print four decimals. Every number listed here has to be found, in order, among the numbers
that one of its cells prints; a last digit may differ by one.
"""

import re

import nbformat
import numpy as np
import pytest

from mha_utils import data
from tools.notebooks import FOLDER

CAUSAL = "False True True True False False True True False False False True False False False False"
MASKED = """
    0.2569 -inf -inf -inf 0.0221 -0.5462 -inf -inf
    -0.2866 -0.0408 -0.2315 -inf -0.6317 -0.2327 -0.2567 0.1943
"""
DROPPED = """
    0 0 0 0 0.9688 0 0 0 0.5233 0.6031 0 0 0.3260 0 0 0
    1.6667 0 0 0 0 0.9701 0 0 0.6630 0.5582 0.4455 0 0 0.5764 0 0.4370
    1.6667 0 0 0 0.7641 0.9025 0 0 0 0.4754 0 0 0.4113 0 0 0
"""
MERGED = """
    0 0 0 0.5083 0.6182 0.3072 0.4235 0.4775 -0.2888
    0.1710 0.2080 0.1034 1.4620 0.1345 -1.6095 0.1398 -0.9007 -0.8149
"""
WALK = {
    "projection and split": "2 4 9 2 4 3 3",
    "queries after the transpose": data.WALK_QUERIES,
    "scores": data.WALK_SCORES,
    "the mask": CAUSAL,
    "masked scores": MASKED,
    "weights": data.WALK_WEIGHTS,
    "weights after dropout": DROPPED,
    "context": data.WALK_CONTEXT,
    "the merge, wrong as published": MERGED,
}
NEWS = {
    "context of the second word": data.NEWS_CONTEXT,
    "one head of width 1": data.NEWS_COLUMN,
    "queries of three heads": data.NEWS_THREE_QUERIES,
    "keys and values of three heads": "3 13 24 3 13 28",
    "four heads, a list": data.NEWS_FOUR_HEADS,
}
NUMBER = re.compile(r"-?inf|True|False|-?\d+\.?\d*")


def numbers_of(text: str) -> list[float]:
    words = {"True": 1.0, "False": 0.0}
    return [words[n] if n in words else float(n) for n in NUMBER.findall(text)]


def printed() -> list[list[float]]:
    cells = nbformat.read(FOLDER / "90_published_walks.ipynb", as_version=4).cells
    texts = [o.get("text", "") for c in cells for o in c.get("outputs", [])]
    return [numbers_of(text) for text in texts]


def contains(numbers: list[float], wanted: list[float]) -> bool:
    windows = len(numbers) - len(wanted) + 1
    return any(
        np.allclose(numbers[i : i + len(wanted)], wanted, rtol=0, atol=1.01e-4)
        for i in range(windows)
    )


@pytest.mark.parametrize(("step", "wanted"), [*WALK.items(), *NEWS.items()])
def test_chapter_prints_the_published_numbers(step, wanted):
    wanted = numbers_of(wanted)
    outputs = printed()
    assert any(contains(numbers, wanted) for numbers in outputs), step
    changed = [*wanted[:-1], wanted[-1] + 0.1]
    assert not any(contains(numbers, changed) for numbers in outputs)  # the search is able to fail
