"""The memory ribbon in real Chromium, against torch."""

import re

import numpy as np
import pytest
import torch
from view_host import finding, host, needs_browser, pixels, set_traits, wear_theme
from view_units import evaluate

from mha_utils import widgets
from mha_utils.widgets.memory_ribbon import LARGEST, STEPS, lay_out
from tools.browser.lab import browser
from tools.suite.comparing import same_text

pytestmark = needs_browser


def all_steps(*sizes, step="q") -> widgets.MemoryRibbon:
    return widgets.MemoryRibbon(*sizes, steps=list(STEPS), step=step)


@pytest.fixture(scope="module")
def page():
    with browser() as chrome:
        yield chrome.new_page(viewport={"width": 1400, "height": 1000})


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
def test_ribbon_lays_out_tensors_as_python_does(step):
    for sizes in [(1, 4, 3, 2), (2, 6, 4, 4), (2, 1, 3, 2), (1, 3, 1, 2), (2, 3, 2, 1), (1,) * 4]:
        view = all_steps(*sizes, step=step)
        found = evaluate("memory_ribbon/state.js", "({ read }, _, model) => read(model)", view=view)
        expected = lay_out(step, *sizes)
        for name in ("shape", "strides", "storage"):
            assert found["tensor"][name] == list(getattr(expected, name)), (name, sizes)
        assert found["values"] == expected.values()
        assert (found["code"], found["letters"]) == (STEPS[step].code, STEPS[step].letters)


STRIDED = """({ packed, transpose, reshape }, cases) => cases.map(([shape, [a, b], last]) => {
  const numbers = Array.from({ length: shape.reduce((x, y) => x * y, 1) }, (_, n) => n);
  return reshape(transpose(packed(numbers, shape), a, b), last);
})"""
CUTS = [(24,), (2, 12), (6, 4), (4, 6), (2, 3, 4), (4, 1, 6), (1, 24, 1), (2, 2, 3, 2), (3, 8)]


def test_a_reshape_copies_where_torch_does():
    shapes = [(2, 3, 4), (4, 6, 1), (1, 2, 12), (24, 1, 1), (3, 2, 4), (2, 2, 6)]
    cases = [(s, t, cut) for s in shapes for t in ((0, 1), (1, 2), (0, 2), (0, 0)) for cut in CUTS]
    for (shape, turned, cut), found in zip(
        cases, evaluate("memory_ribbon/strided.js", STRIDED, cases)
    ):
        tensor = torch.arange(24).view(shape).transpose(*turned)
        made = tensor.reshape(cut)
        numbers = tensor if made.data_ptr() != tensor.data_ptr() else torch.arange(24)
        assert found["storage"] == numbers.flatten().tolist(), (shape, turned, cut)
        seen = torch.tensor(found["storage"]).as_strided(cut, found["strides"])
        assert torch.equal(seen, made), (shape, turned, cut)


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
    ribbon, tensor = page.locator("canvas[role]").all()
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
    box = page.locator("canvas[role]").first.bounding_box()
    page.mouse.move(box["x"] + 34 + 5.5 * 24, box["y"] + 12)
    assert element_of(finding(page)) == ("0, 0, 2, 1", 5)
    box = page.locator("canvas[role]").nth(1).bounding_box()
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
    under_way = pixels(page.locator("canvas[role]").first)
    page.wait_for_timeout(900)
    arrived = [pixels(canvas) for canvas in page.locator("canvas[role]").all()]
    host(page, all_steps(step="contiguous"))
    finding(page)
    assert arrived == [pixels(canvas) for canvas in page.locator("canvas[role]").all()]
    assert under_way != arrived[0]


def test_nothing_travels_for_readers_who_want_no_motion(page):
    page.emulate_media(reduced_motion="reduce")
    host(page, all_steps(step="transpose"))
    page.get_by_label("contiguous", exact=True).check()
    finding(page)
    at_once = pixels(page.locator("canvas[role]").first)
    page.wait_for_timeout(600)
    assert pixels(page.locator("canvas[role]").first) == at_once
    page.emulate_media(reduced_motion="no-preference")
