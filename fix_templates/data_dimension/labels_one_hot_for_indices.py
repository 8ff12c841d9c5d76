"""Labels are rows with a one at their class where class numbers are wanted."""

from __future__ import annotations

from dnnfix.api import (
    Example,
    LabelTemplate,
    LossUse,
    Prediction,
    Reject,
    Repairs,
    Subject,
    Target,
    change_data,
    same_targets,
    with_numpy,
)


class LabelsOneHotForIndices(LabelTemplate):
    """Labels are rows with a one at their class where class numbers are wanted.

    Sparse categorical cross-entropy and the negative log-likelihood take one whole number per sample. A row per sample
    does not fit; its place of the one is the number that is wanted.

    Fix safety: unsafe. The labels get another shape, and everything else that reads them has to expect it.

    References: keras.losses.SparseCategoricalCrossentropy, torch.nn.NLLLoss, torch.nn.CrossEntropyLoss.
    """

    code = "DNF107"
    name = "labels-one-hot-for-indices"
    in_modules = True
    message = "{loss} takes class numbers and gets rows of shape {shape}"

    def misled(self, use: LossUse) -> bool:
        target, shape = use.target, use.prediction.shape
        if use.facts.target is not Target.INDICES or use.facts.prediction is Prediction.EMBEDDINGS:
            return False
        if target is None or target.shape is None or shape is None:
            return False
        rows = len(shape) == 2 and len(target.shape) == 2 and target.shape[1] == shape[1] and (shape[1] or 0) > 1
        if not rows or target.row_sums_to_one is not True or target.integral is False:
            return False
        soft = use.facts.soft_targets and (target.dtype or "").startswith("float")
        return not soft

    def repairs(self, subject: Subject, use: LossUse) -> Repairs:
        nodes = same_targets(subject, use)
        if use.in_keras:
            function, imports = with_numpy(subject, "argmax")
            edits = (*change_data(subject, nodes, f"{function}(", ", axis=-1)"), *imports)
        else:
            edits = change_data(subject, nodes, "", ".argmax(dim=1)")
        yield "Take the class number of every row", edits, 0.75

    examples = (
        Example(
            "rows for sparse cross-entropy",
            """\
import numpy as np
import keras

x, y = np.random.rand(21, 4), np.eye(3)[np.arange(21) % 3]
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
- model.fit(x, y, epochs=1, verbose=0)
+ model.fit(x, np.argmax(y, axis=-1), epochs=1, verbose=0)
""",
            runs=True,
        ),
        Example(
            "rows for the negative log-likelihood",
            """\
import torch
import torch.nn as nn

net = nn.Sequential(nn.Linear(5, 3), nn.LogSoftmax(dim=1))
rows = torch.eye(3)[torch.tensor([0, 2, 1, 1])]
- loss = nn.NLLLoss()(net(torch.rand(4, 5)), rows)
+ loss = nn.NLLLoss()(net(torch.rand(4, 5)), rows.argmax(dim=1))
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "probabilities as targets of cross-entropy",
            """\
import torch
from torch import nn

loss = nn.CrossEntropyLoss()(nn.Linear(5, 3)(torch.rand(4, 5)), torch.softmax(torch.rand(4, 3), dim=1))
""",
            runs=True,
        ),
        Reject(
            "rows for categorical cross-entropy",
            """\
import numpy as np
import keras

model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
model.compile(optimizer="adam", loss="categorical_crossentropy")
model.fit(np.random.rand(21, 4), np.eye(3)[np.arange(21) % 3], epochs=1, verbose=0)
""",
            runs=True,
        ),
    )
