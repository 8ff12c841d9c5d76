"""An activation stands before a loss that applies it itself."""

from __future__ import annotations

from dnnfix.api import (
    Decline,
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
    Symptom,
    Task,
    bypass,
    change_loss,
    loss_uses,
    set_from_logits,
)


class ActivationRepeatedByLoss(FaultTemplate[LossUse]):
    """The output goes through softmax or sigmoid although the loss takes raw scores (logits) and applies it itself.

    Applied twice, the function squeezes all scores into [0, 1]: differences between classes shrink to at most one unit
    before the loss sees them, the loss cannot fall below a bound well above zero, and gradients become small. The
    program runs and trains, only slowly and to a worse result.

    Fix safety: unsafe. The loss is computed from other values, which is the point; the model now gives raw scores, so
    code that reads its output as probabilities has to apply the activation itself.

    References: torch.nn.CrossEntropyLoss ("the input is expected to contain the unnormalized logits"),
    torch.nn.BCEWithLogitsLoss, keras.losses.CategoricalCrossentropy (`from_logits`).
    """

    code = "DNF301"
    name = "activation-repeated-by-loss"
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.ACTIVATION
    in_modules = True
    message = "the output of {activation} goes into {loss}, which applies it again"
    triggers = (
        "CrossEntropyLoss",
        "cross_entropy",
        "BCEWithLogitsLoss",
        "binary_cross_entropy_with_logits",
        "from_logits",
        "softmax_cross_entropy_with_logits",
        "sigmoid_cross_entropy_with_logits",
        "sparse_softmax_cross_entropy_with_logits",
    )
    declined = "the activation is not found again"

    def faults(self, subject: Subject) -> Faults[LossUse]:
        for use in loss_uses(subject):
            if use.facts.prediction is not Prediction.LOGITS or use.activation is None:
                continue
            if use.activation.facts.probabilities and not (use.rows_sum_to_one and use.width == 1):
                yield use.output_site, use

    def report(self, site: Site, use: LossUse) -> Finding:
        return self.finding(
            site,
            symptom=Symptom.VIOLATION,
            confidence=0.95,
            evidence={"activation": use.activation_name, "loss": use.name},
            cause=use.cause,
            activation=use.activation_name,
            loss=use.name,
        )

    def repairs(self, subject: Subject, use: LossUse) -> Repairs:
        name = use.activation_name
        if use.producer is not None:
            yield f"Give the loss the scores before {name}", bypass(subject, use.producer), 0.85
        title = f"Tell the loss that it gets the values of {name}"
        if use.in_keras and use.facts.has_from_logits:
            yield title, set_from_logits(subject, use.call, False), 0.7
        elif use.facts.task is Task.LABELS and name == "sigmoid" and use.in_torch:
            yield title, change_loss(subject, use.call, "torch.nn.BCELoss"), 0.7
        yield Decline(f"the {name} cannot be taken out at one place")

    examples = (
        Example(
            "softmax in forward before CrossEntropyLoss",
            """\
import torch
import torch.nn as nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 16)
        self.fc2 = nn.Linear(16, 3)

    def forward(self, x):
        x = F.relu(self.fc1(x))
-         return F.softmax(self.fc2(x), dim=1)  # class scores
+         return self.fc2(x)  # class scores

net = Net()
criterion = nn.CrossEntropyLoss()
loss = criterion(net(torch.randn(8, 4)), torch.randint(0, 3, (8,)))
""",
        ),
        Example(
            "Softmax as the last element of a Sequential",
            """\
import torch
from torch import nn

- model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 10), nn.Softmax(dim=1))
+ model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 10))
loss_fn = torch.nn.CrossEntropyLoss()
out = model(torch.randn(32, 20))
loss = loss_fn(out, torch.randint(0, 10, (32,)))
""",
        ),
        Example(
            "sigmoid layer before BCEWithLogitsLoss",
            """\
import torch
from torch import nn

class Classifier(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.hidden = nn.Linear(width, 8)
        self.out = nn.Linear(8, 1)
-         self.squash = nn.Sigmoid()

    def forward(self, batch):
        h = torch.tanh(self.hidden(batch))
-         return self.squash(self.out(h))
+         return self.out(h)

clf = Classifier(5)
loss = nn.BCEWithLogitsLoss()(clf(torch.rand(4, 5)), torch.ones(4, 1))
""",
        ),
        Example(
            "modules with names",
            """\
import torch
from torch import nn

def build(inputs, classes):
    model = nn.Sequential()
    model.add_module("linear", nn.Linear(inputs, classes, bias=False))
-     model.add_module("softmax", nn.Softmax(dim=1))
    return model

net = build(6, 3)
loss = nn.CrossEntropyLoss()(net(torch.rand(4, 6)), torch.tensor([0, 1, 2, 0]))
""",
        ),
        Example(
            "Keras loss told that it gets raw scores",
            """\
import tensorflow as tf

model = tf.keras.models.Sequential()
model.add(tf.keras.layers.Dense(12, activation="relu"))
model.add(tf.keras.layers.Dense(3, activation="softmax"))
- model.compile("adam", loss=tf.keras.losses.CategoricalCrossentropy(from_logits=True))
+ model.compile("adam", loss=tf.keras.losses.CategoricalCrossentropy())
""",
        ),
    )
    rejects = (
        Reject(
            "softmax only when predicting",
            """\
import torch
from torch import nn
import torch.nn.functional as F

model = nn.Linear(4, 3)
criterion = nn.CrossEntropyLoss()
logits = model(torch.randn(8, 4))
loss = criterion(logits, torch.randint(0, 3, (8,)))
probabilities = F.softmax(logits, dim=1)
""",
        ),
        Reject(
            "Keras softmax with the default loss",
            """\
import keras
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4, activation="softmax")])
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
""",
        ),
    )
