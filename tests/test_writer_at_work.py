"""The language model in the browser: it computes what torch computes, and writes as it is asked."""

import pytest
import torch
import torch.nn.functional as F
from view_host import needs_browser
from view_units import evaluate
from view_watch import follow, play, stage

from mha_utils import FusedMultiHeadAttention, widgets
from mha_utils.museum.projecting import MergeWithoutTranspose
from mha_utils.writing.stories import END, LONGEST, marks, stories
from mha_utils.writing.training import loss_of, recorded_writer
from mha_utils.writing.writer import LETTERS, Writer
from tools.browser.lab import browser

TEXTS = [
    "O",
    "Once there was",
    *stories(2, seed=3),
    stories(1, seed=3)[0][:70],
    "Mia  and.her" * 20,
]
RUN = """({ reader, compute }, texts, model) => {
  const read = reader(model);
  return texts.map((text) => ["heads", "temperatures"].map((what) => what === "heads"
    ? model.get("heads").map((head) => {
      model.set("text", text);
      model.set("head", head);
      return compute(model, read).shares;
    })
    : [0.1, 0.7, 1, 3].map((temperature) => {
      model.set("temperature", temperature);
      return compute(model, read).chances;
    })));
}"""


@pytest.fixture(scope="module")
def page():
    with browser() as chrome:
        yield chrome.new_page(viewport={"width": 1400, "height": 1000})


def test_the_page_computes_what_torch_computes():
    """All heads, several temperatures; keys and values are kept from text to text."""
    view = widgets.WriterAtWork()
    for text, (weights, chances) in zip(
        TEXTS, evaluate("writer_at_work/state.js", RUN, TEXTS, view)
    ):
        view.text = text
        torch.testing.assert_close(
            torch.tensor(weights, dtype=torch.float32), view.weights(), atol=1e-5, rtol=0
        )
        for temperature, found in zip((0.1, 0.7, 1.0, 3.0), chances, strict=True):
            view.temperature = temperature
            torch.testing.assert_close(
                torch.tensor(found, dtype=torch.float32), view.chances(), atol=1e-4, rtol=0
            )
    assert view.weights().shape == (8, LONGEST)


def test_the_bend_is_that_of_torch():
    x = torch.linspace(-8, 8, 1001, dtype=torch.float64)
    found = evaluate("writer_at_work/forward.js", "({ gelu }, all) => all.map(gelu)", x.tolist())
    torch.testing.assert_close(torch.tensor(found, dtype=x.dtype), F.gelu(x), atol=1e-6, rtol=0)


def test_rounded_numbers_lose_nothing_that_counts():
    view, writer, fresh = widgets.WriterAtWork(), recorded_writer(), stories(64, seed=11)
    assert len(view.numbers) == sum(p.numel() for p in writer.parameters())
    losses = [loss_of(model, fresh).item() for model in (writer, view.model)]
    assert losses[1] == pytest.approx(losses[0], abs=0.005)


def test_a_writer_of_other_sizes_is_shown():
    torch.manual_seed(0)
    model = Writer(24, 3, num_blocks=1, most=40)
    view = widgets.WriterAtWork(model, "Once there was")
    assert view.heads == ["0.0", "0.1", "0.2"]
    assert view.head == "0.2"
    ((weights, chances),) = evaluate("writer_at_work/state.js", RUN, [view.text], view)
    torch.testing.assert_close(
        torch.tensor(weights, dtype=torch.float32), view.weights(), atol=1e-5, rtol=0
    )
    torch.testing.assert_close(
        torch.tensor(chances[1], dtype=torch.float32), view.chances(), atol=1e-4, rtol=0
    )
    assert next(model.parameters()).requires_grad


def test_the_finding_in_full():
    view = widgets.WriterAtWork()
    said = view.finding()
    assert said.startswith(
        "After “alled Ruth. One day ”, at temperature 0.7, it expects “s”: 1.00. "
    )
    assert "Head 1.3 looks most at the “u” of “Ruth.”: 0." in said
    view.text = "Onc\U0001f98aé é"
    assert view.finding().startswith("The stories have no “\U0001f98aé”: left out. After “Onc ”")
    view.text = "x" * 200 + END
    assert view.finding().startswith("It has 163 places: no more is read. The story is over. ")
    assert len(view.story) == LONGEST
    view.text = "?"
    assert "Nothing is left to read: we take “Once”. After “Once”" in view.finding()


@needs_browser
@pytest.mark.parametrize(
    "text", ["Once\ud83d there", "", "a\tb\x00 שלום 👩‍🚀 Zé", "x" * 5000, f"Once{END}a"]
)
def test_python_and_the_page_agree_on_any_text(page, text):
    view = widgets.WriterAtWork()
    stage(page, view)
    (seen,) = play(page, view, [["trait", "text", text]], full=False)
    view.text = text
    assert seen["sentence"].split() == view.finding().split()
    assert view.png()


@needs_browser
def test_it_writes_a_letter_or_to_the_end_and_begins_again(page):
    view = widgets.WriterAtWork(text="Once")
    names = [control["name"] for control in stage(page, view)]
    one, onward, back = map(names.index, ("write one letter", "write to the end", "begin again"))
    script = [
        ["move", 0, "Once th"],
        ["move", one, None],
        ["move", onward, None],
        ["move", back, None],
    ]
    texts = [seen["state"]["text"] for seen in play(page, view, script, full=False)]
    assert texts[0] == texts[3] == "Once th"
    assert texts[1][:-1] == texts[0]
    assert texts[1][-1] in LETTERS
    assert texts[2].startswith(texts[1])
    assert texts[2].endswith(END)
    assert marks(texts[2])["words"] > 0.8


@needs_browser
def test_writing_can_be_watched_and_stopped(page):
    """Where motion is welcome, a letter appears after the other."""
    view = widgets.WriterAtWork(text="Once")
    stage(page, view)
    page.emulate_media(reduced_motion="no-preference")
    page.evaluate("() => { window.later = []; window.setTimeout = (call) => later.push(call); }")
    button = page.get_by_role("button", name="write to the end")
    button.click()
    for _ in range(5):
        page.evaluate("() => later.splice(0).forEach((call) => call())")
    assert len(page.evaluate("() => window.model.get('text')")) == 10
    page.get_by_role("button", name="stop").click()
    assert button.is_visible()
    (seen,) = play(page, view, [["nothing"]], full=False)
    assert seen["sentence"] == follow(view, seen).finding()


@needs_browser
def test_the_field_shows_the_end_of_what_is_written(page):
    view = widgets.WriterAtWork(text="Once")
    stage(page, view)
    page.evaluate("(text) => window.model.set('text', text)", stories(1, seed=3)[0] * 2)
    hidden = "(field) => field.scrollWidth - field.clientWidth - field.scrollLeft"
    field = page.get_by_role("textbox", name="the text")
    assert field.evaluate("(field) => field.scrollWidth > field.clientWidth + 100")
    assert field.evaluate(hidden) < 2
    whole = page.locator(".mha-view").bounding_box()["width"]
    assert field.bounding_box()["width"] > 0.8 * whole


def test_only_the_layer_that_the_browser_computes_is_taken():
    widgets.WriterAtWork(Writer(16, 2, attention=FusedMultiHeadAttention))
    with pytest.raises(ValueError, match="with MultiHeadAttention, got MergeWithoutTranspose"):
        widgets.WriterAtWork(Writer(16, 2, attention=MergeWithoutTranspose))
