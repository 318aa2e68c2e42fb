"""Generated faults: what may be changed at which place of a Python file.

Each mutation replaces one span of the text; everything else stays as it is, byte for byte, and no
line moves. Not touched: docstrings, annotations, the words of errors, imports, seeds, `__repr__`.
"""

import ast
import itertools
from collections.abc import Iterator
from typing import NamedTuple

Span = tuple[int, int]


class Mutant(NamedTuple):
    """`new` in the place of `source[start:end]` of a file of the package."""

    file: str
    scope: str
    operator: str
    start: int
    end: int
    new: str
    name: str


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
WORDS = {ast.And: ("and", "or"), ast.Or: ("or", "and")}
DROPPED = {"contiguous", "detach", "clone", "float", "double", "abs", "eval", "clamp", "copy"}
SILENT = {"__repr__", "__str__", "extra_repr", "_repr_mimebundle_"}
UNSEEN = {"manual_seed", "default_rng", "warn", "checked", "lru_cache", "cache", "TypeVar"}
KEYWORDS = {"stacklevel", "encoding", "indent", "seed", "ncols", "figsize", "maxsize", "errors"}


class Finder:
    """All mutations of one source text."""

    def __init__(self, source: str):
        self.source = source
        self.found: list[tuple[str, str, int, int, str]] = []  # scope, operator, span, new text
        self.lines = [0]
        for line in source.encode().splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))
        self.bytes = source.encode()
        self.scope: list[str] = []
        self.visit(ast.parse(source))

    def place(self, line: int, column: int) -> int:
        """Where an `ast` position, which counts bytes, stands in the text."""
        return len(self.bytes[: self.lines[line - 1] + column].decode())

    def span(self, node: ast.AST) -> Span:
        end = self.place(node.end_lineno, node.end_col_offset)
        return self.place(node.lineno, node.col_offset), end

    def text(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.source[start:end]

    def add(self, operator: str, start: int, end: int, new: str) -> None:
        lost = self.source[start:end].count("\n") - new.count("\n")
        new += "\n" * lost if operator == "drop statement" else ""
        if operator == "drop statement" or not lost:
            self.found.append((".".join(self.scope), operator, start, end, new))

    def visit(self, node: ast.AST) -> None:
        """This node and all below it, without what nobody could notice."""
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            if node.name in SILENT:
                return
            self.scope.append(node.name)
        for operator, start, end, new in mutations(self, node):
            self.add(operator, start, end, new)
        for child in seen_children(node):
            self.visit(child)
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            self.scope.pop()


def seen_children(node: ast.AST) -> Iterator[ast.AST]:
    """What stands below a node, without prose, annotations, seeds and imports."""
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Global):
        return
    if isinstance(node, ast.Call) and name_of(node.func) in UNSEEN:
        return
    if isinstance(node, ast.Assert):
        yield node.test
        return
    hidden = {"annotation", "returns", "decorator_list", "type_params", "ctx"}
    for field, value in ast.iter_fields(node):
        if field not in hidden:
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.keyword) and child.arg in KEYWORDS:
                    continue
                if isinstance(child, ast.AST) and not is_prose(child):
                    yield child


def is_prose(node: ast.AST) -> bool:
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    targets = node.targets if isinstance(node, ast.Assign) else []
    return is_text or any(name_of(t) in ("__all__", "seed") for t in targets)


def name_of(node: ast.AST) -> str:
    return getattr(node, "attr", getattr(node, "id", ""))


def mutations(at: Finder, node: ast.AST) -> Iterator[tuple[str, int, int, str]]:
    """Operator, span and new text of everything that can be changed at this node."""
    for kind, change in OPERATORS.items():
        if isinstance(node, kind):
            yield from change(at, node)


def between(at: Finder, left: ast.AST, right: ast.AST, old: str, new: str, operator: str):
    """The sign that stands between two nodes."""
    start, end = at.span(left)[1], at.span(right)[0]
    gap = at.source[start:end]
    if gap.count(old) == 1 and "#" not in gap:
        place = start + gap.index(old)
        yield operator, place, place + len(old), new


def compare(at: Finder, node: ast.Compare):
    nodes = [node.left, *node.comparators]
    for left, right, op in zip(nodes, nodes[1:], node.ops):
        yield from between(at, left, right, *COMPARED[type(op)], "comparison")
    for value in nodes:
        if isinstance(value, ast.Constant) and isinstance(value.value, str) and value.value:
            yield "constant", *at.span(value), repr(value.value + "x").replace("'", '"')


def compute(at: Finder, node: ast.BinOp):
    texts = (ast.JoinedStr, ast.List, ast.Tuple, ast.Dict)
    sides = (node.left, node.right)
    is_text = any(
        isinstance(s, texts) or (isinstance(s, ast.Constant) and isinstance(s.value, str))
        for s in sides
    )
    if type(node.op) in COMPUTED and not is_text:
        yield from between(at, *sides, *COMPUTED[type(node.op)], "arithmetic")


