"""Programs of torch that learn nothing: what there is to learn in their data, and settings raced until they learn."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from dnnfix.config import Settings
from dnnfix.pipeline import suggest_file, verify_certificate
from dnnfix.records import FileReport, PatchVerdict
from dnnfix.synthesize.racing import SEEDS_APART
from tests.observing import Observe

PROGRAM = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
measured = {inputs}
wanted = {targets}
batches = DataLoader(TensorDataset(measured, wanted), batch_size=32, shuffle=True)
net = nn.Sequential(nn.Linear(6, 32), {between}, nn.Linear(32, {outputs}))
optimizer = torch.optim.{optimizer}
measure = nn.{loss}()
for epoch in range({epochs}):
    for x, y in batches:
        optimizer.zero_grad()
        loss = measure(net(x), y)
        loss.backward()
        optimizer.step()
"""
SOUND = {
    "inputs": "torch.randn(640, 6)",
    "targets": "(measured[:, 0] + measured[:, 1] > 0).long() + (measured[:, 2] > 0).long()",
    "between": "nn.ReLU()",
    "outputs": 3,
    "optimizer": "Adam(net.parameters(), lr=0.01)",
    "loss": "CrossEntropyLoss",
    "epochs": 30,
}


def program(**changed: Any) -> str:
    return PROGRAM.format(**{**SOUND, **changed})


REAL = {"targets": "measured[:, :1] - 2 * measured[:, 1:2]", "outputs": 1, "loss": "MSELoss"}
BINARY = {"targets": "(measured[:, :1] > 0).float()", "outputs": 1, "loss": "BCEWithLogitsLoss"}


def reference(observe: Observe, **changed: Any) -> Any:
    seen = observe(program(**changed), steps=60, experiments=["reference"])
    assert seen.outcome == "finished", seen.of("crash")
    return seen.probe("reference")


@pytest.mark.parametrize(
    ("changed", "kind"),
    [
        pytest.param({}, "class", id="classes"),
        pytest.param(REAL, "real", id="real"),
        pytest.param(BINARY, "binary", id="binary"),
        pytest.param(
            {**BINARY, "targets": "(measured[:, 0] * measured[:, 1] > 0).float()[:, None]"}, "binary", id="no line"
        ),
        pytest.param(
            {"inputs": "(torch.rand(640, 6) * 2550).round()", "targets": "(measured[:, 0] > 1275).long() * 2"},
            "class",
            id="whole numbers that are amounts",
        ),
    ],
)
def test_simple_learners_find_what_there_is(observe: Observe, changed: dict[str, Any], kind: str) -> None:
    found = reference(observe, **changed)
    assert found["kind"] == kind and found["rows"] == 640
    assert found["skill"] > 0.5 and found["luck"] < 0.3


@pytest.mark.parametrize(
    "changed",
    [
        {"targets": "torch.randint(3, (640,))"},
        {**REAL, "targets": "torch.randn(640, 1)"},
        {**BINARY, "targets": "torch.randint(2, (640, 1)).float()"},
    ],
    ids=["classes", "real", "binary"],
)
def test_in_noise_they_find_nothing(observe: Observe, changed: dict[str, Any]) -> None:
    found = reference(observe, **changed)
    assert found["skill"] - found["luck"] < 0.2


def test_what_they_know_no_form_of_has_no_reference(observe: Observe) -> None:
    assert reference(observe, **REAL | {"targets": "measured", "outputs": 6}) is None, "an autoencoder predicts nothing"
    assert reference(observe, **REAL | {"inputs": "torch.randn(30, 6)", "epochs": 5}) is None, "few rows, seldom"


def test_few_rows_that_come_again_and_again_are_known_by_a_table(observe: Observe) -> None:
    found = reference(observe, **REAL | {"inputs": "torch.randn(30, 6)"})
    assert (found["learner"], found["rows"], found["skill"]) == ("table", 30, 1.0)


def suggested(tmp_path: Path, text: str) -> FileReport:
    path = tmp_path / "program.py"
    path.write_text(text)
    settings = Settings(budget=120.0, python=sys.executable, cache_dir=tmp_path / "cache")
    return suggest_file(text.encode(), str(path), settings, lambda said: None)


