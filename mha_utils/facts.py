"""Facts: sentences that a chapter decides by computing; one that is false stops nothing."""

import ast
import contextlib
import html
import inspect
import linecache
import os
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType

import numpy as np
from IPython.display import display

SWITCH = "MHA_FACTS"  # in the environment: "raise" makes a fact that does not hold an error
SEEN = 3  # of a long list of facts; the rest is folded, but for what does not hold


@dataclass(frozen=True)
class Comparison:
    """Whether numbers are as expected, and in words how they differ."""

    holds: bool
    difference: str = ""

    def __bool__(self) -> bool:
        return self.holds


def close(found, expected, *, within: float = 1e-5) -> Comparison:
    """Whether all numbers are equal up to rounding.

    Args:
        found, expected: tensors, arrays or numbers whose shapes broadcast.
        within: how far off a number may be, relative to the largest expected one, at least 1.
    """
    found, expected = as_array(found), as_array(expected)
    try:
        off = np.abs(found - expected).max(initial=0.0)
    except ValueError:
        return Comparison(False, f"shapes {found.shape} and {expected.shape} do not fit together")
    largest = max(1.0, np.abs(expected).max(initial=0.0))
    return Comparison(bool(off <= within * largest), f"off by up to {off:.2g}")


@dataclass(frozen=True)
class Folded:
    """Facts of a long list that a reader unfolds."""

    lines: tuple[str, ...]

    def __repr__(self) -> str:
        return "\n".join(self.lines)

    def _repr_html_(self) -> str:
        summary = f"<summary>and {len(self.lines)} more</summary>"
        return f"<details>{summary}<pre>{html.escape(repr(self))}</pre></details>"


def facts(claims: dict[str, Callable]) -> None:
    """Print each sentence with ✓ if its condition holds, else with ✗ and what was found.

    Of a long list the first three are seen, and what does not hold; the rest is folded.

    Args:
        claims: for each sentence a function without arguments that returns whether it is true:
            a bool, a tensor of bools that must all be True, or what `close` returns. An error
            inside counts as ✗.

    Raises:
        ValueError: if there are no claims, or a condition is no function.
        AssertionError: if one does not hold and the environment has MHA_FACTS=raise.
    """
    require_claims(claims)
    reasons = {sentence: why_not(condition) for sentence, condition in claims.items()}
    wrong = [f"{sentence}: {reason}" for sentence, reason in reasons.items() if reason is not None]
    first, rest = apart([f"✓ {s}" if r is None else f"✗ {s}: {r}" for s, r in reasons.items()])
    print(*first, sep="\n")
    if rest:
        display(Folded(tuple(rest)))
    if wrong and os.environ.get(SWITCH) == "raise":
        raise AssertionError("\n".join(wrong))


def apart(lines: list[str]) -> tuple[list[str], list[str]]:
    """What a reader sees at once, the first and all that does not hold; and what is folded."""
    rest = [line for line in lines[SEEN:] if line.startswith("✓")]
    rest = rest if len(rest) > 1 else []  # to fold one line saves nothing
    return [line for line in lines if line not in rest], rest


def require_claims(claims: dict[str, Callable]) -> None:
    """Raise ValueError unless it is a dict of sentences and functions with at least one row."""
    if not isinstance(claims, dict) or not claims:
        raise ValueError(f"claims must be a dict of sentences and functions, got {claims!r}")
    for sentence, condition in claims.items():
        if not callable(condition):
            raise ValueError(f"{sentence!r} needs a function, lambda: ..., got {condition!r}")


def why_not(condition: Callable) -> str | None:
    """None if the condition holds, else what was found instead, in one line."""
    try:
        value = condition()
        if isinstance(value, Comparison):
            return None if value else value.difference
        return None if holds(value) else found_instead(condition)
    except NameError as error:
        return f"the cell that makes {error.name!r} has not run to its end"
    except KeyError as error:
        return f"there is no {error} here"
    except IndexError as error:
        return f"this needs more than there is here ({error})"
    except Exception as error:
        text = str(error)
        if text.endswith(" is not in list"):
            return f"there is no {text.removesuffix(' is not in list')} here"
        if text.startswith(("min()", "max()")):  # of nothing
            return "this needs more than there is here"
        return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}".rstrip(": ")


