"""The files around the package agree with each other, and set-up says what is missing."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from PIL import Image

from mha_utils.machine import NEEDED, MachineReport

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
LOCK = {
    line.split("==")[0].lower().replace("_", "-"): line.split("==")[1].strip()
    for line in (ROOT / "requirements.lock").read_text().splitlines()
    if "==" in line and not line.startswith("#")
}
WANTED = [Requirement(r) for group in (PROJECT["dependencies"], *EXTRAS.values()) for r in group]


@pytest.mark.parametrize("requirement", WANTED, ids=str)
def test_lock_fits_the_ranges(requirement):
    assert LOCK[requirement.name.lower()] in requirement.specifier


def test_lock_pins_what_stored_outputs_depend_on():
    needed = "torch numpy matplotlib ipython ipykernel jupyterlab ipywidgets anywidget nbval pillow"
    assert set(needed.split()) <= set(LOCK)
    assert "+" not in "".join(LOCK.values())
    assert not [name for name in LOCK if re.match("nvidia|triton|cuda", name)]


def test_machine_report_names_the_oldest_versions_that_work(monkeypatch):
    oldest = {r.name: s.version for r in WANTED for s in r.specifier if s.operator == ">="}
    assert {name: oldest[name] for name in NEEDED} == NEEDED
    monkeypatch.setattr("importlib.metadata.version", {**LOCK, "numpy": "1.26.4"}.__getitem__)
    lines = repr(MachineReport()).splitlines()
    assert [line.split()[0] for line in lines if "✗" in line] == ["numpy"]
    assert "numpy       2.0 or newer     ✗ 1.26.4 is too old" in lines


def words_of(page: str) -> int:
    """Of its prose: without code, tables and where links lead."""
    other = r"```.*?```|^\|.*?$|(?<=\])\(.*?\)"
    return len(re.sub(other, "", page, flags=re.DOTALL | re.MULTILINE).split())


def test_readme_is_short_and_begins_with_a_moving_picture():
    readme = (ROOT / "README.md").read_text()
    assert words_of(readme) <= 500
    pictures = re.findall(r"!\[([^]]+)\]\(([^)]+)\)", readme)
    ((_, moving),) = pictures
    assert Image.open(ROOT / moving).n_frames >= 20
    assert (ROOT / moving).stat().st_size <= 300_000
    for target in re.findall(r"\]\(([^)#:]+)\)", readme):
        assert (ROOT / target).exists(), target
    for command in ("make lab", "make test"):
        assert command in readme


def test_readme_map_and_chapters_say_the_same_of_each_chapter():
    readme = (ROOT / "README.md").read_text()
    told = re.findall(
        r"^\| \[(.+?)\]\(notebooks/(.+?)\) \| (.+?) \| (\d+) \|$", readme, re.MULTILINE
    )
    drawn = (ROOT / "media" / "src" / "pictures.py").read_text()
    on_map = re.findall(r'^    \("(\d\d)", "(.+?)", "(.+?)"\),$', drawn, re.MULTILINE)
    assert [row[:1] + row[2:3] for row in told] == [
        (f"{number} {title}", question.replace("\\n", " ")) for number, title, question in on_map
    ]
    assert [name for _, name, _, _ in told] == sorted(
        p.name for p in (ROOT / "notebooks").glob("*.ipynb")
    )
    for _, name, _, minutes in told:
        assert f"about {minutes} minutes to read" in (ROOT / "notebooks" / name).read_text("utf-8")


def test_contributing_is_short():
    assert len((ROOT / "CONTRIBUTING.md").read_text().splitlines()) <= 100


def test_public_names_can_be_imported():
    code = "import mha_utils; print(len(mha_utils.__all__))"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert int(result.stdout) >= 9
    assert not result.stderr


def test_importing_the_package_imports_no_pictures():
    """Of an import's time torch is nearly all; matplotlib would double the rest."""
    heavy = ("matplotlib", "PIL", "anywidget", "psutil", "traitlets")
    code = f"import sys, mha_utils; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
