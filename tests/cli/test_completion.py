"""Completion in the shells themselves: commands, values of flags, and codes of rules."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

Shell = Callable[[str, str], str]

BASH = """
eval "$(_DNNFIX_COMPLETE=source_bash dnnfix)"
COMP_WORDS=(LINE) COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
_dnnfix_completion dnnfix
echo "${COMPREPLY[@]}"
"""

ZSH = """
zmodload zsh/zpty
zpty -b shell zsh -f -i
zpty -w shell 'PROMPT=""; autoload -Uz compinit; compinit -u -D; eval "$(_DNNFIX_COMPLETE=source_zsh dnnfix)"; echo IS_READY'
while zpty -r shell line; do [[ $line == IS_READY* ]] && break; done
zpty -w -n shell $'LINE\\t'
zpty -r shell line '*explain*' && print -r -- $line
exit 0
"""


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Runs a script in a shell that finds `dnnfix`; what it prints."""
    command = tmp_path / "dnnfix"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m dnnfix "$@"\n')
    command.chmod(0o755)
    around = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "COLUMNS": "100"}

    def run(name: str, script: str) -> str:
        if shutil.which(name) is None:
            pytest.skip(f"{name} is not installed")
        argv, home = [name, "-c", script], tmp_path / "home"
        home.mkdir()
        done = subprocess.run(
            argv,
            cwd=tmp_path,
            env={**around, "HOME": str(home)},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        return done.stdout

    return run


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("dnnfix sug", ["suggest"]),
        ("dnnfix bench re", ["replay", "report"]),
        ("dnnfix check --output-format s", ["sarif"]),
        ("dnnfix check --select DNF3,DNF30", ["DNF3,DNF301", "DNF3,DNF302", "DNF3,DNF306"]),
        ("dnnfix explain DNF602", ["DNF602"]),
    ],
)
def test_bash(shell: Shell, line: str, words: list[str]) -> None:
    assert shell("bash", BASH.replace("LINE", line)).split() == words


def test_fish(shell: Shell) -> None:
    said = shell(
        "fish",
        '_DNNFIX_COMPLETE=source_fish dnnfix | source; complete -C "dnnfix ex"; complete -C "dnnfix explain DNF602"',
    )
    assert [row.split("\t") for row in said.splitlines()] == [
        ["explain", "what a rule finds, why it is a fault, and how it is repaired"],
        ["DNF602", "label-dtype-not-integer"],
    ]


def test_zsh(shell: Shell) -> None:
    assert "dnnfix explain" in shell("zsh", ZSH.replace("LINE", "dnnfix exp"))
