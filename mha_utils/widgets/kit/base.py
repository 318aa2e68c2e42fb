"""The base of every live view: names its JavaScript and stands in as text and picture."""

import base64
import functools
import io
from collections.abc import Callable
from pathlib import Path

import anywidget
import traitlets
from PIL import Image

from mha_utils.widgets.kit.lenient import Lenient

SOURCES = Path(__file__).parents[1] / "js"  # modules, one folder for each view
BUILT = Path(__file__).parents[1] / "built"  # each view in one file, as `make views` bundles it


class WrongState(ValueError, traitlets.TraitError):
    """A trait was given a value that its view can not show; the view keeps the one before."""


def refuses(*names: str):
    """Make a method that raises ValueError for a wrong value the judge of these traits."""

    def decorate(check):
        @traitlets.validate(*names)
        def judge(self, proposal):
            try:
                check(self, proposal["trait"].name, proposal["value"])
            except ValueError as error:
                raise WrongState(str(error)) from None
            return proposal["value"]

        return judge

    return decorate


def sendable(value):
    """Text without halves of surrogate pairs, which no file and no kernel can send."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return [sendable(part) for part in value] if isinstance(value, list) else value


class LiveView(anywidget.AnyWidget, metaclass=Lenient):
    """A picture that is computed and drawn in the browser.

    A view has: `script`, the name of its folder in `js/`; traits for what a reader can
    move; `finding()`, the state as one sentence; `still()`, the same state as a picture that
    stands in wherever widgets do not run.
    """

    _css = SOURCES / "style.css"
    _ipython_display_ = None  # ipywidgets 7 has one, which would show no picture
    script = ""
    problem = traitlets.Unicode("").tag(sync=True)

    def __init__(self, **traits):
        super().__init__(**{name: sendable(value) for name, value in traits.items()})
        self._callbacks = {}

    def __init_subclass__(cls, **kwargs):
        if "script" in vars(cls):  # traitlets makes subclasses of its own when a view is built
            cls._esm = BUILT / f"{cls.script}.js"
        super().__init_subclass__(**kwargs)

    def moving_traits(self) -> list[str]:
        """Names of what is the view's own, of its state and of its data."""
        return sorted(set(self.trait_names(sync=True)) - set(LiveView.class_trait_names()))

    def notify(self, name: str, callback: Callable) -> None:
        """Call when anything of the view changes, in place of what was called by this name."""
        if name in self._callbacks:
            self.unobserve(self._callbacks[name], self.moving_traits())
        self._callbacks[name] = callback
        self.observe(callback, self.moving_traits())

    def finding(self) -> str:
        """What the picture shows now, in one sentence."""
        raise NotImplementedError

    def still(self) -> Image.Image:
        """The present state as a picture."""
        raise NotImplementedError

    def png(self) -> bytes:
        buffer = io.BytesIO()
        self.still().save(buffer, format="png", compress_level=3)  # a third faster than 6
        return buffer.getvalue()

    def __repr__(self) -> str:
        return f"{type(self).__name__}: {self.finding()}"

    def _repr_mimebundle_(self, **kwargs):
        data, metadata = super()._repr_mimebundle_(**kwargs)
        picture = base64.b64encode(self.png()).decode()
        return data | {"text/plain": repr(self), "image/png": picture}, metadata


def shows_problems(callback):
    """Errors in an `observe` callback are invisible in a notebook; show them in the view."""

    @functools.wraps(callback)
    def safe(self, change):
        try:
            callback(self, change)
            self.problem = ""
        except Exception as error:
            self.problem = f"{type(error).__name__}: {error}"

    return safe
