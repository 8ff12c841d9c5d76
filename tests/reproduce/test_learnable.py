"""Synthetic data is learnable: within a trial's budget a correct program learns it, and a faulty one shows its symptom.

Each program runs as in a training trial of the ladder, with the data put in by a scaffold. What it learned is the skill
that the ladder itself compares: 1 is perfect, about 0 is guessing.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
import time
from typing import Any

import numpy
import pytest

from dnnfix.records import RunOutcome, Scaffold
from dnnfix.reproduce import standin
from dnnfix.run.job import Budget, Job
from dnnfix.run.runner import Runner
from dnnfix.validate.laboratory import TRAINED_STEPS
from dnnfix.validate.learning import MARGIN, score

learnable: Any = importlib.import_module("dnnfix.reproduce.standins.learnable")


TORCH = """
import torch
from torch import nn
inputs, targets = torch.as_tensor(x), torch.as_tensor(y)
{model}
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(inputs, targets), batch_size=32, shuffle=True)
optimizer = {optimizer}
criterion = {loss}
for epoch in range(100):
    for batch, wanted in loader:
        {zero}
        loss = criterion(model(batch), wanted)
        loss.backward()
        optimizer.step()
"""
KERAS = """
import keras, numpy
from keras import layers
model = keras.Sequential([{model}])
model.compile(optimizer={optimizer}, loss={loss})
model.fit(x, y, batch_size=32, epochs=100, verbose=0)
"""
ADAM = "torch.optim.Adam(model.parameters(), lr=0.01)"
SLOW = "torch.optim.SGD(model.parameters(), lr=0.05)"
CONVOLUTION = (
    "model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(1352, 10){end})"
)
RECURRENT = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.LSTM(2, 16, batch_first=True)
        self.out = nn.Linear(16, 3)
    def forward(self, x):
        return self.out(self.layer(x)[0][:, -1])
model = Net()
"""

TORCH_PAIRS = {
    "images: softmax before cross-entropy": (
        "x, y = made_images(2000, (1, 28, 28), 10, dtype='float32')",
        {"model": CONVOLUTION.format(end=""), "loss": "nn.CrossEntropyLoss()", "optimizer": SLOW},
        {"model": CONVOLUTION.format(end=", nn.Softmax(dim=1)")},
    ),
    "images: gradients are never cleared": (
        "x, y = made_images(2000, (1, 28, 28), 10, dtype='float32')",
        {"model": CONVOLUTION.format(end=""), "loss": "nn.CrossEntropyLoss()"},
        {"zero": "pass", "optimizer": "torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)"},
    ),
    "classes of a table: no activation between the layers": (
        "x, y = made_table(1000, 4, 3)",
        {"model": "model = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 3))", "loss": "nn.CrossEntropyLoss()"},
        {"model": "model = nn.Sequential(nn.Linear(4, 32), nn.Linear(32, 3))"},
    ),
    "regression: the target broadcasts": (
        "x, y = made_regression(1000, 13)",
        {"model": "model = nn.Sequential(nn.Linear(13, 32), nn.ReLU(), nn.Linear(32, 1))", "loss": "nn.MSELoss()"},
        {"model": "targets = targets.flatten()\nmodel = nn.Sequential(nn.Linear(13, 32), nn.ReLU(), nn.Linear(32, 1))"},
    ),
    "several labels at once: the update is left out for most layers": (
        "x, y = made_multilabel(1000, 20, 5)\ny = y.astype('float32')",
        {"model": "model = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 5))", "loss": "nn.BCEWithLogitsLoss()"},
        {"optimizer": "torch.optim.SGD([model[2].bias], lr=0.01)"},
    ),
    "sequences: the optimizer holds another network": (
        "x, y = made_sequences(1000, 20, 2, 3)",
        {"model": RECURRENT, "loss": "nn.CrossEntropyLoss()"},
        {"optimizer": "torch.optim.Adam(Net().parameters(), lr=0.01)"},
    ),
}  # fmt: skip

DENSE = "keras.Input(({features},)), layers.Dense(32, activation='relu'), layers.Dense({units}, activation={end})"
EMBEDDED = "layers.Embedding(2000, 16), layers.GlobalAveragePooling1D(), layers.Dense(1, activation={end})"
KERAS_PAIRS = {
    "table of two classes: softmax over one unit": (
        "x, y = made_table(1000, 8, 2)",
        {"model": DENSE.format(features=8, units=1, end="'sigmoid'"), "loss": "'binary_crossentropy'"},
        {"model": DENSE.format(features=8, units=1, end="'softmax'")},
    ),
    "table of classes: relu where softmax belongs": (
        "x, y = made_table(1000, 8, 4)\ny = made_one_hot(y)",
        {"model": DENSE.format(features=8, units=4, end="'softmax'"), "loss": "'categorical_crossentropy'"},
        {"model": DENSE.format(features=8, units=4, end="'relu'")},
    ),
    "images: steps that are far too large": (
        "x, y = made_images(2000, (28, 28, 1), 10)\nx = x.astype('float32') / 255",
        {"model": "keras.Input((28, 28, 1)), layers.Flatten(), layers.Dense(64, activation='relu'), "
                  "layers.Dense(10, activation='softmax')", "loss": "'sparse_categorical_crossentropy'"},
        {"optimizer": "keras.optimizers.SGD(learning_rate=10.0)"},
    ),
    "text as tokens: softmax over one unit": (
        "x, y = made_tokens(1000, 40, 2000, 2)",
        {"model": EMBEDDED.format(end="'sigmoid'"), "loss": "'binary_crossentropy'",
         "optimizer": "keras.optimizers.Adam(0.05)"},
        {"model": EMBEDDED.format(end="'softmax'")},
    ),
    "raw text, counted: zeros for weights, and frozen": (
        "texts, y = made_text(1000, 3)\nwords = sorted(set(' '.join(texts).split()))\nimport numpy\n"
        + "x = numpy.array([[line.split().count(w) for w in words] for line in texts], 'float32')",
        {"model": "layers.Dense(16, activation='relu'), layers.Dense(3, activation='softmax')",
         "loss": "'sparse_categorical_crossentropy'"},
        {"model": "layers.Dense(16, activation='relu', trainable=False), layers.Dense(3, activation='softmax', "
                  "kernel_initializer='zeros', trainable=False)"},
    ),
}  # fmt: skip


