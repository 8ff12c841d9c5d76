"""Raw scores go into a loss that takes probabilities."""

from __future__ import annotations

from dnnfix.api import (
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    LossUse,
    Prediction,
    Reject,
    Repairs,
    Site,
    Subject,
    Task,
    add_activation,
    change_loss,
    extent,
    loss_uses,
    set_from_logits,
    wrap_input,
)


class ScoresGivenAsProbabilities(FaultTemplate[LossUse]):
    """The output layer has no activation, and the loss takes probabilities.

    torch's `BCELoss` stops at values outside [0, 1]. Keras clips them: the loss then has no slope for scores below 0 or
    above 1, and divides by sums that may be negative. Either the activation is missing or the loss has to be told that
    it gets raw scores (`BCEWithLogitsLoss`, `from_logits=True`).

    Fix safety: unsafe. With an activation the model's output becomes a probability; with the other loss it stays a raw
    score, which readers of the output have to know.

    References: torch.nn.BCELoss, torch.nn.BCEWithLogitsLoss, keras.losses.BinaryCrossentropy (`from_logits`).
    """

    code = "DNF304"
    name = "scores-given-as-probabilities"
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.ACTIVATION
    in_modules = True
    message = "{loss} takes probabilities and is given {what}"
    triggers = (
        "BCELoss",
        "binary_cross_entropy",
        "binary_crossentropy",
        "BinaryCrossentropy",
        "categorical_crossentropy",
        "CategoricalCrossentropy",
        "sparse_categorical_crossentropy",
        "SparseCategoricalCrossentropy",
        "bce",
    )
    declined = "neither the loss nor the output can be changed at one place"

    def faults(self, subject: Subject) -> Faults[LossUse]:
        for use in loss_uses(subject):
            if use.facts.prediction is not Prediction.PROBABILITIES or not use.is_cross_entropy:
                continue
            if use.facts.task not in (Task.LABELS, Task.CLASSES):
                continue
            if not use.plain and not (use.bare and use.leaves_unit_range):
                continue
            if use.width != 1 or use.facts.task is not Task.CLASSES:
                yield use.output_site if use.plain else use.site, use

    def report(self, site: Site, use: LossUse) -> Finding:
        seen, values = use.leaves_unit_range, extent(use.prediction)
        return self.finding(
            site,
            symptom=use.symptom,
            confidence=0.95 if seen else 0.85,
            evidence={"loss": use.name, "range": values, "units": use.width},
            cause=use.cause,
            loss=use.name,
            what=f"values from {values}" if seen else "raw scores",
        )

    def repairs(self, subject: Subject, use: LossUse) -> Repairs:
        activation = "softmax" if use.facts.task is Task.CLASSES else "sigmoid"
        if use.producer is not None and use.plain:
            title = f"Take a {activation} of the output"
            yield title, add_activation(subject, use.producer, activation), 0.85 if use.in_keras else 0.7
        elif activation == "sigmoid" and use.in_torch:
            title = "Give the loss a sigmoid of the scores"
            yield title, wrap_input(subject, use.call, 0, "torch.sigmoid(", ")"), 0.5
        if use.in_keras and use.facts.has_from_logits:
            yield "Tell the loss that it gets raw scores", set_from_logits(subject, use.call, True), 0.7
        elif use.in_torch and use.facts.task is Task.LABELS:
            edits = change_loss(subject, use.call, "torch.nn.BCEWithLogitsLoss")
            yield "Use the loss that takes raw scores", edits, 0.75

    examples = (
        Example(
            "Keras classifier without softmax",
            """\
from keras.models import Sequential
from keras.layers import Dense

model = Sequential()
model.add(Dense(64, activation="relu", input_shape=(20,)))
- model.add(Dense(10))
+ model.add(Dense(10, activation="softmax"))
model.compile(optimizer="adam", loss="categorical_crossentropy", metrics=["accuracy"])
""",
        ),
        Example(
            "Keras loss told that it gets scores",
            """\
import keras
from keras import layers

inputs = keras.Input((6,))
model = keras.Model(inputs, layers.Dense(1)(layers.Dense(8, activation="relu")(inputs)))
- model.compile(loss=keras.losses.BinaryCrossentropy(), optimizer="sgd")
+ model.compile(loss=keras.losses.BinaryCrossentropy(from_logits=True), optimizer="sgd")
""",
        ),
        Example(
            "BCELoss on a linear layer",
            """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1))
- criterion = nn.BCELoss()
+ criterion = nn.BCEWithLogitsLoss()
loss = criterion(model(torch.rand(4, 5)), torch.ones(4, 1))
""",
        ),
        Example(
            "scores by hand, seen in a run",
            """\
import torch
import torch.nn.functional as F

torch.manual_seed(0)
w = torch.randn(5, 1, requires_grad=True)
x = torch.randn(16, 5)
- loss = F.binary_cross_entropy(x @ w, (x[:, :1] > 0).float())
+ loss = F.binary_cross_entropy_with_logits(x @ w, (x[:, :1] > 0).float())
loss.backward()
""",
            runs=True,
        ),
        Example(
            "sigmoid put behind the last layer",
            """\
import torch
import torch.nn as nn

class Judge(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(5, 8)
        self.b = nn.Linear(8, 1)

    def forward(self, x):
-         return self.b(torch.relu(self.a(x)))
+         return torch.sigmoid(self.b(torch.relu(self.a(x))))

loss = nn.BCELoss()(Judge()(torch.rand(4, 5)), torch.ones(4, 1))
""",
        ),
    )
    rejects = (
        Reject(
            "sigmoid before BCELoss",
            """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(5, 1), nn.Sigmoid())
loss = nn.BCELoss()(model(torch.rand(4, 5)), torch.ones(4, 1))
""",
            runs=True,
        ),
        Reject(
            "Keras scores with from_logits",
            """\
import keras
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
model.compile(loss=keras.losses.CategoricalCrossentropy(from_logits=True))
""",
        ),
        Reject(
            "activation as a layer of its own",
            """\
from keras.models import Sequential
from keras.layers import Dense, Activation

model = Sequential([Dense(3, input_shape=(4,)), Activation("softmax")])
model.compile(loss="sparse_categorical_crossentropy")
""",
        ),
    )
