"""Keras trainings that are watched by the callback, each backend in a process of its own: Keras has one for a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(find_spec("keras") is None, reason="keras is not installed")

BACKENDS = pytest.mark.parametrize(
    "backend",
    [
        pytest.param("torch", marks=pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")),
        pytest.param(
            "tensorflow",
            marks=pytest.mark.skipif(find_spec("tensorflow") is None, reason="tensorflow is not installed"),
        ),
    ],
)

PROGRAM = """\
import json
import numpy as np
import keras
from keras import layers
import dnnfix.keras
from dnnfix.watching import pace

pace.LOOKS = 1000.0  # what is seen is asked here, and never how busy the machine was: there is always time for a look
random = np.random.RandomState(0)
x = random.randn(640, 6).astype("float32")
y = (x[:, 0] + x[:, 1] > 0).astype(int) + (x[:, 2] > 0)
told = {}


def watched(name, model, x, y, rate=0.01, loss=None, optimizer="Adam", stop=False, epochs=10, sample=None):
    keras.utils.set_random_seed(1)
    loss = loss or keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(getattr(keras.optimizers, optimizer)(rate), loss)
    callback = dnnfix.keras.WatchCallback(sample, log=name + ".jsonl", share=1.0, patience=120, stop=stop)
    model.fit(x, y, epochs=epochs, batch_size=32, verbose=0, callbacks=[callback])
    seen = [[one.reading.name, one.where, one.line] for one in callback.watch.seen]
    told[name] = {"seen": seen, "steps": callback.watch.steps, "looks": callback.watch._looks}


def net(bias=0.0):
    return keras.Sequential([
        keras.Input((6,)),
        layers.Dense(32, activation="relu", bias_initializer=keras.initializers.Constant(bias)),
        layers.Dense(3),
    ])


class Own(keras.Model):
    def __init__(self):
        super().__init__()
        self.first = layers.Dense(32, activation="tanh")
        self.last = layers.Dense(1)

    def call(self, x):
        return self.last(self.first(x))


normalized = keras.Sequential([
    keras.Input((6, 1)), layers.Conv1D(8, 3), layers.BatchNormalization(), layers.ReLU(), layers.Dropout(0.2),
    layers.GlobalAveragePooling1D(), layers.Dense(1, activation="sigmoid"),
])
watched("sound", net(), x, y)
watched("normalized", normalized, x[:, :, None], (x.sum(1) > 0).astype("float32"), loss="binary_crossentropy")
watched("own", Own(), x, x[:, :1] - x[:, 1:2], loss="mse")
watched("slow", net(), x, y, rate=1e-7)
model = net(-100.0)
watched("dead", model, x, y)
watched("infinite", net(), x, x[:, :3], rate=1e30, loss="mse", optimizer="SGD", stop=True)
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Any:
    known: dict[str, Any] = {}

    def of(backend: str) -> Any:
        if backend not in known:
            folder = tmp_path_factory.mktemp(backend)
            (folder / "program.py").write_text(PROGRAM)
            root = Path(__file__).parents[2]
            more = {
                "KERAS_BACKEND": backend,
                "TF_CPP_MIN_LOG_LEVEL": "3",
                "PYTHONPATH": str(root),
                "OMP_NUM_THREADS": "1",
            }
            done = subprocess.run(
                [sys.executable, "program.py"],
                cwd=folder,
                env={**os.environ, **more},
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr[-3000:]
            known[backend] = json.loads(done.stdout.splitlines()[-1]), folder
        return known[backend]

    return of


@BACKENDS
def test_sound_trainings_show_nothing(backend: str, results: Any) -> None:
    told, _ = results(backend)
    for name in ("sound", "normalized", "own"):
        assert told[name]["seen"] == [], name
        assert told[name]["steps"] == 200 and told[name]["looks"] >= 5, name


@BACKENDS
def test_each_fault_shows_its_symptoms(backend: str, results: Any) -> None:
    told, _ = results(backend)
    shown = {name: {symptom for symptom, _, _ in one["seen"]} for name, one in told.items()}
    assert {"at-chance", "rate-off", "small-updates"} <= shown["slow"]
    assert {"at-chance", "dead-units"} <= shown["dead"]
    assert shown["infinite"] == {"non-finite"} and told["infinite"]["steps"] < 200, "fit ends there"


@BACKENDS
def test_the_log_is_of_the_backend_and_names_the_layer(backend: str, results: Any) -> None:
    from dnnfix.watching.log import read_log

    _, folder = results(backend)
    log = read_log(folder / "dead.jsonl")
    assert log.framework == f"keras-{backend}" and log.program == str(folder / "program.py")
    dead = next(one for one in log.seen if one.reading.name == "dead-units")
    assert dead.where.startswith("dense")


def test_a_model_of_keras_is_watched_by_its_callback() -> None:
    import dnnfix

    keras: Any = pytest.importorskip("keras")
    if keras.backend.backend() != "torch":
        pytest.skip("models are modules of torch on that backend alone")
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    with pytest.raises(dnnfix.ConfigError, match=r"callbacks=\[dnnfix.keras.WatchCallback"):
        dnnfix.watch(model, log=None)
    assert getattr(dnnfix, "keras").WatchCallback(log=None) is not None  # noqa: B009 - found when it is asked for
