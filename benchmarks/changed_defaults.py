"""What changed defaults do to training: one small problem, once with the former default and once with that of today.

    python benchmarks/changed_defaults.py [--seeds 3] [--only NAME]

The numbers that `fix_templates/data/defaults.toml` calls measured are the means that this prints. It needs keras with one
of its backends (torch, unless `KERAS_BACKEND` names another), torch and scikit-learn. Nothing passes or fails here.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from statistics import mean
from typing import Any

import numpy as np
from _measure import Table, arguments

os.environ.setdefault("KERAS_BACKEND", "torch")

Measure = Callable[[int, bool], float]
MEASURES: dict[str, tuple[str, Measure]] = {}


def measure(unit: str) -> Callable[[Measure], Measure]:
    """Take a function of a seed, and of whether the former default is stated, into the table."""

    def kept(function: Measure) -> Measure:
        MEASURES[function.__name__] = (unit, function)
        return function

    return kept


def digits(seed: int) -> tuple[Any, Any, Any, Any]:
    """1,797 images of 8 x 8 pixels in ten classes, scaled to [0, 1], 1,297 of them to train with."""
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(x))
    x, y = (x[order] / 16.0).astype("float32"), y[order]
    return x[:1297], y[:1297], x[1297:], y[1297:]


def with_optimizer(seed: int, name: str, **stated: float) -> float:
    """Accuracy in percent on 500 images after 12 epochs in batches of 128."""
    import keras

    keras.utils.set_random_seed(seed)
    x, y, x_test, y_test = digits(seed)
    model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(64, "relu"), keras.layers.Dense(10, "softmax")])
    optimizer = getattr(keras.optimizers, name)(**stated)
    model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(x, y, batch_size=128, epochs=12, verbose=0)
    return 100 * float(model.evaluate(x_test, y_test, verbose=0)[1])


@measure("% accuracy")
def adadelta_learning_rate(seed: int, former: bool) -> float:
    """1.0, now 0.001."""
    return with_optimizer(seed, "Adadelta", **({"learning_rate": 1.0} if former else {}))


@measure("% accuracy")
def adagrad_learning_rate(seed: int, former: bool) -> float:
    """0.01 and sums from 0, now 0.001 and sums from 0.1."""
    return with_optimizer(
        seed, "Adagrad", **({"learning_rate": 0.01, "initial_accumulator_value": 0.0} if former else {})
    )


@measure("% accuracy")
def adamax_learning_rate(seed: int, former: bool) -> float:
    """0.002, now 0.001."""
    return with_optimizer(seed, "Adamax", **({"learning_rate": 0.002} if former else {}))


@measure("% accuracy")
def nadam_learning_rate(seed: int, former: bool) -> float:
    """0.002, now 0.001."""
    return with_optimizer(seed, "Nadam", **({"learning_rate": 0.002} if former else {}))


@measure("% accuracy")
def adam_epsilon(seed: int, former: bool) -> float:
    """1e-8, now 1e-7."""
    return with_optimizer(seed, "Adam", **({"epsilon": 1e-8} if former else {}))


@measure("% accuracy")
def rmsprop_epsilon(seed: int, former: bool) -> float:
    """1e-8, now 1e-7."""
    return with_optimizer(seed, "RMSprop", **({"epsilon": 1e-8} if former else {}))


@measure("% accuracy")
def adadelta_epsilon(seed: int, former: bool) -> float:
    """1e-8, now 1e-7."""
    return with_optimizer(seed, "Adadelta", learning_rate=1.0, **({"epsilon": 1e-8} if former else {}))


@measure("% accuracy")
def fit_epochs(seed: int, former: bool) -> float:
    """10, now 1."""
    import keras

    keras.utils.set_random_seed(seed)
    x, y, x_test, y_test = digits(seed)
    model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(64, "relu"), keras.layers.Dense(10, "softmax")])
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(x, y, verbose=0, **({"epochs": 10} if former else {}))
    return 100 * float(model.evaluate(x_test, y_test, verbose=0)[1])


def former_hard_sigmoid(x: Any) -> Any:
    """What Keras 1 and 2 called hard_sigmoid."""
    import keras

    return keras.ops.clip(0.2 * x + 0.5, 0.0, 1.0)


def recurrent(seed: int, name: str, **stated: Any) -> float:
    """Accuracy in percent on 500 images read row by row, after 10 epochs."""
    import keras

    keras.utils.set_random_seed(seed)
    x, y, x_test, y_test = digits(seed)
    layer = getattr(keras.layers, name)(32, **stated)
    model = keras.Sequential([keras.Input((8, 8)), layer, keras.layers.Dense(10, "softmax")])
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(x.reshape(-1, 8, 8), y, epochs=10, verbose=0)
    return 100 * float(model.evaluate(x_test.reshape(-1, 8, 8), y_test, verbose=0)[1])


@measure("% accuracy")
def lstm_recurrent_activation(seed: int, former: bool) -> float:
    """clip(0.2 x + 0.5, 0, 1), now the sigmoid."""
    return recurrent(seed, "LSTM", **({"recurrent_activation": former_hard_sigmoid} if former else {}))


@measure("% accuracy")
def gru_reset_after(seed: int, former: bool) -> float:
    """False, now True."""
    return recurrent(seed, "GRU", **({"reset_after": False} if former else {}))


def same_weights(seed: int, name: str, of_old: dict[str, Any]) -> float:
    """Largest change of an output, in thousandths, of a layer that was trained with the former default."""
    import keras

    keras.utils.set_random_seed(seed)
    x, y, x_test, _ = digits(seed)
    inputs = keras.Input((8, 8))
    layer = getattr(keras.layers, name)(32, **of_old)
    model = keras.Model(inputs, keras.layers.Dense(10, "softmax")(layer(inputs)))
    model.compile("adam", "sparse_categorical_crossentropy")
    model.fit(x.reshape(-1, 8, 8), y, epochs=10, verbose=0)
    other = getattr(keras.layers, name)(32)
    twin = keras.Model(inputs, keras.layers.Dense(10, "softmax")(other(inputs)))
    twin.set_weights(model.get_weights())
    x_test = x_test.reshape(-1, 8, 8)
    return 1000 * float(np.abs(twin.predict(x_test, verbose=0) - model.predict(x_test, verbose=0)).max())


@measure("thousandths of a probability")
def lstm_weights_of_before(seed: int, former: bool) -> float:
    """Weights trained with hard_sigmoid, run as today."""
    return 0.0 if former else same_weights(seed, "LSTM", {"recurrent_activation": former_hard_sigmoid})


@measure("standard deviation of outputs")
def tf_random_normal_initializer(seed: int, former: bool) -> float:
    """Stddev 1.0, now 0.05: the outputs of one layer of 100 inputs."""
    rng = np.random.default_rng(seed)
    return float((rng.normal(size=(500, 100)) @ rng.normal(scale=1.0 if former else 0.05, size=(100, 50))).std())


@measure("% accuracy")
def torch_dropout_training(seed: int, former: bool) -> float:
    """F.dropout that is not told: off, now on, while testing too."""
    import torch
    import torch.nn.functional as F

    torch.manual_seed(seed)
    x, y, x_test, y_test = (torch.from_numpy(a) for a in digits(seed))
    first, last = torch.nn.Linear(64, 64), torch.nn.Linear(64, 10)
    stated = {"training": False} if former else {}

    def forward(batch: Any) -> Any:
        return last(F.dropout(F.relu(first(batch)), **stated))

    optimizer = torch.optim.Adam([*first.parameters(), *last.parameters()], 1e-3)
    for _ in range(12):
        for rows in torch.randperm(len(x)).split(32):
            optimizer.zero_grad()
            F.cross_entropy(forward(x[rows]), y[rows]).backward()
            optimizer.step()
    return 100 * float((forward(x_test).argmax(1) == y_test).float().mean())


@measure("% of the range")
def torch_upsample_align_corners(seed: int, former: bool) -> float:
    """Mean change of a pixel by bilinear upsampling of 8 x 8 to 16 x 16: corners aligned, now not."""
    import torch
    import torch.nn.functional as F

    images = torch.from_numpy(digits(seed)[0][:200]).reshape(-1, 1, 8, 8)
    now = F.interpolate(images, size=16, mode="bilinear")
    return (
        0.0
        if former
        else 100 * float((F.interpolate(images, size=16, mode="bilinear", align_corners=True) - now).abs().mean())
    )


@measure("% of the range")
def torch_grid_sample_align_corners(seed: int, former: bool) -> float:
    """Mean change of a pixel by a grid of one's own that goes from -1 to 1: corners aligned, now not."""
    import torch
    import torch.nn.functional as F

    images = torch.from_numpy(digits(seed)[0][:200]).reshape(-1, 1, 8, 8)
    steps = torch.linspace(-1, 1, 8)
    grid = torch.stack(torch.meshgrid(steps, steps, indexing="xy"), -1).expand(len(images), -1, -1, -1)
    now = F.grid_sample(images, grid)
    return 0.0 if former else 100 * float((F.grid_sample(images, grid, align_corners=True) - now).abs().mean())


