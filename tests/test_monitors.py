"""The monitors that the seeded faults are compared with: what they say of a record, and what a remedy puts before a program."""

from __future__ import annotations

import importlib
import json
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))
_monitors: Any = importlib.import_module("_monitors")  # scripts beside each other, in no package that mypy could follow
_watching: Any = importlib.import_module("_watching")
Problem, autotrainer, deeplocalize, umlaut = (
    _monitors.Problem,
    _monitors.autotrainer,
    _monitors.deeplocalize,
    _monitors.umlaut,
)
Layer, Record = _watching.Layer, _watching.Record
Check = Callable[[Any], Sequence[Any]]

HEALTHY = Record(
    losses=[1.0, 0.7, 0.5, 0.4, 0.3, 0.2],
    accuracies=[0.5, 0.6, 0.7, 0.8, 0.9, 0.95],
    later_losses=[1.0, 0.8, 0.6, 0.5, 0.4, 0.3],
    layers=[
        Layer("first", "Dense", True, "relu", 0.0, [0.1] * 6, [0.1] * 6),
        Layer("last", "Dense", True, "softmax", 0.0, [0.2] * 6, [0.0] * 6),
    ],
    least=-1.0,
    most=1.0,
    shape=[32, 4],
    rate=0.001,
    wanted="softmax",
)
STUCK = replace(HEALTHY, losses=[1.0] * 6, accuracies=[0.5] * 6)


def with_first(seen: Any, **changed: object) -> Any:
    return replace(seen, layers=[replace(seen.layers[0], **changed), seen.layers[1]])


def said(check: Check, seen: Any) -> dict[str, str]:
    return {problem.name: problem.layer for problem in check(seen)}


@pytest.mark.parametrize("check", [autotrainer, deeplocalize, umlaut])
def test_nothing_is_said_of_a_healthy_training(check: Check) -> None:
    assert said(check, HEALTHY) == {}


@pytest.mark.parametrize(
    ("seen", "name", "layer"),
    [
        pytest.param(with_first(STUCK, gradients=[1e-6] * 6), "gradient-vanish", "first", id="vanish"),
        pytest.param(with_first(HEALTHY, gradients=[20.0] * 6), "gradient-explode", "", id="explode"),
        pytest.param(
            replace(HEALTHY, errors=[("backward", "last")]), "gradient-explode", "last", id="a gradient is no number"
        ),
        pytest.param(with_first(STUCK, dead=[0.7] * 6), "dying-relu", "first", id="dying"),
        pytest.param(replace(HEALTHY, accuracies=[0.5, 0.9, 0.5, 0.9, 0.5, 0.9]), "oscillating-loss", "", id="swings"),
        pytest.param(STUCK, "slow-convergence", "", id="slow"),
        pytest.param(replace(STUCK, accuracies=[]), "slow-convergence", "", id="slow by its loss alone"),
    ],
)
def test_autotrainer_finds_its_problems(seen: Any, name: str, layer: str) -> None:
    assert said(autotrainer, seen)[name] == layer


def test_autotrainer_minds_small_and_dead_gradients_only_where_accuracy_is_poor() -> None:
    assert said(autotrainer, with_first(HEALTHY, gradients=[1e-6] * 6, dead=[1.0] * 6)) == {}


def test_settings_of_a_problem_are_those_of_its_remedies() -> None:
    (slow,) = autotrainer(STUCK)
    assert slow.settings == ("learning-rate", "initialization", "optimizer")


def test_deeplocalize_stops_at_the_first_error_and_names_its_layer() -> None:
    seen = replace(STUCK, errors=[("forward", "last"), ("loss", ""), ("weights", "first")])
    assert deeplocalize(seen) == [Problem("DeepLocalize", "error-in-forward", ("output", "initialization"), "last")]


def test_deeplocalize_says_that_nothing_is_learned_but_not_why() -> None:
    assert deeplocalize(STUCK) == [Problem("DeepLocalize", "does-not-learn", (), "")]


