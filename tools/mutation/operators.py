"""What may be changed at a node of Python's syntax tree, and by what.

Each function takes the `Finder`, which knows where nodes stand in the text, and a node; it gives
the operator's name, the span and the new text of every change.
"""

import ast
import itertools
from collections.abc import Iterator

COMPARED = {
    **{ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">")},
    **{ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not")},
    **{ast.IsNot: ("is not", "is"), ast.In: ("in", "not in"), ast.NotIn: ("not in", "in")},
}
COMPUTED = {
    **{ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*")},
    **{ast.FloorDiv: ("//", "*"), ast.Mod: ("%", "*"), ast.Pow: ("**", "*")},
    **{ast.BitAnd: ("&", "|"), ast.BitOr: ("|", "&")},
}
TEXTS = (ast.JoinedStr, ast.List, ast.Tuple, ast.Dict)
WORDS = {ast.And: ("and", "or"), ast.Or: ("or", "and")}
DROPPED = {"contiguous", "detach", "clone", "float", "double", "abs", "eval", "clamp", "copy"}
UNSEEN = {"manual_seed", "default_rng", "warn", "checked", "lru_cache", "cache", "TypeVar"}
SYMMETRIC = {"transpose", "swapaxes", "max", "min", "maximum", "minimum", "equal", "array_equal"}
KEYWORDS = {"stacklevel", "encoding", "indent", "seed", "ncols", "figsize", "maxsize", "errors"}


def name_of(node: ast.AST) -> str:
    return getattr(node, "attr", getattr(node, "id", ""))


def mutations(at, node: ast.AST) -> Iterator[tuple[str, int, int, str]]:
    """Operator, span and new text of everything that can be changed at this node."""
    for kind, change in OPERATORS.items():
        if isinstance(node, kind):
            yield from change(at, node)


def between(at, left: ast.AST, right: ast.AST, old: str, new: str, operator: str):
    """The sign that stands between two nodes."""
    start, end = at.span(left)[1], at.span(right)[0]
    gap = at.source[start:end]
    if gap.count(old) == 1 and "#" not in gap:
        place = start + gap.index(old)
        yield operator, place, place + len(old), new


def compare(at, node: ast.Compare):
    nodes = [node.left, *node.comparators]
    for left, right, op in zip(nodes, nodes[1:], node.ops):
        yield from between(at, left, right, *COMPARED[type(op)], "comparison")
    for value in nodes:
        if isinstance(value, ast.Constant) and isinstance(value.value, str) and value.value:
            yield "constant", *at.span(value), repr(value.value + "x").replace("'", '"')


def compute(at, node: ast.BinOp):
    sides = (node.left, node.right)
    is_text = any(isinstance(s, TEXTS) or isinstance(getattr(s, "value", 0), str) for s in sides)
    if type(node.op) in COMPUTED and not is_text:
        yield from between(at, *sides, *COMPUTED[type(node.op)], "arithmetic")


def compute_in_place(at, node: ast.AugAssign):
    if type(node.op) in COMPUTED:
        old, new = (sign + "=" for sign in COMPUTED[type(node.op)])
        yield from between(at, node.target, node.value, old, new, "arithmetic")
    yield from statement(at, node)


def constant(at, node: ast.Constant):
    value = node.value
    if isinstance(value, bool):
        yield "constant", *at.span(node), str(not value)
    elif isinstance(value, int):
        yield "constant", *at.span(node), str(value + 1)
    elif isinstance(value, float):
        yield "constant", *at.span(node), repr(round(value * 1.2, 12) or 0.1)


def unary(at, node: ast.UnaryOp):
    start, end = at.span(node)
    if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        yield "dimension", start, end, f"-{node.operand.value + 1}"
    kind = "sign" if isinstance(node.op, ast.USub) else "negation"
    yield kind, start, at.span(node.operand)[0], " " * (at.source[start - 1].isalpha())


def either(at, node: ast.BoolOp):
    for left, right in itertools.pairwise(node.values):
        yield from between(at, left, right, *WORDS[type(node.op)], "and, or")


def condition(at, node: ast.If | ast.While | ast.IfExp):
    if not isinstance(node.test, ast.Compare | ast.UnaryOp) and "\n" not in at.text(node.test):
        yield "condition", *at.span(node.test), f"(not ({at.text(node.test)}))"


def call(at, node: ast.Call):
    """Arguments dropped and swapped; `x.contiguous()` and its like as x."""
    name = name_of(node.func)
    if isinstance(node.func, ast.Attribute) and name in DROPPED and not node.keywords:
        yield "drop call", *at.span(node), at.text(node.func.value)
    if name in UNSEEN:
        return
    arguments = sorted([*node.args, *node.keywords], key=lambda a: at.span(a))
    for number, argument in enumerate(arguments):
        is_keyword = isinstance(argument, ast.keyword)
        is_last = bool(node.args) and argument is node.args[-1]
        if getattr(argument, "arg", None) in KEYWORDS or not (is_keyword or is_last):
            continue
        start, end = at.span(argument)
        if number + 1 < len(arguments):
            end = at.span(arguments[number + 1])[0]
        elif number:
            start = at.span(arguments[number - 1])[1]
        yield "drop keyword" if is_keyword else "drop argument", start, end, ""
    plain = [a for a in node.args if not isinstance(a, ast.Starred)]
    for left, right in itertools.pairwise(plain):
        (start, middle), (then, end) = at.span(left), at.span(right)
        swapped = at.text(right) + at.source[middle:then] + at.text(left)
        if name not in SYMMETRIC and at.text(left) != at.text(right):
            yield "swap arguments", start, end, swapped


def statement(at, node: ast.Expr | ast.Raise | ast.AugAssign | ast.Assign):
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name | ast.Tuple):
        return  # the name would be missing
    yield "drop statement", *at.span(node), "pass"


def once(at, node: ast.For | ast.While):
    last = node.body[-1]
    if isinstance(last, ast.Expr | ast.Assign | ast.AugAssign):
        end = at.span(last)[1]
        yield "loop once", end, end, "; break"


def early(at, node: ast.FunctionDef):
    """A procedure ends before its last statement."""
    returned = [n for n in ast.walk(node) if isinstance(n, ast.Return | ast.Yield | ast.YieldFrom)]
    if len(node.body) > 1 and not returned and not isinstance(node.body[-1], ast.FunctionDef):
        start = at.span(node.body[-1])[0]
        yield "return early", start, start, "return; "


OPERATORS = {
    ast.Compare: compare,
    ast.BinOp: compute,
    ast.AugAssign: compute_in_place,
    ast.Constant: constant,
    ast.UnaryOp: unary,
    ast.BoolOp: either,
    (ast.If, ast.While, ast.IfExp): condition,
    ast.Call: call,
    (ast.Expr, ast.Raise, ast.Assign): statement,
    (ast.For, ast.While): once,
    ast.FunctionDef: early,
}
