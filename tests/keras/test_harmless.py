"""The probe changes nothing: the same numbers, the same objects, with and without it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from dnnfix.run.trace import read_trace
from tests.keras.test_calls import FUNCTIONAL
from tests.observing import Observe

PROGRAM = """
import keras, numpy as np, random
keras.utils.set_random_seed(7)
x = np.random.rand(96, 6).astype("float32")
y = np.random.randint(0, 3, 96)
model = keras.Sequential([
    keras.Input((6,)), keras.layers.Dense(8, activation="relu"), keras.layers.BatchNormalization(),
    keras.layers.Dropout(0.3), keras.layers.Dense(3, activation="softmax"),
])
model.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy", metrics=["accuracy"])
h = model.fit(x, y, batch_size=16, epochs=2, validation_split=0.25, verbose=0)
print(["%.6f" % v for key in sorted(h.history) for v in h.history[key]])
print("%.6f" % float(model.predict(x, verbose=0).sum()))
print(model.name, [layer.name for layer in model.layers], random.random(), np.random.rand())
print(isinstance(model.loss, str), type(h).__name__, keras.losses.get("mse") is keras.losses.get("mean_squared_error"))
"""


def test_a_program_within_the_budget_prints_what_it_prints_without_the_probe(observe: Observe, tmp_path: Path) -> None:
    alone = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM)],
        env={**os.environ, "KERAS_BACKEND": "torch", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        check=False,
        text=True,
        cwd=tmp_path,
    )
    assert alone.returncode == 0, alone.stderr
    wanted = ["input-dependence", "adversarial", "batch-sizes", "information"]
    for experiments in ([], wanted):
        run = observe(PROGRAM, steps=100, evaluation_batches=100, experiments=experiments)
        assert run.notes == []
        assert run.printed == alone.stdout


def test_models_are_saved_and_loaded_as_ever(observe: Observe) -> None:
    run = observe(
        """
        import keras, numpy as np
        from keras import layers
        i = keras.Input((4,))
        x = layers.Dense(4, activation=keras.activations.relu)(i)
        model = keras.Model(i, layers.Dense(1)(keras.ops.tanh(x) * 2))
        model.compile("adam", keras.losses.mean_squared_error)
        model.fit(np.ones((8, 4)), np.ones(8))
        model.save("m.keras")
        again = keras.models.load_model("m.keras")
        print(bool((again.predict(np.ones((2, 4))) == model.predict(np.ones((2, 4)))).all()))
        copy = keras.models.clone_model(model)
        print(len(copy.layers) == len(model.layers))
        """
    )
    assert run.outcome == "finished", run.of("crash")
    assert run.notes == [] and run.printed.split() == ["True", "True"]


def test_experiments(observe: Observe) -> None:
    names = ["shuffle-targets", "batch-sizes", "input-dependence", "adversarial", "information"]
    run = observe(FUNCTIONAL, experiments=names)
    assert run.probe("shuffle-targets") is True
    assert run.probe("batch-sizes") == {"1": "ok", "3": "ok", "5": "ok"}
    assert run.probe("input-dependence") > 0
    assert run.probe("adversarial") > 0
    assert run.probe("information") == 1.0
    assert run.notes == []


def test_experiments_see_what_is_wrong(observe: Observe) -> None:
    run = observe(
        """
        import keras, numpy as np
        class Net(keras.Model):
            def __init__(self):
                super().__init__()
                self.dense = keras.layers.Dense(2)
            def call(self, x):
                return keras.ops.reshape(self.dense(x * 0), (8, 2))
        net = Net()
        net.compile("sgd", "mse")
        net.fit(np.random.rand(8, 3), np.random.rand(8, 2), batch_size=8)
        """,
        experiments=["batch-sizes", "input-dependence"],
    )
    assert run.probe("input-dependence") == 0.0
    assert set(run.probe("batch-sizes")) == {"1", "3", "5"}
    assert all(answer != "ok" for answer in run.probe("batch-sizes").values())


@pytest.mark.parametrize(("sample", "depends"), [("np.array([[0, 0, 0]])", None), ("np.array([[0, 3, 1]])", True)])
def test_the_same_input_again_says_nothing_of_dependence(observe: Observe, sample: str, depends: bool | None) -> None:
    """Counts from zero have no other value of their kind to try: that is no constant output."""
    run = observe(
        f"""
        import keras, numpy as np
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
        model.predict({sample}, verbose=0)
        """,
        experiments=["input-dependence"],
    )
    measured = run.probe("input-dependence")
    assert (measured is None) if depends is None else measured > 0


def test_shuffled_targets_cannot_be_learnt(observe: Observe) -> None:
    source = """
        import keras, numpy as np
        label = np.random.randint(0, 3, 300)
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(3, activation="softmax")])
        model.compile(keras.optimizers.Adam(0.3), "sparse_categorical_crossentropy")
        model.fit(np.eye(3)[label], label, epochs=9)
    """
    plain, shuffled = observe(source, steps=30), observe(source, steps=30, experiments=["shuffle-targets"])
    assert plain.steps[-1]["skill"] > 0.95
    assert shuffled.steps[-1]["skill"] < 0.5


def test_the_reader_of_traces_understands_every_line(observe: Observe) -> None:
    run = observe(FUNCTIONAL, experiments=["batch-sizes"])
    trace = read_trace(json.dumps(event).encode() for event in run.events)
    assert trace.notes == () and trace.network is not None and trace.network.framework == "keras"
    loss = next(c for c in trace.network.calls if c.name == "keras.losses.BinaryCrossentropy")
    made = trace.network.component(loss.component)
    assert made is not None and made.site == loss.site
    prediction = trace.network.producer(loss.inputs[0])
    assert prediction is not None and prediction.args["activation"] == "sigmoid"
    assert len(trace.network.parameters) == 6 and len(trace.steps) == 2


def test_a_program_that_can_do_without_tensorflow_is_observed_where_there_is_none(observe: Observe) -> None:
    run = observe(
        """
        import keras, numpy as np
        try:
            import tensorflow as tf
        except ImportError:
            tf = None
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        model.fit(np.ones((8, 2)), np.ones(8))
        """
    )
    assert run.of("begin")[0]["framework"] == "keras" and len(run.steps) == 1
