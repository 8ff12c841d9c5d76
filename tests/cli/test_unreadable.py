"""A program that Python does not read is never reported as one without problems."""

from __future__ import annotations

from pathlib import Path

import pytest

from dnnfix.cli.main import run

OPEN = "import torch\nx = torch.ones(2, 3\nprint(x.sum())\n"


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (OPEN, 2, "'(' was never closed"),
        ("import torch\ndef f(x):\nreturn x\n", 3, "expected an indented block"),
        ("import torch\nx = torch.ones(2)\n   y = x\n", 3, "unexpected indent"),
        (
            "import torch\nx = torch.ones(2)\nthis is no line of Python\ny = x\nz = y\nw = z\nv = w\n",
            3,
            "invalid syntax",
        ),
    ],
)
def test_the_place_is_named(
    text: str, line: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "train.py"
    program.write_text(text)
    assert run(["check", "--isolated", str(program)]) == 1
    told = capsys.readouterr().out
    assert f"train.py:{line}:1: DNF901 unexplained-crash" in told and said in told
    assert f"{line} | {text.splitlines()[line - 1]}" in told, "the line is shown as it stands in the file"


def test_a_run_says_it_too_and_looks_further(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "train.py"
    program.write_text(OPEN + "print(x.view(4))\n")
    assert run(["suggest", "--isolated", "--quiet", str(program)]) == 1
    told = capsys.readouterr().out
    assert "was never closed" in told and "view" in told


@pytest.mark.parametrize(
    "text",
    [
        ">>> import torch\n>>> x = torch.ones(2)\n",
        "import torch\nfor i in range(2):\n    print 'step', i\n",
        "import torch\nx = torch.ones(2, 3)\n",
    ],
)
def test_what_pasting_or_python_2_explains_is_not_one(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "train.py"
    program.write_text(text)
    run(["check", "--isolated", str(program)])
    assert "DNF901" not in capsys.readouterr().out


def test_it_is_silenced_as_any_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "train.py"
    program.write_text(OPEN)
    assert run(["check", "--isolated", "--ignore", "DNF901", str(program)]) == 0
    assert "DNF901" not in capsys.readouterr().out
