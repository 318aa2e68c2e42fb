"""Badges for Colab and Binder: as the one setting says, in README and on every page of the site."""

import re
import xml.etree.ElementTree as ET

import nbformat
import pytest
from test_project import words_of

from tools import badges, build_site
from tools.badges import ROOT, readme, repository, with_badges
from tools.notebooks import chapters

ADDRESS = "https://github.com/some-one/a.series"
COLAB = "https://colab.research.google.com/github/some-one/a.series/blob/main/notebooks/{}.ipynb"
BINDER = (
    "https://mybinder.org/v2/gh/some-one/a.series/main?urlpath=lab%2Ftree%2Fnotebooks%2F{}.ipynb"
)
INSTALL = f"On Colab, first run `%pip install git+{ADDRESS}`."
README = (ROOT / "README.md").read_text("utf-8")


def found(text: str) -> list[tuple[str, str, str]]:
    """Words, picture and target of every badge in the line below the title."""
    title, line = text.split("\n\n")[:2]
    assert title.startswith("# ")
    assert text.count("[![") == line.count("[![")
    return re.findall(r"\[!\[([^]]+)\]\(([^)]+)\)\]\(([^)]+)\)", line)


def two(chapter: str, folder: str = "") -> list[tuple[str, str, str]]:
    return [
        ("Open in Colab", f"{folder}media/open_in_colab.svg", COLAB.format(chapter)),
        ("Open in Binder", f"{folder}media/open_in_binder.svg", BINDER.format(chapter)),
    ]


def test_readme_is_as_the_setting_says():
    assert readme(README, repository()) == README, "run `make badges`"
    assert bool(found(README)) == bool(repository())


def test_with_an_address_readme_has_both_badges_and_what_colab_installs():
    text = readme(README, ADDRESS)
    assert found(text) == two("00_start_here")
    assert f"`%pip install git+{ADDRESS}`" in text
    assert words_of(text) <= 500
    assert readme(text, ADDRESS) == text
    assert found(readme(text, ADDRESS.replace("a.series", "b"))) != found(text)


def test_without_an_address_readme_has_none():
    text = readme(readme(README, ADDRESS), "")
    assert found(text) == []
    assert "`%pip install git+ADDRESS`" in text
    assert text == readme(README, "")


@pytest.mark.parametrize("address", ["", ADDRESS])
def test_every_page_of_the_site_has_its_own(monkeypatch, address):
    monkeypatch.setattr(build_site, "repository", lambda: address)
    front = build_site.front_page()
    assert found(front) == (two("00_start_here") if address else [])
    assert (INSTALL in front) == bool(address)
    for path in chapters():
        notebook = nbformat.read(path, as_version=4)
        before = notebook.cells[0].source
        build_site.add_badges(notebook, path.stem)
        after = notebook.cells[0].source
        assert found(after) == (two(path.stem, "../") if address else [])
        assert (INSTALL in after) == bool(address)
        assert badges.BADGES.sub("", after) == before


@pytest.mark.parametrize("ending", ["", "/", ".git"])
def test_the_address_as_people_copy_it(ending):
    assert found(with_badges("# T\n\ntext", ADDRESS + ending)) == two("00_start_here")


@pytest.mark.parametrize(
    "address", ["https://gitlab.com/a/b", "github.com/a/b", f"{ADDRESS}/tree/x"]
)
def test_what_colab_cannot_open_is_refused(address):
    message = f"repository must be https://github.com/OWNER/NAME, got {address!r}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        with_badges("# T\n\ntext", address)


def test_their_pictures_are_small_and_have_a_name():
    for name in ("Colab", "Binder"):
        path = ROOT / "media" / f"open_in_{name.lower()}.svg"
        assert path.stat().st_size < 1000
        assert ET.parse(path).getroot().get("aria-label") == f"Open in {name}"


def test_the_command_of_the_makefile():
    assert "-m tools.badges" in (ROOT / "Makefile").read_text()
