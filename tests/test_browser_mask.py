"""The mask painter in real Chromium, against torch."""

import numpy as np
import pytest
import torch
from view_host import finding, host, needs_browser, set_traits, wear_theme
from view_units import evaluate

from mha_utils import attention, causal_mask, leak_map, padding_mask, widgets
from mha_utils.widgets.examples import EXAMPLES
from tools.browser.lab import browser
from tools.suite.comparing import same_text

pytestmark = needs_browser
COMPUTE = "({ compute, read }, _, model) => compute(model, read(model))"

toy_painter = EXAMPLES["MaskPainter"]


@pytest.fixture(scope="module")
def page():
    with browser() as chrome:
        yield chrome.new_page(viewport={"width": 1400, "height": 1000})


def random_painter(seed: int) -> widgets.MaskPainter:
    g = torch.Generator().manual_seed(seed)
    length, head_dim, value_dim = (int(n) for n in torch.randint(1, 13, (3,), generator=g))
    q, k = torch.randn(2, length, head_dim, generator=g)
    v = torch.randn(length, value_dim, generator=g)
    mask = torch.rand(length, length, generator=g) < 0.6
    return widgets.MaskPainter(q, k, v, mask=mask)


@pytest.mark.parametrize("seed", range(6))
def test_painter_computes_what_torch_computes(seed):
    painter = random_painter(seed)
    q, k, v = painter._tensors()
    weights = attention(q, k, v, painter.mask)[1]
    widths = [q.shape[1], k.shape[1], v.shape[1]]
    x = torch.cat([q, k, v], dim=1)
    leak = leak_map(lambda x: attention(*x.split(widths, dim=1), painter.mask)[0], x)
    compute = "({ compute }, _, model) => compute(model)"
    found = evaluate("mask_painter/state.js", compute, view=painter)
    np.testing.assert_allclose(found["weights"], weights, atol=1e-5)
    np.testing.assert_allclose(found["influence"], leak, atol=1e-5)
    assert np.array_equal(np.array(found["influence"]) > 0, leak > 0)


@pytest.mark.parametrize("seed", range(3))
def test_painter_says_in_javascript_what_python_says(page, seed):
    rng = np.random.default_rng(seed)
    painter = random_painter(seed + 20)
    host(page, painter)
    for density in (0.0, 0.05, 0.2, 0.5, 0.9, 1.0):
        allowed = (rng.random(len(painter.allowed)) < density).tolist()
        set_traits(page, painter, allowed=allowed, row=int(rng.integers(12)))
        assert same_text(finding(page), painter.finding())


def painted(page) -> torch.Tensor:
    return torch.tensor(page.evaluate("() => window.model.get('allowed')")).view(7, 7)


def test_ready_made_masks_are_those_of_the_package(page):
    host(page, toy_painter())
    expected = {
        "causal": causal_mask(7),
        "padding": padding_mask(torch.tensor([5]), 7)[0, 0].expand(7, 7),
        "window": torch.tensor([[j in (i, i - 1) for j in range(7)] for i in range(7)]),
        "everyone": torch.ones(7, 7, dtype=torch.bool),
    }
    for name, mask in expected.items():
        page.get_by_role("button", name=name).click()
        assert torch.equal(painted(page), mask), name
        finding(page)
        pressed = page.locator("button[aria-pressed=true]").all_inner_texts()
        assert pressed == [name]


def test_ready_made_padding_leaves_a_key_in_short_sequences(page):
    for length in (1, 2):
        host(page, widgets.MaskPainter(*torch.zeros(3, length, 2)))
        page.get_by_role("button", name="padding").click()
        allowed = page.evaluate("() => window.model.get('allowed')")
        assert allowed == [j == 0 for _ in range(length) for j in range(length)]