def skill(runner: Runner, program: str, data: str) -> float:
    """What the last quarter of a training trial knows of the data."""
    made = [name for name in dir(learnable) if f"{name}(" in data]
    scaffold = Scaffold(start=f"{standin.text(made)}\n\n{data}")
    trace = runner.run(Job("program.py", program.encode(), 0, Budget(TRAINED_STEPS), record_steps=0, scaffold=scaffold))
    assert trace.outcome in (RunOutcome.FINISHED, RunOutcome.BUDGET), (trace.detail, trace.crash)
    learned = score(trace)
    assert learned is not None and learned.yardstick == "skill"
    return learned.value


@pytest.mark.parametrize("name", TORCH_PAIRS)
def test_a_torch_program_learns_and_its_faulty_twin_does_not(name: str, torch_runner: Runner) -> None:
    data, right, fault = TORCH_PAIRS[name]
    right = {"optimizer": ADAM, "zero": "optimizer.zero_grad()", **right}
    check(torch_runner, data, TORCH.format(**right), TORCH.format(**{**right, **fault}))


@pytest.mark.parametrize("name", KERAS_PAIRS)
def test_a_keras_program_learns_and_its_faulty_twin_does_not(name: str, keras_runner: Runner) -> None:
    data, right, fault = KERAS_PAIRS[name]
    right = {"optimizer": "keras.optimizers.Adam(0.01)", **right}
    check(keras_runner, data, KERAS.format(**right), KERAS.format(**{**right, **fault}))


def check(runner: Runner, data: str, right: str, wrong: str) -> None:
    learned, symptom = skill(runner, right, data), skill(runner, wrong, data)
    assert learned > 0.5
    assert learned - symptom > 3 * MARGIN


def test_parts_follow_one_rule_and_seeds_do_not() -> None:
    x, y = learnable.made_images(500, (12, 12), 4)
    centres = numpy.stack([x[y == kind].mean(axis=0) for kind in range(4)])

    def recognized(seed: int) -> float:
        images, labels = learnable.made_images(200, (12, 12), 4, seed=seed, part=1)
        distances = ((images[:, None] - centres) ** 2).sum(axis=(2, 3))
        return float((distances.argmin(axis=1) == labels).mean())

    assert recognized(0) > 0.9
    assert recognized(1) < 0.6


@pytest.mark.parametrize("shape", [(28, 28), (28, 28, 1), (1, 28, 28), (784,), (3, 16, 16), (8, 8, 8, 1), (5,)])
def test_images_of_any_shape(shape: tuple[int, ...]) -> None:
    x, y = learnable.made_images(50, shape, 5)
    assert x.shape == (50, *shape) and x.dtype == "uint8" and x.max() > 127
    assert sorted(set(y)) == [0, 1, 2, 3, 4]
    scaled = learnable.made_images(50, shape, 5, dtype="float32")[0]
    assert scaled.dtype == "float32" and 0 <= scaled.min() and 0.5 < scaled.max() <= 1


def test_whole_data_sets_are_made_in_a_moment() -> None:
    begun = time.process_time()
    assert learnable.made_images(60000, (28, 28))[0].shape == (60000, 28, 28)
    assert learnable.made_images(50000, (32, 32, 3))[0].shape == (50000, 32, 32, 3)
    assert time.process_time() - begun < 2


def test_the_programs_own_random_numbers_are_not_touched() -> None:
    numpy.random.seed(0)
    expected = numpy.random.rand()
    numpy.random.seed(0)
    learnable.made_table(10, 3)
    learnable.made_tokens(10, 5, ragged=True)
    learnable.made_running_text(100)
    assert numpy.random.rand() == expected


def test_labels_for_data_that_is_there_follow_from_it() -> None:
    x = numpy.random.RandomState(0).normal(size=(300, 6))
    y = learnable.made_targets(x, 3)
    assert [list(y).count(kind) for kind in range(3)] == [100, 100, 100]
    design = numpy.c_[x, numpy.ones(300)]
    guess = design @ numpy.linalg.lstsq(design, y, rcond=None)[0]
    assert numpy.corrcoef(guess, y)[0, 1] > 0.8
    assert learnable.made_targets(x, 0, dtype="float32").shape == (300, 1)


def test_masks_are_where_the_images_are_bright() -> None:
    images, masks = learnable.made_masks(10, (3, 32, 32), (1, 32, 32))
    assert images.shape == (10, 3, 32, 32) and masks.shape == (10, 1, 32, 32)
    assert images.mean(axis=1, keepdims=True)[masks == 1].min() > images.mean(axis=1, keepdims=True)[masks == 0].max()


def test_the_text_of_a_stand_in_stands_alone() -> None:
    program = f"{standin.text(['made_text'])}\nlines, labels = made_text(6, 3)\nprint(len(lines), sorted(set(labels.tolist())))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "6 [0, 1, 2]\n"
