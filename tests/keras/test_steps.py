"""Old Keras programs with a second fault behind the migration: it is told, and not held against the migration."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dnnfix.config import Settings
from dnnfix.pipeline import suggest_file, verify_certificate
from dnnfix.records import Applicability, FileReport, FindingOutcome, PatchVerdict

UNKNOWN_FAULT = """\
from keras.layers.core import Dense
from keras.models import Sequential
from keras.utils import np_utils
import numpy as np

x = np.random.rand(40, 8)
y = np_utils.to_categorical(np.arange(40) % 3, 3)
widths = {name: place for place, name in enumerate(["a", "b", "c"])}
model = Sequential()
model.add(Dense(output_dim=4, input_dim=8))
model.add(Dense(output_dim=3, activation="softmax"))
model.compile(loss="categorical_crossentropy", optimizer="sgd")
print(widths["d"])
model.fit(x, y, nb_epoch=2)
"""

SATURATED = """\
import numpy as np
from keras.models import Sequential
from keras.layers.core import Dense
from keras.utils import np_utils

rng = np.random.RandomState(0)
x = rng.randint(0, 256, (200, 784)).astype("float32") * 1e6
y = np_utils.to_categorical(rng.randint(0, 10, 200), 10)
model = Sequential()
model.add(Dense(10, input_dim=784, activation="softmax", kernel_initializer="ones"))
model.compile(loss="categorical_crossentropy", optimizer="sgd")
model.fit(x, y, batch_size=20, epochs=2)
"""


def settings(folder: Path) -> Settings:
    return Settings(budget=120.0, python=sys.executable, cache_dir=folder / "cache")


def suggested(program: str, folder: Path) -> FileReport:
    path = folder / "program.py"
    path.write_text(program)
    return suggest_file(path.read_bytes(), str(path), settings(folder), lambda words: None)


def test_a_migration_that_meets_an_unknown_fault_is_offered_as_a_step(tmp_path: Path) -> None:
    report = suggested(UNKNOWN_FAULT, tmp_path)
    (patch,) = report.patches
    assert (patch.verdict, patch.candidate.applicability) == (PatchVerdict.PARTIAL, Applicability.SAFE)
    assert patch.remains == "the program then stops at line 13: KeyError: 'd'"
    assert patch.certificate is None
    assert {result.outcome for result in report.findings} == {FindingOutcome.PARTIAL}
    assert {"+from keras.layers import Dense", "+model.fit(x, y, epochs=2)"} <= set(patch.diff.splitlines())


@pytest.mark.slow
def test_a_migration_is_not_refused_for_an_output_that_was_constant_before(tmp_path: Path) -> None:
    report = suggested(SATURATED, tmp_path)
    (patch,) = [patch for patch in report.patches if patch.verdict is PatchVerdict.ACCEPTED]
    assert patch.candidate.applicability is Applicability.SAFE
    assert any("the output is the same for other inputs" in note for note in report.notes)
    assert patch.certificate is not None
    assert verify_certificate(patch.certificate, settings(tmp_path)) == (True, ())
