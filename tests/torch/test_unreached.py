"""Patches of lines to which the short run does not come: proposed, named within what is proven, repaired along with their twins."""

from __future__ import annotations

import sys
from pathlib import Path

from dnnfix.config import Settings
from dnnfix.emit.choice import applicable
from dnnfix.pipeline import suggest_file
from dnnfix.records import FileReport, FindingOutcome, PatchVerdict

UNREACHED = """\
import torch


def tell(net, x):
    net.eval()
    loss = net(x).pow(2).mean()
    print(loss.data[0])


net = torch.nn.Linear(3, 1)
print(net(torch.ones(2, 3)).shape)
"""

TWINS = """\
import torch

net = torch.nn.Linear(3, 1)
criterion = torch.nn.MSELoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def evaluate(x, y):
    total = 0
    for _ in range(2):
        total += criterion(net(x), y).data
    return total[0] / 2


def train(x, y):
    total = 0
    for step in range(6):
        loss = criterion(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.data
        if step > 100:
            print(total[0] / 100)


x, y = torch.randn(8, 3), torch.randn(8, 1)
train(x, y)
print(evaluate(x, y))
"""

PARTS = """\
import torch
from torch.autograd import Variable
from torch.utils.data import DataLoader, TensorDataset

rows = iter(DataLoader(TensorDataset(torch.ones(4, 2)), batch_size=2))
(x,) = rows.next()
if Variable(x).sum() > 0:
    raise ValueError("these rows are for nobody")
loss = x.view(1, -1)
print(loss.data[0])
"""


def suggested(program: str, folder: Path) -> FileReport:
    path = folder / "program.py"
    path.write_text(program)
    settings = Settings(budget=120.0, python=sys.executable, cache_dir=folder / "cache")
    return suggest_file(path.read_bytes(), str(path), settings, lambda words: None)


def test_a_migration_that_did_not_run_is_a_proposal(tmp_path: Path) -> None:
    report = suggested(UNREACHED, tmp_path)
    (result,) = report.findings
    assert result.outcome is FindingOutcome.DECLINED
    assert result.reason == "not validated: the run did not come to what the patch writes at line 7"
    (patch,) = report.patches
    assert patch.verdict is PatchVerdict.UNVALIDATED and patch.certificate is None
    assert list(applicable(report)) == [] and list(applicable(report, unproven=True)) == [patch]


def test_the_twin_of_a_crash_is_repaired_along_and_its_line_named_as_not_run(tmp_path: Path) -> None:
    report = suggested(TWINS, tmp_path)
    assert [result.outcome for result in report.findings] == [FindingOutcome.REPAIRED] * 2
    best = report.patches[0]
    assert best.verdict is PatchVerdict.ACCEPTED
    assert (
        best.diff.count("+            print(total.item() / 100)")
        == best.diff.count("+    return total.item() / 2")
        == 1
    )
    assert best.not_run.endswith("at line 24")


def test_a_step_that_leaves_another_place_as_it_is_does_not_claim_it(tmp_path: Path) -> None:
    report = suggested(PARTS, tmp_path)
    ends = {result.finding.site.line: result.outcome for result in report.findings}
    assert ends[6] is FindingOutcome.PARTIAL
    assert ends[10] is FindingOutcome.REJECTED
    assert "loss.item()" not in next(patch.diff for patch in report.patches if patch.verdict is PatchVerdict.PARTIAL)
