"""Stored files: what is broken is named, what is written is whole or not there."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest

from mha_utils import records
from mha_utils.experiments import record as experiments
from mha_utils.records import read_arrays, read_record, require_writable, write_text
from mha_utils.trained import agreement, results
from mha_utils.widgets import examples
from mha_utils.widgets.kit import page


def message(call) -> str:
    with pytest.raises(ValueError) as said:  # noqa: PT011
        call()
    return str(said.value)


@pytest.fixture
def file(tmp_path) -> Path:
    return tmp_path / "record.json"


def test_a_missing_or_broken_record_is_named(file):
    expected = f"{file} should hold JSON with ['rows'], got "
    said = message(lambda: read_record(file, ["rows"]))
    assert said.startswith(f"{expected}FileNotFoundError: ")
    for content, came in {
        "": "JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
        '{"rows": [1, 2': "JSONDecodeError: Expecting ',' delimiter: line 1 column 15 (char 14)",
        "3": "a int",
        '{"row": 3}': "an object without ['rows']",
    }.items():
        file.write_text(content)
        assert message(lambda: read_record(file, ["rows"])) == expected + came
    file.write_text('{"rows": 3}')
    assert read_record(file, ["rows"]) == {"rows": 3}


def test_missing_or_broken_arrays_are_named(file):
    expected = f"{file} should hold NumPy arrays ['q', 'k'], got "
    assert message(lambda: read_arrays(file, ["q", "k"])).startswith(f"{expected}FileNotFoundError")
    with file.open("wb") as whole:
        np.savez(whole, q=np.arange(1000), other=np.ones(3))
    assert message(lambda: read_arrays(file, ["q", "k"])).startswith(f"{expected}KeyError: 'k")
    content = file.read_bytes()
    for length in (0, 3, 100, len(content) // 2, len(content) - 5):
        file.write_bytes(content[:length])
        assert message(lambda: read_arrays(file, ["q", "k"])).startswith(expected)
    file.write_bytes(content)
    assert read_arrays(file, ["q"])["q"].tolist() == list(range(1000))


def test_what_reads_a_record_names_the_file(file, monkeypatch):
    file.write_text('{"rows": [')
    for module, name, call in (
        (results, "NUMBERS", lambda: results.recorded("encoder")),
        (results, "MAPS", results.sentence_heads),
        (agreement, "TRANSFORMERS", lambda: inspect.unwrap(agreement.encoder_difference)(None)),
        (agreement, "TRANSFORMERS", lambda: inspect.unwrap(agreement.decoder_difference)(None)),
        (experiments, "RECORD", lambda: experiments.recorded(path=file)),
    ):
        monkeypatch.setattr(module, name, file)
        monkeypatch.setattr(results, "is_installed", lambda published: False)
        assert message(call).startswith(f"{file} should hold ")
    expected = "model must be 'encoder' or 'decoder', got 'gpt'"
    assert message(lambda: results.recorded("gpt")) == expected


def test_a_folder_that_is_not_there_is_made(tmp_path):
    write_text(tmp_path / "a" / "b" / "c.txt", "é")
    assert (tmp_path / "a" / "b" / "c.txt").read_text("utf-8") == "é"


def broken_off(self, *arguments):
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("step", ["write_text", "replace"])
def test_what_stood_there_stays_until_the_new_one_is_whole(step, file, monkeypatch):
    file.write_text("an hour's work")
    monkeypatch.setattr(records.Path, step, broken_off)
    said = message(lambda: write_text(file, "new"))
    monkeypatch.undo()
    assert said == f"cannot write {file}: No space left on device"
    assert file.read_text() == "an hour's work"
    assert list(file.parent.iterdir()) == [file]


def test_text_that_cannot_be_encoded_leaves_the_old_file(file):
    file.write_text("old")
    message(lambda: write_text(file, "\ud800"))
    assert (file.read_text(), list(file.parent.iterdir())) == ("old", [file])


def test_trying_whether_one_can_write_leaves_nothing(file, tmp_path):
    require_writable(file)
    assert list(tmp_path.iterdir()) == []
    file.write_text("old")
    require_writable(file)
    assert (file.read_text(), list(tmp_path.iterdir())) == ("old", [file])


@pytest.fixture
def nowhere(tmp_path) -> Path:
    """A path where nothing can be written, not even by the administrator."""
    (tmp_path / "file").write_text("")
    return tmp_path / "file" / "new.html"


def test_everything_that_writes_says_where_it_cannot(nowhere, monkeypatch):
    expected = f"^cannot write {re.escape(str(nowhere))}"
    monkeypatch.setattr(results, "NUMBERS", nowhere)
    monkeypatch.setattr(results, "load_encoder", lambda: pytest.fail("measured"))
    monkeypatch.setattr("sys.argv", ["experiments", "--output", str(nowhere)])
    monkeypatch.setattr(experiments, "run", lambda *arguments: pytest.fail("measured"))
    view = examples.EXAMPLES["ShapeLetters"]()
    calls = (experiments.main, results.record, lambda: page.save_page(view, nowhere))
    for call in (*calls, lambda: require_writable(nowhere)):
        with pytest.raises(ValueError, match=expected):
            call()
