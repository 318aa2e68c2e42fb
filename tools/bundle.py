"""Build the JavaScript of the live views: `make views`.

Sources are modules in mha_utils/widgets/js, a folder for each view. A notebook and a page get a
view as one file: `deno bundle` writes it to mha_utils/widgets/built.
"""

import json
import os
import subprocess
from pathlib import Path

from tools.planting import ROOT

WIDGETS = ROOT / "mha_utils" / "widgets"
BUILT, SOURCES = WIDGETS / "built", WIDGETS / "js"

NOTE = "// Built by `make views` out of mha_utils/widgets/js: edit the modules there.\n"


def deno(*arguments: str, folder: Path = SOURCES, **options) -> subprocess.CompletedProcess:
    """Run the deno that is installed beside this Python."""
    from deno import find_deno_bin

    settings = os.environ | {"NO_COLOR": "1", "DENO_NO_UPDATE_CHECK": "1"}
    command = [find_deno_bin(), *arguments]
    return subprocess.run(
        command, cwd=folder, env=settings, capture_output=True, text=True, check=False, **options
    )


def bundle(name: str, sources: Path = SOURCES) -> str:
    """A view and everything that it imports, as one module.

    Raises:
        RuntimeError: if deno cannot bundle it; the first time it fetches esbuild.
    """
    options = ("--quiet", "--minify", "--platform", "browser")
    made = deno("bundle", *options, f"{name}/view.js", folder=sources)
    if made.returncode:
        raise RuntimeError(made.stderr)
    return NOTE + made.stdout


def colours() -> str:
    """The colours that pictures of Python and of JavaScript share, as JSON."""
    from mha_utils import theme

    named = {"mark": theme.OKABE_ITO["orange"], "warning": theme.OKABE_ITO["vermilion"]}
    light = {"weights": theme.palette(theme.WEIGHTS), "signed": theme.palette(theme.SIGNED)}
    dark = {
        "weights": theme.palette(theme.WEIGHTS_DARK),
        "signed": theme.palette(theme.SIGNED_DARK),
    }
    return json.dumps({"light": light, "dark": dark, "heads": theme.HEADS} | named) + "\n"


def names() -> list[str]:
    return sorted(path.parent.name for path in SOURCES.glob("*/view.js"))


def build(widgets: Path) -> None:
    """Bundle every view."""
    for name in names():
        text = bundle(name, widgets / "js")
        (widgets / "built" / f"{name}.js").write_text(text, "utf-8")


def main() -> None:
    (SOURCES / "kit" / "theme.json").write_text(colours(), "utf-8")
    build(WIDGETS)


if __name__ == "__main__":
    main()
