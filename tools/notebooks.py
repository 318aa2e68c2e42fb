"""Author's tool for the chapters: `python -m tools.notebooks sync | run | style [file ...]`.

sync   rewrites every cell tagged `show:NAME` with the package's source of NAME
run    sync, execute, store in canonical form: a second run changes no byte
style  prints the numbers that the guide in CONTRIBUTING.md speaks of
"""

import argparse
import base64
import io
import os
import statistics
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from PIL import Image

from mha_utils.left_out import SWITCH, digest
from tools.suite.shown import shown_source

FOLDER = Path(__file__).parents[1] / "notebooks"
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
LIVE = "live"  # a cell that measures the reader's machine: stored without its outputs
FACTS = "facts"  # a cell that calls `facts`: stored with its source folded
FOLDED = "hide-input"  # a cell whose source is folded: plumbing that a reader may unfold
UNSEEN = "hide-output"  # a cell whose output is folded
HIDDEN = {"source_hidden": FOLDED, "outputs_hidden": UNSEEN}  # what JupyterLab calls it
SETTLES = "settles"  # a cell that settles a bet: stored with its output folded
WIDGET = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"


def chapters() -> list[Path]:
    return sorted(FOLDER.glob("[0-9][0-9]_*.ipynb"))


def shown_name(cell) -> str | None:
    """NAME if the cell is tagged `show:NAME`."""
    tags = cell.metadata.get("tags", [])
    return next((t.removeprefix("show:") for t in tags if t.startswith("show:")), None)


def sync(notebook) -> None:
    for cell in notebook.cells:
        if name := shown_name(cell):
            cell.source = shown_source(name)


def execute(notebook) -> None:
    os.environ |= {"OMP_NUM_THREADS": "1", SWITCH: "raise"}
    options = {"record_timing": False, "store_widget_state": True}
    client = NotebookClient(notebook, timeout=600, kernel_name="python3", **options)
    client.execute(cwd=str(FOLDER))


def canonical(notebook) -> None:
    """Leave nothing in the notebook that a second run or another machine would change."""
    notebook.metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    seen: dict[str, int] = {}
    for cell in notebook.cells:
        tags = cell.metadata.get("tags")
        cell.metadata = {"tags": tags} if tags else {}
        if FACTS in (tags or ()):  # the reader sees sentences, and unfolds the proof
            cell.metadata["tags"] = [FACTS, FOLDED]
        if SETTLES in (tags or ()):
            cell.metadata["tags"] = [SETTLES, UNSEEN, *({FOLDED} & set(tags))]
        tags = cell.metadata.get("tags", ())
        hidden = {name: True for name, tag in HIDDEN.items() if tag in tags}
        cell.metadata |= {"jupyter": hidden} if hidden else {}
        cell.source = "\n".join(line.rstrip() for line in cell.source.strip().splitlines())
        name = digest(cell.source)
        seen[name] = seen.get(name, 0) + 1
        cell.id = name if seen[name] == 1 else f"{name}-{seen[name]}"
        if cell.cell_type == "code":
            cell.outputs = [] if LIVE in (tags or ()) else merge_streams(cell.outputs)
            for output in cell.outputs:
                _clean(output)
            cell.outputs = [output for output in cell.outputs if output.get("data") != {}]


def is_folded(cell) -> bool:
    return bool(cell.metadata.get("jupyter", {}).get("source_hidden"))


def minutes_to_read(notebook) -> float:
    """180 words of prose a minute, and a third of a minute for each cell of code in sight."""
    words = sum(len(c.source.split()) for c in notebook.cells if c.cell_type == "markdown")
    seen = sum(c.cell_type == "code" and not is_folded(c) for c in notebook.cells)
    return words / 180 + seen / 3


def style(path: Path) -> str:
    notebook = nbformat.read(path, as_version=4)
    code = [c for c in notebook.cells if c.cell_type == "code"]
    lines = [len([x for x in c.source.splitlines() if x.strip()]) for c in code]
    words = [len(c.source.split()) for c in notebook.cells if c.cell_type == "markdown"]
    pictures = sum("image/png" in str(c.outputs) for c in code)
    pictures += sum("../media/" in c.source for c in notebook.cells)
    cells = [c for c in code if FACTS in c.metadata.get("tags", [])]
    told = "\n".join(plain(o) for c in cells for o in c.outputs)
    facts = sum(line.startswith(("✓", "✗")) for line in told.splitlines())
    runs = "".join("c" if c.cell_type == "code" else " " for c in notebook.cells).split()
    return (
        f"{path.name:24} cells {len(notebook.cells):3}   code lines: median "
        f"{statistics.median(lines):.0f}, most {max(lines):2}   prose words: median "
        f"{statistics.median(words):.0f}, most {max(words):3}   facts {facts:2}   cells a picture "
        f"{len(notebook.cells) / max(pictures, 1):.1f}   code cells in a row {max(map(len, runs))}"
        f"   {path.stat().st_size // 1024} kB   {minutes_to_read(notebook):.0f} minutes"
    )


def plain(output) -> str:
    """The text of an output, printed or displayed."""
    return output.get("text") or output.get("data", {}).get("text/plain", "")


def merge_streams(outputs: list) -> list:
    merged: list = []
    for output in outputs:
        same = merged and output.output_type == "stream" == merged[-1].output_type
        if same and merged[-1].name == output.name:
            merged[-1].text += output.text
        else:
            merged.append(output)
    return merged


def _clean(output) -> None:
    if "data" in output:
        output.data.pop(WIDGET, None)
        output.metadata = {}
        if "image/png" in output.data:
            output.data["image/png"] = small_png(output.data["image/png"])


def small_png(encoded: str) -> str:
    """The same picture with at most 256 colours: a third of the size. What is clear stays so."""
    picture = Image.open(io.BytesIO(base64.b64decode(encoded)))
    if picture.mode == "P":
        return encoded
    buffer = io.BytesIO()
    octree = {"method": Image.Quantize.FASTOCTREE, "dither": Image.Dither.NONE}  # keeps opacity
    picture.convert("RGBA").quantize(256, **octree).save(buffer, "png", optimize=True)
    return base64.b64encode(buffer.getvalue()).decode()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=("sync", "run", "style"))
    parser.add_argument("files", nargs="*", type=Path, help="all chapters when left out")
    arguments = parser.parse_args()
    for path in arguments.files or chapters():
        if arguments.action == "style":
            print(style(path))
            continue
        notebook = nbformat.read(path, as_version=4)
        sync(notebook)
        if arguments.action == "run":
            execute(notebook)
        canonical(notebook)
        nbformat.write(notebook, path)
        print(f"{arguments.action} {path.name}")


if __name__ == "__main__":
    main()
