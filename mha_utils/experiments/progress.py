"""How far a loop in a notebook has come; nothing of it is left when the loop ends."""

import time
from collections.abc import Callable, Iterator

from IPython import get_ipython

VIEW = "application/vnd.jupyter.widget-view+json"
SOON = 0.25  # seconds until there is something to say of the time that is left


def progress(steps: int, name: str, state: Callable[[], str] = str) -> Iterator[int]:
    """Yield 0 to steps - 1; a notebook shows a bar, `state()` and about how long it still takes."""
    if getattr(get_ipython(), "kernel", None) is None:
        yield from range(steps)
        return
    from IPython.display import display
    from ipywidgets import HBox, IntProgress, Label

    bar, text = IntProgress(max=steps, description=name), Label()
    box, start = HBox([bar, text]), time.monotonic()
    view = {"version_major": 2, "version_minor": 0, "model_id": box.model_id}
    shown = display({VIEW: view}, raw=True, display_id=True)
    try:
        for step in range(steps):
            yield step
            if step % max(1, steps // 50) == 0:
                bar.value = step
                text.value = told(state(), step + 1, steps, time.monotonic() - start)
    finally:
        shown.update({}, raw=True)
        for part in (bar, text, box):
            part.close()


def told(state: str, done: int, steps: int, seconds: float) -> str:
    """`loss 0.512, about 3 s left`; of the time only when it can be judged."""
    left = [f"about {seconds / done * (steps - done):.0f} s left"] if seconds > SOON else []
    return ", ".join([state] * bool(state) + left)
