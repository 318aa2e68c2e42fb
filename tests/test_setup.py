"""Set-up says what is missing, takes the CPU build where no GPU is, and finds a browser."""

import os
import re
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

from tools.browser import chromium

ROOT = Path(__file__).parents[1]
PYTORCH = "https://download.pytorch.org/whl/cpu"
NO_NETWORK = {"PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_RETRIES": "0"}
NO_NETWORK |= {"PIP_CONFIG_FILE": os.devnull, "TORCH_INDEX": "http://127.0.0.1:9/"}


def program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IEXEC)
    return path


def set_up(folder: Path, extras: str = "lab", **extra: str) -> subprocess.CompletedProcess:
    env = {"PATH": f"{folder}:/usr/bin:/bin", "HOME": str(folder), "VENV": str(folder / "venv")}
    command = ["sh", "tools/setup.sh", extras]
    return subprocess.run(command, cwd=ROOT, env=env | extra, capture_output=True, text=True)


def only(folder: Path, *names: str) -> str:
    """A PATH with a few tools and no Python of the machine."""
    for name in names:
        target = next(Path(p, name) for p in ("/usr/bin", "/bin") if Path(p, name).exists())
        (folder / name).symlink_to(target)
    return str(folder)


TOOLS = ("sh", "grep", "cat", "mkdir", "echo", "uname")
IS_311 = 'case "$2" in *sys.exit*) exit 0;; esac'


def test_setup_says_that_python_is_too_old(tmp_path):
    program(tmp_path / "python3", '[ "$1" = --version ] && echo Python 3.8.1; exit 1')
    result = set_up(tmp_path, PATH=only(tmp_path, *TOOLS))
    assert result.returncode == 1
    assert result.stderr.startswith("Python 3.11 to 3.13 is needed, found: Python 3.8.1.")
    assert len(result.stderr.splitlines()) == 1


def test_setup_takes_the_python_that_was_asked_for_or_none(tmp_path):
    old = program(tmp_path / "old", '[ "$1" = --version ] && echo Python 3.10.1; exit 1')
    program(tmp_path / "python3.13", "exit 0")
    result = set_up(tmp_path, PYTHON=str(old))
    assert result.returncode == 1
    assert result.stderr.startswith("Python 3.11 to 3.13 is needed, found: Python 3.10.1.")


def test_setup_says_that_the_venv_module_is_missing(tmp_path):
    program(tmp_path / "python3", f"{IS_311}\nexit 1")
    result = set_up(tmp_path, PATH=only(tmp_path, *TOOLS))
    assert result.returncode == 1
    assert result.stderr.startswith("The venv module of python3 is missing. On Debian or Ubuntu:")
    assert len(result.stderr.splitlines()) == 1


def test_setup_says_that_there_is_no_network(tmp_path):
    result = set_up(tmp_path, PYTHON=sys.executable, **NO_NETWORK)
    assert result.returncode == 1
    assert result.stderr.startswith("No network: pip could not reach its package index.")
    assert len(result.stderr.splitlines()) == 1


