"""Calls of the command line in this process, in a folder and with a cache of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from dnnfix.cli.main import run
from dnnfix.source.diff import unified_diff


class Said(NamedTuple):
    """What one call did."""

    code: int
    out: str
    err: str


Call = Callable[..., Said]


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


FAULTY = """import torch
from torch import nn

model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 10), nn.Softmax(dim=1))
loss_fn = nn.CrossEntropyLoss()
loss = loss_fn(model(torch.randn(32, 20)), torch.randint(0, 10, (32,)))
"""
"""A program with one fault that the source shows: softmax before a loss that applies it (DNF301, line 4)."""

HEALTHY = "import torch\n\nprint(torch.zeros(3))\n"

__all__ = ["FAULTY", "HEALTHY", "Call", "Said", "unified_diff"]
