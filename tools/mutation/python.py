"""Generated faults: what may be changed at which place of a Python file.

Each mutation replaces one span of the text; everything else stays as it is, byte for byte, and no
line moves. Not touched: docstrings, annotations, the words of errors, imports, seeds, `__repr__`.
"""

import ast
import contextlib
import itertools
from collections.abc import Iterator
from typing import NamedTuple

from tools.mutation.operators import KEYWORDS, UNSEEN, mutations, name_of

Span = tuple[int, int]


class Mutant(NamedTuple):
    """`new` in the place of `old`, which is `source[start:end]`, of a file of the package."""

    file: str
    scope: str
    operator: str
    start: int
    end: int
    old: str
    new: str
    name: str

    def plant(self, source: str) -> str:
        """The text of the file with the change in it.

        Raises:
            ValueError: if something else stands at the place.
        """
        if source[self.start : self.end] != self.old:
            raise ValueError(f"{self.name}: expected {self.old!r} at {self.start}")
        return source[: self.start] + self.new + source[self.end :]


SILENT = {"__repr__", "__str__", "extra_repr", "_repr_mimebundle_"}


class Finder:
    """All mutations of one source text."""

    def __init__(self, source: str):
        self.source = source
        self.found: list[tuple[str, str, int, int, str]] = []  # scope, operator, span, new text
        self.lines = source.split("\n")
        self.starts = [0, *itertools.accumulate(len(line) + 1 for line in self.lines)]
        self.scope: list[str] = []
        self.visit(ast.parse(source))

    def place(self, line: int, column: int) -> int:
        """Where an `ast` position, which counts bytes, stands in the text."""
        before = self.lines[line - 1].encode()[:column].decode()
        return self.starts[line - 1] + len(before)

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


def python_mutants(file: str, source: str) -> list[Mutant]:
    """All mutants of a file that parse and are unlike it and each other."""
    mutants = {}
    for scope, operator, start, end, new in Finder(source).found:
        wrong = source[:start] + new + source[end:]
        if wrong != source and wrong not in mutants and parses(wrong):
            mutants[wrong] = (scope, operator, start, end, new)
    return named(file, source, list(mutants.values()))


def parses(source: str) -> bool:
    with contextlib.suppress(SyntaxError):
        return bool(ast.parse(source))
    return False


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
        mutants.append(Mutant(file, scope, operator, start, end, source[start:end], new, name))
    return mutants
