"""The output's activation does not give what a loss of probabilities takes."""

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
    Target,
    Task,
    change_activation,
    change_loss,
    loss_uses,
)


class OutputNotADistribution(FaultTemplate[LossUse]):
    """A sigmoid, tanh or ReLU output goes into a cross-entropy that takes other probabilities.

    Categorical cross-entropy takes a distribution over classes: each sigmoid is a probability by itself, and their sum
    is anything. Sparse categorical cross-entropy in Keras does not even divide by the sum, so that the best answer is 1
    for every class. Binary cross-entropy takes values in [0, 1], which a tanh or ReLU leaves.

    Fix safety: unsafe. The model's outputs change to probabilities, and with them whatever reads them.

    References: keras.losses.SparseCategoricalCrossentropy, keras.activations.softmax, torch.nn.BCELoss.
    """

    code = "DNF307"
    name = "output-not-a-distribution"
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.ACTIVATION
    in_modules = True
    message = "{loss} takes {wanted}, and the output is a {activation}"
    triggers = (
        "categorical_crossentropy",
        "CategoricalCrossentropy",
        "sparse_categorical_crossentropy",
        "SparseCategoricalCrossentropy",
        "binary_crossentropy",
        "BinaryCrossentropy",
        "BCELoss",
        "binary_cross_entropy",
        "bce",
    )
    declined = "the activation cannot be changed at one place"

    def faults(self, subject: Subject) -> Faults[LossUse]:
        for use in loss_uses(subject):
            if use.facts.prediction is not Prediction.PROBABILITIES or use.bare or use.rows_sum_to_one:
                continue
            classes = use.facts.task is Task.CLASSES and use.width is not None and use.width > 1
            probabilities = use.activation is not None and use.activation.facts.probabilities
            labels = use.facts.task is Task.LABELS and use.is_cross_entropy
            if classes or (labels and not probabilities):
                yield use.output_site, use

    def report(self, site: Site, use: LossUse) -> Finding:
        classes = use.facts.task is Task.CLASSES
        return self.finding(
            site,
            symptom=use.symptom,
            confidence=0.9,
            evidence={"loss": use.name, "activation": use.activation_name, "units": use.width},
            cause=use.cause,
            loss=use.name,
            wanted="a distribution over classes" if classes else "probabilities",
            activation=use.activation_name,
        )

    def repairs(self, subject: Subject, use: LossUse) -> Repairs:
        maker = use.producer
        if maker is None:
            return
        if use.facts.task is Task.LABELS:
            yield "Take a sigmoid of the output", change_activation(subject, maker, "sigmoid"), 0.85
            return
        if not use.target_is_multi_hot:
            yield "Take a softmax over the classes", change_activation(subject, maker, "softmax"), 0.85
        if use.activation_name == "sigmoid" and use.facts.target is Target.ONE_HOT and not use.target_is_one_hot:
            edits = change_loss(subject, use.call, "keras.losses.BinaryCrossentropy")
            yield "Judge each label by itself", edits, 0.85 if use.target_is_multi_hot else 0.4

    examples = (
        Example(
            "ReLU layer before categorical cross-entropy",
            """\
import keras
from keras import layers

model = keras.Sequential([
    keras.Input((7,)),
    layers.Dense(5),
-     layers.Activation("relu"),
+     layers.Activation("softmax"),
])
model.compile(loss=keras.losses.CategoricalCrossentropy(), optimizer="sgd")
""",
        ),
        Example(
            "tanh before BCELoss",
            """\
import torch
from torch import nn

- model = nn.Sequential(nn.Linear(5, 1), nn.Tanh())
+ model = nn.Sequential(nn.Linear(5, 1), nn.Sigmoid())
loss = nn.BCELoss()(model(torch.rand(4, 5)), torch.ones(4, 1))
""",
        ),
        Example(
            "several labels with the loss for classes",
            """\
import keras

model = keras.Sequential([keras.Input((7,)), keras.layers.Dense(5, activation="sigmoid")])
- model.compile(loss="categorical_crossentropy", optimizer="sgd")
+ model.compile(loss="binary_crossentropy", optimizer="sgd")
""",
        ),
    )
    rejects = (
        Reject(
            "a generator that is compiled for its predictions only",
            """\
import numpy as np
from keras.models import Sequential
from keras.layers import Dense


def train(images):
    generator = Sequential([Dense(64, activation="relu", input_dim=10), Dense(784, activation="tanh")])
    judge = Sequential([Dense(64, activation="relu", input_dim=784), Dense(1, activation="sigmoid")])
    both = Sequential([generator, judge])
    generator.compile(loss="binary_crossentropy", optimizer="sgd")
    both.compile(loss="binary_crossentropy", optimizer="sgd")
    judge.compile(loss="binary_crossentropy", optimizer="sgd")
    for _ in range(100):
        noise = np.random.uniform(-1, 1, (32, 10))
        made = generator.predict(noise)
        judge.train_on_batch(np.concatenate([images[:32], made]), np.array([1] * 32 + [0] * 32))
        both.train_on_batch(noise, np.ones(32))
""",
        ),
        Reject(
            "softmax",
            """\
import keras
model = keras.Sequential([keras.Input((7,)), keras.layers.Dense(5, activation="softmax")])
model.compile(loss="categorical_crossentropy", optimizer="sgd")
""",
        ),
        Reject(
            "raw scores said to be so",
            """\
import keras
model = keras.Sequential([keras.Input((7,)), keras.layers.Dense(5, activation="relu"), keras.layers.Dense(5)])
model.compile(loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True), optimizer="sgd")
""",
        ),
    )
