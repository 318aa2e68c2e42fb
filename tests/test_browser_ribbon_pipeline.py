"""The memory ribbon and the pipeline in real Chromium, against Python and torch."""

import re

import numpy as np
import pytest
from view_host import finding, host, needs_browser, pixels, set_traits, wear_theme

from mha_utils import widgets
from mha_utils.widgets.memory_ribbon import LARGEST, STEPS, lay_out
from mha_utils.widgets.pipeline import ARROWS, BATCH, DIMS, LENGTH, TENSORS
from tools.comparing import same_text
from tools.lab_browser import browser

pytestmark = needs_browser


def all_steps(*sizes, step="x") -> widgets.MemoryRibbon:
    return widgets.MemoryRibbon(*sizes, steps=list(STEPS), step=step)


VIEWS = {"MemoryRibbon": all_steps, "Pipeline": widgets.Pipeline}
EACH = pytest.mark.parametrize("make", VIEWS.values(), ids=VIEWS)


@pytest.fixture(scope="module")
def page():
    with browser() as chrome:
        yield chrome.new_page(viewport={"width": 1400, "height": 1000})


# ---- what holds for both ---------------------------------------------------------------


@EACH
def test_every_picture_says_the_finding(page, make):
    host(page, make())
    for canvas in page.locator("canvas[role=img]").all():
        assert finding(page) in canvas.get_attribute("aria-label")


# ---- the memory ribbon -----------------------------------------------------------------


def test_ribbon_says_in_javascript_what_python_says(page):
    rng = np.random.default_rng(0)
    view = all_steps()
    host(page, view)
    for _ in range(60):
        traits = {name: int(rng.integers(1, most + 1)) for name, most in LARGEST.items()}
        traits |= {"sequence": int(rng.integers(2)), "token": int(rng.integers(6))}
        traits |= {"head": int(rng.integers(4)), "column": int(rng.integers(4))}
        set_traits(page, view, step=str(rng.choice(list(STEPS))), **traits)
        assert same_text(finding(page), view.finding()), traits


@pytest.mark.parametrize("step", STEPS)
def test_ribbon_lays_out_tensors_as_python_does(page, step):
    host(page, all_steps(), "\nexport { STEPS, layOut, valuesOf };")
    for sizes in [(1, 4, 3, 2), (2, 6, 4, 4), (2, 1, 3, 2), (1, 3, 1, 2), (2, 3, 2, 1), (1,) * 4]:
        found = page.evaluate(
            """([step, sizes]) => {
              const { STEPS, layOut, valuesOf } = window.module;
              const tensor = layOut(step, sizes);
              return { ...tensor, values: valuesOf(tensor), code: STEPS[step].code,
                letters: STEPS[step].letters };
            }""",
            [step, sizes],
        )
        expected = lay_out(step, *sizes)
        for name in ("shape", "strides", "storage"):
            assert found[name] == list(getattr(expected, name)), (name, sizes)
        assert found["values"] == expected.values()
        assert (found["code"], found["letters"]) == (STEPS[step].code, STEPS[step].letters)


def test_ribbon_table_multiplies_index_and_stride(page):
    host(page, all_steps(step="transpose"))
    finding(page)
    rows = page.locator("table tr").all_inner_texts()
    assert [row.split() for row in rows] == [
        ["dimension", "B", "H", "T", "Dh"],
        ["shape", "1", "3", "4", "2"],
        ["stride", "24", "2", "6", "1"],
        ["index", "0", "1", "2", "0"],
        ["index", "×", "stride", "0", "2", "12", "0", "sum", "14", "=", "place"],
    ]
    assert page.locator(".mha-hint").first.inner_text() == (
        "is_contiguous() is False; no bytes moved."
    )
    page.get_by_label("contiguous", exact=True).check()
    finding(page)
    assert page.locator(".mha-hint").first.inner_text() == (
        "is_contiguous() is True; bytes moved: 24 numbers were copied."
    )


def element_of(text: str) -> tuple[str, int]:
    return re.search(r"Element \[(.*?)\]", text)[1], int(re.search(r"place (\d+)", text)[1])


def test_arrow_keys_walk_in_memory_and_in_the_tensor(page):
    host(page, all_steps(step="transpose"))
    assert element_of(finding(page)) == ("0, 1, 2, 0", 14)
    ribbon, tensor = page.locator("canvas[role=img]").all()
    ribbon.press("ArrowRight")
    ribbon.press("ArrowRight")
    assert element_of(finding(page)) == ("0, 2, 2, 0", 16)
    tensor.press("ArrowUp")
    assert element_of(finding(page)) == ("0, 2, 1, 0", 10)
    for _ in range(3):
        tensor.press("ArrowLeft")
    assert element_of(finding(page)) == ("0, 1, 3, 1", 21)
    for _ in range(30):
        ribbon.press("ArrowLeft")
    assert element_of(finding(page)) == ("0, 0, 0, 0", 0)


