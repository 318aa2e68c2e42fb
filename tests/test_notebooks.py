"""What every chapter keeps to: hygiene, anatomy, shown code, solutions."""

import ast
import math
import re
from pathlib import Path

import nbformat
import pytest
import torch

import mha_utils
from mha_utils import checks
from tools.notebooks import (
    FACTS,
    FOLDER,
    LIVE,
    SETTLES,
    canonical,
    chapters,
    minutes_to_read,
    plain,
    shown_name,
)
from tools.suite.shown import shown_source

HEADINGS = ["Your turn", "Recap"]
OUR_ERRORS = ("ValueError", "LostProcessError")
PRIVATE = re.compile(r"(?<![\w./])/(?:home|root|Users|tmp|work|usr|opt)/|0x[0-9a-f]{6,}")
SOLUTION = re.compile(r"<summary>Solution</summary>\s*```python\n(.*?)```", re.DOTALL)
EACH = pytest.mark.parametrize("path", chapters(), ids=lambda p: p.stem)


def read(path):
    return nbformat.read(path, as_version=4)


def code_cells(notebook):
    return [c for c in notebook.cells if c.cell_type == "code"]


def texts(output):
    data = output.get("data", {})
    yield from (str(v) for kind, v in data.items() if not kind.startswith("image/"))
    yield str(output.get("text", ""))


def test_there_are_chapters():
    numbers = [p.name[:2] for p in chapters()]
    assert len(set(numbers)) == len(numbers)
    assert set(numbers) >= {"00", "01"}


@EACH
def test_is_stored_in_canonical_form(path):
    notebook = read(path)
    canonical(notebook)
    assert nbformat.writes(notebook).rstrip("\n") == path.read_text("utf-8").rstrip("\n")


@EACH
def test_was_run_in_order_without_a_word_on_stderr(path):
    cells = code_cells(read(path))
    assert [c.execution_count for c in cells] == list(range(1, len(cells) + 1))
    for cell in cells:
        for output in cell.outputs:
            assert output.output_type != "error", cell.source
            assert output.get("name") != "stderr", cell.source


@EACH
def test_stores_nothing_of_the_machine_it_ran_on(path):
    notebook = read(path)
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    for cell in notebook.cells:
        assert set(cell.metadata) <= {"tags", "jupyter"}
        assert not PRIVATE.search(cell.source), cell.source
        for output in cell.get("outputs", []):
            assert not output.get("metadata")
            assert not any("widget" in kind for kind in output.get("data", {}))
            for text in texts(output):
                assert not PRIVATE.search(text), text


@EACH
def test_no_cell_escapes_the_comparison(path):
    """nbval obeys tags and comments that skip a cell; none is on the list of allowed ones.

    A cell that measures the reader's machine is run, but its picture is not stored: it or the
    facts below it must claim something that is not a time.
    """
    cells = code_cells(read(path))
    for cell, following in zip(cells, [*cells[1:], None]):
        assert "NBVAL" not in cell.source
        tags = set(cell.metadata.get("tags", []))
        folded = {FACTS, SETTLES, "hide-input", "hide-output"}
        assert all(t.startswith("show:") or t in folded | {LIVE} for t in tags)
        assert bool(folded & tags) == ("jupyter" in cell.metadata)
        assert (FACTS in tags) == ("facts(" in cell.source)
        assert bool({SETTLES, LIVE} & tags) >= (".settle(" in cell.source) >= (SETTLES in tags)
        if LIVE in tags:
            assert path.name[:2] in ("11", "15", "16")
            assert "assert " in cell.source or FACTS in following.metadata.get("tags", [])
            assert cell.outputs == []
        assert not cell.source.rstrip().endswith(";")


@EACH
def test_the_set_up_cell_is_seen_once(path):
    """Chapter 00 shows it and says that the others keep it folded."""
    (cell,) = (cell for cell in code_cells(read(path)) if "setup_chapter()" in cell.source)
    folded = cell.metadata.get("jupyter", {}).get("source_hidden", False)
    assert folded == (path.name[:2] != "00")


@EACH
def test_what_is_stored_of_facts_holds(path):
    for cell in code_cells(read(path)):
        if FACTS in cell.metadata.get("tags", []):
            lines = "\n".join(map(plain, cell.outputs)).split("\n")
            lines = [line for line in lines if line]
            assert lines, cell.source
            assert all(line.startswith("✓") for line in lines), lines


