"""A loss for classes or labels is given targets that are amounts."""

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
    change_loss,
    extent,
    loss_uses,
    outside,
    set_width,
    together,
    without_activation,
    wrap_input,
)


class ClassLossOnRealTargets(FaultTemplate[LossUse]):
    """Cross-entropy is computed against real numbers outside [0, 1], one per sample: the task is a regression.

    As probabilities such targets mean nothing: the loss has no minimum where prediction and target agree, becomes
    negative, or the program stops at their type. Squared error with an output free of activations is the usual choice.

    Fix safety: unsafe. The loss is another one and the output is no longer squeezed into [0, 1].

    References: torch.nn.MSELoss, keras.losses.MeanSquaredError, torch.nn.BCELoss (targets "between 0 and 1").
    """

    code = "DNF311"
    name = "class-loss-on-real-targets"
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.LOSS_FUNCTION
    in_modules = True
    message = "{loss} is given real targets from {range}"
    needs_run = True
    declined = "neither the loss nor the output can be changed at one place"

    def faults(self, subject: Subject) -> Faults[LossUse]:
        for use in loss_uses(subject):
            target = use.target
            if use.facts.task not in (Task.CLASSES, Task.LABELS) or target is None or target.integral is not False:
                continue
            if use.facts.target.value == "signs" or not outside(target, -BLUR, 1.0 + BLUR):
                continue
            if target.shape is not None and (len(target.shape) == 1 or target.shape[-1] == 1):
                yield use.site, use

    def report(self, site: Site, use: LossUse) -> Finding:
        targets = extent(use.target)
        return self.finding(
            site,
            symptom=use.symptom,
            confidence=0.9,
            evidence={"loss": use.name, "targets": targets, "units": use.width},
            cause=use.cause,
            loss=use.name,
            range=targets,
        )

    def repairs(self, subject: Subject, use: LossUse) -> Repairs:
        if use.producer is None:
            return
        output = together(
            without_activation(subject, use),
            set_width(subject, use.producer, 1) if use.width not in (1, None) else (),
        )
        if use.in_keras:
            edits = together(output, change_loss(subject, use.call, "keras.losses.MeanSquaredError"))
        else:
            edits = together(output, change_loss(subject, use.call, "torch.nn.MSELoss"), _like_output(subject, use))
        yield "Use the squared error of an output without activation", edits, 0.8

    examples = (
        Example(
            "Keras prices with binary cross-entropy",
            """\
import numpy as np
import keras

x = np.random.rand(32, 3).astype("float32")
y = 10 * x.sum(axis=1, keepdims=True) + 0.5
- model = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1, activation="sigmoid")])
- model.compile(optimizer="adam", loss="binary_crossentropy")
+ model = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)])
+ model.compile(optimizer="adam", loss="mean_squared_error")
model.fit(x, y, epochs=1, verbose=0)
""",
            runs=True,
        ),
        Example(
            "torch amounts with BCEWithLogitsLoss",
            """\
import torch
from torch import nn

torch.manual_seed(1)
model = nn.Linear(3, 1)
- criterion = nn.BCEWithLogitsLoss()
+ criterion = nn.MSELoss()
x = torch.randn(16, 3)
loss = criterion(model(x), 7 * x[:, :1])
loss.backward()
""",
            runs=True,
        ),
        Example(
            "torch amounts with cross-entropy",
            """\
import torch
from torch import nn

torch.manual_seed(1)
model = nn.Linear(3, 1)
- criterion = nn.CrossEntropyLoss()
+ criterion = nn.MSELoss()
x = torch.randn(16, 3)
price = 7 * x.sum(dim=1)
- loss = criterion(model(x), price)
+ loss = criterion(model(x), price.unsqueeze(1))
loss.backward()
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "soft labels",
            """\
import torch
from torch import nn
model = nn.Linear(3, 1)
loss = nn.BCEWithLogitsLoss()(model(torch.randn(16, 3)), torch.rand(16, 1))
loss.backward()
""",
            runs=True,
        ),
        Reject(
            "labels with noise on them",
            """\
import torch
from torch import nn
model = nn.Linear(3, 1)
labels = torch.ones(16, 1) + 0.05 * torch.rand(16, 1)
loss = nn.BCEWithLogitsLoss()(model(torch.randn(16, 3)), labels)
loss.backward()
""",
            runs=True,
        ),
        Reject(
            "amounts with the squared error",
            """\
import torch
from torch import nn
model = nn.Linear(3, 1)
loss = nn.MSELoss()(model(torch.randn(16, 3)), 9 * torch.rand(16, 1))
loss.backward()
""",
            runs=True,
        ),
    )


BLUR = 0.5
"""How far targets may lie outside [0, 1] and still be labels with noise on them, as some generative models use."""


def _like_output(subject: Subject, use: LossUse) -> tuple[Edit, ...] | None:
    """Edits that give the targets the axes and the dtype of the output."""
    shape, target = use.prediction.shape, use.target
    flat = shape is not None and target is not None and target.shape is not None and len(target.shape) == len(shape) - 1
    code = ".unsqueeze(1)" if flat else ""
    code += ".float()" if target is not None and target.dtype != use.prediction.dtype else ""
    return wrap_input(subject, use.call, 1, "", code) if code else ()
