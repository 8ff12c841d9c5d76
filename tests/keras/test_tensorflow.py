"""Keras on TensorFlow, where that is installed: the same faults are found and repaired as on torch."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from dnnfix import pipeline
from dnnfix.config import load
from dnnfix.records import FileReport, PatchVerdict

pytestmark = pytest.mark.skipif(find_spec("tensorflow") is None, reason="tensorflow is not installed")

CRASH = """\
import numpy as np
import tensorflow as tf

x, y = np.random.rand(64, 8).astype("float32"), np.random.randint(0, 3, 64)
model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(3, activation="softmax")])
model.compile(optimizer="adam", loss="categorical_crossentropy")
model.fit(x, y, epochs=2, batch_size=16, verbose=0)
"""

LOOP = """\
import tensorflow as tf
from tensorflow.keras import layers, losses, optimizers

x, y = tf.random.normal((64, 4)), tf.random.uniform((64,), 0, 3, dtype=tf.int32)
model = tf.keras.Sequential([layers.Dense(8, activation="relu"), layers.Dense(3, activation="softmax")])
optimizer, loss_of = optimizers.SGD(0.1), losses.SparseCategoricalCrossentropy(from_logits=True)
for step in range(5):
    with tf.GradientTape() as tape:
        loss = loss_of(y, model(x))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""

HEALTHY = CRASH.replace('"categorical_crossentropy"', '"sparse_categorical_crossentropy"')


def suggested(program: str, folder: Path) -> FileReport:
    path = folder / "program.py"
    path.write_text(program)
    # TensorFlow cannot be forked once it is up: each run starts it anew, which takes seconds.
    settings = load(folder, {"budget": 180.0, "cache-dir": str(folder / "cache")}, isolated=True)
    return pipeline.suggest_file(path.read_bytes(), str(path), settings, lambda words: None)


@pytest.mark.parametrize(("program", "code"), [(CRASH, "DNF309"), (LOOP, "DNF301")])
def test_a_fault_is_found_and_repaired(program: str, code: str, tmp_path: Path) -> None:
    report = suggested(program, tmp_path)
    assert code in {result.finding.code for result in report.findings}
    accepted = [patch for patch in report.patches if patch.verdict is PatchVerdict.ACCEPTED]
    assert any(patch.candidate.findings[0].code == code for patch in accepted)


def test_nothing_is_found_in_a_healthy_program(tmp_path: Path) -> None:
    report = suggested(HEALTHY, tmp_path)
    assert report.runs[0].outcome.value == "finished" and not report.findings