@measure("steps")
def torch_lbfgs_tolerance_grad(seed: int, former: bool) -> float:
    """1e-5, now 1e-7: evaluations until it stops, of 500."""
    import torch

    torch.manual_seed(seed)
    x = torch.randn(200, 10)
    y = x @ torch.randn(10, 1) + 0.1 * torch.randn(200, 1)
    layer, calls = torch.nn.Linear(10, 1), 0
    optimizer = torch.optim.LBFGS(layer.parameters(), max_iter=500, **({"tolerance_grad": 1e-5} if former else {}))

    def closure() -> Any:
        nonlocal calls
        calls += 1
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(layer(x), y)
        loss.backward()
        return loss

    optimizer.step(closure)
    return float(calls)


def of_sklearn(seed: int, module: str, name: str, **stated: Any) -> float:
    import importlib

    x, y, x_test, y_test = digits(seed)
    made = getattr(importlib.import_module(f"sklearn.{module}"), name)(**stated)
    return 100 * float(made.fit(x, y).score(x_test, y_test))


@measure("% accuracy")
def sklearn_forest_n_estimators(seed: int, former: bool) -> float:
    """10, now 100."""
    return of_sklearn(
        seed, "ensemble", "RandomForestClassifier", random_state=seed, **({"n_estimators": 10} if former else {})
    )


