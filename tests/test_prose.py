"""Spelling and style of what a reader reads: codespell, British spelling, the house's word list.

`prose/words.txt` is a dictionary of codespell, `prose/phrases.toml` holds patterns of more words.
Text is taken from the chapters (prose, comments, and what cells say), README and CONTRIBUTING.
"""

import ast
import collections
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import codespell_lib
import nbformat
import pytest

from tools.notebooks import FOLDER, chapters

HERE = Path(__file__).parent / "prose"
AMERICAN = Path(codespell_lib.__file__).parent / "data" / "dictionary_en-GB_to_en-US.txt"
PHRASES = tomllib.loads((HERE / "phrases.toml").read_text())
PAGES = [FOLDER.parent / "README.md", FOLDER.parent / "CONTRIBUTING.md"]
NOT_PROSE = re.compile(r"```.*?```|`[^`]*`|\$[^$]*\$|(?<=\])\([^)]*\)|https?://\S+", re.DOTALL)
OURS = {
    "license",
    "optimizer",
    "practice",
    "program",
    "story",
    "stories",
    "utilization",
}  # nouns, names


def sentences_of(code: str) -> list[str]:
    """The strings of a cell that are sentences or labels: three words or more."""
    strings = [n.value for n in ast.walk(ast.parse(code)) if isinstance(n, ast.Constant)]
    return [s for s in strings if isinstance(s, str) and len(s.split()) > 2]


def prose_of(path: Path) -> str:
    if path.suffix == ".md":
        return NOT_PROSE.sub(" ", path.read_text())
    cells = nbformat.read(path, as_version=4).cells
    said = [c.source for c in cells if c.cell_type == "markdown"]
    said += [s for c in cells if c.cell_type == "code" for s in sentences_of(c.source)]
    return NOT_PROSE.sub(" ", "\n\n".join(said))


def british(folder: Path) -> Path:
    """The dictionary of codespell that makes British American, turned around."""
    pairs = [line.split("->") for line in AMERICAN.read_text().splitlines()]
    turned = folder / "british.txt"
    words = [(new.split(",")[0].strip(), old) for old, new in pairs]
    turned.write_text("\n".join(f"{ours}->{old}" for ours, old in words if ours not in OURS))
    return turned


def misspelt(text: str, folder: Path) -> list[str]:
    (folder / "text.txt").write_text(text)
    books = [f"--dictionary={d}" for d in ("-", HERE / "words.txt", british(folder))]
    command = [sys.executable, "-m", "codespell_lib", *books, str(folder / "text.txt")]
    command += ["--builtin=clear,rare,informal,names,usage", "--ignore-words-list=Pinter,tim"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert not done.stderr, done.stderr
    return [line.split(": ", 1)[1] for line in done.stdout.splitlines()]


def odd_phrases(text: str) -> list[str]:
    flat = re.sub(r"[ \n]+", " ", text)
    found = [(m, better) for p, better in PHRASES.items() for m in re.finditer(p, flat, re.M)]
    return [f"{flat[max(0, m.start() - 30) : m.end() + 20]} : {better}" for m, better in found]


@pytest.mark.parametrize("path", [*chapters(), *PAGES], ids=lambda path: path.stem)
def test_reads_well(path, tmp_path):
    text = prose_of(path)
    assert len(text.split()) > 200  # there was something to read
    assert misspelt(text, tmp_path) == []
    assert odd_phrases(text) == []


def told_twice(markdown: str) -> list[str]:
    """Headings that stand twice in a text, and sentences of eight or more words that do."""
    text = re.sub(r"```.*?```", " ", markdown, flags=re.DOTALL)
    headings = re.findall(r"^#+ .*$", text, re.MULTILINE)
    lines = [line.lstrip("->*0123456789. ") for line in text.splitlines() if line not in headings]
    sentences = [s.strip() for line in lines for s in re.split(r"(?<=[.!?:;])[)\"*]*\s+", line)]
    long = [" ".join(s.lower().split()) for s in sentences if len(s.split()) >= 8]
    return [said for said, times in collections.Counter(headings + long).items() if times > 1]


@pytest.mark.parametrize("path", chapters(), ids=lambda path: path.stem)
def test_a_chapter_says_nothing_twice(path):
    cells = nbformat.read(path, as_version=4).cells
    said = "\n".join(c.source for c in cells if c.cell_type == "markdown")
    assert told_twice(said) == []


@pytest.mark.parametrize(
    "again", ["## 2 · A head", "Each word looks at all the other words of it. ", "> - *A head"]
)
def test_what_is_told_twice_is_found(again):
    text = "## 2 · A head\nEach word looks at all the other words of it. A head.\nA head looks.\n"
    assert told_twice(text) == []
    assert bool(told_twice(text + again)) == (again != "> - *A head")  # a short one may return


@pytest.mark.parametrize("wrong", ["recieve", "color", "mended", "whoever"])
def test_a_wrong_word_is_found(wrong, tmp_path):
    good = "The head learns the colour of each token, and it receives a weight."
    assert misspelt(good, tmp_path) == []
    assert misspelt(f"{good} It is {wrong}.", tmp_path)


@pytest.mark.parametrize(
    "wrong",
    ["This is no law.", "Heads come for nothing.", "We take off the mean.", "One has to look."],
)
def test_an_odd_phrase_is_found(wrong):
    assert odd_phrases("There is no mask here. It is no longer there, and one head looks.") == []
    assert odd_phrases(f"A good sentence. {wrong}")
