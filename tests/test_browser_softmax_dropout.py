"""The softmax scale and the dropout draws in real Chromium, against torch."""

import numpy as np
import pytest
import torch
from view_host import finding, host, needs_browser, pixels, set_traits
from view_units import evaluate

from mha_utils import widgets
from mha_utils.widgets.examples import EXAMPLES
from tools.browser.lab import browser
from tools.suite.comparing import same_text

pytestmark = needs_browser
COMPUTE = "({ compute, read }, _, model) => compute(model, read(model))"


@pytest.fixture(scope="module")
def page():
    with browser() as chrome:
        yield chrome.new_page(viewport={"width": 1400, "height": 1000})


# ---- the dropout draws -----------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_dropout_computes_and_says_what_python_does(page, seed):
    g = torch.Generator().manual_seed(seed)
    rows, columns = (int(n) for n in torch.randint(1, 13, (2,), generator=g))
    weights = torch.randn(rows, columns, generator=g).softmax(dim=-1)
    view = widgets.DropoutDraws(weights, num_draws=30, seed=seed)
    host(page, view)
    for draw, p, training in ((1, 0.4, True), (17, 0.05, True), (30, 0.9, True), (3, 0.5, False)):
        set_traits(page, view, draw=draw, p=p, training=training)
        found = evaluate("dropout_draws/state.js", COMPUTE, view=view)
        np.testing.assert_allclose(found["present"], view.dropped()[-1], atol=1e-5)
        np.testing.assert_allclose(found["average"], view.dropped().mean(axis=0), atol=1e-5)
        assert same_text(finding(page), view.finding())


def test_dropout_sentences_agree_for_every_p_of_the_slider(page):
    view = EXAMPLES["DropoutDraws"]()
    host(page, view)
    probability = page.locator("input[type=range]").nth(1)
    probability.press("Home")
    for _ in range(19):
        view.p = page.evaluate("() => window.model.get('p')")
        assert same_text(finding(page), view.finding())
        assert view.problem == ""
        probability.press("ArrowRight")
    assert view.p == pytest.approx(0.9)
    assert "Lost everything" in finding(page)


def test_evaluation_shows_the_weights_three_times(page):
    view = EXAMPLES["DropoutDraws"]()
    host(page, view)
    seen = {pixels(canvas) for canvas in page.locator("canvas[role]").all()}
    assert len(seen) >= 2
    page.get_by_label("training").uncheck()
    assert finding(page) == "Evaluation: nothing is dropped, whatever p is."
    assert len({pixels(canvas) for canvas in page.locator("canvas[role]").all()}) == 1


# ---- the softmax scale -----------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_scale_computes_what_torch_computes(seed):
    rng = np.random.default_rng(seed)
    view = widgets.SoftmaxScale(int(2 ** rng.integers(10)), int(rng.integers(2, 17)), seed)
    view.temperature, view.query = float(rng.integers(1, 49)) / 2, int(rng.integers(16))
    found = evaluate("softmax_scale/state.js", COMPUTE, view=view)
    q, k = vectors(view.q), vectors(view.k)
    divisors = (lambda _: view.temperature, lambda width: width**0.5)
    for side, divisor in zip(found["sides"], divisors):
        scores = [q[:, :w] @ k[:, :w].T / divisor(w) for w in 2 ** np.arange(10)]
        now = scores[int(np.log2(view.head_dim))][view.query]
        np.testing.assert_allclose(side["scores"], now, atol=1e-5)
        np.testing.assert_allclose(side["weights"], now.softmax(dim=0), atol=1e-5)
        assert side["spread"] == pytest.approx(now.std().item(), abs=1e-5)
        assert side["slope"] == pytest.approx(largest_slope(now), abs=1e-5)
        means = [np.mean([largest_slope(row) for row in at_width]) for at_width in scores]
        np.testing.assert_allclose(side["slopes"], means, atol=1e-5)


def vectors(sent: bytes) -> torch.Tensor:
    return torch.tensor(np.frombuffer(sent, np.float32)).double().view(-1, 512)


def largest_slope(scores: torch.Tensor) -> float:
    """By autograd, over all pairs of a weight and a score."""
    slopes = torch.autograd.functional.jacobian(lambda s: s.softmax(dim=0), scores)
    return slopes.abs().max().item()


def test_scale_says_in_javascript_what_python_says(page):
    rng = np.random.default_rng(0)
    for num_keys in (2, 8, 16):
        view = widgets.SoftmaxScale(num_keys=num_keys, seed=num_keys)
        host(page, view)
        for _ in range(20):
            traits = {"head_dim": int(2 ** rng.integers(10)), "query": int(rng.integers(16))}
            traits["temperature"] = float(rng.choice([1.0, 0.5, rng.integers(1, 49) / 2]))
            set_traits(page, view, **traits)
            assert same_text(finding(page), view.finding()), traits


def test_sliders_of_the_scale_walk_over_powers_of_two(page):
    host(page, widgets.SoftmaxScale())
    width, temperature, query = page.locator("input[type=range]").all()
    width.press("End")
    assert finding(page).startswith("Query 0, Dh = 512, not divided")
    width.press("ArrowLeft")
    temperature.press("ArrowRight")
    query.press("ArrowRight")
    text = finding(page)
    assert text.startswith("Query 1, Dh = 256, divided by temperature 1.5")
    assert width.get_attribute("aria-valuetext") == "256"
    captions = page.locator(".mha-caption").all_inner_texts()
    assert captions[:2] == ["q · k / 1.5", "q · k / √256"]


def test_temperature_of_root_dh_makes_both_sides_alike(page):
    view = widgets.SoftmaxScale(head_dim=16)
    host(page, view)
    left, right = page.locator("canvas[role]").all()[:2]
    assert pixels(left) != pixels(right)
    page.evaluate("() => window.model.set('temperature', 4)")
    finding(page)
    assert pixels(left) == pixels(right)
