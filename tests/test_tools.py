"""The authors' tools do what they say: sync, shown, canonical form, style, the lock."""

import ast
import importlib.metadata
import re

import nbformat
import pytest
from nbformat import v4
from packaging.requirements import Requirement

from tools import notebooks
from tools.notebooks import canonical, chapters, merge_streams, shown_name, style, sync
from tools.planting import ROOT
from tools.suite import shown
from tools.suite.shown import SOURCES, shown_source

NAMES = sorted(
    {
        name
        for path in chapters()
        for cell in nbformat.read(path, as_version=4).cells
        for name in (shown_name(cell) or "").split("+")
        if name
    }
)


GUARDS = ("checked", "in_float32", "keeps_cache")  # readers are told of them in other places


# ---- shown code ------------------------------------------------------------------------


def without_texts(source: str, guarded: bool) -> str:
    """The code as a tree: no docstrings; of package code no GUARDS and no checks either."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            node.body = node.body[1:] if ast.get_docstring(node) else node.body
            if guarded:
                node.decorator_list = [d for d in node.decorator_list if not is_guard(d)]
                node.body = [n for n in node.body if not calls_guard(n)]
    return ast.dump(tree)


def is_guard(decorator) -> bool:
    return isinstance(decorator, ast.Name) and decorator.id in GUARDS


def calls_guard(node) -> bool:
    is_call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    return is_call and ast.unparse(node.value.func).startswith("require_")


def source_in_package(name: str) -> str:
    """The source of a top-level name, cut out of its file: not by `inspect`."""
    found = next(getattr(s, name) for s in SOURCES if hasattr(s, name))
    path = ROOT.joinpath(*found.__module__.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = path.read_text("utf-8")
    (node,) = [n for n in ast.parse(text).body if getattr(n, "name", None) == name]
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    return "\n".join(text.splitlines()[first - 1 : node.end_lineno])


def test_names_are_shown():
    assert len(NAMES) >= 20


@pytest.mark.parametrize("name", NAMES)
def test_shown_code_is_the_package_s_no_less_and_no_more(name):
    made, package = shown_source(name), source_in_package(name)
    assert without_texts(made, guarded=False) == without_texts(package, guarded=True)
    rest = iter(package.splitlines())
    for line in made.splitlines():  # to the letter and in order; the first docstring line ends
        assert any(line in (there, f'{there}"""') for there in rest), line
    for node in ast.walk(ast.parse(made)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            assert "\n" not in (ast.get_docstring(node) or "")


@pytest.mark.parametrize(
    ("line", "is_guard"),
    [("require_mask(m)", True), ("result(x)", False), ("a = require_b()", False)],
)
def test_only_checks_of_input_are_left_out(line, is_guard):
    assert shown._is_guard(ast.parse(line).body[0]) == is_guard


def test_a_name_that_stands_nowhere_is_said():
    rooms = ("reference", "core.kernels", "distributed.collectives")
    rooms += ("distributed.ways", "bench", "experiments.plain", "experiments.scores")
    rooms += ("writing.writer",)
    places = ["mha_utils", *(f"mha_utils.{n}" for n in rooms)]
    expected = f"expected one 'nonsense' in {places}, found 0"
    with pytest.raises(ValueError, match=f"^{re.escape(expected)}$"):
        shown_source("nonsense")


def test_what_belongs_together_is_shown_in_one_cell():
    both = [shown_source(name) for name in ("give_out", "add_up")]
    assert shown_source("give_out+add_up").split("\n\n\n") == both
    with pytest.raises(ValueError, match="expected one 'nonsense' in"):
        shown_source("give_out+nonsense")


PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="


def small_chapter():
    tagged = v4.new_code_cell("stale = 1", metadata={"tags": ["x", "show:attention_scores"]})
    long = v4.new_code_cell("a = 1\n  \nb = 2\nc = 3\n")
    long.outputs = [v4.new_output("display_data", {"image/png": PNG})]
    cells = [
        v4.new_markdown_cell("# one two three"),
        v4.new_markdown_cell("a ![picture](../media/a.png) b"),
        v4.new_markdown_cell("five words are in here"),
        tagged,
        long,
        v4.new_code_cell("d = 4"),
        v4.new_markdown_cell("end"),
        v4.new_code_cell("e = 5"),
    ]
    return v4.new_notebook(cells=cells)


def test_sync_writes_every_tagged_cell_and_no_other():
    notebook = small_chapter()
    before = [cell.source for cell in notebook.cells]
    sync(notebook)
    changed = [i for i, cell in enumerate(notebook.cells) if cell.source != before[i]]
    assert changed == [3]
    assert notebook.cells[3].source == shown_source("attention_scores")
    assert "def attention_scores(" in notebook.cells[3].source


def test_the_command_syncs_the_file_it_is_given(tmp_path, monkeypatch, capsys):
    path = tmp_path / "00_small.ipynb"
    nbformat.write(small_chapter(), path)
    monkeypatch.setattr("sys.argv", ["notebooks", "sync", str(path)])
    notebooks.main()
    assert capsys.readouterr().out == "sync 00_small.ipynb\n"
    stored = path.read_text("utf-8")
    assert nbformat.read(path, 4).cells[3].source == shown_source("attention_scores")
    notebooks.main()
    assert path.read_text("utf-8") == stored


def test_canonical_form_leaves_nothing_of_the_run():
    notebook = small_chapter()
    notebook.metadata = {"kernelspec": {"name": "mine"}, "toc": 1}
    cell = notebook.cells[5]
    cell.metadata = {"execution": {"iopub": "now"}, "tags": ["live"], "collapsed": True}
    cell.outputs = [v4.new_output("stream", text="12 ms")]
    for number in (4, 7):
        notebook.cells[number].source = "same  \nagain \n"
        notebook.cells[number].outputs = [
            v4.new_output("stream", text=text) for text in ("a\n", "b\n")
        ]
    canonical(notebook)
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert (cell.metadata, cell.outputs) == ({"tags": ["live"]}, [])
    first, second = notebook.cells[4], notebook.cells[7]
    assert first.source == second.source == "same\nagain"
    assert second.id == f"{first.id}-2"
    assert [output.text for output in first.outputs] == ["a\nb\n"]
    again = nbformat.writes(notebook)
    canonical(notebook)
    assert nbformat.writes(notebook) == again


def test_streams_of_one_kind_are_joined_and_others_kept_apart():
    out, err = (v4.new_output("stream", name=n, text="x") for n in ("stdout", "stderr"))
    value = v4.new_output("display_data", {"text/plain": "3"})
    merged = merge_streams([out.copy(), out.copy(), err, value, out.copy()])
    assert [o.get("text", "") for o in merged] == ["xx", "x", "", "x"]


def test_style_counts_by_hand(tmp_path):
    """Code lines 1, 3, 1, 1; words 4, 3, 5, 1; two pictures in 8 cells; 3 code cells in a row."""
    path, chapter = tmp_path / "00_small.ipynb", small_chapter()
    told = v4.new_output("stream", text="✓ so it is\nand\n✗ this is not: found 3\n")
    for cell, tags in zip([c for c in chapter.cells if c.cell_type == "code"], ([], ["facts"])):
        cell.outputs.append(told.copy())
        cell.metadata = {"tags": tags}
    nbformat.write(chapter, path)
    size = path.stat().st_size // 1024
    assert style(path) == (
        f"{path.name:24} cells   8   code lines: median 1, most  3   prose words: median "
        f"4, most   5   facts  2   cells a picture 4.0   code cells in a row 3   {size} kB"
        "   1 minutes"
    )


# ---- the lock --------------------------------------------------------------------------


def locked() -> dict[str, str]:
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    found = (re.match(r"([A-Za-z0-9._-]+)==([^\s;\\]+)", line) for line in lines)
    return {spelled(match[1]): match[2] for match in found if match}


def spelled(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def needs_of(name: str, version: str) -> set[str]:
    """What a package needs here, without its extras, where this version is installed."""
    try:
        if importlib.metadata.version(name).split("+")[0] != version.split("+")[0]:
            return set()
        wanted = map(Requirement, importlib.metadata.requires(name) or ())
    except importlib.metadata.PackageNotFoundError:
        return set()
    return {spelled(r.name) for r in wanted if not r.marker or r.marker.evaluate({"extra": ""})}


def test_the_lock_has_everything_that_its_packages_need():
    """A line that is lost would be found by pip, in whatever version it finds."""
    lock = locked()
    assert len(lock) > 80
    missing = {f"{n} needs {m}" for n, v in lock.items() for m in needs_of(n, v) - set(lock)}
    assert not {m for m in missing if not re.search(r"needs (nvidia|triton|cuda|setuptools)", m)}
