"""A regression loss compares a row of outputs per sample with class indices."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.api import (
    Candidate,
    Decline,
    Edit,
    Example,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    LossUse,
    Reject,
    Site,
    Subject,
    Symptom,
    Task,
    bypass,
    change_loss,
    extent,
    loss_uses,
    wrap_input,
)


class RegressionLossOnClasses(FixTemplate):
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
    message = "{loss} compares {width} outputs per sample with class indices"
    needs_run = True

    def detect(self, subject: Subject) -> Iterator[Finding]:
        for site, use in _pairs(subject):
            yield self.finding(
                site,
                symptom=Symptom.CRASH if use.crashed else Symptom.VIOLATION,
                confidence=0.9,
                evidence={"loss": use.name, "outputs": use.width, "labels": extent(use.target)},
                cause=use.cause,
                loss=use.name,
                width=use.width,
            )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        use = next((use for site, use in _pairs(subject) if site == finding.site), None)
        edits = _cross_entropy(subject, use) if use is not None else None
        if edits is None:
            yield Decline("neither the loss nor the output can be changed at one place")
            return
        yield self.candidate(finding, "Use cross-entropy over the classes", *edits, prior=0.85)

    examples = (
        Example(
            "Keras softmax with mse",
            runs=True,
            before="""\
import numpy as np
import keras

x, y = np.random.rand(30, 4), np.arange(30) % 3
model = keras.Sequential([keras.layers.Dense(3, activation='softmax')])
model.compile(optimizer="adam", loss="mse")
model.fit(x, y, batch_size=10, epochs=1, verbose=0)
""",
            after="""\
import numpy as np
import keras

x, y = np.random.rand(30, 4), np.arange(30) % 3
model = keras.Sequential([keras.layers.Dense(3, activation='softmax')])
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
model.fit(x, y, batch_size=10, epochs=1, verbose=0)
""",
        ),
        Example(
            "torch scores with MSELoss",
            runs=True,
            before="""\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 5))
criterion = nn.MSELoss()
labels = torch.arange(20) % 5
loss = criterion(model(torch.rand(20, 4)), labels)
loss.backward()
""",
            after="""\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 5))
criterion = nn.CrossEntropyLoss()
labels = torch.arange(20) % 5
loss = criterion(model(torch.rand(20, 4)), labels)
loss.backward()
""",
        ),
        Example(
            "torch softmax with a float column of labels",
            runs=True,
            before="""\
import torch
import torch.nn.functional as F
from torch import nn

model = nn.Sequential(nn.Linear(4, 3), nn.Softmax(dim=1))
labels = (torch.arange(12) % 3).float().unsqueeze(1)
loss = F.mse_loss(model(torch.rand(12, 4)), labels)
loss.backward()
""",
            after="""\
import torch
import torch.nn.functional as F
from torch import nn

model = nn.Sequential(nn.Linear(4, 3))
labels = (torch.arange(12) % 3).float().unsqueeze(1)
loss = F.cross_entropy(model(torch.rand(12, 4)), labels.squeeze(-1).long())
loss.backward()
""",
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


def _pairs(subject: Subject) -> Iterator[tuple[Site, LossUse]]:
    for use in loss_uses(subject):
        if use.facts.task is not Task.REGRESSION or use.width is None or use.width < 2:
            continue
        shape, target = use.prediction.shape, use.target
        if shape is None or len(shape) != 2 or target is None or target.high is None or not use.target_is_indices:
            continue
        if target.shape is None or target.shape[0] != shape[0] or not 1 <= target.high < use.width:
            continue
        if use.site is not None and not use.site.path:
            yield use.site, use


def _cross_entropy(subject: Subject, use: LossUse) -> tuple[Edit, ...] | None:
    maker, activation = use.producer, use.activation
    if use.call.name.startswith("keras."):
        softmax = activation is not None and activation.facts.rows_sum_to_one
        return change_loss(subject, use.call, "keras.losses.SparseCategoricalCrossentropy") if softmax else None
    loss = change_loss(subject, use.call, "torch.nn.CrossEntropyLoss")
    taken: tuple[Edit, ...] | None = ()
    if maker is not None and activation is not None and activation.facts.probabilities:
        taken = bypass(subject, maker)
    target = use.target
    code = ".squeeze(-1)" if target is not None and target.shape is not None and len(target.shape) == 2 else ""
    code += ".long()" if target is None or target.dtype != "int64" else ""
    labels = wrap_input(subject, use.call, 1, "", code) if code else ()
    return (*taken, *loss, *labels) if loss is not None and taken is not None and labels is not None else None
