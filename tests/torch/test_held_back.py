"""Evaluations beside training in programs of torch: rows in both parts, the answer among the inputs, rows learned by heart."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from dnnfix.config import Settings
from dnnfix.pipeline import suggest_file
from dnnfix.validate.data_leaks import readings
from tests.observing import Observe

PROGRAM = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
measured, wanted = {data}
trained, held = {parts}
batches = DataLoader(TensorDataset(measured[trained], wanted[trained]), batch_size=32, shuffle=True)
others = DataLoader(TensorDataset(measured[held], wanted[held]), batch_size=32)
net = nn.Sequential(nn.Linear(measured.shape[1], 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(net.parameters(), lr={rate})
measure = nn.MSELoss()
{between}
for epoch in range({epochs}):
    for x, y in batches:
        optimizer.zero_grad()
        loss = measure(net(x), y)
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        {evaluated}
"""
SOUND = {
    "data": "(lambda x: (x, x[:, :1] - 2 * x[:, 1:2]))(torch.randn(440, 6))",
    "parts": "range(320), range(320, 440)",
    "between": "",
    "evaluated": "for x, y in others: loss = measure(net(x), y)",
    "rate": 0.01,
    "epochs": 20,
}
ANSWER = "(lambda x: (x, x[:, 3:4]))(torch.randn(440, 6))"
NOISE = "(lambda x: (x * torch.tensor([1.0] * 3 + [3.0] * 197), x[:, :3].sum(1, keepdim=True)))(torch.randn(440, 200))"
BY_HEART = {"data": NOISE, "epochs": 40}
FIRST = """first = nn.Linear(measured.shape[1], 1)
begun = torch.optim.SGD(first.parameters(), lr=1e-4)
for _ in range(5):
    begun.zero_grad()
    measure(first(measured[trained]), wanted[trained]).backward()
    begun.step()"""
NINE_CODES = "(lambda x: (x, x[:, :1] - x[:, 1:2]))(torch.randint(2, (440, 9)).float())"
BEFORE = "with torch.no_grad(): loss = measure(net(measured[held]), wanted[held])"
LATER = {"between": "other = torch.nn.Linear(6, 1)", "evaluated": "for x, y in others: loss = measure(other(x), y)"}
CODES = "(lambda x: (x, x[:, :1] - x[:, 1:2]))(torch.randint(2, (440, 6)).float())"


def program(**changed: Any) -> str:
    return PROGRAM.format(**{**SOUND, **changed})


def names(observe: Observe, **changed: Any) -> list[str]:
    seen = observe(program(**changed), steps=300, experiments=["reference"])
    assert seen.outcome == "finished", seen.of("crash")
    return [reading.name for reading in readings(seen.trace())]


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        pytest.param({}, [], id="sound"),
        pytest.param({"parts": "range(320), range(230, 350)"}, ["shared-rows"], id="rows of both parts"),
        pytest.param({"parts": "range(320), range(100, 220)"}, [], id="an evaluation of the training part"),
        pytest.param({"parts": "range(320), range(440)"}, [], id="an evaluation of all there is"),
        pytest.param({"data": CODES}, [], id="few different rows"),
        pytest.param({"data": NINE_CODES}, [], id="rows that come twice by nature"),
        pytest.param(
            {"parts": "range(320), range(230, 350)", "evaluated": "net(measured[held])"}, [], id="no loss taken"
        ),
        pytest.param(
            {**LATER, "parts": "range(230, 350), range(320)"}, [], id="another model was trained on the others"
        ),
        pytest.param({**BY_HEART, "between": FIRST}, [], id="of several models"),
        pytest.param({"between": BEFORE, "evaluated": "pass"}, [], id="evaluated before training"),
        pytest.param({"data": ANSWER}, ["answer-among-inputs"], id="the answer among the inputs"),
        pytest.param(BY_HEART, ["by-heart"], id="by heart"),
    ],
)
def test_evaluations_are_read(observe: Observe, changed: dict[str, Any], expected: list[str]) -> None:
    assert names(observe, **changed) == expected


def test_what_the_network_comes_to_on_new_rows_is_told_beside_a_simple_learner(observe: Observe) -> None:
    found = observe(program(), steps=300, experiments=["reference"]).probe("held-back")
    assert found["rows"] == 120 and found["step"] == 200
    assert found["skill"] > 0.9 and found["simple"] > 0.9 and found["learner"] == "linear"


def test_it_is_found_in_a_training_that_learns(tmp_path: Path) -> None:
    text = program(parts="range(320), range(230, 350)")
    path = tmp_path / "train.py"
    path.write_text(text)
    settings = Settings(budget=60.0, python=sys.executable, cache_dir=tmp_path / "cache")
    report = suggest_file(text.encode(), str(path), settings, lambda said: None)
    (result,) = [one for one in report.findings if one.finding.code == "DNF906"]
    assert "rows that it is evaluated on are among those that it trains on" in result.finding.message
    assert not report.patches