def test_arrow_keys_and_space_paint(page):
    host(page, toy_painter())
    canvas = page.locator("canvas[role]").first
    for key in ("ArrowDown", "ArrowRight", " "):
        canvas.press(key)
    expected = causal_mask(7)
    expected[3, 1] = False
    assert torch.equal(painted(page), expected)
    assert finding(page).startswith("27 of 49 pairs may attend. Row 3, “on”, looks at 3 keys")
    page.wait_for_selector(".mha-spoken:has-text('Column 1, “cat”: forbidden.')", state="attached")
    canvas.press(" ")
    assert torch.equal(painted(page), causal_mask(7))
    for _ in range(9):
        canvas.press("ArrowUp")
        canvas.press("ArrowLeft")
    canvas.press(" ")
    assert finding(page).startswith("27 of 49 pairs may attend. Row 0, “the”, may attend to noth")


def test_a_drag_paints_all_cells_on_its_way_alike(page):
    painter = toy_painter()
    host(page, painter)
    wear_theme(page, painter, "light")
    finding(page)
    page.mouse.move(*cell(page, 1, 0))
    page.mouse.down()
    for column in range(1, 6):
        page.mouse.move(*cell(page, 1, column), steps=3)
    page.mouse.up()
    expected = causal_mask(7)
    expected[1] = False
    assert torch.equal(painted(page), expected)
    page.mouse.move(*cell(page, 5, 5))
    assert torch.equal(painted(page), expected), "moving without a button paints nothing"
    page.mouse.click(*cell(page, 0, 6))
    expected[0, 6] = True
    assert torch.equal(painted(page), expected)
    assert finding(page).endswith("1 query sees the future.")
    page.mouse.click(*cell(page, -1, 2))
    assert torch.equal(painted(page), expected), "a word is no cell"


def cell(page, row: int, column: int) -> tuple[float, float]:
    canvas = page.locator("canvas[role]").first
    place, box = canvas.evaluate("(node) => node.place"), canvas.bounding_box()
    x, y = ((n + 0.5) * place["cell"] for n in (column, row))
    return box["x"] + place["left"] + x, box["y"] + place["top"] + y


def test_dialect_tables_follow_the_painting(page):
    painter = toy_painter()
    host(page, painter)
    page.locator("canvas[role]").first.press(" ")
    finding(page)
    mask = causal_mask(7)
    mask[2, 0] = False
    written = [
        [row.split() for row in table.locator("tr").all_inner_texts()]
        for table in page.locator("table").all()
    ]
    bits = mask.int()
    assert written[0] == [[str(b) for b in row] for row in bits.tolist()]
    assert written[1] == [[str(1 - b) for b in row] for row in bits.tolist()]
    assert written[2] == [["0" if b else "−∞" for b in row] for row in bits.tolist()]


def test_painted_mask_reaches_python(page):
    host(page, toy_painter())
    page.evaluate("() => { window.saves = 0; }")
    page.get_by_role("button", name="everyone").click()
    page.wait_for_function("() => window.saves > 0")
    painter = toy_painter()
    painter.allowed = page.evaluate("() => window.model.get('allowed')")
    assert painter.mask.all()


def test_leak_map_is_red_exactly_where_a_later_token_reaches(page):
    painter = toy_painter()
    host(page, painter)
    leak = page.locator("canvas[role]").nth(1)
    count = """(node) => {
      const { data } = node.getContext("2d").getImageData(0, 0, node.width, node.height);
      let red = 0;
      for (let at = 0; at < data.length; at += 4) {
        red += data[at] === 213 && data[at + 1] === 94 && data[at + 2] === 0;
      }
      return red;
    }"""
    finding(page)
    assert leak.evaluate(count) == 0
    page.evaluate(
        "() => model.set('allowed', model.get('allowed').map((may, at) => may || at === 3))"
    )
    finding(page)
    one = leak.evaluate(count)
    assert one > 100
    page.evaluate("() => model.set('allowed', model.get('allowed').map(() => true))")
    finding(page)
    assert leak.evaluate(count) > 15 * one