@EACH
def test_an_assert_is_rare(path):
    lines = [line for cell in code_cells(read(path)) for line in cell.source.splitlines()]
    asserts = sum(line.lstrip().startswith("assert") for line in lines)
    assert asserts <= 0.05 * sum(bool(line.strip()) for line in lines)


@EACH
def test_no_bet_is_settled_by_the_place_of_its_answer(path):
    """A reader may write the choices in another order, or fewer."""
    parts = [n for cell in code_cells(read(path)) for n in ast.walk(ast.parse(cell.source))]
    bets = [n for n in parts if isinstance(n, ast.Call) and ast.unparse(n.func) == "widgets.Bet"]
    choices = {ast.unparse(bet.args[1]) for bet in bets if isinstance(bet.args[1], ast.Name)}
    taken = {ast.unparse(n.value) for n in parts if isinstance(n, ast.Subscript)}
    assert bets
    assert not {name for name in taken if name in choices or name.endswith(".choices")}
    for cell in code_cells(read(path)):
        if ".settle(" in cell.source:
            names = [n for n in ast.walk(ast.parse(cell.source)) if isinstance(n, ast.Name)]
            made_here = {n.id for n in names if isinstance(n.ctx, ast.Store)}
            assert not choices & {n.id for n in names} - made_here, cell.source


@EACH
def test_there_is_something_to_play_with(path):
    """A size to change within the first cells, a bet, a view with a name, code that follows it."""
    cells = read(path).cells
    start = "\n".join(cell.source for cell in cells[:10])
    whole = "\n".join(cell.source for cell in cells)
    assert "# change me" in start
    assert re.search(r"^\w+ = widgets\.Bet\(", whole, re.MULTILINE)
    assert ".settle(" in whole
    assert "widgets.count_bets()" in whole
    followed = re.findall(r"^@widgets\.follow\((\w+)", whole, re.MULTILINE)
    assert followed
    for name in followed:
        assert re.search(rf"^{name} = ", whole, re.MULTILINE), name
    assert (Path(__file__).parent / "tweaks" / f"{path.stem}.toml").exists()


@EACH
def test_needs_no_network_and_no_installation(path):
    for cell in read(path).cells:
        assert not re.search(r"^\s*[!%]\s*(pip|conda|apt)", cell.source, re.MULTILINE)
        assert not re.search(r"!\[[^]]*\]\(https?:|<img|urlopen|requests\.get", cell.source)


def printed_errors(source):
    """The names of errors that a cell prints in words, but for those that are ours."""
    for handler in (n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.ExceptHandler)):
        if handler.name and getattr(handler.type, "id", None) not in OUR_ERRORS:
            calls = [n for line in handler.body for n in ast.walk(line) if isinstance(n, ast.Call)]
            shown = [c for c in calls if getattr(c.func, "id", None) in ("print", "display")]
            named = [n for c in shown for n in ast.walk(c) if isinstance(n, ast.Name)]
            inside_type = [n.args[0] for n in calls if getattr(n.func, "id", None) == "type"]
            if any(n.id == handler.name and n not in inside_type for n in named):
                yield ast.unparse(handler.type) if handler.type else "everything"


@EACH
def test_stores_no_words_of_other_peoples_errors(path):
    """They change from version to version; `type(error).__name__` does not."""
    for cell in code_cells(read(path)):
        assert list(printed_errors(cell.source)) == [], cell.source


@pytest.mark.parametrize(
    ("caught", "shown", "found"),
    [
        ("RuntimeError", "print(error)", ["RuntimeError"]),
        ("RuntimeError", "print('torch:', str(error)[:20])", ["RuntimeError"]),
        ("(RuntimeError, ValueError)", "print(f'{error}')", ["(RuntimeError, ValueError)"]),
        ("RuntimeError", "print(type(error).__name__)", []),
        ("RuntimeError", "said = str(error)", []),
        ("ValueError", "print(error)", []),
    ],
)
def test_words_of_other_peoples_errors_are_seen(caught, shown, found):
    source = f"try:\n    f()\nexcept {caught} as error:\n    {shown}"
    assert list(printed_errors(source)) == found


@EACH
def test_is_small(path):
    assert path.stat().st_size <= 500_000


