"""Trainings that a library runs: Lightning and the `Trainer` of transformers are looked at, and set otherwise, as a loop of one's own is."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dnnfix.config import Settings
from dnnfix.pipeline import suggest_file
from dnnfix.records import FileReport, PatchVerdict

ROWS = """
torch.manual_seed(3)
measured = torch.randn(640, 6)
wanted = (measured[:, 0] + measured[:, 1] > 0).long() + (measured[:, 2] > 0).long()
"""
LIGHTNING = f"""\
import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Classifier(L.LightningModule):
    def __init__(self, rate={{rate}}):
        super().__init__()
        self.rate = rate
        self.layers = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))

    def training_step(self, batch, index):
        x, y = batch
        return nn.functional.cross_entropy(self.layers(x), y)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.rate)

{ROWS}
batches = DataLoader(TensorDataset(measured, wanted), batch_size=32, shuffle=True)
trainer = L.Trainer(max_epochs=30, logger=False, enable_checkpointing=False, enable_progress_bar=False)
trainer.fit(Classifier(), batches)
"""
TRANSFORMERS = f"""\
import torch
from torch import nn
from transformers import Trainer, TrainingArguments


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))

    def forward(self, x, labels=None):
        scores = self.layers(x)
        return {{{{"loss": None if labels is None else nn.functional.cross_entropy(scores, labels), "logits": scores}}}}

{ROWS}
arguments = TrainingArguments(
    output_dir="out", learning_rate={{rate}}, per_device_train_batch_size=32, num_train_epochs=30,
    report_to="none", save_strategy="no", use_cpu=True,
)
trainer = Trainer(
    model=Classifier(), args=arguments, train_dataset=[{{{{"x": x, "labels": y}}}} for x, y in zip(measured, wanted)]
)
trainer.train()
"""
TRAINERS = [
    pytest.param(LIGHTNING, ("lightning",), id="lightning"),
    pytest.param(TRANSFORMERS, ("transformers", "accelerate"), id="transformers"),
]


def suggested(tmp_path: Path, text: str, libraries: tuple[str, ...]) -> FileReport:
    for library in libraries:
        pytest.importorskip(library)
    path = tmp_path / "program.py"
    path.write_text(text)
    settings = Settings(budget=180.0, python=sys.executable, cache_dir=tmp_path / "cache")
    return suggest_file(text.encode(), str(path), settings, lambda said: None)


@pytest.mark.slow
@pytest.mark.parametrize(("text", "libraries"), TRAINERS)
def test_a_rate_that_is_far_too_small_is_found_and_raised_where_it_stands(
    tmp_path: Path, text: str, libraries: tuple[str, ...]
) -> None:
    report = suggested(tmp_path, text.format(rate="1e-09"), libraries)
    (result,) = report.findings
    assert result.finding.code == "DNF905", report
    accepted = next(patch for patch in report.patches if patch.verdict is PatchVerdict.ACCEPTED)
    assert "rate" in accepted.diff and "1e-09" in accepted.diff
    (learned,) = [verdict for verdict in accepted.verdicts if verdict.validator == "learns"]
    before, after = (float(str(learned.measured[side])) for side in ("before", "after"))
    assert before < 0.1 and 0.5 < after, learned


@pytest.mark.slow
@pytest.mark.parametrize(("text", "libraries"), TRAINERS)
def test_a_training_that_learns_is_let_be(tmp_path: Path, text: str, libraries: tuple[str, ...]) -> None:
    report = suggested(tmp_path, text.format(rate="0.01"), libraries)
    assert not report.findings and not report.patches
    assert not any("training" in said for said in report.unchecked), report.unchecked
