"""The arithmetic that all live views share, in JavaScript, against torch on many random inputs.

It runs in deno, without a browser.
"""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from view_pictures import rgb, shade, signed_shade
from view_units import evaluate

from mha_utils import attention_scores, attention_weights, causal_mask, theme
from mha_utils.core.costs import IMPLEMENTATIONS, Workload, cost_of
from mha_utils.widgets.kit.values import fixed


def each(module: str, name: str, arguments: list) -> list:
    """What a function of kit/ makes of each list of arguments; lists become arrays of floats."""
    return evaluate(
        f"kit/{module}.js",
        """(module, [name, all]) => all.map((given) => module[name](...given.map((x) =>
          Array.isArray(x) && name.startsWith("attention") ? Float64Array.from(x) : x)))""",
        [name, arguments],
    )


def test_python_and_javascript_write_numbers_alike():
    written = {0.125: "0.13", -0.125: "−0.13", 2.5: "2.50", -0.001: "0.00", -math.inf: "−∞"}
    assert [fixed(number) for number in written] == list(written.values())
    finite = [number for number in written if math.isfinite(number)]
    assert each("words", "fixed", [[x] for x in finite]) == [written[x] for x in finite]


def random_sizes(seed: int) -> tuple:
    rng = np.random.default_rng(seed)
    return rng, int(rng.integers(1, 14)), int(rng.integers(1, 20)), int(rng.integers(1, 4))


@pytest.mark.parametrize("module", ["arithmetic", "colour"])
def test_every_function_is_tested_here(module):
    text = Path(__file__).read_text("utf-8")
    names = evaluate(f"kit/{module}.js", "(module) => Object.keys(module)")
    assert len(names) > 5
    assert [name for name in names if name not in text] == []  # paletteColour: in two others


def test_scores_of_any_columns_of_any_words():
    given, expected = [], []
    for seed in range(40):
        rng, length, width, heads = random_sizes(seed)
        q, k = (rng.normal(size=(9, heads * width)) for _ in "qk")
        ids, head = rng.integers(0, 9, size=length), int(rng.integers(heads))
        given.append([q.ravel().tolist(), k.ravel().tolist(), ids.tolist(), width])
        given[-1] += [heads * width, head * width]
        cut = [torch.tensor(x[ids, head * width :][:, :width]) for x in (q, k)]
        expected.append(attention_scores(*cut).flatten())
    for found, scores in zip(each("arithmetic", "attentionScores", given), expected, strict=True):
        np.testing.assert_allclose(found, scores, atol=1e-5)


@pytest.mark.parametrize("size", [1, 30, 1e4])
def test_weights_of_any_scores(size):
    given, expected = [], []
    for seed in range(30):
        rng, length, _, _ = random_sizes(seed)
        scores = torch.tensor(rng.normal(size=(length, length)) * size)
        temperature, causal = float(rng.uniform(0.1, 4)), bool(seed % 2)
        given.append([scores.flatten().tolist(), length, temperature, causal])
        mask = causal_mask(length) if causal else None
        expected.append(attention_weights(scores / temperature, mask).flatten())
    for found, weights in zip(each("arithmetic", "attentionWeights", given), expected, strict=True):
        np.testing.assert_allclose(found, weights, atol=1e-6)


def test_softmax_entropy_and_products():
    rng = np.random.default_rng(0)
    rows = [(rng.normal(size=int(rng.integers(1, 20))) * 3).tolist() for _ in range(40)]
    shares = [torch.tensor(row, dtype=torch.float64).softmax(dim=0) for row in rows]
    for found, expected in zip(each("arithmetic", "softmax", [[row] for row in rows]), shares):
        np.testing.assert_allclose(found, expected, atol=1e-9)
    entropies = [torch.special.entr(share).sum() for share in shares]
    np.testing.assert_allclose(
        each("arithmetic", "entropy", [[s.tolist()] for s in shares]), entropies
    )
    assert each("arithmetic", "entropy", [[[0.0, 1.0]], [[0.5, 0.5, 0.0]]]) == [
        0,
        pytest.approx(math.log(2)),
    ]
    pairs = [(row, rng.normal(size=len(row)).tolist()) for row in rows]
    np.testing.assert_allclose(
        each("arithmetic", "dot", [list(p) for p in pairs]), [np.dot(*p) for p in pairs]
    )