@EACH
def test_pictures_have_words_and_exist(path):
    for cell in read(path).cells:
        for alt, target in re.findall(r"!\[([^]]*)\]\(([^)]*)\)", cell.source):
            assert len(alt.split()) >= 5, target
            assert (FOLDER / target).exists(), target


@EACH
def test_links_lead_somewhere(path):
    for cell in read(path).cells:
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", cell.source):
            if cell.cell_type == "markdown" and not target.startswith("http"):
                assert (FOLDER / target).exists(), target


@EACH
def test_has_the_anatomy_of_a_chapter(path):
    notebook = read(path)
    number = path.stem.split("_")[0]
    first = notebook.cells[0].source
    assert first.startswith(f"# {number} · "), first
    assert "![" in first
    markdown = "\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    found = re.findall(r"^## (.*)$", markdown, re.MULTILINE)
    assert sorted(h for h in found if h in HEADINGS) == sorted(HEADINGS)  # each once
    assert found[found.index("Your turn") :][1] == "Recap"  # what follows is an appendix
    said = re.search(r"\*\*Time:\*\* about (\d+) minutes to read", markdown)
    assert abs(int(said[1]) - minutes_to_read(notebook)) <= 5


def test_every_chapter_starts_with_the_same_cell():
    first = {code_cells(read(path))[0].source for path in chapters()}
    assert len(first) == 1
    assert len([line for line in first.pop().splitlines() if line.strip()]) <= 8


@EACH
def test_shown_cells_are_the_package(path):
    shown = [c for c in code_cells(read(path)) if shown_name(c)]
    for cell in shown:
        assert cell.source == shown_source(shown_name(cell)), "run `make notebooks`"


def test_shown_source_leaves_out_only_checks_and_long_docstrings():
    source = shown_source("SelfAttentionHead")
    assert "require_" not in source
    assert "@checked" not in source
    assert '"""One attention head: three learned projections, then `attention`."""' in source
    assert "self.v_proj = nn.Linear(embed_dim, value_dim, bias=bias)" in source
    with pytest.raises(ValueError, match=r"expected one .nonsense. in"):
        shown_source("nonsense")


SAYS_SO = ("08", "10", "11", "15")  # go on with the package's version under the same name


@EACH
def test_what_a_page_defines_stays_in_force(path):
    """A later import over it would hide what a reader changes in it."""
    made: set[str] = set()
    for cell in code_cells(read(path)) * (path.name[:2] not in SAYS_SO):
        for node in ast.parse(cell.source).body:
            if isinstance(node, ast.ImportFrom) and node.module.startswith("mha_utils"):
                assert not made & {name.asname or name.name for name in node.names}, cell.source
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                made.add(node.name)


LATER = {"Rotary", "KeyValueCache"}  # options of the layer: chapter 10 says who shows them


def test_no_chapter_imports_attention_code_that_was_not_shown():
    seen = set()
    for path in chapters()[1:]:  # chapter 00 only demonstrates
        below = {shown_name(cell) for cell in code_cells(read(path))}  # in the same chapter
        for cell in code_cells(read(path)):
            if name := shown_name(cell):
                seen.add(name)
            imported = r"^from mha_utils import (\([^)]*\)|.*)$"
            for names in re.findall(imported, cell.source, re.MULTILINE):
                functions = set(re.findall(r"\w+", names)) & set(mha_utils.__all__)
                left = functions - {"setup_chapter", "checked"} - below
                assert left - LATER <= seen, (path.name, names)
    assert seen >= LATER


def exercises(path):
    """Stub, solution and the name of the check, for each exercise of a chapter."""
    cells = read(path).cells
    for i, cell in enumerate(cells):
        if "# your turn" in cell.source:
            called = re.search(r"checks\.(check_\w+)\((\w+)\)", cell.source)
            solution = SOLUTION.search(cells[i + 1].source)
            yield cell.source, solution.group(1), called.group(1), called.group(2)


@EACH
def test_solutions_pass_and_stubs_fail_kindly(path):
    found = list(exercises(path))
    assert 1 <= len(found) <= 3
    for stub, solution, check, answer in found:
        for source, passes in ((solution, True), (stub, False)):
            namespace = {"checks": checks, "math": math, "torch": torch, "nn": torch.nn}
            exec(source, namespace)
            report = getattr(checks, check)(namespace[answer])
            assert bool(report) == passes, report
        assert "not solved yet" in repr(report)
        assert "<summary>Hint</summary>" in str(read(path).cells)
