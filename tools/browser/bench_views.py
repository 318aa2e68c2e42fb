"""Key press -> new frame of the live views, in Chromium: `make bench-views`.

Each view at its largest size, beside what everyone does instead (`interact` and a new
matplotlib figure) in the same JupyterLab and the same run. Read the ratio: the times
belong to the machine.
"""

import json
import statistics
import tempfile
from pathlib import Path

import nbformat

from tools.browser.lab import Lab, browser, jupyter_server
from tools.notebooks import KERNEL

PRESSES = 40
SETUP = """
import torch
from mha_utils import causal_mask, widgets
g = torch.Generator().manual_seed(0)
words = [f"w{i}" for i in range(128)]
q, k = torch.randn(2, 12, 128, 32, generator=g)
few = torch.randn(3, 12, 16, generator=g)  # q, k and v of 12 tokens
sizes = (1, 2, 3, 4, 6, 8, 12, 16, 24, 48)
every = [(h, dh) for h in sizes for dh in sizes if h * dh <= 96]
rows = [{"num_heads": h, "head_dim": dh, "scores": [h * dh / 96] * 10} for h, dh in every]
steps = list(range(0, 1050, 50))
maps = torch.randn(21, 4, 3, 16, 16, generator=g).softmax(-1)
curves, sources = {"a": [step / 1000 for step in steps]}, {"a": torch.randint(16, (4, 16))}
"""
USUAL = """
%matplotlib inline
import matplotlib.pyplot as plt
import torch
from ipywidgets import interact
g = torch.Generator().manual_seed(0)
q, k = torch.randn(2, 12, 128, 32, generator=g)
@interact(temperature=(1, 40))
def draw(temperature=10):
    weights = (q @ k.mT / 32**0.5 / (temperature / 10)).softmax(-1)
    fig, axes = plt.subplots(2, 6, figsize=(12, 4))
    for ax, w in zip(axes.flat, weights):
        ax.imshow(w, cmap="cividis", vmin=0, vmax=1)
    plt.show()
"""
FOLLOWED = """
from mha_utils import attention_scores, attention_weights
view = widgets.HeadExplorer(words, q, k)
display(view)
@widgets.follow(view)
def weights():
    maps = attention_weights(attention_scores(q[None], k[None]) / view.temperature)
    print(view.temperature, maps.shape, maps[0, view.head, view.row, :4].tolist())
"""
# Each view at its largest, and the number of the slider that is moved; None: a picture painted on.
VIEWS = {
    "HeadExplorer(words, q, k)": 1,
    "HeadExplorer(words, q, k, resplit=True)": 0,
    "ShapeLetters(batch_size=3, seq_len=8, embed_dim=24, num_heads=4)": 1,
    "MemoryRibbon(2, 6, 4, 4, steps=('transpose', 'contiguous'))": 1,
    "DropoutDraws((few[0] @ few[1].mT).softmax(-1), num_draws=500)": 1,
    "SoftmaxScale(num_keys=16)": 1,
    "MaskPainter(*few, mask=causal_mask(12))": None,
    "CacheShelf(words[:32], length=20)": 0,
    "PositionDials(few[0, 0], few[1, 0])": 1,
    "ProcessTiles(8, 16, 32, 'ring')": 0,
    "LayerCost(64, 16384, 4096, 64)": 1,
    "HeadBudget(rows, 'score', 48, num_heads=1, head_dim=1)": 0,
    "TrainingFilm(steps, maps, [words[:16]] * 4, ['0', '1', '2'], curves, sources)": 0,
    "TrainingStaircase()": 0,
    "WriterAtWork(text='Once there was a quiet fox called Ruth. ' * 5)": 0,
}
SCRIPT = Path(__file__).with_suffix(".js").read_text("utf-8")


def script(name: str) -> str:
    """One of the functions in `bench_views.js`, for a page or for one of its nodes."""
    return f"(value) => {{ {SCRIPT} return {name}(value); }}"


def open_cell(lab: Lab, folder: Path, source: str) -> None:
    cell = nbformat.v4.new_code_cell(source.strip())
    notebook = nbformat.v4.new_notebook(cells=[cell], metadata={"kernelspec": KERNEL})
    nbformat.write(notebook, folder / "view.ipynb")
    lab.open("view.ipynb")
    lab.run_all()


