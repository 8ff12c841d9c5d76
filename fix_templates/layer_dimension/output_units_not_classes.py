"""The last layer has another number of units than there are classes, or values per target."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.api import (
    Call,
    Family,
    Fault,
    FixPattern,
    ReadTemplate,
    Subject,
    Symptom,
    crashes,
    layer_facts,
    network_facts,
    short,
    size_edits,
    tensor_shapes,
)


class OutputUnitsNotClasses(ReadTemplate):
    """The last layer has another number of units than there are classes.

    A label without its own unit is out of bounds for the loss, and one-hot targets of another width cannot be compared
    with the output: the loss crashes.

    Fix safety: unsafe. The output gets another width; code that reads its columns sees other columns.

    References: torch.nn.CrossEntropyLoss ("class indices in the range [0, C)"), keras.losses.CategoricalCrossentropy
    ("`y_pred` and `y_true` of the same shape"), keras.losses.SparseCategoricalCrossentropy.
    """

    code = "DNF208"
    name = "output-units-not-classes"
    family = Family.LAYER_DIMENSION
    fix_pattern = FixPattern.LAYER_DIMENSION
    message = "{layer} returns {units} values per sample, and the targets need {wanted}"
    needs_run = True
    declined = "the number of units is not written in one place"

    def read(self, subject: Subject) -> Iterator[Fault]:
        found = _mismatch(subject)
        facts = layer_facts(found[0]) if found is not None else None
        if found is None:
            return
        layer, units, wanted, likely = found
        changes = (
            size_edits.size_changes(subject, layer, facts.gives, wanted) if facts is not None and facts.gives else []
        )
        ways = [
            (f"Make {short(layer.name)} return {one.written} values", one.edits, (0.9 if likely else 0.4) * one.prior)
            for one in changes
        ]
        words = {"layer": short(layer.name), "units": units, "wanted": wanted}
        yield Fault(layer.made_at, words, tuple(ways), confidence=0.9 if likely else 0.5, symptom=Symptom.CRASH)

    programs = """
=== example: fewer outputs than labels
import torch
import torch.nn as nn

- model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
+ model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 10))
x = torch.randn(64, 4)
y = torch.randint(0, 10, (64,))
loss = nn.CrossEntropyLoss()(model(x), y)

=== example: a convolution that returns the classes
import torch
import torch.nn as nn
import torch.nn.functional as F


class Segment(nn.Module):
    def __init__(self, channels, classes):
        super().__init__()
        self.body = nn.Conv2d(channels, 6, 3, padding=1)
        self.head = nn.Conv2d(6, classes, 1)

    def forward(self, x):
        return self.head(torch.relu(self.body(x)))


- net = Segment(3, 2)
+ net = Segment(3, 5)
masks = torch.arange(2 * 36).reshape(2, 6, 6) % 5
loss = F.cross_entropy(net(torch.rand(2, 3, 6, 6)), masks)

=== example: Keras one unit for one-hot targets
import numpy as np
from keras.models import Sequential
from keras.layers import Dense
from keras.utils import to_categorical

network = Sequential()
network.add(Dense(10, activation='relu', input_shape=(6,)))
- network.add(Dense(1, activation='softmax'))
+ network.add(Dense(2, activation='softmax'))
network.compile(optimizer='rmsprop', loss='categorical_crossentropy')
network.fit(np.random.rand(8, 6), to_categorical([0, 1] * 4), verbose=0)

=== reject: a unit for every class
import torch
import torch.nn as nn

nn.CrossEntropyLoss()(nn.Linear(4, 10)(torch.randn(8, 4)), torch.randint(0, 10, (8,)))

=== reject: more units than labels seen in one batch
import numpy as np
import keras

model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(10, activation="softmax")])
model.compile(loss="sparse_categorical_crossentropy", optimizer="sgd")
model.fit(np.random.rand(8, 4), np.arange(8) % 3, verbose=0)
"""


def _mismatch(subject: Subject) -> tuple[Call, int, int, bool] | None:
    """The last layer, its units, the number the targets need, and whether the layer is likely the wrong one."""
    conflict = crashes.loss_conflict(subject)
    if conflict is None:
        return None
    wanted = _wanted(subject, conflict)
    if wanted is None:
        return None
    shape = conflict.prediction.shape or ()
    axis = -1 if conflict.call.name.startswith("keras.") or len(shape) == 2 else 1
    layer = tensor_shapes.sized_producer(subject, tensor_shapes.model_output(subject, conflict.prediction), axis)
    units = shape[axis]
    if layer is None or units is None or units == wanted[0]:
        return None
    return layer, units, *wanted


def _wanted(subject: Subject, conflict: crashes.LossConflict) -> tuple[int, bool] | None:
    """How many values per sample the targets need, and whether that is certain."""
    prediction, target = conflict.prediction.shape or (), conflict.target.shape or ()
    axis = -1 if conflict.call.name.startswith("keras.") or len(prediction) == 2 else 1
    if len(prediction) < 2 or prediction[:1] != target[:1]:
        return None
    if len(prediction) == len(target) and target[axis] != 1:
        same = [
            a == b for place, (a, b) in enumerate(zip(prediction, target, strict=True)) if place != axis % len(target)
        ]
        width = target[axis]
        return (width, prediction[axis] is not None) if all(same) and width is not None else None
    if (
        conflict.facts.target is not network_facts.Target.INDICES
        or conflict.facts.prediction is network_facts.Prediction.REAL
    ):
        return None
    count = tensor_shapes.label_count(subject, conflict.target)
    units = prediction[axis]
    if count is None or units is None or count <= units:
        return None
    shifted = count == units + 1 and conflict.target.low == 1
    return count, not shifted
