"""A folder of the package imports only from folders above it; the oracle imports no torch."""

import ast
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LAYERS = {
    "core": set(),
    "distributed": {"core"},
    "reference": set(),
    "museum": {"core", "cells"},
    "checks": {"core", "reference", "museum"},
    "check": {"checks"},
    "experiments": {"core", "machine", "museum", "records"},
    "writing": {"core", "machine", "museum", "records", "sizes"},
    "trained": {"core", "experiments", "records"},
    "bench": {"core", "machine", "records"},
    "plots": {"theme", "bench"},
    "widgets": {"core", "writing", "museum", "experiments"}
    | {"cells", "data", "facts", "machine", "records", "theme"},
    "data": {"vocabulary"},
    "vocabulary": set(),
    "facts": set(),
    "sizes": {"core", "data"},
    "cells": set(),
    "chapter": {"left_out", "machine", "theme"},
    "theme": set(),
    "left_out": set(),
    "machine": set(),
    "records": set(),
}


@pytest.mark.parametrize("path", sorted((ROOT / "mha_utils").rglob("*.py")), ids=lambda p: p.name)
def test_imports_run_one_way(path):
    part = path.relative_to(ROOT / "mha_utils").parts[0].removesuffix(".py")
    if part == "__init__":
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mha_utils"):
            inside = node.module.split(".")[1:2]
            names = inside or [alias.name for alias in node.names]
            assert set(names) <= LAYERS[part] | {part}, f"{path.name} imports {names}"


ORACLE = (
    *("reference/__init__", "reference/heads", "reference/options", "checks/module/scenarios"),
    "checks/module/dropout",
    *(f"checks/exercises/{p.stem}" for p in (ROOT / "mha_utils/checks/exercises").glob("*.py")),
)


@pytest.mark.parametrize("name", ORACLE)
def test_the_oracle_knows_no_torch(name):
    tree = ast.parse((ROOT / "mha_utils" / f"{name}.py").read_text())
    imported = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    imported |= {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    roots = {module.split(".")[0] for module in imported}
    assert roots <= {"math", "numpy", "collections", "dataclasses", "functools", "mha_utils"}


MOST_LINES, MOST_MODULES = 220, 12
ONE_FILE_EACH = {"exercises", "widgets"}  # a subject, a view


def test_files_and_folders_are_small():
    folders, lengths = Counter(), {}
    for room in ("mha_utils", "tools"):
        for path in (ROOT / room).rglob("*.py"):
            folders[path.parent] += path.name != "__init__.py"
            lengths[path] = len(path.read_text("utf-8").splitlines())
    assert len(folders) > 20
    assert {path for path, n in lengths.items() if n > MOST_LINES} == set()
    crowded = {folder.name for folder, n in folders.items() if n > MOST_MODULES}
    assert crowded <= ONE_FILE_EACH
