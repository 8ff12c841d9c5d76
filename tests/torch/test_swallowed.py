"""The crash that a program swallows before it trains is repaired as any other."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dnnfix.config import Settings
from dnnfix.pipeline import suggest_file, verify_certificate
from dnnfix.records import FileReport, PatchVerdict

TRAINING = """\
import sys

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.head = nn.Linear(8 * 8 * 8, 4)

    def forward(self, pictures):
        found = torch.relu(self.conv(pictures))
        return self.head(found)


def main():
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    pictures, kinds = torch.randn(32, 1, 8, 8), torch.randint(0, 4, (32,))
    for epoch in range(3):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(pictures), kinds)
        loss.backward()
        optimizer.step()
        print(epoch, loss.item())


"""

EXITS = TRAINING + "try:\n    main()\nexcept Exception as error:\n    print('failed:', error)\n    sys.exit(1)\n"
GOES_ON = TRAINING + "try:\n    main()\nexcept:\n    print('something failed')\nprint('over')\n"
READS = TRAINING + "try:\n    main()\nexcept Exception:\n    print(torch.load('stored-by-the-training.pt')['none'])\n"
HEALTHY = EXITS.replace("self.head(found)", "self.head(found.flatten(1))")
ASKS = TRAINING.replace("self.head(found)", "self.head(found.flatten(1))") + (
    "try:\n    torch.load('weights.pt')['none']\nexcept Exception:\n    print('from the beginning')\nmain()\n"
)


def suggested(program: str, folder: Path) -> FileReport:
    path = folder / "program.py"
    path.write_text(program)
    settings = Settings(budget=120.0, python=sys.executable, cache_dir=folder / "cache")
    return suggest_file(path.read_bytes(), str(path), settings, lambda words: None)


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(EXITS, id="exits"),
        pytest.param(GOES_ON, id="goes-on", marks=pytest.mark.slow),
        pytest.param(READS, id="reads-a-file", marks=pytest.mark.slow),
    ],
)
def test_what_a_program_swallowed_is_repaired_and_proven_again(program: str, tmp_path: Path) -> None:
    report = suggested(program, tmp_path)
    patch = next(patch for patch in report.patches if patch.verdict is PatchVerdict.ACCEPTED)
    assert "torch.flatten(found, 1)" in patch.diff
    assert any("`except`" in step.what for step in report.reproduction.steps)
    assert patch.certificate is not None
    settings = Settings(budget=120.0, python=sys.executable, cache_dir=tmp_path / "cache")
    assert verify_certificate(patch.certificate, settings) == (True, ())


@pytest.mark.parametrize(
    "program", [pytest.param(HEALTHY, id="healthy"), pytest.param(ASKS, id="asks-for-a-file", marks=pytest.mark.slow)]
)
def test_a_program_that_trains_is_left_alone(program: str, tmp_path: Path) -> None:
    report = suggested(program, tmp_path)
    assert not report.findings and not report.patches
    assert not report.reproduction.steps
