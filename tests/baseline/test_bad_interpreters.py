"""`--baseline-python` with what is no interpreter of an old era: a message, exit code 2, nothing written."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dnnfix.errors import InterpreterError
from dnnfix.run.interpreter import describe_baseline


def _no_keras(folder: Path) -> str:
    """A Python without packages."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "bare")], check=True)
    return str(folder / "bare" / "bin" / "python")


def _too_old(folder: Path) -> str:
    """Answers as Python 3.5 would."""
    path = folder / "python3.5"
    answer = (
        '{"executable": "x", "version": [3, 5, 2], "prefixes": [], "packages": [], "user_base": null, "installed": []}'
    )
    path.write_text(f"#!/bin/sh\necho '{answer}'\n")
    path.chmod(0o755)
    return str(path)


BAD: dict[str, tuple[Callable[[Path], str], str]] = {
    "missing": (lambda folder: str(folder / "nowhere"), "cannot be started"),
    "a folder": (str, "cannot be started"),
    "no Python": (lambda folder: "/bin/true", "it does not answer as Python does"),
    "no Keras": (_no_keras, "has neither"),
    "too old": (_too_old, "takes Python 3.6 or later"),
}


@pytest.mark.parametrize("name", BAD)
def test_it_is_refused_in_words(name: str, tmp_path: Path) -> None:
    make, words = BAD[name]
    with pytest.raises(InterpreterError) as caught:
        describe_baseline(Path(make(tmp_path)))
    assert words in str(caught.value) and "--baseline-python" in str(caught.value)


def test_the_command_ends_with_2_and_writes_nothing(tmp_path: Path) -> None:
    program, written = tmp_path / "a.py", tmp_path / "out.json"
    program.write_text("import keras\nfrom keras.layers.core import Dense\n")
    command = [
        sys.executable,
        "-m",
        "dnnfix",
        "fix",
        str(program),
        "--isolated",
        "--baseline-python",
        "/nowhere/python",
    ]
    done = subprocess.run(
        [*command, "--output-file", str(written), "--output-format", "json"],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
    )
    assert done.returncode == 2
    assert "--baseline-python" in done.stderr and "Traceback" not in done.stderr
    assert not written.exists() and not (tmp_path / "cache" / "dnnfix" / "certificates").exists()
    assert program.read_text() == "import keras\nfrom keras.layers.core import Dense\n"
