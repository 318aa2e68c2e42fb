"""The pipeline in real Chromium, against torch."""

import numpy as np
import pytest
from view_host import finding, host, needs_browser, pixels, set_traits, wear_theme
from view_units import evaluate

from mha_utils import widgets
from mha_utils.widgets.pipeline import ARROWS, BATCH, DIMS, LENGTH, TENSORS
from tools.lab_browser import browser
from tools.suite.comparing import same_text

pytestmark = needs_browser


@pytest.fixture(scope="module")
def page():
    with browser() as chrome:
        yield chrome.new_page(viewport={"width": 1400, "height": 1000})


FORWARD = """({ forward, readBytes }, [sizes, causal, p], model) =>
  Object.entries(forward(readBytes(model), sizes, causal, p))"""


def random_state(rng) -> dict:
    embed_dim = int(rng.choice(DIMS))
    heads = [h for h in range(1, embed_dim + 1) if embed_dim % h == 0]
    return {
        "embed_dim": embed_dim,
        "num_heads": int(rng.choice(heads)),
        "batch_size": int(rng.integers(1, BATCH + 1)),
        "seq_len": int(rng.integers(1, LENGTH + 1)),
        "causal": bool(rng.integers(2)),
        "dropout": float(rng.integers(0, 19)) / 20,
    }


@pytest.mark.parametrize("seed", range(12))
def test_pipeline_computes_what_torch_computes(seed):
    rng = np.random.default_rng(seed)
    state = random_state(rng)
    view = widgets.Pipeline(**state, seed=seed)
    sizes = dict(zip("BTDH", (view.batch_size, view.seq_len, view.embed_dim, view.num_heads)))
    sizes["Dh"] = view.embed_dim // view.num_heads
    given = [sizes, state["causal"], state["dropout"]]
    found = evaluate("pipeline/forward.js", FORWARD, given, view)
    expected = view.tensors()
    assert [name for name, _ in found] == list(expected)
    for name, numbers in found:
        computed = np.reshape(numbers, expected[name].shape)
        np.testing.assert_allclose(computed, expected[name], atol=1e-5, rtol=1e-5, err_msg=name)


def test_pipeline_says_in_javascript_what_python_says(page):
    rng = np.random.default_rng(1)
    view = widgets.Pipeline()
    host(page, view)
    for name in [*TENSORS, *TENSORS, *TENSORS]:
        with view.hold_trait_notifications():
            set_traits(page, view, num_heads=1)
            set_traits(page, view, **random_state(rng), tensor=name)
        assert same_text(finding(page), view.finding())


def test_pipeline_has_the_boxes_and_arrows_of_python():
    both = "({ TENSORS, ARROWS }) => [TENSORS, ARROWS]"
    found, arrows = evaluate("pipeline/tensors.js", both)
    assert {n: (a, b, (x, y)) for n, (a, b, x, y) in found.items()} == TENSORS
    assert [tuple(arrow) for arrow in arrows] == list(ARROWS)


def test_boxes_are_a_radio_group_and_show_live_shapes(page):
    view = widgets.Pipeline(tensor="x")
    host(page, view)
    set_traits(page, view, batch_size=3, seq_len=9, num_heads=6)
    finding(page)
    boxes = page.locator(".mha-chain [role=radio]")
    for box, name in zip(boxes.all(), TENSORS, strict=True):
        assert " ".join(box.inner_text().split()) == f"{name} {TENSORS[name][1]} {view.shape(name)}"
    assert page.locator(".mha-chain [tabindex='0']").count() == 1
    boxes.first.focus()
    for name in [*list(TENSORS)[1:], "x"]:
        page.keyboard.press("ArrowRight")
        assert finding(page).startswith(f"{name} is (")
        assert page.evaluate("() => document.activeElement.ariaChecked") == "true"
        assert page.evaluate("() => document.activeElement.innerText").startswith(name)
    boxes.nth(7).click()
    assert finding(page).startswith("scores is (B, H, T, T) = (3, 6, 9, 9)")


def test_heads_always_divide_and_the_head_slider_follows(page):
    host(page, widgets.Pipeline(2, 4, 24, 24))
    page.evaluate("() => window.model.set('head', 23)")
    page.evaluate("() => window.model.set('embed_dim', 16)")
    assert "scores is (B, H, T, T) = (2, 16, 4, 4)" in finding(page)
    assert page.get_by_label("head", exact=True).get_attribute("max") == "15"
    assert "scores[0, 15, 0, 0]" in page.locator(".mha-hint").inner_text()
    assert page.locator(".mha-problem").is_hidden()


def test_pipeline_reads_out_the_chosen_number(page):
    view = widgets.Pipeline(2, 4, 12, 3, causal=True, tensor="scores")
    host(page, view)
    wear_theme(page, view, "light")
    set_traits(page, view, sequence=1, head=2)
    finding(page)
    numbers = page.locator("canvas[role]")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        numbers.press(key)
    finding(page)
    value = view.tensors()["scores"][1, 2, 2, 1].item()
    text = f"{value:.4f}".replace("-", "−")
    said = page.locator(".mha-hint").inner_text()
    assert said.startswith(f"scores[1, 2, 2, 1] = {text}: query 2, key 1.")
    box = numbers.bounding_box()
    page.mouse.move(box["x"] + 30 + 3.5 * 46, box["y"] + 44 + 15)
    set_traits(page, view, tensor="masked")
    finding(page)
    said = page.locator(".mha-hint").inner_text()
    assert said.startswith("masked[1, 2, 0, 3] = −∞: query 0, key 3.")
    set_traits(page, view, tensor="q")
    finding(page)
    value = view.tensors()["q"][1, 0, 3].item()
    assert f"q[1, 0, 3] = {value:.4f}".replace("-", "−") in page.locator(".mha-hint").inner_text()
    assert page.get_by_label("head", exact=True).is_disabled()


# The pixels that the picture behind the boxes has inside of each box.
SMALL_PICTURES = """() => {
  const canvas = document.querySelector(".mha-chain > canvas");
  const frame = canvas.getBoundingClientRect();
  return [...document.querySelectorAll(".mha-chain [role=radio]")].map((box) => {
    const { left, top, width, height } = box.getBoundingClientRect();
    const [x, y] = [left - frame.left + 3, top - frame.top + 3];
    const image = canvas.getContext("2d").getImageData(x, y, width - 6, height - 6);
    return Array.from(new Uint32Array(image.data.buffer)).filter(Boolean).join();
  });
}"""


def test_every_tensor_has_a_picture_of_its_own(page):
    view = widgets.Pipeline(2, 4, 12, 3, causal=True, dropout=0.5)
    host(page, view)
    wear_theme(page, view, "light")
    finding(page)
    small = page.evaluate(SMALL_PICTURES)
    assert len(set(small)) == len(TENSORS)
    for name, picture in zip(TENSORS, small):
        assert len(set(picture.split(","))) > 4, name
    set_traits(page, view, head=1)
    finding(page)
    changed = [a != b for a, b in zip(small, page.evaluate(SMALL_PICTURES))]
    assert changed == [len(view.shape(name)) == 4 for name in TENSORS]
    large = set()
    for box in page.locator("[role=radio]").all():
        box.click()
        finding(page)
        large.add(pixels(page.locator("canvas[role]")))
    assert len(large) == len(TENSORS)