def test_make_installs_once(tmp_path):
    """With the stamp newer than its inputs, make has nothing to set up."""
    result = subprocess.run(
        ["make", "--dry-run", "--old-file=pyproject.toml", "help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0
    makefile = (ROOT / "Makefile").read_text()
    assert "$(VENV)/%.ok: pyproject.toml requirements.lock" in makefile


def pip_calls(folder: Path, system="Linux", gpu=False, answers=True, extras="lab", **env) -> list:
    """What set-up asks of pip, on a machine that is pretended."""
    program(folder / "uname", f"echo {system}")
    program(folder / "nvidia-smi", f"exit {int(not gpu)}")
    refuse = "" if answers else 'case "$*" in *--index-url*) exit 1;; esac'
    log = folder / "calls"
    program(folder / "venv/bin/python", f'case "$*" in *pip*) echo "$*" >>{log};; esac\n{refuse}')
    done = set_up(folder, extras, PYTHON=sys.executable, **env)
    assert done.returncode == 0, done.stderr
    assert ("does not answer" in done.stdout) == (not answers)
    return log.read_text().splitlines()


def test_linux_without_gpu_takes_pytorchs_cpu_build_first(tmp_path):
    first, second = pip_calls(tmp_path)
    assert f"--no-deps --index-url {PYTORCH} --timeout 10 --retries 1 torch==" in first
    assert "--index-url" not in second
    assert second.endswith("--constraint requirements.lock --editable .[lab]")


def test_takes_what_pip_finds_where_pytorchs_index_does_not_answer(tmp_path):
    first, second = pip_calls(tmp_path, answers=False)
    assert "--index-url" in first
    assert second.endswith("--editable .[lab]")


@pytest.mark.parametrize(
    "machine",
    [{"gpu": True}, {"system": "Darwin"}, {"TORCH_INDEX": ""}, {"extras": "trained"}],
    ids=str,
)
def test_elsewhere_pip_finds_the_right_build_alone(tmp_path, machine):
    (call,) = pip_calls(tmp_path, **machine)
    assert "--index-url" not in call


def test_another_index_can_be_named(tmp_path):
    first, _ = pip_calls(tmp_path, TORCH_INDEX="https://example.org/rocm")
    assert "--index-url https://example.org/rocm " in first


def home_of_make(**env: str) -> str:
    command = ["make", "--no-print-directory", "--eval=home: ; @echo $$HOME", "home"]
    path = {"PATH": os.environ["PATH"]}
    done = subprocess.run(command, cwd=ROOT, env=path | env, capture_output=True, text=True)
    return done.stdout.strip()


def test_a_home_that_cannot_be_written_to_is_replaced(tmp_path):
    assert home_of_make(HOME=str(tmp_path)) == str(tmp_path)
    assert home_of_make(HOME="/no/such/folder") == str(ROOT / ".venv" / "home")
    assert home_of_make(VENV="other") == str(ROOT / "other" / "home")


def test_environment_yml_leaves_pip_to_the_readme():
    """Tools run pip's part from a file in another folder: a relative path there leads nowhere."""
    text = (ROOT / "environment.yml").read_text()
    listed = re.findall(r"^ *- (.*)$", text, re.MULTILINE)
    assert listed == ["conda-forge", "python=3.12", "pip"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert SpecifierSet(project["requires-python"]).contains("3.12")
    for line in re.findall(r"^# (.*)$", text, re.MULTILINE):
        assert line in (ROOT / "README.md").read_text()


def test_binder_makes_the_same_environment():
    """In a folder of its own: of the one above it Binder would install Python alone."""
    listed = (ROOT / "environment.yml").read_text().split("name:")[1]
    assert (ROOT / "binder" / "environment.yml").read_text() == f"name:{listed}"
    script = ROOT / "binder" / "postBuild"
    assert os.access(script, os.X_OK)
    text = script.read_text()
    assert f"--index-url {PYTORCH}" in text
    assert '--constraint requirements.lock --editable ".[lab]"' in text


def test_a_chapter_for_voila_finds_its_pictures_below_it(tmp_path):
    """As the guide says to copy it: Voila stops at a path that leads out of its folder."""
    guide = (ROOT / "docs" / "where-it-runs.md").read_text("utf-8")
    (copying,) = re.findall(r"```sh\n(.*?)voila (\S+)\n```", guide, re.DOTALL)
    commands, shown = (text.replace("build/app", str(tmp_path)) for text in copying)
    subprocess.run(["sh", "-ec", commands], cwd=ROOT, check=True)
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", Path(shown).read_text("utf-8"))
    assert len(pictures) == 2
    for picture in pictures:
        assert (tmp_path / picture).resolve().is_relative_to(tmp_path)
        assert (tmp_path / picture).exists()


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """A machine with nothing installed; the folder of its programs."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path / "browsers"))
    monkeypatch.setattr(chromium, "APPS", ())
    monkeypatch.setattr(chromium, "INSTALL", ["/bin/sh", "-c", "exit 1"])
    for name in ("MHA_REQUIRE_BROWSER", "MHA_CHROMIUM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("MHA_CHROMIUM", raising=False)
    chromium.chromium.cache_clear()
    yield tmp_path
    chromium.chromium.cache_clear()


def test_a_chromium_that_does_not_start_is_none(machine, monkeypatch):
    program(machine / "bin/chromium", "exit 1")
    assert chromium.chromium() is None
    chromium.chromium.cache_clear()
    working = program(machine / "bin/google-chrome", "exit 0")
    assert chromium.chromium() == str(working)
    chromium.chromium.cache_clear()
    monkeypatch.setenv("MHA_CHROMIUM", "/bin/true")
    assert chromium.chromium() == "/bin/true"


def test_playwrights_chromium_is_installed_where_none_is(machine, monkeypatch):
    made = machine / "browsers/chromium-1/chrome-linux64/chrome"
    source = program(machine / "source", "exit 0")
    script = f"/bin/mkdir -p {made.parent} && /bin/cp {source} {made}"
    monkeypatch.setattr(chromium, "INSTALL", ["/bin/sh", "-c", script])
    assert chromium.main() is None
    assert chromium.chromium() == str(made)


def test_says_what_helps_where_no_chromium_can_be_had(machine, monkeypatch, capsys):
    program(machine / "bin/apt-get", "exit 0")
    assert chromium.main() is None
    assert "What helps: sudo apt-get install chromium\n" in capsys.readouterr().out
    monkeypatch.setenv("MHA_REQUIRE_BROWSER", "1")
    assert chromium.main().endswith("MHA_REQUIRE_BROWSER is set: stopping before the tests.")
