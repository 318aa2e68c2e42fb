"""Run torch code again as a view moves: `@follow(view)`; move two views at once: `link`."""

import base64
import io
import os
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any

import ipywidgets
import matplotlib.pyplot as plt
import traitlets
from IPython.core.pylabtools import print_figure
from IPython.display import display

from mha_utils.facts import SWITCH
from mha_utils.machine import is_voila
from mha_utils.widgets.kit.base import LiveView
from mha_utils.widgets.kit.slices import kernel_loop

FRAME = 1 / 60  # seconds
NOTHING = {"text/plain": ""}


def follow(*views) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Run the decorated function now, and again whenever one of the views moves.

    What it prints and what it returns stands below the cell, a figure as a picture; an error
    stands in its place. A function that takes long is run again when it is done, for what the
    views show then.

    Raises:
        ValueError: if there is no view, or something that is no live view.
    """
    if not views or not all(isinstance(view, LiveView) for view in views):
        raise ValueError(f"follow needs one or more live views, got {views}")

    def decorate(function: Callable[[], Any]) -> Callable[[], Any]:
        follower = Follower(function)
        for view in views:
            view.notify(function.__name__, follower.moved)
        return function

    return decorate


def link(first: LiveView, second: LiveView, *traits: str) -> None:
    """Let two views show the same: whichever is moved, the other one moves along.

    Args:
        first, second: the views. At first, `second` becomes as `first` is.
        traits: names of what both have, such as "row" or "num_heads".

    Raises:
        ValueError: if no trait is named, or a view does not have it.
    """
    for view in (first, second):
        missing = [name for name in traits if name not in view.moving_traits()]
        if missing or not traits:
            known = ", ".join(view.moving_traits())
            raise ValueError(
                f"link needs names of what {type(view).__name__} has ({known}), "
                f"got {', '.join(traits) or 'none'}"
            )
    for name in traits:
        traitlets.link((first, name), (second, name))


class Follower:
    """A function and the place below the cell where what it gives is shown."""

    def __init__(self, function: Callable[[], Any]):
        self.function = function
        self.waiting, self.free_at = False, 0.0
        shown = outcome(function, strict=os.environ.get(SWITCH) == "raise") or [NOTHING]
        self.place = InWidget(shown) if is_voila() else BelowCell(shown)

    def moved(self, change=None) -> None:
        """Run soon, in the thread of the cells; once, however often it is asked meanwhile."""
        if self.waiting:
            return
        loop = kernel_loop()
        if loop is None:
            self.update()
            return
        self.waiting = True
        loop.add_callback(lambda: loop.call_later(self.free_at - time.monotonic(), self.update))

    def update(self) -> None:
        self.waiting = False
        start = time.monotonic()
        self.place.show(outcome(self.function))
        end = time.monotonic()
        self.free_at = end + max(FRAME, end - start)


class BelowCell:
    """Outputs of the cell itself, replaced by their display ids."""

    def __init__(self, shown: list[dict]):
        self.places = [display(data, raw=True, display_id=True) for data in shown]

    def show(self, shown: list[dict]) -> None:
        for place, data in zip(self.places, shown + [NOTHING] * 2):
            if place is not None:  # without a kernel there is none
                place.update(data, raw=True)


class InWidget:
    """The same in a widget, for Voila: there the server ran the cell, not the page, so the page
    knows no display ids; the state of a widget does reach it.
    """

    def __init__(self, shown: list[dict]):
        self.widget = ipywidgets.Output()
        self.show(shown)
        display(self.widget)

    def show(self, shown: list[dict]) -> None:
        kind = {"output_type": "display_data", "metadata": {}}
        self.widget.outputs = tuple(kind | {"data": data} for data in shown)


def outcome(function: Callable[[], Any], strict: bool = False) -> list[dict]:
    """What a call prints and returns, as text, and the figure that it draws, as a picture."""
    printed, figures = io.StringIO(), plt.get_fignums()
    try:
        with redirect_stdout(printed):
            value = function()
    except Exception as error:
        if strict:
            raise
        value = f"{type(error).__name__}: {error}"
    drawn = [plt.figure(number) for number in plt.get_fignums() if number not in figures]
    text = printed.getvalue().rstrip("\n")
    if value is not None and not drawn:
        text += "\n" * bool(text) + (value if isinstance(value, str) else repr(value))
    return ([{"text/plain": text}] if text else []) + [as_picture(figure) for figure in drawn]


def as_picture(figure) -> dict:
    """A figure of pyplot as PNG; it is closed."""
    picture = base64.b64encode(print_figure(figure, facecolor="none")).decode()
    plt.close(figure)
    return {"text/plain": f"a picture: {figure.get_suptitle()}".rstrip(": "), "image/png": picture}
