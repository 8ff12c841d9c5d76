"""Calls of the command line in this process, in a folder and with a cache of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from dnnfix.cli.main import run
from tests.cli.programs import Call, Said


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder without configuration above it."""
    place = tmp_path / "work"
    place.mkdir()
    monkeypatch.chdir(place)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return place


@pytest.fixture
def call(folder: Path, capsys: pytest.CaptureFixture[str]) -> Call:
    """`call("check", "a.py")` is `dnnfix check a.py`."""

    def made(*argv: str) -> Said:
        try:
            code = run([str(word) for word in argv])
        except SystemExit as stop:
            code = int(stop.code or 0)
        said = capsys.readouterr()
        return Said(code, said.out, said.err)

    return made
