"""Build the series as a static site: `make site` writes build/site.

Sphinx with MyST-NB and the Furo theme make the pages, the navigation and the search. Every chapter
is executed to learn the state of its live views, which are then embedded in the page
(`mha_utils.widgets.kit.page`): they work with no kernel and no network.
"""

import argparse
import base64
import shutil
from pathlib import Path

import nbformat
from sphinx.cmd.build import main as sphinx

from mha_utils.widgets.kit.page import embed, host_script
from tools.badges import repository, with_badges
from tools.notebooks import FOLDER, STATE, WIDGET, chapters, execute, merge_streams, small_png

ROOT = FOLDER.parent
CONFIGURATION = """
project = "Multi-head attention, step by step"
extensions = ["myst_nb"]
nb_execution_mode = "off"
myst_heading_anchors = 3
html_theme = "furo"
html_title = project
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = [("views.js", {"defer": "defer"})]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_search_summary = False  # it would fetch pages, which a browser forbids on file://
suppress_warnings = ["mystnb.unknown_mime_type"]
"""
STYLE = """
[data-mha-view] {
  --jp-layout-color1: var(--color-background-primary);
  --jp-ui-font-color1: var(--color-foreground-primary);
  --jp-border-color1: var(--color-foreground-border);
}
[data-mha-view] img { max-width: 100%; }
"""


def build(target: Path, executed: Path | None = None) -> Path:
    """Write the site to `target`/site and return that folder.

    Chapters that lie in the folder `executed`, with outputs and the state of their views, are
    taken from there.
    """
    source = target / "source"
    shutil.rmtree(target, ignore_errors=True)
    (source / "static").mkdir(parents=True)
    shutil.copytree(ROOT / "media", source / "media", ignore=shutil.ignore_patterns("src"))
    (source / "conf.py").write_text(CONFIGURATION)
    (source / "static" / "site.css").write_text(STYLE)
    (source / "static" / "views.js").write_text(host_script())
    (source / "index.md").write_text(front_page())
    (source / "notebooks").mkdir()
    for path in chapters():
        if executed and (executed / path.name).exists():
            notebook = nbformat.read(executed / path.name, as_version=4)
        else:
            notebook = nbformat.read(path, as_version=4)
            execute(notebook)
        embed_views(notebook)
        add_badges(notebook, path.stem)
        nbformat.write(notebook, source / "notebooks" / path.name)
        print(f"site: {path.name}", flush=True)
    site = target / "site"
    if sphinx(["-q", "-W", "-b", "html", "-d", str(target / "doctrees"), str(source), str(site)]):
        raise SystemExit("Sphinx found something to complain about")
    (site / ".nojekyll").touch()  # GitHub Pages would leave out folders like _static
    return site


def front_page() -> str:
    """The README without what is about installing, and a table of contents."""
    readme = (ROOT / "README.md").read_text("utf-8")
    head, _, _ = with_badges(readme, repository(), told=True).partition("## Start")
    table = readme.partition("## Chapters")[2].partition("\n## ")[0]
    contents = "\n".join(f"notebooks/{path.stem}" for path in chapters())
    return (
        f"{head}\n## Chapters\n{table}\n"
        "Every chapter is a notebook. Here you read them, and the live views work; to run and "
        "change the code, clone the series and open it in JupyterLab.\n\n"
        f"```{{toctree}}\n:hidden:\n{contents}\n```\n"
    )


def add_badges(notebook, name: str) -> None:
    """Below the title of a chapter, where its badges lead to the chapter itself."""
    title = notebook.cells[0]
    title.source = with_badges(title.source, repository(), name, "../", told=True)


def embed_views(notebook) -> None:
    """Put each live view of an executed notebook into its page as HTML."""
    models = notebook.metadata.pop("widgets", {}).get(STATE, {}).get("state", {})
    has_style = False  # one for all views of a page
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type != "code":
            continue
        cell.outputs = [o for o in merge_streams(cell.outputs) if not _is_closed(o, models)]
        for output in cell.outputs:
            data = output.get("data", {})
            if "image/png" in data:
                data["image/png"] = small_png(data["image/png"])
            if WIDGET in data:
                state = state_of(models[data[WIDGET]["model_id"]])
                state, has_style = state | ({"_css": ""} if has_style else {}), True
                still = base64.b64decode(data["image/png"])
                output.data = {"text/html": embed(f"v{number}", state, still, data["text/plain"])}


def _is_closed(output, models: dict) -> bool:
    """A bar of progress that has ended; a live view would have a picture."""
    data = output.get("data", {})
    return WIDGET in data and "image/png" not in data and data[WIDGET]["model_id"] not in models


def state_of(model: dict) -> dict:
    """The traits of a stored widget model, its bytes put back in their places."""
    sent = {b["path"][0]: base64.b64decode(b["data"]) for b in model.get("buffers", [])}
    return model["state"] | sent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", nargs="?", type=Path, default=ROOT / "build")
    folder = build(parser.parse_args().target)
    print(f"open {folder / 'index.html'}")


if __name__ == "__main__":
    main()
