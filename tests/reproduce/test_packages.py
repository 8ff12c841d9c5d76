"""A module of a package is run as one, by whatever way it imports what lies beside it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dnnfix.config import Settings
from dnnfix.pipeline import suggest_file

NET = "size = 4\nclass Net:\n    pass\n"
LAYER = """import torch
{imported}

class Layer(torch.nn.Module):
    def __init__(self, n=3):
        super().__init__()
        self.fc = torch.nn.Linear(n, size)

    def forward(self, x):
        return self.fc(x)
"""


@pytest.mark.parametrize(
    ("place", "imported"),
    [
        ("net/layer.py", "from net.net import size"),
        ("net/layer.py", "from .net import size"),
        ("net/parts/layer.py", "from ..net import size"),
        ("lib/net/layer.py", "import net.net\nsize = net.net.size"),
    ],
)
def test_what_lies_in_the_package_is_found(tmp_path: Path, place: str, imported: str) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    file = tmp_path / place
    package = next(each for each in file.parents if each.name == "net")
    for folder in {file.parent, package}:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "__init__.py").write_text("")
    (package / "net.py").write_text(NET)
    file.write_text(LAYER.format(imported=imported))
    settings = Settings(budget=20.0, python=sys.executable, cache_dir=tmp_path / "cache")
    report = suggest_file(file.read_bytes(), str(file), settings, lambda words: None)
    assert any("as a module of the package net" in step.what for step in report.reproduction.steps)
    assert report.trace is not None and report.trace.crash is None and report.trace.network is not None
    assert report.trace.network.calls and not report.patches