@pytest.mark.parametrize(
    ("seen", "name"),
    [
        (replace(HEALTHY, most=255.0), "input-not-normalized"),
        (replace(HEALTHY, most=math.nan), "nan-in-input"),
        (
            replace(HEALTHY, shape=[8, 3, 28, 28], layers=[Layer("first", "Conv2D", True, "relu"), HEALTHY.layers[1]]),
            "input-shape",
        ),
        (replace(HEALTHY, layers=[HEALTHY.layers[0], replace(HEALTHY.layers[1], activation="")]), "missing-softmax"),
        (with_first(HEALTHY, activation=""), "missing-activation"),
        (replace(HEALTHY, rate=0.1), "learning-rate-high"),
        (replace(HEALTHY, rate=1e-8), "learning-rate-low"),
        (with_first(HEALTHY, dropped=0.8), "dropout-high"),
        (replace(HEALTHY, losses=[1.0, math.nan]), "loss-nan"),
        (replace(HEALTHY, later_losses=[0.5, 0.6, 0.7]), "overfitting"),
        (replace(HEALTHY, later_losses=[]), "no-validation"),
        (replace(HEALTHY, later_accuracies=[0.99]), "validation-accuracy-high"),
        (replace(HEALTHY, accuracies=[0.0] * 6), "accuracy-zero"),
        (replace(HEALTHY, accuracies=[0.05] * 6), "accuracy-low"),
    ],
)
def test_umlaut_finds_its_errors(seen: Any, name: str) -> None:
    assert list(said(umlaut, seen)) == [name]


def test_a_record_is_read_as_it_was_written() -> None:
    seen = replace(HEALTHY, errors=[("loss", "")])
    assert _watching.read(json.dumps(asdict(seen))) == seen


@pytest.mark.parametrize("program", [b"import torch\n", b"import keras\n"])
def test_a_remedy_is_a_preamble_that_compiles(program: bytes) -> None:
    changed = _monitors.with_remedy(program, "rate-down")
    compile(changed, "program.py", "exec")
    assert changed.endswith(b"('rate-down')\n" + program)


def test_normalization_is_not_put_into_torch() -> None:
    assert _monitors.with_remedy(b"import torch\n", "normalization") == b""


def test_the_skill_is_that_after_the_first_remedy_that_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    def recorded(folder: Path, program: bytes, python: str, seconds: float) -> Any:
        return HEALTHY if b"'initializer'" in program.splitlines()[-2] else STUCK

    def skill(program: bytes) -> float:
        return 0.75 if b"('initializer')" in program else 0.0

    monkeypatch.setattr(_monitors, "recorded", recorded)
    found = autotrainer(STUCK)
    assert _monitors.remedied(Path(), b"import torch\n", "python", found, 1.0, skill) == 0.75
    assert _monitors.remedied(Path(), b"import torch\n", "python", [], 1.0, skill) is None


def test_what_is_still_seen_after_a_remedy_is_remedied_on_top_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    dying = with_first(STUCK, dead=[1.0] * 6)

    def recorded(folder: Path, program: bytes, python: str, seconds: float) -> Any:
        if b"('activation')" not in program:
            return dying
        return HEALTHY if b"('rate-up')" in program else STUCK

    monkeypatch.setattr(_monitors, "recorded", recorded)
    measured: list[bytes] = []

    def skill(program: bytes) -> float:
        measured.append(program)
        return 1.0

    assert _monitors.remedied(Path(), b"import torch\n", "python", autotrainer(dying), 1.0, skill) == 1.0
    (program,) = measured
    assert program.index(b"('rate-up')") < program.index(b"('activation')")


def test_where_no_remedy_helps_there_is_no_skill(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_monitors, "recorded", lambda *_: STUCK)
    assert _monitors.remedied(Path(), b"import torch\n", "python", autotrainer(STUCK), 1.0, lambda _: 1.0) is None


@pytest.mark.parametrize(
    ("program", "by_keras"),
    [
        (b"import torch\n# like keras\n", False),
        (b"import torch\nfrom tensorflow.keras import layers\n", True),
        (b"try:\n    import keras\nexcept ImportError:\n    pass\n", True),
    ],
)
def test_keras_is_told_by_its_import(program: bytes, by_keras: bool) -> None:
    assert _watching.is_keras(program) == by_keras


TORCH = """
import torch
from torch import nn
inputs = torch.randn(64, 4)
labels = (inputs[:, 0] > 0).long()
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=1e20)
for epoch in range(10):
    optimizer.zero_grad()
    loss = nn.CrossEntropyLoss()(model(inputs), labels)
    loss.backward()
    optimizer.step()
"""


def test_a_torch_training_is_watched(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    names = {problem.name for problem in _monitors.watched(tmp_path, TORCH.encode(), sys.executable)}
    assert {"gradient-explode", "learning-rate-high", "no-validation"} <= names


KERAS = """
import keras, numpy
inputs = numpy.random.rand(64, 4) * 100
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8), keras.layers.Dense(2)])
model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(inputs, (inputs[:, 0] > 50).astype(int), epochs=2, verbose=0)
"""


def test_a_keras_training_is_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("keras")
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    names = {problem.name for problem in _monitors.watched(tmp_path, KERAS.encode(), sys.executable)}
    assert {"input-not-normalized", "missing-activation", "missing-softmax"} <= names