def time_view(lab: Lab, folder: Path, view: str, slider: int | None) -> tuple[float, list[float]]:
    """Milliseconds to the first picture, and from each key press to its frame."""
    open_cell(lab, folder, "pass")
    lab.page.evaluate(script("watchCanvas"))
    first = time_first_picture(lab, f"{SETUP}widgets.{view}")
    kind = "canvas" if slider is None else "input[type=range]"
    control = lab.page.locator(f".mha-view {kind}").nth(slider or 0)
    control.scroll_into_view_if_needed()
    control.focus()
    times = [control.evaluate(script("press")) for _ in range(PRESSES + 5)]
    return first, times[5:]


def time_first_picture(lab: Lab, source: str) -> float:
    """From the start of the cell (imports done) until its canvas is drawn."""
    lab.page.evaluate(script("setSource"), source.strip())
    times = []
    for _ in range(4):  # the first one imports torch and matplotlib
        lab.page.evaluate("() => { window.drawn = false; window.began = performance.now(); }")
        lab.command("notebook:run-all-cells")
        lab.page.wait_for_function("() => window.drawn", polling="raf", timeout=60_000)
        times.append(lab.page.evaluate("() => performance.now() - window.began"))
        lab.wait_idle()
        lab.page.wait_for_timeout(300)
    return min(times[1:])


def time_usual(lab: Lab, folder: Path) -> list[float]:
    open_cell(lab, folder, USUAL)
    lab.page.wait_for_selector(".jp-OutputArea img", timeout=30_000)
    lab.page.wait_for_timeout(1000)
    lab.page.evaluate(script("watchImages"))
    lab.page.wait_for_timeout(200)
    handle = lab.page.locator(".noUi-handle").first
    handle.focus()
    times = []
    for _ in range(12):
        before = lab.page.evaluate("() => window.pictures")
        start = lab.page.evaluate("() => performance.now()")
        handle.press("ArrowRight")
        lab.page.wait_for_function("(n) => window.pictures > n", arg=before, timeout=60_000)
        times.append(lab.page.evaluate("() => window.pictureAt") - start)
        lab.page.wait_for_timeout(200)
    return times[2:]


def time_followed(lab: Lab, folder: Path) -> list[float]:
    """Milliseconds from a step of the slider to the result of the torch function that follows."""
    open_cell(lab, folder, SETUP + FOLLOWED)
    slider = lab.page.locator(".mha-view input[type=range]").nth(1)
    slider.wait_for()
    lab.wait_idle()
    times = []
    for _ in range(PRESSES + 5):
        times.append(slider.evaluate(script("pressAndFollow")))
        lab.page.wait_for_timeout(150)
    return times[5:]


def measure() -> dict:
    results = {}
    with (
        tempfile.TemporaryDirectory() as name,
        jupyter_server(Path(name)) as address,
        browser() as chromium,
    ):
        lab = Lab(chromium.new_page(viewport={"width": 1400, "height": 1000}), address)
        usual = statistics.median(time_usual(lab, Path(name)))
        lab.shut_down()
        results["interact + matplotlib, 12 heads x 128 tokens"] = {"median_ms": usual}
        times = time_followed(lab, Path(name))
        lab.shut_down()
        results["followed torch cell, 12 heads x 128 tokens"] = spread(times)
        for view, slider in VIEWS.items():
            first, times = time_view(lab, Path(name), view, slider)
            lab.shut_down()
            results[view] = spread(times) | {
                "first_picture_ms": first,
                "times_faster_than_interact": usual / statistics.median(times),
            }
    return results


def spread(times: list[float]) -> dict[str, float]:
    p95 = statistics.quantiles(times, n=20)[-1]
    return {"median_ms": statistics.median(times), "p95_ms": p95}


def main() -> None:
    results = measure()
    for view, numbers in results.items():
        print(view)
        for name, value in numbers.items():
            print(f"    {name:28} {value:8.1f}")
    print(json.dumps(results))


if __name__ == "__main__":
    main()
