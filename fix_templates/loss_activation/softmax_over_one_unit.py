"""A softmax runs over an axis of size 1."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.api import (
    Call,
    Decline,
    Edit,
    Family,
    Fault,
    FixPattern,
    ReadTemplate,
    Subject,
    Symptom,
    layer_facts,
    loss_edits,
    network_facts,
    recipes,
    tensor_values,
)


class SoftmaxOverOneUnit(ReadTemplate):
    """The softmax over a single value is always 1: the output is constant and there is no gradient.

    It occurs in binary problems with one output unit, and in regressions copied from a classifier. One unit needs a
    sigmoid; a softmax needs one unit per class.

    Fix safety: unsafe. The output changes from the constant 1 to a probability (or a real value, or one value per
    class), and with it whatever reads that output.

    References: keras.activations.softmax, torch.nn.Softmax; Keras 3 warns of "a softmax over axis -1 of a tensor of
    shape (32, 1)".
    """

    code = "DNF302"
    name = "softmax-over-one-unit"
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.ACTIVATION
    silent = 10
    in_modules = True
    message = "{activation} runs over an axis of size 1, so its output is constant"
    triggers = ("softmax", "Softmax", "log_softmax", "LogSoftmax", "softmin")

    declined = "the softmax is inside the network, and the intended axis is not known"

    def read(self, subject: Subject) -> Iterator[Fault]:
        losses = {use.output_site: use for use in tensor_values.loss_uses(subject) if use.producer is not None}
        for call, activation in _constant(subject):
            site = call.made_at or call.site
            use = losses.get(site)
            inside = use is None and bool(call.outputs) and len(call.outputs[0].shape or ()) > 2
            yield Fault(
                site,
                {"activation": activation.name},
                (
                    *(() if inside else tuple(_ways(subject, call, use))),
                    Decline("" if inside else "the activation cannot be changed in one place"),
                ),
                {"loss": use.name} if use is not None else {},
                confidence=0.95,
                symptom=use.symptom if use is not None else Symptom.VIOLATION,
            )

    programs = """
=== example (runs): an Activation layer after the single unit
import numpy
from keras.models import Sequential
from keras.layers import Dense, Activation

net = Sequential()
net.add(Dense(6, input_dim=3, activation='relu'))
net.add(Dense(1))
- net.add(Activation('softmax'))
+ net.add(Activation('sigmoid'))
net.compile(loss='binary_crossentropy', optimizer='adam')
net.fit(numpy.random.rand(16, 3), numpy.random.randint(0, 2, (16, 1)), verbose=0)

=== example: torch module with BCELoss
import torch
from torch import nn

- model = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 1), nn.Softmax(dim=-1))
+ model = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 1), nn.Sigmoid())
criterion = nn.BCELoss()
loss = criterion(model(torch.rand(4, 6)), torch.ones(4, 1))

=== example: Keras regression with a softmax output
from tensorflow import keras
from tensorflow.keras import layers

inputs = keras.Input(shape=(3,))
hidden = layers.Dense(8, activation="relu")(inputs)
- price = layers.Dense(1, activation="softmax")(hidden)
+ price = layers.Dense(1)(hidden)
model = keras.Model(inputs, price)
model.compile(optimizer="rmsprop", loss="mse")

=== example: one unit for classes
from keras.layers import Input, Dense
from keras.models import Model

inputs = Input(shape=(5,))
- outputs = Dense(1, activation="softmax")(inputs)
+ outputs = Dense(1, activation="sigmoid")(inputs)
model = Model(inputs, outputs)
- model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
+ model.compile(optimizer="adam", loss="binary_crossentropy")

=== example (runs): function in forward, seen in a run
import torch
import torch.nn as nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(4, 1)

    def forward(self, x):
-         return F.softmax(self.out(x), dim=1)
+         return torch.sigmoid(self.out(x))

net = Net()
loss = F.binary_cross_entropy(net(torch.randn(8, 4)), torch.ones(8, 1))
loss.backward()

=== reject (runs): softmax over positions, one score each
import torch
import torch.nn as nn
import torch.nn.functional as F

class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = nn.Linear(16, 1)

    def forward(self, states):
        weights = F.softmax(self.score(states), dim=1)
        return (weights * states).sum(dim=1)

pooled = Attention()(torch.randn(2, 7, 16))

=== reject: two units
import keras
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, activation="softmax")])
model.compile(loss="categorical_crossentropy")

=== reject: one sigmoid unit
import keras
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1, activation="sigmoid")])
model.compile(loss="binary_crossentropy")
"""


def _ways(
    subject: Subject, call: Call, use: tensor_values.LossUse | None
) -> Iterator[tuple[str, tuple[Edit, ...] | None, float]]:
    """The repairs for a single unit, by the loss that reads it."""
    task = use.facts.task if use is not None else None
    sigmoid = "Use a sigmoid for the single unit", loss_edits.change_activation(subject, call, "sigmoid")
    if use is None:
        yield *sigmoid, 0.6
    elif task is network_facts.Task.REGRESSION:
        yield "Remove the activation of the single unit", recipes.bypass(subject, call), 0.9
        if tensor_values.binary(use.target):
            yield *sigmoid, 0.6
    elif task is network_facts.Task.LABELS and use.facts.prediction is network_facts.Prediction.LOGITS:
        yield "Pass the loss the logits", recipes.bypass(subject, call), 0.9
    elif task is network_facts.Task.LABELS:
        yield *sigmoid, 0.9
    elif task is network_facts.Task.CLASSES:
        yield from loss_edits.for_one_unit(subject, use)


def _constant(subject: Subject) -> Iterator[tuple[Call, network_facts.ActivationUse]]:
    """Softmax-like calls over the axis of a layer with one unit."""
    for call in subject.network.calls:
        use = network_facts.activation_of(call)
        if use is None or not use.facts.has_axis or not (use.facts.rows_sum_to_one or use.facts.log):
            continue
        facts = layer_facts(call)
        layer = call if facts is not None and facts.gives_axis is not None else None
        if layer is None and call.inputs:  # a function, or a layer that only applies the activation
            layer = network_facts.through(subject.network, call.inputs[0], frozenset())
            facts = layer_facts(layer) if layer is not None else None
        if layer is None or facts is None or facts.gives_axis is None or network_facts.stated_output(layer) != 1:
            continue
        shape = call.outputs[0].shape if call.outputs else None
        axis = use.axis
        if axis is not None and axis >= 0:
            axis = axis - len(shape) if shape is not None else None
        if axis == facts.gives_axis and (shape is None or shape[axis] in (1, None)):
            yield call, use
