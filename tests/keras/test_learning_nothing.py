"""Keras programs that learn nothing: what there is to learn in their data, and settings raced until they learn."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from dnnfix.config import Settings
from dnnfix.pipeline import suggest_file
from dnnfix.records import FileReport, PatchVerdict
from tests.observing import Observe

PROGRAM = """\
import numpy as np
import keras
from keras import layers

rng = np.random.default_rng(3)
measured = rng.normal(size=(640, 6)).astype("float32")
wanted = {targets}
model = keras.Sequential([keras.Input((6,)), {hidden}, layers.Dense({outputs}, activation="{ends}")])
model.compile(optimizer={optimizer}, loss="{loss}")
model.fit(measured, wanted, batch_size=32, epochs=30, verbose=0)
"""
SOUND = {
    "targets": "(measured[:, 0] + measured[:, 1] > 0).astype(int) + (measured[:, 2] > 0)",
    "hidden": 'layers.Dense(32, activation="relu")',
    "outputs": 3,
    "ends": "softmax",
    "optimizer": "keras.optimizers.Adam(learning_rate=0.01)",
    "loss": "sparse_categorical_crossentropy",
}
ONE_HOT = {
    "targets": "keras.utils.to_categorical(measured[:, 0] > 0, 2)",
    "outputs": 2,
    "loss": "categorical_crossentropy",
}
REAL = {"targets": "measured[:, 0] - 2 * measured[:, 1]", "outputs": 1, "ends": "linear", "loss": "mse"}
BINARY = {"targets": "(measured[:, 0] > 0) * 1.0", "outputs": 1, "ends": "sigmoid", "loss": "binary_crossentropy"}


def program(**changed: Any) -> str:
    return PROGRAM.format(**{**SOUND, **changed})


@pytest.mark.parametrize(
    ("changed", "kind"),
    [
        pytest.param({}, "class", id="classes"),
        pytest.param(ONE_HOT, "class", id="one-hot"),
        pytest.param(REAL, "real", id="real"),
        pytest.param(BINARY, "binary", id="binary"),
    ],
)
def test_simple_learners_find_what_there_is(observe: Observe, changed: dict[str, Any], kind: str) -> None:
    seen = observe(program(**changed), steps=60, experiments=["reference"])
    assert seen.outcome == "finished", seen.of("crash")
    found = seen.probe("reference")
    assert found["kind"] == kind and found["rows"] == 640
    assert found["skill"] > 0.5 and found["luck"] < 0.3


def suggested(tmp_path: Path, text: str) -> FileReport:
    path = tmp_path / "program.py"
    path.write_text(text)
    settings = Settings(budget=120.0, python=sys.executable, cache_dir=tmp_path / "cache")
    return suggest_file(text.encode(), str(path), settings, lambda said: None)


@pytest.mark.slow
def test_the_setting_at_fault_is_found_and_the_patch_makes_the_network_learn(tmp_path: Path) -> None:
    many = ", ".join(['layers.Dense(24, activation="sigmoid")'] * 6)
    report = suggested(tmp_path, program(hidden=many, optimizer="keras.optimizers.SGD(learning_rate=0.1)"))
    (accepted,) = [patch for patch in report.patches if patch.verdict is PatchVerdict.ACCEPTED]
    assert accepted.candidate.title == "Use relu between the layers rather than sigmoid"
    assert accepted.diff.count('+model = keras.Sequential([keras.Input((6,)), layers.Dense(24, activation="relu")') == 1


@pytest.mark.slow
def test_noise_is_let_be(tmp_path: Path) -> None:
    noise = {"targets": "rng.integers(3, size=640)", "optimizer": "keras.optimizers.SGD(learning_rate=0.001)"}
    report = suggested(tmp_path, program(**noise))
    assert not report.findings and not report.patches
    assert any("whether there is anything to learn" in said for said in report.unchecked)
