"""`python -m mha_utils.check`: exit status and one line for everything that cannot be tried."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mha_utils.checks import __main__ as check

RIGHT = "from mha_utils import MultiHeadAttention\nclass Mine(MultiHeadAttention):\n"
RIGHT += "    def forward(self, x):\n        return super().forward(x)\n"
WRONG = RIGHT.replace("forward(x)\n", "forward(x) * 2\n")

FILES = {  # source -> exit status, what is said after "could not be tried: " (or the report)
    "exit at import": (
        "import sys\nsys.exit(0)\n",
        "raised SystemExit in your line `sys.exit(0)`: 0",
    ),
    "raises": ("1 / 0\n", "raised ZeroDivisionError in your line `1 / 0`: division by zero"),
    "long message": (
        "raise ValueError('x' * 9999 + chr(10) + 'more')\n",
        "raised ValueError in your line `raise ValueError('x' * 9999 + chr(10) + 'more')`: "
        + "x" * 300
        + " …",
    ),
    "import": (
        "import no_such_package\n",
        "raised ModuleNotFoundError in your line `import no_such_package`: "
        "No module named 'no_such_package'",
    ),
}


def write(folder: Path, name: str, source: str) -> Path:
    path = folder / f"{name.replace(' ', '_')}_{os.getpid()}.py"
    path.write_text(source)
    return path


def told(capsys, *arguments) -> tuple[int, str, str]:
    return check.main(list(arguments)), *capsys.readouterr()


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_cannot_be_imported(name, tmp_path, capsys):
    source, text = FILES[name]
    path = write(tmp_path, name, source)
    expected = f"could not be tried: {path} {text.replace('{name}', path.stem)}\n"
    assert told(capsys, f"{path}:Mine") == (2, "", expected)


def test_a_file_that_is_no_python(tmp_path, capsys):
    path = write(tmp_path, "syntax", "def f(:\n")
    status, out, err = told(capsys, f"{path}:Mine")
    assert (status, out) == (2, "")
    assert err.startswith(f"could not be tried: {path} raised SyntaxError")
    assert err.endswith(f": invalid syntax ({path.name}, line 1)\n")


CLASSES = {
    "constructor": (
        "    def __init__(self, embed_dim, num_heads):\n        raise KeyError('size')\n",
        "Mine(embed_dim=4, num_heads=2) raised KeyError in your line `raise KeyError('size')`: "
        "'size'",
    ),
    "unknown argument": (
        "    def __init__(self, config):\n        pass\n",
        "what is the argument 'config' of Mine? Names like embed_dim, d_model, num_heads, n_head, "
        "dropout are known; for others make an Adapter with `build`",
    ),
}


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_that_cannot_be_made(name, tmp_path, capsys):
    source, text = CLASSES[name]
    path = write(tmp_path, name, RIGHT + source)
    assert told(capsys, f"{path}:Mine") == (2, "", f"could not be tried: {text}\n")


def test_a_name_that_is_not_there(tmp_path, capsys):
    path = write(tmp_path, "names", RIGHT + "number = 3\n")
    for name, text in {
        "Yours": f"{path} has no 'Yours'; it has Mine",
        "Mine.inner": f"{path} has no 'inner'",
        "number.inner": f"{path} has no 'inner'",
        "number": "a class or object of nn.Module or a function is needed, got 3",
        "": f"expected path.to:Class or path/to/file.py:Class, got '{path}:'",
    }.items():
        assert told(capsys, f"{path}:{name}") == (2, "", f"could not be tried: {text}\n")


def test_a_file_that_is_not_there(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder_of_mine").mkdir()
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "imports_another.py").write_text("import imports_anothe\n")
    for target, text in {
        "mine.py:Mine": "there is no file mine.py",
        "folder.py:Mine": "there is no file folder.py",
        "folder_of_mine:Mine": "folder_of_mine is a folder; expected path/to/file.py:Class",
        "no.such:Mine": "there is no module 'no.such': No module named 'no'",
        "imports_another:Mine": "imports_another raised ModuleNotFoundError in your line `import "
        "imports_anothe`: No module named 'imports_anothe'",
    }.items():
        assert told(capsys, target) == (2, "", f"could not be tried: {text}\n")


def test_what_a_file_prints_goes_beside_the_report(tmp_path, capsys):
    noisy = "print('importing')\nimport warnings\nwarnings.warn('old', stacklevel=1)\n"
    path = write(tmp_path, "noisy", noisy + WRONG + "        print('never')\n")
    with pytest.warns(UserWarning, match="old"):
        status, out, err = told(capsys, f"{path}:Mine")
    assert status == 1
    assert out.startswith("✗ Mine(embed_dim=2, num_heads=1) in evaluation")
    assert err.startswith("importing\n")


def test_a_file_that_takes_too_long_is_stopped(tmp_path, capsys):
    path = write(tmp_path, "endless", "while True:\n    pass\n")
    status, out, err = told(capsys, f"{path}:Mine", "--seconds", "1")
    assert (status, out) == (2, "")
    assert err.startswith("could not be tried: it took more than 1 seconds in your line `")
    assert err.endswith("`\n")


def test_ctrl_c_ends_with_one_line(tmp_path, capsys):
    path = write(tmp_path, "stopped", "raise KeyboardInterrupt\n")
    assert told(capsys, f"{path}:Mine") == (2, "", "could not be tried: stopped\n")


def test_a_fault_of_the_check_itself_is_no_verdict(monkeypatch, capsys):
    monkeypatch.setattr(check.checks, "check_multi_head_attention", lambda *a, **o: 1 / 0)
    status, out, err = told(capsys, "torch.nn:MultiheadAttention")
    assert (status, out) == (2, "")
    assert err.startswith("could not be tried: torch.nn:MultiheadAttention raised ZeroDivisionErro")


@pytest.mark.parametrize("options", [("--seed", "-1"), ("--seconds", "0")])
def test_options_out_of_range(options, capsys):
    with pytest.raises(SystemExit) as left:
        check.main(["torch.nn:MultiheadAttention", *options])
    assert left.value.code == 2
    said = "error: --seed must be at least 0, --seconds at least 1\n"
    assert capsys.readouterr().err.endswith(said)


def test_a_folder_with_spaces_a_file_with_a_known_name_and_no_check_mark(tmp_path):
    """The file is called like a module that torch imports, and the terminal knows only ASCII."""
    folder = tmp_path / "my own code"
    folder.mkdir()
    (folder / "helpers_of_mine.py").write_text(WRONG)
    (folder / "torch.py").write_text("from helpers_of_mine import Mine\n")
    command = [sys.executable, "-m", "mha_utils.check", f"{folder}/torch.py:Mine"]
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "OMP_NUM_THREADS": "1"}
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert result.stdout.startswith("? Mine(embed_dim=2, num_heads=1) in evaluation"), result.stderr
    assert result.returncode == 1
