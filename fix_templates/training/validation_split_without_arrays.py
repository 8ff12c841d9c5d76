"""`validation_split` is passed to `fit` with a generator or a dataset, which cannot be split."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Crash,
    CrashTemplate,
    Family,
    Fault,
    FixPattern,
    RemoveArgument,
    Subject,
    argument_value,
    keyword_value,
)

WATCHERS = ("EarlyStopping", "ModelCheckpoint", "ReduceLROnPlateau")
"""Callbacks that watch the validation loss by default."""

SPLIT = 6
"""The index of `validation_split` among the positional arguments of `fit`."""


class ValidationSplitWithoutArrays(CrashTemplate):
    """`validation_split` is passed to `fit` with a generator, a `PyDataset`, a `DataLoader` or a `tf.data.Dataset`.

    Keras cuts the validation data off the end of arrays; data that come in batches cannot be cut before the training.
    The argument is removed, and the training uses all batches. Nothing is proposed where `y` is passed, since then
    arrays were meant, and where a callback or a key of the history needs the validation.

    Fix safety: unsafe. The program could not run before, and the training has no validation.

    References: keras.Model.fit (`validation_split`, `validation_data`).
    """

    code = "DNF723"
    name = "validation-split-without-arrays"
    formerly = ("split-of-no-arrays",)
    message = "validation_split expects arrays, got `{data}`, which yields batches"
    family = Family.TRAINING
    fix_pattern = FixPattern.API_CONTRACT
    kinds = frozenset({"ValueError"})
    confidence = 0.9

    def explain(self, subject: Subject, crash: Crash) -> Iterator[Fault]:
        node = subject.node(crash.site)
        message = crash.message
        if "validation_split" not in message or "only supported for" not in message or not isinstance(node, ast.Call):
            return
        split = argument_value(node, "validation_split", SPLIT)
        if split is None or argument_value(node, "y", 1) is not None or any(_listed(one) for one in node.args[:1]):
            return
        if _goes_by_validation(subject):
            return
        position = SPLIT if keyword_value(node, "validation_split") is None else None
        if position is not None and len(node.args) > SPLIT + 1:
            return  # later positional arguments would move
        data = ast.unparse(argument_value(node, "x", 0) or node)
        edit = RemoveArgument(subject.source.site(node), "validation_split", position)
        yield Fault(
            subject.source.site(split),
            {"data": data},
            (("Train on all batches, without validation_split", (edit,), 0.85),),
        )

    programs = """
=== example: a loader of torch in a function
import keras
import torch
from torch.utils.data import DataLoader, TensorDataset


def train(net, loader, share):
    net.compile("adam", "mse")
-     return net.fit(loader, validation_split=share, verbose=0)
+     return net.fit(loader, verbose=0)


x = torch.rand(12, 3)
train(
    keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)]),
    DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=4),
    0.25,
)

=== reject: the training is to end by its validation
import keras
import numpy as np


def batches():
    while True:
        x = np.random.rand(4, 3)
        yield x, x.sum(1)


net = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
net.compile("sgd", "mse")
stop = keras.callbacks.EarlyStopping(patience=2)
net.fit(batches(), steps_per_epoch=3, validation_split=0.2, callbacks=[stop], verbose=0)

=== reject: arrays are split
import keras
import numpy as np

net = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
net.compile("sgd", "mse")
net.fit(np.ones((8, 3)), np.ones(8), validation_split=0.25, verbose=0)

=== reject: lists where arrays are meant
import keras

net = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
net.compile("sgd", "mse")
net.fit([[1.0], [2.0], [3.0], [4.0]], [1.0, 2.0, 3.0, 4.0], validation_split=0.25, verbose=0)
"""


def _listed(data: ast.expr) -> bool:
    return isinstance(data, (ast.List, ast.Tuple, ast.Dict, ast.Starred))


def _goes_by_validation(subject: Subject) -> bool:
    """Whether a callback watches the validation, or the program reads one of its keys."""
    source = subject.source
    for call in source.all_calls:
        name = (source.qualified(call.func) or "").rpartition(".")[2]
        if name in WATCHERS and keyword_value(call, "monitor") is None:
            return True
    return any(isinstance(one.value, str) and one.value.startswith("val_") for one in source.nodes(ast.Constant))
