"""Who may not write where a chapter lies reads so in one sentence, and only then."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from mha_utils import chapter
from mha_utils.machine import NOT_SAVED

CASES = {"both": (0o777, 0o666), "folder": (0o777, 0o444), "file": (0o555, 0o666)}
ASK = """
import os, sys
from mha_utils.machine import is_saved_here
os.getuid() or os.setuid(65534)  # root may write anywhere
for folder in sys.argv[1:]:
    os.chdir(folder)
    for named in ("chapter.ipynb", "", "a console"):
        os.environ["JPY_SESSION_NAME"] = named and os.path.join(folder, named)
        print(is_saved_here(), end=" ")
sys.stdout.flush()
os._exit(0)  # a folder that root made on import is not this user's to remove
"""


@pytest.fixture
def folders():
    """Folders that any user can reach, writable or not, each with a notebook."""
    with tempfile.TemporaryDirectory() as above:
        Path(above).chmod(0o755)
        made = [Path(above, name) for name in CASES]
        for folder, (own, inside) in zip(made, CASES.values()):
            folder.mkdir()
            (folder / "chapter.ipynb").touch()
            (folder / "chapter.ipynb").chmod(inside)
            folder.chmod(own)
        yield made
        for folder in made:
            folder.chmod(0o755)


def test_folder_and_notebook_must_both_be_writable(folders):
    command = [sys.executable, "-c", ASK, *map(str, folders)]
    env = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout == 3 * "True " + "False True True " + 3 * "False "


@pytest.mark.parametrize(
    ("may_write", "voila", "said"),
    [(True, False, ""), (False, False, f"{NOT_SAVED}\n"), (False, True, "")],
)
def test_set_up_says_so(monkeypatch, capsys, may_write, voila, said):
    events = SimpleNamespace(register=lambda event, call: None)
    shell = SimpleNamespace(events=events, set_custom_exc=lambda kinds, show: None)
    monkeypatch.setattr(chapter, "get_ipython", lambda: shell)
    monkeypatch.setattr(chapter, "show_through", lambda shell: None)
    monkeypatch.setattr(os, "access", lambda path, mode: may_write)
    for name, value in {"SERVER_SOFTWARE": "voila/0.5.13", "VOILA_PREHEAT": "True"}.items():
        monkeypatch.setenv(name, value) if voila else monkeypatch.delenv(name, raising=False)
    chapter.setup_chapter()
    assert capsys.readouterr().out == said


def test_it_is_one_sentence_with_what_to_do():
    assert (NOT_SAVED.count("."), NOT_SAVED[-1]) == (1, ".")
    assert "File ▸ Save Notebook As" in NOT_SAVED