def compute_in_place(at: Finder, node: ast.AugAssign):
    if type(node.op) in COMPUTED:
        old, new = (sign + "=" for sign in COMPUTED[type(node.op)])
        yield from between(at, node.target, node.value, old, new, "arithmetic")


def constant(at: Finder, node: ast.Constant):
    value = node.value
    if isinstance(value, bool):
        yield "constant", *at.span(node), str(not value)
    elif isinstance(value, int):
        yield "constant", *at.span(node), str(value + 1)
    elif isinstance(value, float):
        yield "constant", *at.span(node), repr(round(value * 1.2, 12) or 0.1)


def unary(at: Finder, node: ast.UnaryOp):
    start, end = at.span(node)
    if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        yield "dimension", start, end, f"-{node.operand.value + 1}"
    kind = "sign" if isinstance(node.op, ast.USub) else "negation"
    yield kind, start, at.span(node.operand)[0], " " * (at.source[start - 1].isalpha())


def either(at: Finder, node: ast.BoolOp):
    for left, right in itertools.pairwise(node.values):
        yield from between(at, left, right, *WORDS[type(node.op)], "and, or")


def condition(at: Finder, node: ast.If | ast.While | ast.IfExp):
    if not isinstance(node.test, ast.Compare | ast.UnaryOp) and "\n" not in at.text(node.test):
        yield "condition", *at.span(node.test), f"(not ({at.text(node.test)}))"


def call(at: Finder, node: ast.Call):
    """Arguments dropped and swapped; `x.contiguous()` and its like as x."""
    name = name_of(node.func)
    if isinstance(node.func, ast.Attribute) and name in DROPPED and not node.keywords:
        yield "drop call", *at.span(node), at.text(node.func.value)
    if name in UNSEEN:
        return
    arguments = sorted([*node.args, *node.keywords], key=lambda a: at.span(a))
    for number, argument in enumerate(arguments):
        is_keyword = isinstance(argument, ast.keyword)
        if getattr(argument, "arg", None) in KEYWORDS or not (
            is_keyword or argument is node.args[-1]
        ):
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
        if at.text(left) != at.text(right):
            yield "swap arguments", start, end, swapped


def statement(at: Finder, node: ast.Expr | ast.Raise | ast.AugAssign | ast.Assign):
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name | ast.Tuple):
        return  # the name would be missing
    yield "drop statement", *at.span(node), "pass"


def once(at: Finder, node: ast.For | ast.While):
    last = node.body[-1]
    if isinstance(last, ast.Expr | ast.Assign | ast.AugAssign):
        end = at.span(last)[1]
        yield "loop once", end, end, "; break"


def early(at: Finder, node: ast.FunctionDef):
    """A procedure ends before its last statement."""
    returned = [n for n in ast.walk(node) if isinstance(n, ast.Return | ast.Yield | ast.YieldFrom)]
    if len(node.body) > 1 and not returned and not isinstance(node.body[-1], ast.FunctionDef):
        start = at.span(node.body[-1])[0]
        yield "return early", start, start, "return; "


OPERATORS = {
    ast.Compare: compare,
    ast.BinOp: compute,
    ast.AugAssign: lambda at, node: [*compute_in_place(at, node), *statement(at, node)],
    ast.Constant: constant,
    ast.UnaryOp: unary,
    ast.BoolOp: either,
    (ast.If, ast.While, ast.IfExp): condition,
    ast.Call: call,
    (ast.Expr, ast.Raise, ast.Assign): statement,
    (ast.For, ast.While): once,
    ast.FunctionDef: early,
}


def python_mutants(file: str, source: str) -> list[Mutant]:
    """All mutants of a file that parse and are unlike it and each other."""
    right = ast.dump(ast.parse(source))
    mutants = {}
    for scope, operator, start, end, new in Finder(source).found:
        try:
            tree = ast.dump(ast.parse(source[:start] + new + source[end:]))
        except SyntaxError:
            continue
        if tree != right and tree not in mutants:
            mutants[tree] = (scope, operator, start, end, new)
    return named(file, source, list(mutants.values()))


def named(file: str, source: str, found: list[tuple]) -> list[Mutant]:
    """Mutants with names that say what is changed and where, and outlive edits elsewhere."""
    seen: dict[str, int] = {}
    mutants = []
    for scope, operator, start, end, new in found:
        left, right = source.rfind("\n", 0, start) + 1, source.find("\n", end)
        line = f"{source[left:start]}⟦{source[start:end]}→{new}⟧{source[end:right]}"
        name = f"{file} {scope}: {operator}: {' '.join(line.split())}"
        seen[name] = seen.get(name, 0) + 1
        name += f" #{seen[name]}" if seen[name] > 1 else ""
        mutants.append(Mutant(file, scope, operator, start, end, new, name))
    return mutants
