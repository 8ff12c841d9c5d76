"""Trials and proofs on a real card."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from dnnfix.config import Settings
from dnnfix.pipeline import suggest_file, verify_certificate
from dnnfix.records import FileReport, PatchVerdict, RunOutcome
from dnnfix.run.job import Budget, Device, Job
from dnnfix.run.runner import Runner

TRAINS = """\
import torch
from torch import nn

torch.manual_seed(3)
x = torch.randn(640, 6).to("cuda")
y = (x[:, 0] + x[:, 1] > 0).long()
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 2)).to("cuda")
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for step in range(300):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
"""
BIG = 'import torch\nheld = torch.zeros({bytes}, dtype=torch.int8, device="cuda")\nprint(held.sum().item())\n'
AWAY = TRAINS.replace("(x[:, 0] + x[:, 1] > 0).long()", "(x[:, 0] + x[:, 1] > 0).long().cpu()")
STUCK = TRAINS.replace("Adam(net.parameters(), lr=0.01)", "SGD(net.parameters(), lr=1e-06)")


def suggested(tmp_path: Path, text: str, device: str = "auto") -> FileReport:
    path = tmp_path / "program.py"
    path.write_text(text)
    settings = Settings(budget=180.0, python=sys.executable, cache_dir=tmp_path / "cache", device=device)
    return suggest_file(text.encode(), str(path), settings, lambda said: None)


def test_a_program_trains_on_the_card_the_same_way_twice() -> None:
    with Runner(Path(sys.executable)) as runner:
        traces = [runner.run(Job("program.py", TRAINS.encode(), budget=Budget(seconds=60.0))) for _ in range(2)]
    assert [trace.outcome for trace in traces] == [RunOutcome.FINISHED] * 2, traces[0].detail
    first, second = (trace.losses for trace in traces)
    assert first == pytest.approx(second, rel=1e-4) and first[-1] < first[0]
    network = traces[0].network
    assert network is not None
    assert any((value.device or "").startswith("cuda") for call in network.calls for value in call.inputs)


def test_trials_on_the_card_are_forks_of_one_process_that_has_not_started_it() -> None:
    with Runner(Path(sys.executable)) as runner:
        traces = [runner.run(Job("program.py", TRAINS.encode(), seed, Budget(seconds=60.0))) for seed in range(3)]
        (used,) = runner._engine._zygotes.values()
        assert used.forkable and used.requests == 3, used.ready
    assert [trace.outcome for trace in traces] == [RunOutcome.FINISHED] * 3, traces[0].detail


def test_more_memory_of_the_card_than_is_allowed_is_out_of_memory() -> None:
    with Runner(Path(sys.executable)) as runner:
        fits, not_so = (
            runner.run(Job("program.py", BIG.format(bytes=size).encode(), budget=Budget(seconds=60.0, memory=2**32)))
            for size in (2**28, 2**33)
        )
    assert (fits.outcome, not_so.outcome) == (RunOutcome.FINISHED, RunOutcome.OUT_OF_MEMORY), not_so.detail


def test_a_tensor_that_was_left_on_the_cpu_is_moved(tmp_path: Path) -> None:
    report = suggested(tmp_path, AWAY)
    assert [patch.verdict for patch in report.patches][:1] == [PatchVerdict.ACCEPTED], report.findings


def test_a_rate_is_raced_on_the_card_and_the_certificate_names_it(tmp_path: Path) -> None:
    report = suggested(tmp_path, STUCK)
    accepted = [patch for patch in report.patches if patch.verdict is PatchVerdict.ACCEPTED]
    assert accepted and report.device.startswith("cuda")
    written = json.loads(Path(accepted[0].certificate or "").read_text())
    assert written["device"] == report.device
    holds, said = verify_certificate(accepted[0].certificate or "", Settings(python=sys.executable, budget=180.0))
    assert holds, said


def test_on_the_cpu_it_comes_to_the_same(tmp_path: Path) -> None:
    on_card, on_cpu = suggested(tmp_path, STUCK), suggested(tmp_path, STUCK, Device.CPU.value)
    codes = [[result.finding.code for result in report.findings] for report in (on_card, on_cpu)]
    assert codes[0] == codes[1] == ["DNF905"] and on_cpu.device == "cpu"
