"""Imports a framework and trains something tiny with it, so that forked trials find all of its modules in memory.

Importing alone is not enough: the first optimizer imports hundreds of modules more, and Keras builds its functions at
the first fit. What the training leaves behind (names, random state, sessions) is cleared, and everything stays on one
thread: a process that has run a parallel region cannot be forked safely. TensorFlow starts its threads with the first
operation, so it is imported and nothing more; that is where most of its time goes.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any, Dict, Iterable, Optional

from ..program import frameworks


def up(framework: Optional[str], modules: Iterable[str], trains: bool = True) -> Dict[str, Any]:
    """Import and warm `framework` and import the other `modules`; what is not installed is left out and named.

    Where it may not train, as torch would start threads for each card that it sees, what an optimizer imports is there all the same.
    """
    missing = []
    for name in [framework] if framework else []:
        try:
            importlib.import_module(name)
            _WARMED.get(name, _nothing)(trains)
            frameworks.probe_of(name)
            frameworks.versions([name])
        except ImportError as error:
            missing.append("%s: %s" % (name, error))
        except Exception as error:
            missing.append("%s could not be warmed: %s: %s" % (name, type(error).__name__, error))
    for name in modules:
        try:
            importlib.import_module(name)
        except Exception as error:
            missing.append("%s: %s: %s" % (name, type(error).__name__, error))
    return {"missing": missing, "pid": os.getpid(), "python": "%d.%d.%d" % sys.version_info[:3]}


def _nothing(trains: bool) -> None:
    """What else there is, is imported."""


def _tensorflow(trains: bool) -> None:
    """Have TensorFlow load what it loads by need, without an operation."""
    import tensorflow

    for part in (tensorflow.compat.v1, tensorflow.keras):
        dir(part)


def _torch(trains: bool) -> None:
    import torch

    torch.set_num_threads(1)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 2, 3, padding=1), torch.nn.BatchNorm2d(2), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Flatten(), torch.nn.Dropout(0.1), torch.nn.Linear(8, 3),
    )  # fmt: skip
    data = torch.utils.data.TensorDataset(torch.randn(4, 1, 4, 4), torch.tensor([0, 1, 2, 0]))
    for optimizer in (torch.optim.Adam(model.parameters()), torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)):
        for inputs, labels in torch.utils.data.DataLoader(data, batch_size=2, shuffle=True) if trains else ():
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), labels).backward()
            optimizer.step()
    model.eval()
    with torch.no_grad():
        model(torch.randn(1, 1, 4, 4)).argmax(1).numpy()


def _keras(trains: bool) -> None:
    import keras
    import numpy

    if keras.backend.backend() == "tensorflow":
        _tensorflow(trains)
        return
    if keras.backend.backend() == "torch":
        import torch

        torch.set_num_threads(1)
    if not trains:
        return
    inputs: Any = numpy.zeros((4, 4, 4, 1), "float32")
    labels = numpy.array([0, 1, 2, 0])
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((4, 4, 1)), layers.Conv2D(2, 3), layers.MaxPooling2D(2), layers.Flatten(),
            layers.BatchNormalization(), layers.Dropout(0.1), layers.Dense(3, activation="softmax"),
        ]
    )  # fmt: skip
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(inputs, labels, batch_size=2, epochs=1, verbose=0)
    model.evaluate(inputs, labels, verbose=0)
    model.predict(inputs, verbose=0)
    keras.utils.clear_session()


_WARMED = {"torch": _torch, "keras": _keras, "tensorflow": _tensorflow}
