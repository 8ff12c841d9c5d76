"""A loss for independent labels is used where exactly one class is right."""

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
    change_activation,
    change_loss,
    loss_uses,
    together,
    without_activation,
)


class BinaryLossOnClasses(FaultTemplate[LossUse]):
    """Binary cross-entropy is computed on a softmax over several classes, or against class indices.

    It asks of each class by itself whether it applies. With a softmax the outputs are not independent, the many classes
    that do not apply outweigh the one that does, and Keras reports the accuracy per class, which looks high from the
    start. Against class indices the shapes do not even meet. One class out of several goes with categorical
    cross-entropy; several labels at once go with a sigmoid.

    Fix safety: unsafe. The loss has another value; with a sigmoid the outputs no longer sum to one.

    References: keras.losses.CategoricalCrossentropy, keras.losses.BinaryCrossentropy, torch.nn.CrossEntropyLoss.
    """

    code = "DNF306"
    name = "binary-loss-on-classes"
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.LOSS_FUNCTION
    in_modules = True
    message = "{loss} judges each output by itself, but {what}"
    triggers = (
        "binary_crossentropy",
        "BinaryCrossentropy",
        "BCELoss",
        "binary_cross_entropy",
        "BCEWithLogitsLoss",
        "binary_cross_entropy_with_logits",
        "bce",
    )
    declined = "neither the loss nor the output can be changed at one place"

    def faults(self, subject: Subject) -> Faults[LossUse]:
        for use in loss_uses(subject):
            width = use.width
            if use.facts.task is not Task.LABELS or not use.is_cross_entropy or width is None or width < 2:
                continue
            if use.rows_sum_to_one or (use.target_is_indices and _several(use)):
                yield use.site, use

    def report(self, site: Site, use: LossUse) -> Finding:
        what = "its input is a softmax over" if use.rows_sum_to_one else "the targets are indices of"
        what = f"{what} {use.width} classes"
        two = use.width == 2 and not use.target_is_indices
        return self.finding(
            site,
            symptom=use.symptom,
            confidence=0.6 if two else 0.9,
            evidence={"loss": use.name, "classes": use.width, "what": what},
            cause=use.cause,
            loss=use.name,
            what=what,
        )

    def repairs(self, subject: Subject, use: LossUse) -> Repairs:
        maker = use.producer
        probabilities = use.facts.prediction is Prediction.PROBABILITIES
        chosen = use.target_is_indices or use.target_is_one_hot
        if maker is not None and use.rows_sum_to_one and probabilities and not chosen:
            sigmoid = change_activation(subject, maker, "sigmoid")
            yield "Judge each class by a sigmoid of its own", sigmoid, 0.85 if use.target_is_multi_hot else 0.45
        if use.target_is_multi_hot:
            return
        if use.in_keras:
            kind = "SparseCategoricalCrossentropy" if use.target_is_indices else "CategoricalCrossentropy"
            edits = change_loss(subject, use.call, f"keras.losses.{kind}")
            if maker is not None and probabilities and not use.rows_sum_to_one:
                softmax = change_activation(subject, maker, "softmax") or add_activation(subject, maker, "softmax")
                edits = together(edits, softmax)
            yield "Use the loss for one class out of several", edits, 0.85
        else:
            edits = change_loss(subject, use.call, "torch.nn.CrossEntropyLoss")
            yield "Use cross-entropy over the classes", together(without_activation(subject, use), edits), 0.8

    examples = (
        Example(
            "Keras softmax over ten classes",
            """\
from keras.models import Sequential
from keras.layers import Dense

model = Sequential()
model.add(Dense(32, activation="relu", input_shape=(20,)))
model.add(Dense(10, activation="softmax"))
- model.compile(loss="binary_crossentropy", optimizer="adam", metrics=["accuracy"])
+ model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
""",
        ),
        Example(
            "several labels at once",
            """\
import tensorflow as tf

inputs = tf.keras.Input((12,))
- tags = tf.keras.layers.Dense(5, activation='softmax')(inputs)
+ tags = tf.keras.layers.Dense(5, activation='sigmoid')(inputs)
model = tf.keras.Model(inputs, tags)
model.compile(optimizer='adam', loss=tf.keras.losses.BinaryCrossentropy())
""",
        ),
        Example(
            "torch softmax with BCELoss and one-hot targets",
            """\
import torch
import torch.nn.functional as F
from torch import nn

- model = nn.Sequential(nn.Linear(4, 3), nn.Softmax(dim=1))
- criterion = nn.BCELoss()
+ model = nn.Sequential(nn.Linear(4, 3))
+ criterion = nn.CrossEntropyLoss()
y = F.one_hot(torch.tensor([0, 1, 2]), 3).float()
loss = criterion(model(torch.rand(3, 4)), y)
""",
        ),
        Example(
            "class indices against a loss for labels",
            """\
import torch
from torch import nn

model = nn.Linear(4, 3)
- criterion = nn.BCEWithLogitsLoss()
+ criterion = nn.CrossEntropyLoss()
loss = criterion(model(torch.rand(6, 4)), torch.tensor([0, 1, 2, 0, 1, 2]))
loss.backward()
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "several labels with sigmoids",
            """\
import keras
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(6, activation="sigmoid")])
model.compile(loss="binary_crossentropy")
""",
        ),
        Reject(
            "two classes with one sigmoid",
            """\
import torch
from torch import nn
model = nn.Sequential(nn.Linear(4, 1), nn.Sigmoid())
loss = nn.BCELoss()(model(torch.rand(6, 4)), torch.tensor([[0.0], [1.0]] * 3))
""",
            runs=True,
        ),
    )


def _several(use: LossUse) -> bool:
    """Whether the targets name more than two classes, none of them beyond the output's."""
    high = use.target.high if use.target is not None else None
    return use.width is not None and use.crashed and (high is None or 1 <= high < use.width)