def test_chosen_number_stays_the_same_in_every_step(page):
    host(page, all_steps(step="view"))
    for step in STEPS:
        page.get_by_label(step, exact=True).check()
        assert finding(page).endswith("token 2 of head 1.")


def test_hover_chooses_a_number(page):
    view = all_steps(step="contiguous")
    host(page, view)
    wear_theme(page, view, "light")
    box = page.locator("canvas[role=img]").first.bounding_box()
    page.mouse.move(box["x"] + 34 + 5.5 * 24, box["y"] + 12)
    assert element_of(finding(page)) == ("0, 0, 2, 1", 5)
    box = page.locator("canvas[role=img]").nth(1).bounding_box()
    page.mouse.move(box["x"] + 34 + 12, box["y"] + 22 + 12)
    assert element_of(finding(page)) == ("0, 0, 0, 0", 0)
    page.mouse.move(box["x"] + 2, box["y"] + 2)
    assert element_of(finding(page)) == ("0, 0, 0, 0", 0)


def test_moved_numbers_travel_and_arrive(page):
    """The picture after the flight is that of a fresh view in the same state."""
    host(page, all_steps(step="transpose"))
    finding(page)
    page.get_by_label("contiguous", exact=True).check()
    finding(page)
    under_way = pixels(page.locator("canvas[role=img]").first)
    page.wait_for_timeout(900)
    arrived = [pixels(canvas) for canvas in page.locator("canvas[role=img]").all()]
    host(page, all_steps(step="contiguous"))
    finding(page)
    assert arrived == [pixels(canvas) for canvas in page.locator("canvas[role=img]").all()]
    assert under_way != arrived[0]


def test_nothing_travels_for_readers_who_want_no_motion(page):
    page.emulate_media(reduced_motion="reduce")
    host(page, all_steps(step="transpose"))
    page.get_by_label("contiguous", exact=True).check()
    finding(page)
    at_once = pixels(page.locator("canvas[role=img]").first)
    page.wait_for_timeout(600)
    assert pixels(page.locator("canvas[role=img]").first) == at_once
    page.emulate_media(reduced_motion="no-preference")


# ---- the pipeline ----------------------------------------------------------------------

FORWARD = "\nexport { ARROWS, TENSORS, forward, readBytes, shapeOf, sizesOf };"


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
def test_pipeline_computes_what_torch_computes(page, seed):
    rng = np.random.default_rng(seed)
    state = random_state(rng)
    view = widgets.Pipeline(**state, seed=seed)
    host(page, view, FORWARD)
    found = page.evaluate(
        """([causal, p]) => {
          const { forward, readBytes, shapeOf, sizesOf } = window.module;
          const sizes = sizesOf(window.model);
          const tensors = forward(readBytes(window.model), sizes, causal, p);
          return Object.entries(tensors).map(([name, numbers]) =>
            [name, shapeOf(name, sizes), Array.from(numbers, String)]);
        }""",
        [state["causal"], state["dropout"]],
    )
    expected = view.tensors()
    assert [name for name, *_ in found] == list(expected)
    for name, shape, numbers in found:
        assert tuple(shape) == expected[name].shape
        computed = np.array([float(n.replace("Infinity", "inf")) for n in numbers]).reshape(shape)
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


def test_pipeline_has_the_boxes_and_arrows_of_python(page):
    host(page, widgets.Pipeline(), FORWARD)
    found, arrows = page.evaluate("() => [window.module.TENSORS, window.module.ARROWS]")
    assert {n: (a, b, (x, y)) for n, (a, b, x, y) in found.items()} == TENSORS
    assert [tuple(arrow) for arrow in arrows] == list(ARROWS)


def test_boxes_are_a_radio_group_and_show_live_shapes(page):
    view = widgets.Pipeline(tensor="x")
    host(page, view)
    set_traits(page, view, batch_size=3, seq_len=9, num_heads=6)
    finding(page)
    boxes = page.locator(".mha-chain [role=radio]")
    for box, name in zip(boxes.all(), TENSORS, strict=True):
        assert box.inner_text() == f"{name} {TENSORS[name][1]} {view.shape(name)}"
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
    numbers = page.locator("canvas[role=img]")
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
        large.add(pixels(page.locator("canvas[role=img]")))
    assert len(large) == len(TENSORS)
