"""What a chapter shows of the package: its source, without input checks and long docstrings."""

import ast
import inspect

import mha_utils
from mha_utils import bench, reference
from mha_utils.core import kernels
from mha_utils.distributed import collectives, ways
from mha_utils.experiments import plain, scores
from mha_utils.writing import writer

SOURCES = (mha_utils, reference, kernels, collectives, ways, bench, plain, scores, writer)


def shown_source(name: str) -> str:
    """The source of `name` as it stands in a chapter.

    Left out: the decorators `@checked`, `@in_float32` and `@keeps_cache`, calls of `require_...`,
    and every docstring line after the first. Everything else is the package's code to the letter.
    Of what belongs together, `give_out+add_up`, it is one after the other.
    """
    return "\n\n\n".join(map(_source_of, name.split("+")))


def _source_of(name: str) -> str:
    found = {getattr(source, name) for source in SOURCES if hasattr(source, name)}
    if len(found) != 1:
        names = [source.__name__ for source in SOURCES]
        raise ValueError(f"expected one {name!r} in {names}, found {len(found)}")
    lines = inspect.getsource(inspect.unwrap(found.pop())).splitlines()
    tree = ast.parse("\n".join(lines))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            _shorten_docstring(node, lines)
            for decorator in node.decorator_list:
                if getattr(decorator, "id", None) in ("checked", "in_float32", "keeps_cache"):
                    lines[decorator.lineno - 1] = None
        elif _is_guard(node):
            _blank(lines, node)
    return "\n".join(line for line in lines if line is not None)


def _shorten_docstring(node, lines: list) -> None:
    docstring = ast.get_docstring(node)
    if docstring and "\n" in docstring:
        statement = node.body[0]
        first = lines[statement.lineno - 1]
        _blank(lines, statement)
        lines[statement.lineno - 1] = first + '"""'


def _is_guard(node) -> bool:
    is_call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    return is_call and getattr(node.value.func, "id", "").startswith("require_")


def _blank(lines: list, node) -> None:
    for number in range(node.lineno, node.end_lineno + 1):
        lines[number - 1] = None
