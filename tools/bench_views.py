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

from tools.lab_browser import Lab, browser, jupyter_server
from tools.notebooks import KERNEL

PRESSES = 40
OURS = """
import torch
from mha_utils import widgets
words = [f"w{i}" for i in range(128)]
g = torch.Generator().manual_seed(0)
q, k = torch.randn(2, 12, 128, 32, generator=g)
widgets.HeadExplorer(words, q, k)
"""
CUT = OURS.replace("q, k)", "q, k, resplit=True)")
SHAPES = """
from mha_utils import widgets
widgets.ShapeLetters(batch_size=3, seq_len=8, embed_dim=24, num_heads=4)
"""
RIBBON = """
from mha_utils import widgets
widgets.MemoryRibbon(2, 6, 4, 4, steps=("transpose", "contiguous"))
"""
PAINTER = """
import torch
from mha_utils import causal_mask, widgets
q, k, v = torch.randn(3, 12, 64, generator=torch.Generator().manual_seed(0))
widgets.MaskPainter(q, k, v, mask=causal_mask(12))
"""
STEPS = """
import torch
from mha_utils import widgets
q, k, v = torch.randn(3, 12, 16, generator=torch.Generator().manual_seed(0))
widgets.CellSteps([f"w{i}" for i in range(12)], q, k, v, step=3)
"""
SCALE = """
from mha_utils import widgets
widgets.SoftmaxScale(num_keys=16)
"""
COST = """
from mha_utils import widgets
widgets.LayerCost(64, 16384, 4096, 64)
"""
PIPELINE = """
from mha_utils import widgets
widgets.Pipeline(3, 11, 24, 12, causal=True, dropout=0.1, tensor="x")
"""
DROPOUT = """
import torch
from mha_utils import widgets
g = torch.Generator().manual_seed(0)
widgets.DropoutDraws(torch.randn(12, 12, generator=g).softmax(-1), num_draws=500)
"""
BUDGET = """
from mha_utils import widgets
sizes = (1, 2, 3, 4, 6, 8, 12, 16, 24, 48)
every = [(h, dh) for h in sizes for dh in sizes if h * dh <= 96]
rows = [{"num_heads": h, "head_dim": dh, "scores": [h * dh / 96] * 10} for h, dh in every]
widgets.HeadBudget(rows, "score", 48, num_heads=1, head_dim=1)
"""
FILM = """
import torch
from mha_utils import widgets
g = torch.Generator().manual_seed(0)
steps, words = list(range(0, 1050, 50)), [f"w{i}" for i in range(16)]
maps = torch.randn(21, 4, 3, 16, 16, generator=g).softmax(-1)
curves = {"a": [step / 1000 for step in steps]}
sources = {"a": torch.randint(16, (4, 16), generator=g)}
heads = ["head 0", "head 1", "head 2"]
widgets.TrainingFilm(steps, maps, [words] * 4, heads, curves, sources)
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
VIEWS = {
    "HeadExplorer, 12 heads x 128 tokens": (OURS, ".mha-view input[type=range] >> nth=1"),
    "CellSteps, 12 tokens x 16": (STEPS, ".mha-view input[type=range] >> nth=0"),
    "HeadExplorer, 384 columns cut anew": (CUT, ".mha-view input[type=range] >> nth=0"),
    "ShapeLetters, 3 x 8 x 24": (SHAPES, ".mha-view input[type=range] >> nth=1"),
    "MemoryRibbon, 2 x 6 x 4 x 4": (RIBBON, ".mha-view input[type=range] >> nth=1"),
    "DropoutDraws, 500 x 12 x 12": (DROPOUT, ".mha-view input[type=range] >> nth=1"),
    "SoftmaxScale, 16 keys": (SCALE, ".mha-view input[type=range] >> nth=1"),
    "MaskPainter, 12 tokens x 64": (PAINTER, ".mha-view canvas >> nth=0"),
    "LayerCost": (COST, ".mha-view input[type=range] >> nth=1"),
    "HeadBudget, 10 x 10 models": (BUDGET, ".mha-view input[type=range] >> nth=0"),
    "TrainingFilm, 21 x 4 x 3 x 16 x 16": (FILM, ".mha-view input[type=range] >> nth=0"),
    "Pipeline, 3 x 12 x 24, 12 heads": (PIPELINE, ".mha-view input[type=range] >> nth=1"),
}

# A frame counts when the canvas was drawn to and the browser then got to its next task.
HOOK = """() => {
  for (const name of ["drawImage", "putImageData", "fillRect", "stroke"]) {
    const original = CanvasRenderingContext2D.prototype[name];
    CanvasRenderingContext2D.prototype[name] = function (...args) {
      window.drawn = true;
      return original.apply(this, args);
    };
  }
}"""
# Times one key press inside the page: from the key event to the task after the drawn frame.
# A slider moves one step; a picture that is painted on gets a space.
PRESS = """(node) => new Promise((resolve) => {
  window.drawn = false;
  const start = performance.now();
  if (node.matches("canvas")) {
    node.dispatchEvent(new KeyboardEvent("keydown", { key: " ", bubbles: true }));
  } else {
    const forward = Number(node.value) < Number(node.max);
    node.value = Number(node.value) + Number(node.step || 1) * (forward ? 1 : -3);
    node.dispatchEvent(new Event("input", { bubbles: true }));
  }
  const look = () => {
    if (!window.drawn) return requestAnimationFrame(look);
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => resolve(performance.now() - start);
    port2.postMessage(null);
  };
  requestAnimationFrame(look);
})"""
# The usual way answers with a new <img>; its slider is not a native one, so keys are sent.
WATCH = """() => {
  window.pictures = 0;
  const seen = new WeakSet(document.images);
  const look = () => {
    for (const image of document.querySelectorAll(".jp-OutputArea img")) {
      if (image.complete && !seen.has(image)) {
        seen.add(image);
        window.pictures += 1;
        window.pictureAt = performance.now();
      }
    }
    requestAnimationFrame(look);
  };
  look();
}"""


def open_cell(lab: Lab, folder: Path, source: str) -> None:
    cell = nbformat.v4.new_code_cell(source.strip())
    notebook = nbformat.v4.new_notebook(cells=[cell], metadata={"kernelspec": KERNEL})
    nbformat.write(notebook, folder / "view.ipynb")
    lab.open("view.ipynb")
    lab.run_all()


def time_view(lab: Lab, folder: Path, source: str, control: str) -> tuple[float, list[float]]:
    open_cell(lab, folder, "pass")
    lab.page.evaluate(HOOK)
    first = time_first_picture(lab, source)
    slider = lab.page.locator(control)
    slider.scroll_into_view_if_needed()
    slider.focus()
    times = [slider.evaluate(PRESS) for _ in range(PRESSES + 5)]
    return first, times[5:]


def time_first_picture(lab: Lab, source: str) -> float:
    """From the start of the cell (imports done) until its canvas is drawn."""
    lab.page.evaluate(
        """(source) => {
          const panel = window.jupyterapp.shell.currentWidget;
          panel.content.model.cells.get(0).sharedModel.setSource(source);
        }""",
        source.strip(),
    )
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
    lab.page.evaluate(WATCH)
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


def percentile(times: list[float], share: float) -> float:
    return sorted(times)[min(int(share * len(times)), len(times) - 1)]


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
        for view, (source, control) in VIEWS.items():
            first, times = time_view(lab, Path(name), source, control)
            lab.shut_down()
            median = statistics.median(times)
            results[view] = {
                "median_ms": median,
                "p95_ms": percentile(times, 0.95),
                "first_picture_ms": first,
                "times_faster_than_interact": usual / median,
            }
    return results


def main() -> None:
    results = measure()
    for view, numbers in results.items():
        print(view)
        for name, value in numbers.items():
            print(f"    {name:28} {value:8.1f}")
    print(json.dumps(results))


if __name__ == "__main__":
    main()
