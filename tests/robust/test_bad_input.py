"""Files that are no programs: each gets a sentence that says what is wrong and what to do, and the others go on."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.robust.calls import contents, dnnfix

NOTEBOOK = {"metadata": {}, "nbformat": 4, "nbformat_minor": 5}

REFUSED: dict[str, tuple[bytes, str]] = {
    "binary.py": (bytes(range(256)) * 40, "binary file; give a Python program"),
    "nul.py": (b"import torch\0\n", "NUL byte"),
    "syntax.py": (b"import torch\n)))((( def class ===\n}}}{{ ??? !!\n", "not Python, line 2"),
    "nested.py": (b"import torch\nx = " + b"-" * 100_000 + b"1\n", "nested too deeply"),
    "empty.py": (b"", "is empty"),
    "blank.py": (b" \n\t\n", "is empty"),
    "large.py": (b"import torch\n" + b"x = 1\n" * 1_700_000, "too large for a program (9.7 MiB; at most 4 MiB)"),
    "text.ipynb": (b"import torch", "not JSON at line 1, column 1"),
    "list.ipynb": (b"[1, 2]", "not a notebook"),
    "deep.ipynb": (b"[" * 100_000, "not a notebook"),
    "cells.ipynb": (b'{"cells": 3}', "not a notebook"),
}
"""Name, bytes, and words of the message."""

TAKEN: dict[str, bytes] = {
    "undecodable.py": b"# caf\xe9 \xff\xfe\nimport torch\nx = '\x81'\n",
    "utf16.py": "import torch\nx = 1\n".encode("utf-16"),
    "brackets.py": b"import torch\nx = " + b"(" * 150 + b")" * 150 + b"\n",
    "longline.py": b"import torch\nx = [" + b"1," * 100_000 + b"]\n",
    "no_cells.ipynb": json.dumps({"cells": [], **NOTEBOOK}).encode(),
    "markdown.ipynb": json.dumps({"cells": [{"cell_type": "markdown", "source": "import torch"}], **NOTEBOOK}).encode(),
}
"""What looks bad and can be analysed all the same."""


@pytest.fixture
def place(folder: Path) -> Path:
    """The folder with all of them in it."""
    for name, raw in {**{name: raw for name, (raw, _) in REFUSED.items()}, **TAKEN}.items():
        (folder / name).write_bytes(raw)
    return folder


@pytest.mark.parametrize("command", ["check", "suggest"])
def test_what_is_no_program_is_told(place: Path, command: str) -> None:
    before = contents(place)
    said = dnnfix(command, *REFUSED, "missing.py", folder=place)
    lines = {line.split(":")[1].strip(): line for line in said.err.splitlines()}
    assert said.code == 2
    for name, (_, words) in REFUSED.items():
        assert words in lines[name], lines[name]
    assert "no such file or folder. Check the path." in lines["missing.py"]
    assert "Nothing was checked. 12 inputs could not be analysed." in said.text
    assert contents(place) == before


def test_one_bad_file_keeps_none_of_the_others_from_being_checked(place: Path) -> None:
    said = dnnfix("check", ".", "missing", "--output-format", "json", folder=place)
    assert said.code == 2
    told = {line.split(":")[1].strip() for line in said.err.splitlines()}
    assert told == {"missing", *(name for name, (raw, _) in REFUSED.items() if b"torch" in raw)}
    assert told.isdisjoint(TAKEN)
    assert any("no such file" in text for text in said.document["unchecked"])


def test_what_looks_bad_and_can_be_read(place: Path) -> None:
    said = dnnfix("check", *TAKEN, folder=place)
    assert (said.code, said.err) == (0, "")
    assert "No problems found in 6 files" in said.text


def test_folders_without_programs(folder: Path) -> None:
    (folder / "notes.txt").write_text("torch")
    (folder / "tidy").mkdir()
    (folder / "tidy" / "a.py").write_text("print('no framework here')\n")
    for command in ("check", "suggest"):
        said = dnnfix(command, ".", "tidy/a.py/b", folder=folder)
        assert said.code == 2 and "tidy/a.py/b: cannot be read (Not a directory)" in said.err
        assert "no library that dnnfix knows is imported there" in said.text or not said.text.count("No problems")
    (folder / "tidy" / "a.py").unlink()
    said = dnnfix("suggest", ".", folder=folder)
    assert said.code == 2 and "no Python files (.py, .ipynb) in this folder" in said.err


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_unreadable(folder: Path) -> None:
    (folder / "a.py").write_text("import torch\n")
    (folder / "a.py").chmod(0)
    said = dnnfix("suggest", "a.py", folder=folder)
    assert said.code == 2 and "permission denied. Make the file readable" in said.err


def test_what_is_no_regular_file(folder: Path) -> None:
    os.mkfifo(folder / "pipe.py")
    (folder / "loop.py").symlink_to("loop.py")
    (folder / "gone.py").symlink_to("nowhere.py")
    said = dnnfix("suggest", "pipe.py", "loop.py", "gone.py", "/dev/null", "/dev/zero", folder=folder)
    assert said.code == 2
    assert "pipe.py: is no regular file" in said.err and "/dev/zero: is no regular file" in said.err
    assert "loop.py: cannot be read" in said.err and "gone.py: no such file" in said.err


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ([], "no path was given"),
        (["--budget", "0", "a.py"], "above 0"),
        (["--seed", "-1", "a.py"], "at least 0"),
        (["--sandbox", "none", "a.py"], "needs --trust"),
        (["--python", "/no/such/python", "a.py"], "/no/such/python (No such file or directory)"),
        (["--python", "/bin/true", "a.py"], "it does not answer as Python does"),
        (["--config", "nowhere.toml", "a.py"], "nowhere.toml: no such file"),
        (["--select", "DNF999", "a.py"], "DNF999"),
        (["--output-file", "no/such/folder/report", "a.py"], "there is no such folder"),
        (["--arguments", "'open", "a.py"], "No closing quotation"),
        (["--no-such-flag", "a.py"], "--no-such-flag"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_flags_that_make_no_sense(folder: Path, argv: list[str], words: str) -> None:
    (folder / "a.py").write_text("x = 1\n")
    said = dnnfix("suggest", *argv, folder=folder)
    assert said.code == 2 and words in said.err, said.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("selekt = ['DNF3']", "unknown setting `selekt`. Did you mean `select`?"),
        ("budget = 'long'", "`budget` has to be a number of seconds"),
        ("select = [", "is not valid TOML"),
        ("trust = true", "command line only"),
        ("templates = ['mine']", "no template modules here"),
    ],
)
def test_configurations_that_make_no_sense(folder: Path, text: str, words: str) -> None:
    (folder / "dnnfix.toml").write_text(text + "\n")
    (folder / "a.py").write_text("import torch\n")
    for command in ("check", "suggest"):
        said = dnnfix(command, "a.py", folder=folder)
        assert said.code == 2 and words in said.err, said.err
    assert dnnfix("check", "a.py", "--isolated", folder=folder).code == 0


def test_modules_of_the_working_folder_are_not_taken_for_those_of_dnnfix(folder: Path) -> None:
    for name in ("random", "tempfile", "libcst", "subprocess", "tomllib", "json"):
        (folder / f"{name}.py").write_text("open('escaped', 'w')\nraise SystemExit('this is the program\\'s')\n")
    (folder / "a.py").write_text("import torch\nfrom torch import nn\n\nnn.Linear(3, 3)(torch.zeros(3)).data[0]\n")
    (folder / "dnnfix.toml").write_text("budget = 30\n")
    for command in ("check", "suggest"):
        said = dnnfix(command, "a.py", folder=folder)
        assert said.code in (0, 1) and not said.err, said.err
    assert not (folder / "escaped").exists()


@pytest.mark.slow
def test_a_program_that_cannot_be_run_is_no_clean_bill(folder: Path) -> None:
    (folder / "a.py").write_text("import torch\n\nrows = open('train.csv').read()\n")
    said = dnnfix("suggest", "a.py", "--isolated", folder=folder)
    assert said.code == 2 and "1 program could not be run." in said.text and "it needs data (train.csv)" in said.text
    (folder / "fine").mkdir()
    (folder / "fine" / "a.py").write_text("import torch\n")
    (folder / "fine" / "module.py").write_text("import torch\nfrom . import a\n")
    said = dnnfix("suggest", "fine", "--isolated", folder=folder)
    assert said.code == 0 and "1 program could not be run." in said.text, "folders hold modules too"
    assert dnnfix("suggest", "fine/module.py", "--isolated", folder=folder).code == 2
    (folder / "b.py").write_text("import torch\n\nx = torch.ones(2)\nx.cuda(async=True)\nopen('train.csv')\n")
    said = dnnfix("suggest", "b.py", "--isolated", "--output-format", "diff", folder=folder)
    assert said.code == 1 and not said.out, "what was found counts more"
    assert "Found 1 problem in 1 file" in said.err and "1 program could not be run." in said.err


@pytest.mark.slow
def test_a_crash_that_is_silenced_is_still_named(folder: Path) -> None:
    (folder / "a.py").write_text("import torch\n\nraise ValueError('no')  # noqa: DNF901\n")
    said = dnnfix("suggest", "a.py", "--isolated", folder=folder)
    assert said.code == 0 and "Not checked: the program crashes: ValueError: no, which" in said.text
    (folder / "a.py").write_text("import torch\n\nraise ValueError('no')\n")
    assert dnnfix("suggest", "a.py", "--isolated", "--ignore", "DNF901", folder=folder).code == 0
    assert dnnfix("suggest", "a.py", "--isolated", folder=folder).code == 1