DEEP = "nn.Sigmoid(), nn.Linear(32, 32), " * 5 + "nn.Sigmoid()"


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        pytest.param(
            {"optimizer": "Adam(net.parameters(), lr=30.0)"},
            "+optimizer = torch.optim.Adam(net.parameters(), lr=0.001)",
            id="a rate far too great",
        ),
        pytest.param(
            {"optimizer": "SGD(net.parameters(), lr=0.1)", "between": DEEP},
            f"+net = nn.Sequential(nn.Linear(6, 32), {DEEP.replace('Sigmoid', 'ReLU')}, nn.Linear(32, 3))",
            id="gradients that vanish",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_the_setting_at_fault_is_found_and_the_patch_makes_the_network_learn(
    tmp_path: Path, changed: dict[str, Any], line: str
) -> None:
    report = suggested(tmp_path, program(**changed))
    accepted = [patch for patch in report.patches if patch.verdict is PatchVerdict.ACCEPTED]
    assert accepted, [result.reason for result in report.findings]
    assert line in accepted[0].diff.splitlines()
    settings = Settings(budget=120.0, python=sys.executable, cache_dir=tmp_path / "cache")
    assert verify_certificate(str(accepted[0].certificate), settings) == (True, ())


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({}, id="sound"),
        pytest.param({"targets": "torch.randint(3, (640,))"}, id="noise"),
        pytest.param(REAL, id="regression", marks=pytest.mark.slow),
        pytest.param({"epochs": 3}, id="short", marks=pytest.mark.slow),
        pytest.param({"optimizer": "SGD(net.parameters(), lr=0.01)"}, id="slow", marks=pytest.mark.slow),
    ],
)
def test_a_training_that_is_sound_or_short_or_has_nothing_to_learn_is_let_be(
    tmp_path: Path, changed: dict[str, Any]
) -> None:
    report = suggested(tmp_path, program(**changed))
    assert not [result.finding.code for result in report.findings]
    assert not report.patches


def accepted_of(tmp_path: Path, text: str) -> tuple[FileReport, list[str]]:
    report = suggested(tmp_path, text)
    diffs = [patch.diff for patch in report.patches if patch.verdict is PatchVerdict.ACCEPTED]
    return report, diffs[0].splitlines() if diffs else []


@pytest.mark.slow
def test_what_a_rule_suspects_and_a_rate_are_mended_together(tmp_path: Path) -> None:
    text = program(optimizer="SGD(copy.deepcopy(net).parameters(), lr=1e-4)").replace(
        "import torch\n", "import copy\nimport torch\n", 1
    )
    _, lines = accepted_of(tmp_path, text)
    (line,) = [line for line in lines if line.startswith("+") and "optimizer = " in line]
    assert "SGD(net.parameters(), lr=" in line and "1e-4" not in line


@pytest.mark.slow
def test_rows_that_were_shuffled_apart_are_left_in_their_order(tmp_path: Path) -> None:
    text = program().replace("batches =", "wanted = wanted[torch.randperm(640)]\nbatches =", 1)
    report, lines = accepted_of(tmp_path, text)
    assert "-wanted = wanted[torch.randperm(640)]" in lines
    (patch,) = report.patches
    settings = Settings(budget=120.0, python=sys.executable, cache_dir=tmp_path / "cache")
    assert verify_certificate(str(patch.certificate), settings) == (True, ())
    (result,) = report.findings
    assert result.finding.evidence["cause"] == "pairing" and "do not go with the inputs" in result.finding.message


@pytest.mark.slow
def test_training_that_ends_at_a_guess_goes_on_for_longer_though_its_cut_would_crash(tmp_path: Path) -> None:
    text = program(epochs="rounds", optimizer="Adam(net.parameters(), lr=0.001)").replace(
        "measure =", "rounds = 1\nmeasure =", 1
    )
    text = text.replace("for epoch", "seen = []\nfor epoch").replace(
        "        optimizer.step()\n", "        optimizer.step()\n    seen.append(loss.item())\n"
    )
    text += "assert len(seen) == rounds\n"
    report, lines = accepted_of(tmp_path, text)
    assert "+rounds = 10" in lines, [result.reason for result in report.findings]
    assert report.findings[0].finding.evidence["symptoms"][0] == "unfinished"  # type: ignore[index]


@pytest.mark.slow
def test_what_is_left_of_the_time_goes_into_a_longer_look(tmp_path: Path) -> None:
    _, lines = accepted_of(tmp_path, program(optimizer="Adam(net.parameters(), lr=1e-5)", epochs=160))
    assert "+optimizer = torch.optim.Adam(net.parameters(), lr=0.001)" in lines, "3,200 steps, all at a guess"


LUCK = """\
import torch
from torch import nn

x = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
y = torch.tensor([[0.0], [1.0], [1.0], [0.0]])
net = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1), nn.Sigmoid())
if torch.initial_seed() == 0:
    nn.init.constant_(net[0].bias, -9.0)
optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
for step in range(800):
    optimizer.zero_grad()
    loss = nn.functional.binary_cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
"""


@pytest.mark.slow
def test_a_start_without_luck_is_no_fault(tmp_path: Path) -> None:
    report = suggested(tmp_path, LUCK)
    assert "DNF905" not in [result.finding.code for result in report.findings]
    assert any("begun with another seed it learns" in text for text in report.unchecked)


@pytest.mark.slow
def test_a_start_with_luck_only_is_one(tmp_path: Path) -> None:
    report = suggested(tmp_path, LUCK.replace("== 0", f"in (0, {SEEDS_APART + 1})"))
    (finding,) = [result.finding for result in report.findings if result.finding.code == "DNF905"]
    assert finding.message.endswith("begun with another seed it learns")


@pytest.mark.slow
def test_of_longer_trainings_the_shortest_that_learns_is_proposed(tmp_path: Path) -> None:
    _, lines = accepted_of(tmp_path, program(epochs=1).replace("batch_size=32", "batch_size=640"))
    assert "+for epoch in range(100):" in lines
