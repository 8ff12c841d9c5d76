"""Labels are class numbers where one row per sample, with a one at its class, is wanted."""

from __future__ import annotations

from dnnfix.api import (
    Example,
    LabelTemplate,
    LossUse,
    Reject,
    Repairs,
    Subject,
    Target,
    change_data,
    same_targets,
    spell,
    whole,
)


class LabelsNotOneHot(LabelTemplate):
    """Labels are class numbers where one row per sample, with a one at its class, is wanted.

    A loss that compares the prediction of every class with a target of its own takes targets of the prediction's
    shape. With one number per sample the shapes do not meet, or the numbers are stretched over all classes.

    Fix safety: unsafe. The labels get another shape, and everything else that reads them has to expect it.

    References: keras.losses.CategoricalCrossentropy, keras.utils.to_categorical, torch.nn.functional.one_hot.
    """

    code = "DNF106"
    name = "labels-not-one-hot"
    in_modules = True
    message = "{loss} takes one row per label, of {classes} classes, and gets class numbers of shape {shape}"

    def misled(self, use: LossUse) -> bool:
        target, shape, width = use.target, use.prediction.shape, use.width
        if target is None or target.shape is None or shape is None or width is None:
            return False
        torch = use.in_torch and use.facts.target is Target.BINARY
        column = len(target.shape) == 2 and target.shape[1] == 1
        if not torch and use.facts.target is not Target.ONE_HOT:
            return False
        if len(shape) != 2 or width < 2 or (len(target.shape) != 1 and not column):
            return False
        if not whole(target) or target.low is None or target.high is None:
            return False
        return 0 <= target.low and target.high < width and (target.high > 1 or not torch)

    def repairs(self, subject: Subject, use: LossUse) -> Repairs:
        if use.in_keras or use.target is None:
            spelling = spell(subject, "keras.utils.to_categorical")
            after = f", {use.width})"
        else:
            spelling = spell(subject, "torch.nn.functional.one_hot")
            flat = ".squeeze(1)" if len(use.target.shape or ()) == 2 else ""
            long = "" if use.target.dtype == "int64" else ".long()"
            after = f"{flat}{long}, {use.width}).float()"
        edits = change_data(subject, same_targets(subject, use), f"{spelling.code}(", after)
        yield f"Give every label a row of {use.width} classes", (*edits, *spelling.imports), 0.8

    examples = (
        Example(
            "class numbers for categorical cross-entropy",
            """\
import numpy as np
import keras

x, y = np.random.rand(20, 4), np.random.randint(0, 3, 20)
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
model.compile(optimizer="adam", loss="categorical_crossentropy")
- model.fit(x, y, epochs=1, verbose=0)
+ model.fit(x, keras.utils.to_categorical(y, 3), epochs=1, verbose=0)
""",
            runs=True,
        ),
        Example(
            "labels of training and test data",
            """\
import numpy as np
from keras.models import Sequential
from keras.layers import Dense
from keras.utils import to_categorical

x_train, y_train = np.random.rand(20, 4), np.arange(20) % 3
model = Sequential()
model.add(Dense(3, activation="softmax", input_shape=(4,)))
model.compile(optimizer="adam", loss="categorical_crossentropy", metrics=["accuracy"])
+ y_train = to_categorical(y_train, 3)
model.fit(x_train, y_train, epochs=1, verbose=0)
model.evaluate(x_train, y_train, verbose=0)
""",
            runs=True,
        ),
        Example(
            "class numbers for a loss per class in torch",
            """\
import torch
import torch.nn as nn
import torch.nn.functional as F

net = nn.Linear(5, 4)
labels = torch.tensor([0, 3, 2, 1, 1, 0])
- loss = F.binary_cross_entropy_with_logits(net(torch.rand(6, 5)), labels)
+ loss = F.binary_cross_entropy_with_logits(net(torch.rand(6, 5)), F.one_hot(labels, 4).float())
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "class numbers for sparse cross-entropy",
            """\
import numpy as np
import keras

model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
model.fit(np.random.rand(20, 4), np.random.randint(0, 3, 20), epochs=1, verbose=0)
""",
            runs=True,
        ),
        Reject(
            "class numbers for cross-entropy in torch",
            """\
import torch
from torch import nn

loss = nn.CrossEntropyLoss()(nn.Linear(5, 4)(torch.rand(6, 5)), torch.tensor([0, 3, 2, 1, 1, 0]))
""",
            runs=True,
        ),
    )
