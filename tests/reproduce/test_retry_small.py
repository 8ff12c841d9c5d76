"""The second try of a program whose made data take longer than a run has."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from dnnfix.config import Settings
from dnnfix.pipeline import retry_small, runs, suggest_file
from dnnfix.records import FileReport, PatchVerdict, Reproduction

pytest.importorskip("torch")

SLOW = """\
import time

import numpy as np
import torch

inputs = np.load("inputs.npy")
labels = np.load("labels.npy")
prepared = []
for row in inputs:
    time.sleep(0.02)
    prepared.append(row / 2.0)

model = torch.nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.tensor(np.array(prepared)).float(), torch.tensor(labels).long()
for epoch in range(3):
    loss = torch.nn.functional.cross_entropy({prediction}, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print({shown})
"""


def suggested(folder: Path, monkeypatch: pytest.MonkeyPatch, prediction: str, shown: str) -> FileReport:
    """The report of the program, whose runs have three seconds each for ten seconds of preparation."""
    monkeypatch.setattr(runs, "RUN_SECONDS", 3.0)
    path = folder / "program.py"
    path.write_text(SLOW.replace("{prediction}", prediction).replace("{shown}", shown))
    settings = Settings(budget=9.0, python=sys.executable, cache_dir=folder / "cache")
    return suggest_file(path.read_bytes(), str(path), settings, lambda words: None)


def test_what_was_too_slow_is_tried_with_less_data_and_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = suggested(tmp_path, monkeypatch, "model(x)", "loss.data[0]")
    (patch,) = report.patches
    assert patch.verdict is PatchVerdict.ACCEPTED and "+    print(loss.item())" in patch.diff
    assert any("tried again with as little as can be, 6 s for each run" in note for note in report.notes)
    assert [run.outcome.value for run in report.runs][:2] == ["needs-data", "timeout"]
    assert patch.certificate is not None
    assert json.loads(Path(patch.certificate).read_text())["budget"]["seconds"] == 18.0, (
        "the proof is repeated with as much time"
    )


LARGE = """\
from dataclasses import dataclass

import torch

n_layer = 5 * 8

@dataclass
class Settings:
    batch_size: int = 64
    width: int = 16

settings = Settings()
layers = [torch.nn.Linear(settings.width, settings.width) for _ in range(n_layer)]
model = torch.nn.Sequential(*layers, torch.nn.Linear(settings.width, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(30):
    x, y = torch.rand(settings.batch_size, 16), torch.randint(3, (settings.batch_size,))
    sum(range(200_000 * settings.batch_size * n_layer))
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print({shown}, n_layer, settings)
"""


@pytest.mark.parametrize("shown", ["loss.data[0]", "loss.item()"])
def test_a_network_that_is_too_large_for_a_run_is_tried_smaller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shown: str
) -> None:
    monkeypatch.setattr(runs, "RUN_SECONDS", 3.0)
    path = tmp_path / "program.py"
    path.write_text(LARGE.replace("{shown}", shown))
    settings = Settings(budget=9.0, python=sys.executable, cache_dir=tmp_path / "cache")
    report = suggest_file(path.read_bytes(), str(path), settings, lambda words: None)
    (step,) = report.reproduction.steps
    assert "n_layer=2" in step.what and "batch_size=4" in step.what
    assert report.trace is not None and report.trace.steps
    assert [patch.verdict for patch in report.patches] == ([PatchVerdict.ACCEPTED] if "data" in shown else [])


@pytest.mark.slow
def test_few_data_prove_nothing_of_how_a_program_learns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = suggested(tmp_path, monkeypatch, "torch.softmax(model(x), 1)", "loss.item()")
    assert not any(patch.verdict is PatchVerdict.ACCEPTED for patch in report.patches)
    assert any("for its migration alone" in note for note in report.notes)


@pytest.mark.slow
def test_the_first_try_stands_where_the_second_has_nothing_to_run_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry_small, "made_runnable", lambda *given, **named: Reproduction())
    report = suggested(tmp_path, monkeypatch, "model(x)", "loss.data[0]")
    assert report.reproduction.steps, "what was made for the first try is told"
    assert [run.outcome.value for run in report.runs] == ["needs-data", "timeout"]
