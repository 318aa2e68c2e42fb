"""The base of every live view: assembles its JavaScript and stands in as text and picture."""

import base64
import functools
import io
import json
import re
from pathlib import Path

import anywidget
import traitlets
from PIL import Image

from mha_utils import theme

FOLDER = Path(__file__).parent
VIEWS = FOLDER.parent


def assemble(name: str) -> str:
    """One ES module from `base.js` and the view's own file, with the theme's colours.

    Both files are valid modules by themselves; joining them needs no bundler because the
    view imports from `./base.js` and from nowhere else.
    """
    marks = {"mark": theme.OKABE_ITO["orange"], "warning": theme.OKABE_ITO["vermilion"]}
    colours = {"weights": theme.palette(), "heads": theme.HEADS} | marks
    colours["signed"] = theme.palette(theme.SIGNED)
    base = re.sub(r"^export ", "", (FOLDER / "base.js").read_text("utf-8"), flags=re.MULTILINE)
    view = (VIEWS / f"{name}.js").read_text("utf-8")
    view = re.sub(r'^import \{[^}]*\} from "\./base\.js";\n', "", view)
    return f"const THEME = {json.dumps(colours)};\n{base}\n{view}"


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


class LiveView(anywidget.AnyWidget):
    """A picture that is computed and drawn in the browser.

    A view has: `script`, the name of its JavaScript file; traits for what a reader can
    move; `finding()`, the state as one sentence; `still()`, the same state as a picture that
    stands in wherever widgets do not run.
    """

    _css = FOLDER / "base.css"
    script = ""
    problem = traitlets.Unicode("").tag(sync=True)

    def __init__(self, **traits):
        super().__init__(**{name: sendable(value) for name, value in traits.items()})

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "script" in vars(cls):  # traitlets makes subclasses of its own when a view is built
            cls._esm = assemble(cls.script)

    def finding(self) -> str:
        """What the picture shows now, in one sentence."""
        raise NotImplementedError

    def still(self) -> Image.Image:
        """The present state as a picture."""
        raise NotImplementedError

    def png(self) -> bytes:
        buffer = io.BytesIO()
        self.still().save(buffer, format="png")
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
