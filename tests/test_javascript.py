"""The JavaScript of the views: its style, its types, and that what is built is what is written."""

import re

import pytest
from view_units import RUN

from tools.bundle import BUILT, SOURCES, bundle, colours, deno, names

MOST_LINES = 220
COMMANDS = ["fmt --check", "lint", "check .", "fmt --check --config deno.json RUN", "lint RUN"]


@pytest.mark.parametrize("command", COMMANDS)
def test_deno_has_nothing_to_say(command):
    done = deno(*command.replace("RUN", str(RUN)).split(" "))
    assert done.returncode == 0, done.stdout + done.stderr


def test_files_are_short():
    lengths = {path: len(path.read_text("utf-8").splitlines()) for path in SOURCES.rglob("*.js")}
    assert len(lengths) > 40
    assert {path.name: n for path, n in lengths.items() if n > MOST_LINES} == {}


def test_files_begin_with_what_they_hold():
    paths = sorted(SOURCES.rglob("*.js"))
    lines = {str(path.relative_to(SOURCES)): first_line(path) for path in paths}
    assert len(set(lines.values())) == len(lines) > 40
    is_sentence = re.compile(r"(?=.{1,100}$)// [A-Z][^.]* [^.]*\.")
    assert {name: line for name, line in lines.items() if not is_sentence.fullmatch(line)} == {}


def first_line(path):
    return path.read_text("utf-8").partition("\n")[0]


def test_pictures_of_javascript_have_the_colours_of_python():
    assert (SOURCES / "kit" / "theme.json").read_text("utf-8") == colours()


def test_every_view_is_built():
    assert sorted(path.stem for path in BUILT.glob("*.js")) == names()


@pytest.mark.parametrize("name", names())
def test_what_is_built_is_what_is_written(name):
    try:
        expected = bundle(name)
    except RuntimeError as error:
        if "error sending request" not in str(error):
            raise
        pytest.skip("deno fetches esbuild the first time; there is no network")
    assert (BUILT / f"{name}.js").read_text("utf-8") == expected, "run `make views`"
