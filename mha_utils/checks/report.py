"""Call a learner's answer: what goes wrong inside is shown as theirs, with their line."""

import ast
import inspect
import re
import sysconfig
import textwrap
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

RAISED = (Exception, SystemExit)  # what an answer may raise; Ctrl-C still ends the check
LONGEST = 300  # characters of somebody else's text
FOREIGN = (  # files whose lines are not the learner's
    str(Path(__file__).parents[1]),
    str(Path(torch.__file__).parent),
    sysconfig.get_path("stdlib"),
)
SIZES_DIFFER = "must match the size|cannot be multiplied|[Ee]xpected size|incompatible dim"
NOT_WHOLE = "float.*as an integer|ints, ?but got float|combination of arguments.*float"
HINTS = (
    # what the learner wrote, what the error says, the hint
    (
        r"\w\.T\b",
        f"{SIZES_DIFFER}|2-D|dimension other than 2|ndim",
        "`.T` turns all dimensions around; `.transpose(-2, -1)` only the last two",
    ),
    (
        r"\bsum\b|\ba?max\b|\bmean\b",
        "must match the size",
        "keepdim=True keeps the dimension that a sum or a maximum takes away, as size 1",
    ),
    ("", "return_types", "`max(dim=...)` gives values and places; `.values` are the values"),
    (r"[^/]/[^/]", NOT_WHOLE, "`/` gives a float, `//` a whole number"),
    (
        "",
        "Dimension out of range",
        "Count dimensions from the end: -1 is the last one, whatever stands in front",
    ),
    (
        "",
        "in-?place",
        "`/=` and names with a final `_` change a tensor in place; `a = a / b` makes a new one",
    ),
)


@dataclass(frozen=True)
class Report:
    """What a check found. Prints as its message; `bool(report)` is True when all is right."""

    passed: bool
    message: str

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        return self.message


class WrongError(Exception):
    """Carries the message of a failed check."""


class WrongResultError(WrongError):
    """There is a result to look at: perhaps a well-known mistake."""


def name_of(answer: Callable) -> str:
    """What the learner called it."""
    return getattr(answer, "__name__", type(answer).__name__)


def call_answer(answer: Callable, arguments, call: str):
    """What `answer` returns.

    Raises:
        WrongError: if it raises (the message has the learner's own line), or is not solved yet.
    """
    try:
        got = answer(*arguments)
    except RAISED as error:
        require_filled_in(answer, error)
        line = line_of(error, answer)
        place = f" in your line `{line}`" if line else ""
        what = f"✗ {call} raised {type(error).__name__}{place}: {in_short(error)}"
        raise WrongError(what + hint_for(error, answer, line)) from error
    require_returned(answer, got)
    return got


def require_filled_in(answer: Callable, error: BaseException) -> None:
    """Raise a WrongError if an error comes of a stub: of `...` where a value should be."""
    if isinstance(error, NotImplementedError):
        raise unsolved(answer, "it raised NotImplementedError") from error
    if isinstance(error, TypeError | AttributeError) and "ellipsis" in str(error):
        raise unsolved(answer, "a `...` is left in it") from error


def require_returned(answer: Callable, got) -> None:
    """Raise a WrongError if nothing or `...` was returned."""
    parts = got if isinstance(got, tuple | list) else (got,)
    if any(part is Ellipsis for part in parts):
        raise unsolved(answer, "it returned `...`")
    if got is None:
        raise unsolved(answer, f"it returned None{return_hint(answer)}")


def unsolved(answer: Callable, why: str) -> WrongError:
    return WrongError(f"○ {name_of(answer)}: not solved yet ({why})")


def return_hint(answer: Callable) -> str:
    """What may be missing where None was returned; nothing where the last line is a `return`."""
    if "print" in getattr(getattr(answer, "__code__", None), "co_names", ()):
        return "; `print` shows a value, `return` gives it back"
    try:
        written = ast.parse(textwrap.dedent(inspect.getsource(answer))).body[0]
    except (OSError, TypeError, SyntaxError):
        return ""
    if not isinstance(written, ast.FunctionDef) or isinstance(written.body[-1], ast.Return):
        return ""
    has_return = any(isinstance(node, ast.Return) for node in ast.walk(written))
    return f"; is there a `return`{' on every way' if has_return else ''}?"


def raised(error: BaseException) -> str:
    """What was raised, and the last line of somebody else's code that it went through."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [f.line for f in frames if f.line and not f.filename.startswith(FOREIGN)]
    place = f" in your line `{in_short(lines[-1])}`" if lines else ""
    return f"raised {type(error).__name__}{place}: {in_short(error)}"


def or_none(function: Callable, *arguments):
    """What the function returns, or None if it raises."""
    try:
        return function(*arguments)
    except RAISED:
        return None


def in_short(said) -> str:
    """The first line of a text or an error, cut where it is very long."""
    first, *more = str(said).splitlines() or ["no text"]
    return first[:LONGEST] + (" …" if more or len(first) > LONGEST else "")


def shown(value) -> str:
    """A value as it is printed, in short."""
    try:
        return in_short(repr(value))
    except Exception:  # whole numbers of more than 4300 digits, nesting without end
        return f"a value of type {type(value).__name__}"


def line_of(error: BaseException, answer: Callable) -> str:
    """The last line of the learner's own code that the error went through."""
    own = getattr(getattr(answer, "__code__", None), "co_filename", None)
    lines = [f.line for f in traceback.extract_tb(error.__traceback__) if f.filename == own]
    return lines[-1] if lines else ""


def hint_for(error: BaseException, answer: Callable, line: str = "") -> str:
    """One more line for errors that newcomers meet often."""
    names = getattr(getattr(answer, "__code__", None), "co_names", ())
    wrote = " ".join([line, *names])
    for written, says, hint in HINTS:
        if re.search(written, wrote) and re.search(says, str(error)):
            return f"\n  {hint}"
    return ""