def found_instead(condition: Callable) -> str:
    """What the part that failed of a condition gives, where that can be said."""
    found, tree = None, returned_by(getattr(condition, "__code__", None))
    if tree is not None:
        defaults = {p.name: p.default for p in inspect.signature(condition).parameters.values()}
        names = condition.__globals__ | inspect.getclosurevars(condition).nonlocals | defaults
        with contextlib.suppress(Exception):  # it is evaluated in parts, which may not stand alone
            found = evidence(tree, names)
    return found or "this is not so here"


def evidence(tree: ast.expr, names: dict) -> str | None:
    """Of `and` the part that failed, of `all(... for ...)` the first, of a comparison a side."""
    match tree:
        case ast.BoolOp(op=ast.And(), values=parts):
            return evidence(next(p for p in parts if not holds(value_of(p, names))), names)
        case ast.Call(func=ast.Name("all"), args=[ast.GeneratorExp(elt=each, generators=loops)]):
            loops[-1].ifs.append(ast.UnaryOp(ast.Not(), each))
            failing = ast.parse("next(locals() for _ in _)", mode="eval").body
            failing.args[0].generators = loops
            return evidence(each, names | value_of(failing, names))
        case ast.Call(func=ast.Attribute(attr="equal" | "allclose"), args=[found, expected, *_]):
            return close(value_of(found, names) * 1.0, value_of(expected, names) * 1.0).difference
        case ast.Compare():
            sides = [tree.left, *tree.comparators]
            for left, operator, right in zip(sides, tree.ops, sides[1:]):
                if not holds(value_of(ast.Compare(left, [operator], [right]), names)):
                    shown = [s for s in (left, right) if not isinstance(s, ast.Constant)] or [left]
                    if "data_ptr" in ast.dump(left):  # an address tells nothing
                        return None
                    return f"found {' and '.join(in_short(value_of(s, names)) for s in shown)}"
    return getattr(value_of(tree, names), "difference", None)


def value_of(tree: ast.expr, names: dict):
    whole = ast.fix_missing_locations(ast.Expression(tree))
    return eval(compile(whole, "<fact>", "eval"), dict(names))


def holds(value) -> bool:
    return bool(value if isinstance(value, Comparison) else as_array(value).all())


def returned_by(code: CodeType | None) -> ast.expr | None:
    """The expression that a lambda returns; None of any other function."""
    if code is None or code.co_name != "<lambda>":
        return None
    places = [place for place in code.co_positions() if None not in place and place[3] > 0]
    if not places:  # a constant
        return None
    first, last, left, right = max(places, key=lambda p: (p[1] - p[0], p[3] - p[2]))  # all of it
    lines = [linecache.getline(code.co_filename, n).encode() for n in range(first, last + 1)]
    lines[-1] = lines[-1][:right]
    source = b"".join([lines[0][left:], *lines[1:]]) if first < last else lines[0][left:]
    try:
        return ast.parse(b"(" + source + b")", mode="eval").body
    except SyntaxError:
        return None


def in_short(value) -> str:
    """A value in one line: numbers with four decimals or as 1.0e-05, long things cut."""
    if getattr(value, "shape", None) == ():
        value = value.item()
    text = " ".join(repr(value).split())
    if isinstance(value, float):
        text = f"{value:.1e}" if 0 < abs(value) < 1e-4 else f"{value:.4f}"
    return text if len(text) <= 60 else text[:57] + "..."


def as_array(value) -> np.ndarray:
    """A tensor, an array or a number as an array."""
    if not hasattr(value, "detach"):
        return np.asarray(value)
    is_short = value.is_floating_point() and value.dtype.itemsize < 4  # NumPy has no bfloat16
    return np.asarray((value.float() if is_short else value).detach().cpu())
