"""The second try of a program, in what it needs once it is migrated or repaired and never reached as written."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dnnfix.config import Settings
from dnnfix.pipeline import retry_further, suggest_file
from dnnfix.records import FileReport, PatchVerdict

torch = pytest.importorskip("torch")

PROGRAM = """\
import numpy as np
import pandas as pd
import torch

import config

scale = np.float(2.0)
table = pd.read_csv(config.PATH)
x = torch.tensor(table[["a", "b"]].values).float() / scale
y = torch.tensor(table["label"].values).long()
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(10):
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def suggested(folder: Path, program: str = PROGRAM) -> FileReport:
    folder = folder / "code"
    folder.mkdir()
    (folder / "config.py").write_text('PATH = min(["table.csv", "zero.csv"])\n')  # a run alone tells which
    path = folder / "program.py"
    path.write_text(program)
    settings = Settings(python=sys.executable, cache_dir=folder / "cache")
    return suggest_file(path.read_bytes(), str(path), settings, lambda words: None)


def test_what_the_migrated_program_reads_is_made(tmp_path: Path) -> None:
    report = suggested(tmp_path)
    (patch,) = (one for one in report.patches if one.verdict is PatchVerdict.ACCEPTED)
    assert "+scale = float(2.0)" in patch.diff
    assert report.reproduction is not None and "table.csv" in "".join(map(str, report.reproduction.steps))


def test_without_that_nothing_is_proven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry_further, "retried_further_on", lambda first, *rest: first)
    assert all(patch.verdict is not PatchVerdict.ACCEPTED for patch in suggested(tmp_path).patches)


MISSPELT = """\
import pandas as pd
import torch

import config

scale = torch.tensor(2.0).sqrtt()
table = pd.read_csv(config.PATH)
x = torch.tensor(table[["a", "b"]].values).float().cuda() / scale
y = torch.tensor(table["label"].values).long().cuda()
model = torch.nn.Linear(2, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(10):
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.skipif(torch.cuda.is_available(), reason="no GPU is stood in for where there is one")
def test_what_the_program_asks_for_behind_its_crash_is_made_for_the_repair(tmp_path: Path) -> None:
    report = suggested(tmp_path, MISSPELT)
    (patch,) = (one for one in report.patches if one.verdict is PatchVerdict.ACCEPTED)
    assert "+scale = torch.tensor(2.0).sqrt()" in patch.diff
    steps = "".join(map(str, report.reproduction.steps))
    assert "table.csv" in steps and "GPU" in steps
