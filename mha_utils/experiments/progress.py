"""A progress bar for loops in a notebook; nothing of it is left when the loop ends."""

from collections.abc import Iterator

from IPython import get_ipython

VIEW = "application/vnd.jupyter.widget-view+json"


def progress(steps: int, name: str) -> Iterator[int]:
    """Yield 0 to steps - 1; in a notebook a bar shows how far the loop has come."""
    if getattr(get_ipython(), "kernel", None) is None:
        yield from range(steps)
        return
    from IPython.display import display
    from ipywidgets import IntProgress

    bar = IntProgress(max=steps, description=name)
    view = {"version_major": 2, "version_minor": 0, "model_id": bar.model_id}
    shown = display({VIEW: view}, raw=True, display_id=True)
    try:
        for step in range(steps):
            yield step
            if step % max(1, steps // 50) == 0:
                bar.value = step
    finally:
        shown.update({}, raw=True)
        bar.close()