def test_softmax_over_allowed_places():
    found = evaluate(
        "kit/arithmetic.js",
        """({ softmax }) => [[1, 2, 3], [1e4, -1e4, 0], [5], [2, 2]].map((scores) =>
          [0, 1, 2].map((least) => softmax(scores, (j) => j >= least)))""",
    )
    for scores, rows in zip(([1, 2, 3], [1e4, -1e4, 0], [5], [2, 2]), found, strict=True):
        for least, row in enumerate(rows):
            mask = torch.arange(len(scores)) >= least
            expected = attention_weights(torch.tensor([scores]).double(), mask[None])
            np.testing.assert_allclose(row, expected[0], atol=1e-9)


def test_divisors_and_rows():
    assert each("arithmetic", "divisors", [[n] for n in range(1, 60)]) == [
        [d for d in range(1, n + 1) if n % d == 0] for n in range(1, 60)
    ]
    cut = "({ rowsOf }) => rowsOf(Float32Array.from([1, 2, 3, 4, 5, 6]), 2)"
    rows = evaluate("kit/arithmetic.js", cut)
    assert rows == [[1, 2], [3, 4], [5, 6]]


def test_every_number_of_half_precision():
    found = evaluate(
        "kit/model.js",
        """({ halves }) =>
          halves(new DataView(Uint16Array.from({ length: 65536 }, (_, n) => n).buffer))""",
    )
    expected = np.arange(65536, dtype=np.uint16).view(np.float16).astype(np.float64)
    np.testing.assert_array_equal(found, expected)


def test_sums_and_means():
    rows = np.random.default_rng(1).normal(size=(20, 7))
    given = [[row] for row in rows.tolist()]
    np.testing.assert_allclose(each("arithmetic", "sum", given), rows.sum(axis=1))
    np.testing.assert_allclose(each("arithmetic", "mean", given), rows.mean(axis=1))


def test_colours_are_those_of_the_theme():
    shares = [n / 500 for n in range(501)]
    for name, expected in (("weightHex", shade), ("signedHex", signed_shade)):
        scale = 2 if name == "signedHex" else 1
        given = [s * scale - (scale - 1) for s in shares]
        for share, found in zip(given, each("colour", name, [[s] for s in given]), strict=True):
            np.testing.assert_allclose(rgb(found), expected(share), atol=1, err_msg=str(share))
    beyond = each("colour", "weightColour", [[-3], [0], [1], [7]])
    assert beyond[0] == beyond[1] == theme.palette(theme.WEIGHTS)[0]
    assert each("colour", "weightHex", [[0]]) == [theme.PAPER]
    assert beyond[2] == beyond[3] == theme.palette(theme.WEIGHTS)[-1]
    assert each("colour", "css", [[[1, 2, 3]]]) == ["rgb(1,2,3)"]
    heads = each("colour", "headColour", [[n] for n in range(12)])
    assert heads == [*theme.HEADS, *theme.HEADS]


def test_colours_suit_the_page():
    """On a dark page 0 is dark; a page that says nothing is light."""
    papers = ["rgb(255, 255, 255)", "rgb(33, 33, 33)", "rgba(0, 0, 0, 0)", "rgb(17, 17, 17)"]
    found = evaluate(
        "kit/colour.js",
        f"""({{ suit, weightHex, signedHex, palettesNow }}) => {papers}.map((paper) => {{
          if (suit(paper) !== palettesNow()) throw new Error("other colours than now");
          return [0, 0.3, 1].flatMap((share) => [weightHex(share), signedHex(-share)]);
        }})""",
    )
    light, dark = found[:2]
    assert found[2:] == [light, dark]
    for colours, maps in (
        (light, (theme.WEIGHTS, theme.SIGNED)),
        (dark, (theme.WEIGHTS_DARK, theme.SIGNED_DARK)),
    ):
        for share, shown, signed in zip((0, 0.3, 1), colours[::2], colours[1::2]):
            np.testing.assert_allclose(rgb(shown), shade(share, maps[0]), atol=1)
            np.testing.assert_allclose(rgb(signed), shade(0.5 - share / 2, maps[1]), atol=1)


def test_ink_can_be_read_on_every_colour():
    parts = range(0, 256, 17)
    colours = [f"#{r:02x}{g:02x}{b:02x}" for r in parts for g in parts for b in parts]
    assert each("colour", "inkOn", [[c] for c in colours]) == [theme.ink_on(c) for c in colours]


def test_counts_are_those_of_python():
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
    cost = "({ costOf }, all) => all.map((given) => costOf(...given))"
    found = evaluate("layer_cost/costs.js", cost, given)
    assert [[row[n] for n in ("flops", "moved", "maps")] for row in found] == expected
