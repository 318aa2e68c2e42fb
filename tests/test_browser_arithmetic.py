"""The arithmetic that all live views share, in JavaScript, against torch on many random inputs."""

import math

import numpy as np
import pytest
import torch
from view_host import host, needs_browser
from view_pictures import rgb, shade, signed_shade

from mha_utils import attention_scores, attention_weights, causal_mask, theme, widgets
from mha_utils.core.costs import IMPLEMENTATIONS, Workload, cost_of
from mha_utils.widgets.kit.base import FOLDER
from tools.lab_browser import browser

pytestmark = needs_browser
NAMES = "attentionScores attentionWeights softmax dot rowsOf entropy halves floats divisors inkOn"
NAMES += " weightColour paletteColour weightHex signedHex css"


@pytest.fixture(scope="module")
def page():
    with browser() as chrome:
        page = chrome.new_page()
        host(page, widgets.ShapeLetters(), f"\nexport {{ {', '.join(NAMES.split())} }};")
        yield page


def each(page, name: str, arguments: list) -> list:
    """The function of base.js for each list of arguments; lists become arrays of floats."""
    return page.evaluate(
        """([name, all]) => all.map((given) => {
          const taken = given.map((x) => (Array.isArray(x) && name.startsWith("attention")
            ? Float64Array.from(x) : x));
          const made = window.module[name](...taken);
          return made?.buffer ? Array.from(made) : made;
        })""",
        [name, arguments],
    )


def random_sizes(seed: int) -> tuple:
    rng = np.random.default_rng(seed)
    return rng, int(rng.integers(1, 14)), int(rng.integers(1, 20)), int(rng.integers(1, 4))


def test_every_function_is_named_above():
    source = (FOLDER / "base.js").read_text("utf-8")
    computed = source[source.index("// ---- data and maths") :].count("export function")
    assert computed == 9


def test_scores_of_any_columns_of_any_words(page):
    given, expected = [], []
    for seed in range(40):
        rng, length, width, heads = random_sizes(seed)
        q, k = (rng.normal(size=(9, heads * width)) for _ in "qk")
        ids, head = rng.integers(0, 9, size=length), int(rng.integers(heads))
        given.append([q.ravel().tolist(), k.ravel().tolist(), ids.tolist(), width])
        given[-1] += [heads * width, head * width]
        cut = [torch.tensor(x[ids, head * width :][:, :width]) for x in (q, k)]
        expected.append(attention_scores(*cut).flatten())
    for found, scores in zip(each(page, "attentionScores", given), expected, strict=True):
        np.testing.assert_allclose(found, scores, atol=1e-5)


@pytest.mark.parametrize("size", [1, 30, 1e4])
def test_weights_of_any_scores(page, size):
    given, expected = [], []
    for seed in range(30):
        rng, length, _, _ = random_sizes(seed)
        scores = torch.tensor(rng.normal(size=(length, length)) * size)
        temperature, causal = float(rng.uniform(0.1, 4)), bool(seed % 2)
        given.append([scores.flatten().tolist(), length, temperature, causal])
        mask = causal_mask(length) if causal else None
        expected.append(attention_weights(scores / temperature, mask).flatten())
    for found, weights in zip(each(page, "attentionWeights", given), expected, strict=True):
        np.testing.assert_allclose(found, weights, atol=1e-6)


def test_softmax_entropy_and_products(page):
    rng = np.random.default_rng(0)
    rows = [(rng.normal(size=int(rng.integers(1, 20))) * 3).tolist() for _ in range(40)]
    shares = [torch.tensor(row, dtype=torch.float64).softmax(dim=0) for row in rows]
    for found, expected in zip(each(page, "softmax", [[row] for row in rows]), shares):
        np.testing.assert_allclose(found, expected, atol=1e-9)
    entropies = [torch.special.entr(share).sum() for share in shares]
    np.testing.assert_allclose(each(page, "entropy", [[s.tolist()] for s in shares]), entropies)
    assert each(page, "entropy", [[[0.0, 1.0]], [[0.5, 0.5, 0.0]]]) == [
        0,
        pytest.approx(math.log(2)),
    ]
    pairs = [(row, rng.normal(size=len(row)).tolist()) for row in rows]
    np.testing.assert_allclose(
        each(page, "dot", [list(p) for p in pairs]), [np.dot(*p) for p in pairs]
    )


