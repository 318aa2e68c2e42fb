"""The cost view counts what `mha_utils.core.costs` counts, in JavaScript too."""

import random

import pytest
from view_host import (
    axe_violations,
    finding,
    host,
    needs_browser,
    pixels,
    require_answer,
    set_traits,
    wear_theme,
)
from view_units import evaluate

from mha_utils.widgets import LayerCost
from mha_utils.widgets.layer_cost import SIZES, short
from tools.browser.lab import browser
from tools.suite.comparing import same_text


@pytest.fixture(scope="module")
def page():
    with browser() as chrome:
        yield chrome.new_page(viewport={"width": 1400, "height": 1000})


def random_view(seed: int) -> LayerCost:
    draw = random.Random(seed)
    sizes = {name: draw.choice(allowed) for name, allowed in SIZES.items()}
    heads = draw.choice([n for n in range(1, 65) if sizes["embed_dim"] % n == 0])
    return LayerCost(**sizes, num_heads=heads, is_causal=seed % 2 == 0, is_half=seed % 3 == 0)


def test_the_finding_in_full():
    assert LayerCost().finding() == (
        "(1, 1024, 768) with 12 heads, 32 bits, causal: explicit computes 8.05 GFLOP, moves "
        "362 MB and holds 101 MB of attention maps; fused computes 1.2 times less, moves 7.7 "
        "times less and holds none."
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 B"), (999, "999 B"), (999.6, "1.00 kB"), (12.25e3, "12.3 kB"), (101.5e6, "102 MB")],
)
def test_short_numbers(value, text):
    assert short(value, "B") == text


def test_wrong_sizes():
    with pytest.raises(ValueError, match=r"seq_len must be one of 64, 128, .*, 16384, got 100"):
        LayerCost(seq_len=100)
    with pytest.raises(ValueError, match="embed_dim must be divisible by num_heads"):
        LayerCost(embed_dim=768, num_heads=5)
    with pytest.raises(ValueError, match="num_heads must be at most 64, got 128"):
        LayerCost(num_heads=128)
    view = LayerCost()
    view.num_heads = 5
    assert view.problem.startswith("ValueError: embed_dim must be divisible")


def test_every_state_has_a_picture():
    pictures = {random_view(seed).png() for seed in range(4)}
    assert len(pictures) == 4


@needs_browser
@pytest.mark.parametrize("seed", range(8))
def test_javascript_counts_what_python_counts(page, seed):
    view = random_view(seed)
    host(page, view)
    compute = "({ compute }, _, model) => compute(model).now"
    found = evaluate("layer_cost/costs.js", compute, view=view)
    for name, cost in view.costs().items():
        assert found[name] == {
            "flops": cost.flops,
            "moved": cost.moved_bytes,
            "maps": cost.map_bytes,
        }
    assert same_text(finding(page), view.finding())


@needs_browser
def test_the_sentence_follows(page):
    view = LayerCost()
    host(page, view)
    for change in ({"seq_len": 4096}, {"is_causal": False}, {"is_half": True}, {"num_heads": 1}):
        set_traits(page, view, **change)
        assert same_text(finding(page), view.finding())


@needs_browser
def test_heads_always_divide_the_columns(page):
    host(page, LayerCost(embed_dim=768, num_heads=12))
    page.evaluate("() => window.model.set('embed_dim', 512)")
    finding(page)
    assert page.evaluate("() => window.model.get('num_heads')") == 8


@needs_browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_accessible(page, theme):
    view = LayerCost()
    host(page, view)
    wear_theme(page, view, theme)
    finding(page)
    assert axe_violations(page) == []


@needs_browser
def test_keyboard_moves_picture_and_sentence_and_no_key_leaks(page):
    host(page, LayerCost())
    page.evaluate(
        "() => { window.leaked = []; addEventListener('keydown', (e) => leaked.push(e.key)); }"
    )
    require_answer(page, page.locator(".mha-view"))
    for control in page.locator("canvas[role], input").all():
        control.press("m")
    assert page.evaluate("() => window.leaked") == []
    before = pixels(page.locator("canvas").first)
    page.locator("input[type=range]").first.press("Home")
    finding(page)
    assert pixels(page.locator("canvas").first) != before


@needs_browser
@pytest.mark.parametrize("width", [400, 700])
def test_nothing_is_wider_than_the_view(page, width):
    page.set_viewport_size({"width": width, "height": 1000})
    host(page, LayerCost(64, 16384, 4096, 64))
    finding(page)
    wide = page.evaluate(
        """() => {
          const view = document.querySelector(".mha-view").getBoundingClientRect();
          return [...document.querySelectorAll(".mha-view *:not(.mha-scroll *)")]
            .filter((node) => node.getBoundingClientRect().right > view.right + 0.5).length;
        }"""
    )
    page.set_viewport_size({"width": 1400, "height": 1000})
    assert wide == 0
