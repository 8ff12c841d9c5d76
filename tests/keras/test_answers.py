"""The first examples of a training are told with their answers."""

from __future__ import annotations

from tests.observing import Observe

KERAS = """
import keras
import numpy as np

x = np.random.rand(40, 4)
y = {target}
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense({outputs}{activation})])
model.compile("sgd", "{loss}")
model.fit(x, y, batch_size=20, epochs=1, shuffle=False, verbose=0)
"""


def test_the_first_examples_of_fit_are_told(observe: Observe) -> None:
    told = observe(
        KERAS.format(
            target="(x.sum(1) > 2) * 1",
            outputs=2,
            activation=', activation="softmax"',
            loss="sparse_categorical_crossentropy",
        ),
        experiments=["answers"],
    ).probe("answers")
    amounts = observe(
        KERAS.format(target="x.sum(1)", outputs=1, activation="", loss="mse"), experiments=["answers"]
    ).probe("answers")
    assert len(set(told["rows"])) == 40 and told["rows"] == amounts["rows"]
    assert [row[0] for row in told["targets"]] == [float(row[0] > 2) for row in amounts["targets"]]
