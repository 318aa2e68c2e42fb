"""Live views outside of notebooks: in a web page, with no kernel and no network.

`save_page(view, "view.html")` writes one page that holds everything it needs.
"""

import base64
import html
import json
import zlib
from pathlib import Path

from mha_utils.records import write_text
from mha_utils.widgets.kit.base import SOURCES, LiveView, sendable

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>:root {{ color-scheme: light dark; }} body {{ margin: 16px; }}</style>
</head>
<body>
{view}
<script>{host}</script>
</body>
</html>
"""


def save_page(view: LiveView, path: str | Path) -> Path:
    """Write a page with this view alone, in its present state; it works offline.

    Args:
        path: the file to write, ending in .html.

    Raises:
        ValueError: if the path does not end in .html, or nothing can be written there.
    """
    path = Path(path)
    if path.suffix != ".html":
        raise ValueError(f"path must end in .html, got {str(path)!r}")
    page = PAGE.format(
        title=html.escape(type(view).__name__),
        view=embed("view", view.get_state(), view.png(), view.finding()),
        host=host_script(),
    )
    write_text(path, page)
    return path


def embed(identifier: str, state: dict, still: bytes, text: str) -> str:
    """The place of a view in a page: its still picture until `host.js` brings it to life.

    Args:
        identifier: unlike any other in the page.
        state: the view's synced traits, its `_esm` and `_css` among them; values are JSON or bytes.
        still: the same state as a PNG.
        text: the same state in words.
    """
    is_bytes = {name: isinstance(value, bytes | memoryview) for name, value in state.items()}
    kept = {n: v for n, v in state.items() if not is_bytes[n] and not _is_machinery(n)}
    packed = {n: zlib.compress(bytes(v), 9) for n, v in state.items() if is_bytes[n]}
    sent = {n: base64.b64encode(v).decode() for n, v in packed.items()}
    data = json.dumps({"state": kept, "bytes": sent}).replace("<", "\\u003c")
    picture = base64.b64encode(still).decode()
    return (
        f'<div data-mha-view="{identifier}">'
        f'<img alt="{html.escape(sendable(text))}" src="data:image/png;base64,{picture}"></div>\n'
        f'<script type="application/json" id="{identifier}">{data}</script>'
    )


def host_script() -> str:
    """The JavaScript that brings every embedded view of a page to life."""
    return (SOURCES / "host.js").read_text("utf-8")


def _is_machinery(trait: str) -> bool:
    names = ("_model_", "_view_", "_dom_", "_anywidget", "layout", "tabbable", "tooltip", "comm")
    return trait.startswith(names)
