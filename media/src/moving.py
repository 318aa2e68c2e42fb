"""Film a live view for the README: `python media/src/moving.py` writes media/writer.gif."""

import io
import tempfile
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
MILLISECONDS, LAST = 250, 4000  # how long a letter is seen, and the end


def main() -> None:
    view = widgets.WriterAtWork(text=BEGINNING, head="1.1", temperature=0.1)
    with tempfile.TemporaryDirectory() as folder, browser() as chrome:
        save_page(view, Path(folder) / "view.html")
        page = chrome.new_page(viewport={"width": WIDTH, "height": 700})
        page.goto(f"file://{folder}/view.html")
        frames = [picture(page)]
        while page.get_by_text("The story is over").count() == 0:
            page.get_by_role("button", name="write one letter").click()
            frames.append(picture(page))
    save(frames, MEDIA / "writer.gif")


def picture(page) -> Image.Image:
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return Image.open(io.BytesIO(page.locator("[data-mha-view]").first.screenshot())).convert("RGB")


def save(frames: list[Image.Image], path: Path) -> None:
    """All in the same few colours; what does not change from frame to frame is not stored again."""
    height = max(frame.height for frame in frames)
    even = [frame.crop((0, 0, frame.width, height)) for frame in frames]
    sample = Image.new("RGB", (even[0].width, height * len(even)))
    for n, frame in enumerate(even):
        sample.paste(frame, (0, n * height))
    colours = sample.quantize(SHADES, method=Image.Quantize.MAXCOVERAGE)
    film = [frame.quantize(palette=colours, dither=Image.Dither.NONE) for frame in even]
    times = [MILLISECONDS] * (len(film) - 1) + [LAST]
    film[0].save(path, save_all=True, append_images=film[1:], duration=times, loop=0, optimize=True)


if __name__ == "__main__":
    main()
