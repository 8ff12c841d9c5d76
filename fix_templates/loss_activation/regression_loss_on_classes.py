"""A regression loss compares a row of outputs per sample with class indices."""

from __future__ import annotations

from dnnfix.api import (
    Edit,
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    LossUse,
    Reject,
    Repairs,
    Site,
    Subject,
    Task,
    bypass,
    change_loss,
    extent,
    loss_uses,
    together,
    wrap_input,
)


class RegressionLossOnClasses(FaultTemplate[LossUse]):
    """A squared or absolute error is taken between one output per class and the indices of the classes.

    Indices are names, not amounts: the error says that class 2 is twice as far from class 0 as class 1 is. The shapes do
    not meet either: the index is compared with every output of its sample, or with those of other samples, or the
    program stops. Cross-entropy is the loss for one output per class.

    Fix safety: unsafe. The loss is another one; the outputs become scores (torch) or stay probabilities (Keras).

    References: torch.nn.CrossEntropyLoss, keras.losses.SparseCategoricalCrossentropy.
    """

    code = "DNF310"
    name = "regression-loss-on-classes"
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.LOSS_FUNCTION
    in_modules = True
    message = "{loss} compares {width} outputs per sample with class indices"
    needs_run = True
    declined = "neither the loss nor the output can be changed at one place"

    def faults(self, subject: Subject) -> Faults[LossUse]:
        for use in loss_uses(subject):
            if use.facts.task is not Task.REGRESSION or use.width is None or use.width < 2:
                continue
            shape, target = use.prediction.shape, use.target
            if shape is None or len(shape) != 2 or target is None or target.high is None or not use.target_is_indices:
                continue
            if target.shape is not None and target.shape[0] == shape[0] and 1 <= target.high < use.width:
                yield use.site, use

    def report(self, site: Site, use: LossUse) -> Finding:
        return self.finding(
            site,
            symptom=use.symptom,
            confidence=0.9,
            evidence={"loss": use.name, "outputs": use.width, "labels": extent(use.target)},
            cause=use.cause,
            loss=use.name,
            width=use.width,
        )

    def repairs(self, subject: Subject, use: LossUse) -> Repairs:
        title = "Use cross-entropy over the classes"
        if use.in_keras:
            if use.rows_sum_to_one:
                yield title, change_loss(subject, use.call, "keras.losses.SparseCategoricalCrossentropy"), 0.85
            return
        scores: tuple[Edit, ...] | None = ()
        if use.producer is not None and use.activation is not None and use.activation.facts.probabilities:
            scores = bypass(subject, use.producer)
        loss = change_loss(subject, use.call, "torch.nn.CrossEntropyLoss")
        target = use.target
        code = ".squeeze(-1)" if target is not None and target.shape is not None and len(target.shape) == 2 else ""
        code += ".long()" if target is None or target.dtype != "int64" else ""
        yield title, together(scores, loss, wrap_input(subject, use.call, 1, "", code) if code else ()), 0.85

    examples = (
        Example(
            "Keras softmax with mse",
            """\
import numpy as np
import keras

x, y = np.random.rand(30, 4), np.arange(30) % 3
model = keras.Sequential([keras.layers.Dense(3, activation='softmax')])
- model.compile(optimizer="adam", loss="mse")
+ model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
model.fit(x, y, batch_size=10, epochs=1, verbose=0)
""",
            runs=True,
        ),
        Example(
            "torch scores with MSELoss",
            """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 5))
- criterion = nn.MSELoss()
+ criterion = nn.CrossEntropyLoss()
labels = torch.arange(20) % 5
loss = criterion(model(torch.rand(20, 4)), labels)
loss.backward()
""",
            runs=True,
        ),
        Example(
            "torch softmax with a float column of labels",
            """\
import torch
import torch.nn.functional as F
from torch import nn

- model = nn.Sequential(nn.Linear(4, 3), nn.Softmax(dim=1))
+ model = nn.Sequential(nn.Linear(4, 3))
labels = (torch.arange(12) % 3).float().unsqueeze(1)
- loss = F.mse_loss(model(torch.rand(12, 4)), labels)
+ loss = F.cross_entropy(model(torch.rand(12, 4)), labels.squeeze(-1).long())
loss.backward()
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "several amounts per sample",
            """\
import torch
from torch import nn
model = nn.Linear(4, 3)
loss = nn.MSELoss()(model(torch.rand(20, 4)), torch.rand(20, 3))
loss.backward()
""",
            runs=True,
        ),
        Reject(
            "whole amounts with one output",
            """\
import torch
from torch import nn
model = nn.Linear(4, 1)
loss = nn.MSELoss()(model(torch.rand(20, 4)), torch.arange(20).float().unsqueeze(1))
loss.backward()
""",
            runs=True,
        ),
    )
