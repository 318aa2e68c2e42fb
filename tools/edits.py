"""Random edits of chapters: does every cell below survive? `make edits`, `python -m tools.edits`.

A seeded sample of small changes in the code that a reader sees: another number, another word, one
thing more or less in a list. Each chapter runs to its end after each of them, with the ids that
JupyterLab sends. An edit that raises in its own cell is an answer, and so is a cell below it that
says why it is left out; one that breaks a cell *below* it punishes the reader.
"""

import argparse
import ast
import functools
import itertools
import json
import os
import random
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from mha_utils.left_out import SWITCH, digest, watch
from tools.notebooks import chapters, is_folded
from tools.planting import ROOT, in_a_fork, where
from tools.suite.chapter_runner import code_cells, run

TABLE = ROOT / "benchmarks" / "edits.json"
TWEAKS = ROOT / "tests" / "tweaks"
WORDS = ("zebra", "", "a b c d", "she")
UNSEEN = ("figsize", "layout", "loc", "xlabel", "ylabel", "title", "dim", "dims")  # what they look
CALLS = ("print", "subplots", "transpose", "unsqueeze", "cat", "stack", "sum", "view", "index")


class Edit(NamedTuple):
    cell: int
    what: str
    source: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chapters", nargs="*", help="as 03 12; all of them if none is named")
    parser.add_argument("--count", type=int, default=30, help="edits a chapter")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--store", action="store_true", help=f"keep the result in {TABLE.name}")
    options = parser.parse_args()
    found = {}
    for path in chapters():
        if not options.chapters or path.name[:2] in options.chapters:
            found[path.stem] = survey(path, options.count, options.seed)
            print(path.stem, *(f"{len(edits)} {what}" for what, edits in found[path.stem].items()))
            print(*(f"  below: {line}" for line in found[path.stem]["broken below"]), sep="\n")
    if options.store:
        counts = {name: {k: len(v) for k, v in of.items()} for name, of in found.items()}
        broken = [f"{name} {line}" for name, of in found.items() for line in of["broken below"]]
        record = {"seed": options.seed} | where() | {"edits": counts, "broken below": broken}
        TABLE.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", "utf-8")


def survey(path: Path, count: int, seed: int) -> dict[str, list[str]]:
    """What the edits of one chapter do, by kind."""
    cells = light_cells(path)
    kinds = ("survived", "raised in their own cell", "left out below", "broken below")
    found: dict[str, list[str]] = {kind: [] for kind in kinds}
    for edit in sample(cells, count, seed):
        told = in_a_fork(ROOT, functools.partial(play, cells, edit), fresh=False, seconds=600)
        kind, _, why = (told or "survived").partition(": ")
        found[kind if kind in found else "broken below"].append(f"[{edit.cell}] {edit.what} {why}")
    return found


def light_cells(path: Path) -> list:
    """The cells of code, with a few steps of training where its table of tweaks says so."""
    table = TWEAKS / f"{path.stem}.toml"
    exchanges = tomllib.loads(table.read_text("utf-8")).get("lighter", []) if table.exists() else []
    cells = code_cells(path)
    for cell, (old, new) in itertools.product(cells, exchanges):
        cell.source = cell.source.replace(old, new)
    return cells


def sample(cells: list, count: int, seed: int) -> list[Edit]:
    """So many edits, spread over the cells of code that are in sight."""
    pools = []
    for number, cell in enumerate(cells):
        if number and not is_folded(cell) and "your turn" not in cell.source:
            pool = [Edit(number, what, source) for what, source in edits(cell.source)]
            random.Random(f"{seed} {number}").shuffle(pool)
            pools.append(pool)
    random.Random(seed).shuffle(pools)
    rounds = itertools.chain.from_iterable(itertools.zip_longest(*pools))
    return list(itertools.islice(filter(None, rounds), count))


def play(cells: list, edit: Edit) -> str | None:
    """None if all cells run; else which are left out, or where the first one raises, and what."""
    import matplotlib.pyplot as plt
    from IPython.core.interactiveshell import InteractiveShell

    os.chdir(ROOT / "notebooks")
    os.environ.pop(SWITCH, None)
    plt.switch_backend("agg")
    shell, left_out = InteractiveShell.instance(), []
    watch(shell)
    for number, cell in enumerate(cells):
        source = edit.source if number == edit.cell else cell.source
        printed, _, error = run(shell, source, cell_id=digest(cell.source))
        plt.close("all")
        if error is not None:
            where_to = "raised in their own cell" if number == edit.cell else "broken below"
            return f"{where_to}: in [{number}] {type(error).__name__}: {str(error)[:150]}"
        if shell.changed_cells.is_left_out:
            left_out.append(f"[{number}] {printed.splitlines()[-2][:150]}")
    return f"left out below: {len(left_out)}, first {left_out[0]}" if left_out else None


def edits(source: str) -> Iterator[tuple[str, str]]:
    """What is changed, and the cell after it."""
    tree = ast.parse(source)
    code, starts = source.encode(), [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))
    kept = {id(part) for node in ast.walk(tree) for part in left_alone(node)}

    for node in ast.walk(tree):
        if id(node) in kept or not isinstance(node, ast.Constant | ast.List | ast.Tuple):
            continue
        first = starts[node.lineno - 1] + node.col_offset
        last = starts[node.end_lineno - 1] + node.end_col_offset
        old = code[first:last].decode()
        for new in replacements(node, old):
            yield f"{old} -> {new}", (code[:first] + new.encode() + code[last:]).decode()


def left_alone(node: ast.AST) -> Iterator[ast.AST]:
    """What no reader changes: texts that are printed, docstrings, how a picture looks, indices."""
    name = getattr(
        getattr(node, "func", None), "attr", getattr(getattr(node, "func", None), "id", "")
    )
    body = getattr(node, "body", None)
    parts = [node] if isinstance(node, ast.JoinedStr) or name in CALLS else []
    parts += [node.value] if isinstance(node, ast.keyword) and node.arg in UNSEEN else []
    parts += [node.slice] if isinstance(node, ast.Subscript) else []
    parts += [body[0]] if isinstance(node, ast.FunctionDef | ast.ClassDef) and body else []
    for part in parts:
        yield from ast.walk(part)


def replacements(node: ast.AST, old: str) -> list[str]:
    """Other numbers, words or lists for this one."""
    if isinstance(node, ast.List | ast.Tuple):
        if not isinstance(node.ctx, ast.Load) or len(node.elts) < 2:
            return []
        parts = [ast.unparse(part) for part in node.elts]
        opening, closing = "[]" if isinstance(node, ast.List) else "()"
        shorter, longer = parts[:-1], [*parts, parts[-1]]
        return [f"{opening}{', '.join(p)},{closing}" for p in (shorter, longer)]
    value = node.value
    if isinstance(value, bool):
        return [repr(not value)]
    if isinstance(value, int):
        return [
            repr(n) for n in (0, 1, 2, 7, value + 1, value - 1, 2 * value, -value) if n != value
        ]
    if isinstance(value, float):
        return [repr(n) for n in (0.0, 1.0, 10 * value, value / 2, -value) if n != value]
    return [repr(word) for word in WORDS if word != value] if isinstance(value, str) else []


if __name__ == "__main__":
    main()
