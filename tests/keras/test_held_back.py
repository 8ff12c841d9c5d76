"""Evaluations beside training in programs of Keras: what they call validation, and evaluations of the training part."""

from __future__ import annotations

import pytest

from dnnfix.validate.data_leaks import readings
from tests.observing import Observe

PROGRAM = """\
import keras
import numpy as np

random = np.random.RandomState(3)
measured = random.randn(440, 6).astype("float32")
wanted = (measured[:, 0] - measured[:, 1] > 0).astype("int64")
net = keras.Sequential([keras.layers.Dense(32, activation="relu"), keras.layers.Dense(2, activation="softmax")])
net.compile(optimizer=keras.optimizers.Adam(0.01), loss="sparse_categorical_crossentropy")
net.fit(measured[:320], wanted[:320], epochs=10, {validation})
{after}
"""
FOLDS = """\
other = keras.Sequential([keras.layers.Dense(2, activation="softmax")])
other.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
other.fit(measured[120:], wanted[120:], validation_data=(measured[:120], wanted[:120]), epochs=5)"""


@pytest.mark.parametrize(
    ("validation", "after", "expected"),
    [
        pytest.param("validation_split=0.3", "", [], id="a split"),
        pytest.param("validation_data=(measured[320:], wanted[320:])", "", [], id="other rows"),
        pytest.param("validation_data=(measured[230:350], wanted[230:350])", "", ["shared-rows"], id="rows of both"),
        pytest.param("validation_data=(measured[:320], wanted[:320])", "", ["shared-rows"], id="the training part"),
        pytest.param("validation_data=(measured[320:], wanted[320:])", FOLDS, [], id="folds"),
        pytest.param("", "net.evaluate(measured[:320], wanted[:320])", [], id="evaluated on the training part"),
    ],
)
def test_evaluations_are_read(observe: Observe, validation: str, after: str, expected: list[str]) -> None:
    seen = observe(PROGRAM.format(validation=validation, after=after), steps=200, experiments=["reference"])
    assert seen.outcome == "finished", seen.of("crash")
    assert [reading.name for reading in readings(seen.trace())] == expected
