"""`suggest` on programs that do not run as they stand: patches are proven in a scaffold, and hold nothing of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dnnfix import pipeline
from dnnfix.config import load
from dnnfix.records import FileReport, PatchVerdict, RunOutcome

SNIPPET = """\
class Net(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.hidden = nn.Linear(784, hidden)
        self.scores = nn.Linear(hidden, 10)

    def forward(self, x):
        return self.scores(F.relu(self.hidden(x.view(-1, 784))))

model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in train_loader:  # x: (64, 1, 28, 28)
    loss = nn.CrossEntropyLoss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

OLD = """\
from keras.datasets import mnist
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import np_utils

(x, y), (u, v) = mnist.load_data()
x = x.reshape(60000, 784).astype("float32") / 255
y = np_utils.to_categorical(y, 10)
model = Sequential()
model.add(Dense(output_dim=32, input_dim=784, init="uniform", activation="relu"))
model.add(Dense(output_dim=10, activation="softmax"))
model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
model.fit(x, y, nb_epoch=2, batch_size=64)
"""

UNKNOWN = """\
import os
import torch
size = int(os.environ["SIZE_OF_ALL"])
table = torch.zeros(3, 2)
print(table[size + 7])
"""

KNOWN = """\
import keras
import numpy as np

net = keras.applications.MobileNetV2(weights="imagenet", include_top=False, pooling="avg", input_shape=(32, 32, 3))
features = net.predict(np.zeros((2, 32, 32, 3)))
print(features + np.ones((7, 5)))
"""

STOOD = """\
import torch

def later():
    return torch.zeros(num_features, 3)

torch.optim.SGD([], lr=0.1)
"""

AMOUNTS = """\
import numpy as np
import torch

{data}
net = torch.nn.Sequential(torch.nn.Linear(3, 6), torch.nn.Tanh(), torch.nn.Linear(6, 1), torch.nn.Sigmoid())
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(20):
    loss = torch.nn.functional.mse_loss(net(table[:, :3]), table[:, 3:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def suggested(program: str, folder: Path) -> FileReport:
    path = folder / "program.py"
    path.write_text(program)
    settings = load(folder, {"budget": 90.0, "cache-dir": str(folder / "cache")}, isolated=True)
    return pipeline.suggest_file(path.read_bytes(), str(path), settings, lambda words: None)


@pytest.mark.parametrize(
    ("program", "code", "line"),
    [
        pytest.param(SNIPPET, "DNF566", "-    loss = nn.CrossEntropyLoss(model(x), y)", id="snippet"),
        pytest.param(OLD, "DNF501", "-model.fit(x, y, nb_epoch=2, batch_size=64)", id="old", marks=pytest.mark.slow),
    ],
)
def test_a_fault_is_repaired_and_the_scaffold_is_no_part_of_the_patch(
    program: str, code: str, line: str, tmp_path: Path
) -> None:
    report = suggested(program, tmp_path)
    accepted = [patch for patch in report.patches if patch.verdict is PatchVerdict.ACCEPTED]
    assert accepted, [(r.finding.code, r.reason) for r in report.findings]
    assert code in {finding.code for patch in accepted for finding in patch.candidate.findings}
    assert line in accepted[0].diff and "made_" not in accepted[0].diff
    assert report.reproduction.steps and not report.runs[0].reproduction and report.runs[1].reproduction
    assert (tmp_path / "program.py").read_text() == program


@pytest.mark.slow
def test_what_a_run_in_the_scaffold_showed_is_not_run_again(tmp_path: Path) -> None:
    report = suggested(OLD, tmp_path)
    ends = [run.outcome for run in report.runs]
    assert ends[0] is RunOutcome.CRASHED and RunOutcome.CRASHED not in ends[2:], ends


def test_the_certificate_holds_the_scaffold_and_the_proof_holds_again(tmp_path: Path) -> None:
    report = suggested(SNIPPET, tmp_path)
    (certificate, *_) = [patch.certificate for patch in report.patches if patch.certificate]
    assert certificate is not None
    written = json.loads(Path(certificate).read_text())
    assert written["program"]["reproduction"]["steps"] and written["program"]["reproduction"]["scaffold"]["definitions"]
    settings = load(tmp_path, {"budget": 90.0, "cache-dir": str(tmp_path / "cache")}, isolated=True)
    assert pipeline.verify_certificate(certificate, settings) == (True, ())


def test_a_crash_on_made_up_things_that_no_rule_explains_is_no_finding(tmp_path: Path) -> None:
    report = suggested(UNKNOWN, tmp_path)
    assert not report.findings and report.unrun
    assert any("on what was made up it crashes there, with IndexError" in said for said in report.unchecked)


@pytest.mark.slow
def test_random_weights_of_a_known_architecture_explain_no_crash(tmp_path: Path) -> None:
    report = suggested(KNOWN, tmp_path)
    assert report.reproduction.invents and not report.unrun
    assert [result.finding.code for result in report.findings] == ["DNF901"]


@pytest.mark.slow
def test_a_crash_that_the_program_as_it_stands_has_too_is_no_doing_of_what_was_made_up(tmp_path: Path) -> None:
    report = suggested(STOOD, tmp_path)
    assert report.reproduction.invents_form and not report.unrun
    assert [result.finding.code for result in report.findings] == ["DNF901"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "codes"),
    [
        ("table = torch.from_numpy(np.loadtxt('prices.csv', delimiter=',', dtype=np.float32))", []),
        ("table = torch.randn(80, 4)", ["DNF301"]),
    ],
    ids=["made up", "the program's own"],
)
def test_amounts_that_were_made_up_are_no_evidence(data: str, codes: list[str], tmp_path: Path) -> None:
    report = suggested(AMOUNTS.format(data=data), tmp_path)
    assert [result.finding.code for result in report.findings] == codes
    assert any("amounts in the data, which were made up" in said for said in report.unchecked) == (not codes)