@measure("% accuracy")
def sklearn_svc_gamma(seed: int, former: bool) -> float:
    """auto, now scale."""
    return of_sklearn(seed, "svm", "SVC", **({"gamma": "auto"} if former else {}))


@measure("% accuracy")
def sklearn_sgd_max_iter(seed: int, former: bool) -> float:
    """5 without a tolerance, now 1,000 with one."""
    return of_sklearn(
        seed, "linear_model", "SGDClassifier", random_state=seed, **({"max_iter": 5, "tol": None} if former else {})
    )


@measure("inertia")
def sklearn_kmeans_n_init(seed: int, former: bool) -> float:
    """10, now 1."""
    from sklearn.cluster import KMeans

    return float(KMeans(10, random_state=seed, **({"n_init": 10} if former else {})).fit(digits(seed)[0]).inertia_)


@measure("% accuracy")
def keras_np_seed_spread(seed: int, former: bool) -> float:
    """Spread of accuracy over five runs seeded alike: set_random_seed, and np.random.seed alone."""
    import random

    import keras

    found = []
    for run in range(5):
        random.seed(100 * seed + run)  # a process of its own starts with a generator of its own
        np.random.seed(7)
        if former:
            keras.utils.set_random_seed(7)
        x, y, x_test, y_test = digits(0)
        model = keras.Sequential(
            [
                keras.Input((64,)),
                keras.layers.Dense(16, "relu"),
                keras.layers.Dropout(0.2),
                keras.layers.Dense(10, "softmax"),
            ]
        )
        model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
        model.fit(x, y, epochs=3, verbose=0)
        found.append(100 * float(model.evaluate(x_test, y_test, verbose=0)[1]))
    return max(found) - min(found)


def main() -> None:
    """Tell each number, now and then."""
    parser = arguments(__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="", help="part of a name")
    options = parser.parse_args()
    table = Table.of(options)
    table.title("what it comes to with the default of today")
    for name, (unit, function) in MEASURES.items():
        if options.only in name:
            then, now = (mean(function(seed, former) for seed in range(options.seeds)) for former in (True, False))
            table.row(name, now, None, f"{unit}; {then:.2f} with the former default")
    table.end()


if __name__ == "__main__":
    main()
