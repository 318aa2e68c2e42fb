"""Film a live view for the README: `python media/src/moving.py` writes media/writer.gif."""

import io
import tempfile
from collections.abc import Sequence
from pathlib import Path

from boxes import MEDIA
from PIL import Image

from mha_utils import widgets
from mha_utils.widgets.kit.page import save_page
from tools.browser.lab import browser

BEGINNING = (
    "Once there was a brave owl called Ben. One day he found a green kite under a tree. "
    "He gave it to a friend. That night"
)
WIDTH, SHADES = 700, 32  # of the film: pixels and colours
MILLISECONDS, HELD, LAST = 250, 3000, 4000  # how long a letter is seen, the moment, and the end
MOMENT = "of “kite”: 0.9"  # what the README's caption speaks of: nearly all attention is there


def main() -> None:
    view = widgets.WriterAtWork(text=BEGINNING, head="1.1", temperature=0.1)
    with tempfile.TemporaryDirectory() as folder, browser() as chrome:
        save_page(view, Path(folder) / "view.html")
        page = chrome.new_page(viewport={"width": WIDTH, "height": 700})
        page.goto(f"file://{folder}/view.html")
        frames = [(picture(page), MILLISECONDS)]
        while page.get_by_text("The story is over").count() == 0:
            page.get_by_role("button", name="write one letter").click()
            is_moment = page.get_by_text(MOMENT).count() > 0
            frames.append((picture(page), HELD if is_moment else MILLISECONDS))
    pictures, times = zip(*frames)
    save(pictures, [*times[:-1], LAST], MEDIA / "writer.gif")


def picture(page) -> Image.Image:
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return Image.open(io.BytesIO(page.locator("[data-mha-view]").first.screenshot())).convert("RGB")


def save(frames: Sequence[Image.Image], times: list[int], path: Path) -> None:
    """All in the same few colours; what does not change from frame to frame is not stored again."""
    height = max(frame.height for frame in frames)
    paper = frames[0].getpixel((0, 0))
    even = [Image.new("RGB", (frame.width, height), paper) for frame in frames]
    for sheet, frame in zip(even, frames):
        sheet.paste(frame)
    sample = Image.new("RGB", (even[0].width, height * len(even)))
    for n, frame in enumerate(even):
        sample.paste(frame, (0, n * height))
    colours = sample.quantize(SHADES, method=Image.Quantize.MAXCOVERAGE)
    film = [frame.quantize(palette=colours, dither=Image.Dither.NONE) for frame in even]
    film[0].save(path, save_all=True, append_images=film[1:], duration=times, loop=0, optimize=True)


if __name__ == "__main__":
    main()
