"""The longer look at training: what comes after the steps to which a first run is cut."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from dnnfix.config import Settings
from dnnfix.pipeline import suggest_file, verify_certificate
from dnnfix.records import FileReport, PatchVerdict
from dnnfix.run.job import WHOLE
from dnnfix.validate import laboratory

LAST_BATCH = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

BATCH = 16
series = torch.randn(BATCH * 14 + 5, 6, 3)
loader = DataLoader(TensorDataset(series, series.sum((1, 2)).unsqueeze(1)), batch_size=BATCH)


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.memory = nn.GRU(3, 8, batch_first=True)
        self.head = nn.Linear(8, 1)

    def forward(self, steps):
        start = torch.zeros(1, BATCH, 8)
        seen, _ = self.memory(steps, start)
        return self.head(seen[:, -1])


reader = Reader()
optimizer = torch.optim.Adam(reader.parameters(), lr=0.01)
for epoch in range(2):
    for steps, wanted in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(reader(steps), wanted).backward()
        optimizer.step()
"""

ONE_PASS = """\
import torch
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(80, 2), torch.randint(3, (80,)))
net = torch.nn.Linear(2, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
loader = DataLoader(data, batch_size=4)
stream = iter(loader)
for turn in range(50):
    points, classes = next(stream)
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(net(points), classes).backward()
    optimizer.step()
"""

LATE_LOSS = """\
import torch

points = torch.rand(400, 8)
heights = points @ torch.randn(8, 1)
high = (heights > heights.median()).float()
model = torch.nn.Sequential(
    torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1), torch.nn.Sigmoid()
)
optimizer = torch.optim.SGD(model.parameters(), lr=30.0)
for turn in range(200):
    share = model(points)
    loss = -(high * torch.log(share) + (1 - high) * torch.log(1 - share)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
"""

HEALTHY = """\
import torch
from torch.utils.data import DataLoader, TensorDataset

points = torch.randn(163, 4)
loader = DataLoader(TensorDataset(points, (points[:, 0] > 0).long()), batch_size=8)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for epoch in range(3):
    for batch, classes in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(batch), classes).backward()
        optimizer.step()
net.eval()
with torch.no_grad():
    print(net(points).argmax(1).float().mean().item())
"""

UNEXPLAINED = (
    HEALTHY
    + """\
if len(points) % 8:
    raise ValueError("163 points make no whole batches")
"""
)


def suggested(program: str, folder: Path) -> FileReport:
    path = folder / "program.py"
    path.write_text(program)
    settings = Settings(budget=120.0, python=sys.executable, cache_dir=folder / "cache")
    return suggest_file(path.read_bytes(), str(path), settings, lambda words: None)


def test_a_crash_behind_the_first_steps_has_a_choice(tmp_path: Path) -> None:
    report = suggested(LAST_BATCH, tmp_path)
    patch = next(patch for patch in report.patches if patch.verdict is PatchVerdict.CHOICE)
    assert patch.candidate.template == "DNF213"
    assert "+        start = torch.zeros(1, steps.size(0), 8)" in patch.diff.splitlines()


@pytest.mark.slow
def test_a_crash_behind_the_first_steps_is_repaired_and_proven_again(tmp_path: Path) -> None:
    report = suggested(ONE_PASS, tmp_path)
    patch = next(patch for patch in report.patches if patch.verdict is PatchVerdict.ACCEPTED)
    assert patch.candidate.template == "DNF710"
    assert "+stream = endless(loader)" in patch.diff.splitlines()
    assert patch.certificate is not None
    assert json.loads(Path(patch.certificate).read_text())["budget"]["observed_steps"] == WHOLE
    settings = Settings(budget=120.0, python=sys.executable, cache_dir=tmp_path / "cache")
    assert verify_certificate(patch.certificate, settings) == (True, ())


@pytest.mark.slow
def test_a_loss_that_leaves_the_finite_numbers_later_is_found(tmp_path: Path) -> None:
    report = suggested(LATE_LOSS, tmp_path)
    assert "DNF905" in [result.finding.code for result in report.findings]


def test_healthy_training_that_was_seen_whole_is_said_to_be(tmp_path: Path) -> None:
    report = suggested(HEALTHY, tmp_path)
    assert not report.findings and not report.patches
    assert not any("loop at" in said for said in report.unchecked)
    assert len(report.runs) == 3, "as it stands, whether it learns, and to its end"


@pytest.mark.slow
def test_a_crash_after_training_that_no_rule_explains_is_told(tmp_path: Path) -> None:
    (result,) = suggested(UNEXPLAINED, tmp_path).findings
    assert result.finding.code == "DNF901" and "no whole batches" in result.finding.message


def test_training_that_takes_longer_than_that_stays_unchecked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(laboratory, "WHOLE_SECONDS", 0.0)
    report = suggested(UNEXPLAINED, tmp_path)
    assert not report.findings
    assert any("beyond 12 optimizer steps" in said for said in report.unchecked)
    assert any("which may be the cut's doing" in said for said in report.unchecked)
