"""A benchmark of three small cases: a crash, a training that does not learn, and a warning."""

from __future__ import annotations

from pathlib import Path

import pytest

from dnnfix.source.diff import git_diff
from tests.cli.conftest import call, folder

__all__ = ["call", "folder"]

INDEX = """id,source,url,library,fix_pattern,bug_type,statement_change
so-1,stack-overflow,https://stackoverflow.com/questions/1,torch,layer-dimension,structural.logic,argument-values
so-2,stack-overflow,https://stackoverflow.com/questions/2,keras,loss-function,structural.logic,argument-values
gh-someone-nets-abc1234,github,https://github.com/someone/nets/commit/abc1234def,torch,data-dimension,data,calls-added
gh-nobody-else-7654321,github,https://github.com/nobody/else/commit/7654321abc,theano,monitor,api,calls-added
"""

CRASH = """\
import torch
from torch import nn


class Digits(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 4, 3),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.scores = nn.Linear(4 * 4 * 4, 3)

    def forward(self, images):
        x = self.features(images)
        return self.scores(x.flatten(1))


torch.manual_seed(0)
images = torch.rand(64, 1, 8, 8)
labels = images.mean(dim=(1, 2, 3)).gt(0.5).long()
images[labels == 1, :, :4] += 1.0

model = Digits()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
loss_fn = nn.CrossEntropyLoss()
for epoch in range(10):
    loss = loss_fn(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("epoch", epoch, "loss", round(loss.item(), 4))
"""
CRASH_LINES = ("nn.Linear(4 * 4 * 4, 3)", "nn.Linear(4 * 3 * 3, 3)")

SLOW = """\
import torch
from torch import nn

inputs = torch.rand(256, 4)
targets = (inputs.sum(dim=1) > 2).long()

network = nn.Sequential(
    nn.Linear(4, 32),
    nn.ReLU(),
    nn.Linear(32, 2),
)


def accuracy():
    with torch.no_grad():
        guessed = network(inputs).argmax(dim=1)
    return (guessed == targets).float().mean().item()


loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(network.parameters(), lr=1e-6)

for epoch in range(60):
    for start in range(0, 256, 32):
        batch = slice(start, start + 32)
        optimizer.zero_grad()
        loss = loss_fn(network(inputs[batch]), targets[batch])
        loss.backward()
        optimizer.step()

print(f"accuracy {accuracy():.3f}")
"""
SLOW_LINES = ("lr=1e-6", "lr=0.5")

BROADCAST = """\
import torch
import torch.nn.functional as F
from torch import nn


def samples(count):
    x = torch.linspace(-2.0, 2.0, count).unsqueeze(1)
    return x, torch.sin(x).squeeze(1)


class Curve(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(1, width)
        self.outer = nn.Linear(width, 1)

    def forward(self, x):
        return self.outer(torch.tanh(self.inner(x)))


x, y = samples(80)
curve = Curve(16)
optimizer = torch.optim.Adam(curve.parameters(), lr=0.05)
history = []
for step in range(40):
    optimizer.zero_grad()
    loss = F.mse_loss(curve(x), y)
    loss.backward()
    optimizer.step()
    history.append(loss.item())
print("steps", len(history))
"""
BROADCAST_LINES = ("torch.sin(x).squeeze(1)", "torch.sin(x)")

CASE = """\
source = "{source}"
address = "{address}"
library = "{library}"
fix_pattern = "{pattern}"
bug_type = "{type}"
framework = "torch"
family = "{family}"
fidelity = "label"
read = "nothing: made for a test"
seeds = [0, 1, 2, 3, 4]

[symptom]
{symptom}
"""


def write_case(folder: Path, program: str, lines: tuple[str, str], table: str) -> None:
    """Write the three files of a case whose repair replaces one text by another."""
    folder.mkdir(parents=True)
    repaired = program.replace(*lines)
    assert repaired != program
    (folder / "case.toml").write_text(table)
    (folder / "buggy.py").write_text(program)
    (folder / "repair.diff").write_text(git_diff(program.encode(), repaired.encode(), "buggy.py"))


@pytest.fixture
def benchmark(tmp_path: Path) -> Path:
    """The folder of the small benchmark. `gh-nobody-else-7654321` has no case."""
    folder = tmp_path / "benchmark_667"
    folder.mkdir()
    (folder / "index.csv").write_text(INDEX)
    write_case(
        folder / "cases" / "so-1",
        CRASH,
        CRASH_LINES,
        CASE.format(
            source="stack-overflow",
            address="https://stackoverflow.com/questions/1",
            library="torch",
            pattern="layer-dimension",
            type="structural.logic",
            family="layer-dimension",
            symptom='kind = "crash"\nexception = "RuntimeError"\nmessage = "shapes cannot be multiplied"',
        ),
    )
    write_case(
        folder / "cases" / "so-2",
        SLOW,
        SLOW_LINES,
        CASE.format(
            source="stack-overflow",
            address="https://stackoverflow.com/questions/2",
            library="keras",
            pattern="loss-function",
            type="structural.logic",
            family="training",
            symptom='kind = "not-learning"\nprinted = "accuracy ([0-9.]+)"\nbelow = 0.8',
        ),
    )
    write_case(
        folder / "cases" / "gh-someone-nets-abc1234",
        BROADCAST,
        BROADCAST_LINES,
        CASE.format(
            source="github",
            address="https://github.com/someone/nets/commit/abc1234def",
            library="torch",
            pattern="data-dimension",
            type="data",
            family="data-dimension",
            symptom='kind = "silent-broadcast"\nmessage = "Using a target size"',
        ),
    )
    return folder