def test_softmax_over_allowed_places(page):
    found = page.evaluate(
        """() => [[1, 2, 3], [1e4, -1e4, 0], [5], [2, 2]].map((scores) =>
          [0, 1, 2].map((least) => window.module.softmax(scores, (j) => j >= least)))"""
    )
    for scores, rows in zip(([1, 2, 3], [1e4, -1e4, 0], [5], [2, 2]), found, strict=True):
        for least, row in enumerate(rows):
            mask = torch.arange(len(scores)) >= least
            expected = attention_weights(torch.tensor([scores]).double(), mask[None])
            np.testing.assert_allclose(row, expected[0], atol=1e-9)


def test_divisors_and_rows(page):
    assert each(page, "divisors", [[n] for n in range(1, 60)]) == [
        [d for d in range(1, n + 1) if n % d == 0] for n in range(1, 60)
    ]
    rows = page.evaluate("() => window.module.rowsOf(Float32Array.from([1, 2, 3, 4, 5, 6]), 2)")
    assert rows == [[1, 2], [3, 4], [5, 6]]


def test_every_number_of_half_precision(page):
    found = page.evaluate(
        """() => Array.from(window.module.halves(
          new DataView(Uint16Array.from({ length: 65536 }, (_, n) => n).buffer)), String)"""
    )
    expected = np.arange(65536, dtype=np.uint16).view(np.float16).astype(np.float64)
    numbers = [float(n.replace("Infinity", "inf")) for n in found]
    np.testing.assert_array_equal(numbers, expected)


def test_colours_are_those_of_the_theme(page):
    shares = [n / 500 for n in range(501)]
    for name, expected in (("weightHex", shade), ("signedHex", signed_shade)):
        scale = 2 if name == "signedHex" else 1
        given = [s * scale - (scale - 1) for s in shares]
        for share, found in zip(given, each(page, name, [[s] for s in given]), strict=True):
            np.testing.assert_allclose(rgb(found), expected(share), atol=1, err_msg=str(share))
    beyond = each(page, "weightColour", [[-3], [0], [1], [7]])
    assert beyond[0] == beyond[1] == theme.palette()[0]
    assert beyond[2] == beyond[3] == theme.palette()[-1]
    assert each(page, "css", [[[1, 2, 3]]]) == ["rgb(1,2,3)"]


def test_ink_can_be_read_on_every_colour(page):
    parts = range(0, 256, 17)
    colours = [f"#{r:02x}{g:02x}{b:02x}" for r in parts for g in parts for b in parts]
    assert each(page, "inkOn", [[c] for c in colours]) == [theme.ink_on(c) for c in colours]


def test_counts_are_those_of_python(page):
    rng, given, expected = np.random.default_rng(0), [], []
    for _ in range(100):
        heads, length, batch, width = (int(n) for n in rng.integers(1, 40, size=4))
        causal, size = bool(rng.integers(2)), int(rng.choice([2, 4]))
        sizes = {"b": batch, "t": length, "d": heads * width, "h": heads}
        work = Workload(batch, length, heads * width, heads, causal, size)
        for name in IMPLEMENTATIONS:
            given.append([name, sizes | {"causal": causal, "size": size}])
            cost = cost_of(name, work)
            expected.append([cost.flops, cost.moved_bytes, cost.map_bytes])
    host(page, widgets.LayerCost(), "\nexport { costOf };")
    found = each(page, "costOf", given)
    assert [[row[n] for n in ("flops", "moved", "maps")] for row in found] == expected
