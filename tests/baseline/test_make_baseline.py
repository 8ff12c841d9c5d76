"""The script that makes the interpreter of the old era, where it cannot: it says why, and touches nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "make_baseline.py"


def made(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(SCRIPT), *words], check=False, capture_output=True, text=True)


@pytest.mark.parametrize("python", [sys.executable, "/nowhere/python3.7", "/bin/true"])
def test_without_a_python_of_the_right_version_it_ends_with_3(python: str, tmp_path: Path) -> None:
    done = made("--python", python, "--into", str(tmp_path / "old"))
    assert done.returncode == 3
    assert f"Python 3.7 is needed: {python} is none" in done.stderr
    assert not (tmp_path / "old").exists()


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    done = made("--into", str(tmp_path))
    assert done.returncode == 2
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
