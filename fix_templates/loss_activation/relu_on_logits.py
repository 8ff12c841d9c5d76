"""The last layer ends in a ReLU, and its loss or activation needs negative logits."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Call,
    Edit,
    Family,
    Fault,
    FixPattern,
    ReadTemplate,
    Site,
    Subject,
    Symptom,
    argument_value,
    compile_calls,
    keyword_value,
    network_facts,
    recipes,
    short,
    spelling,
    tensor_values,
    words,
)


class ReluOnLogits(ReadTemplate):
    """A ReLU between the last layer and the softmax or sigmoid removes the negative logits.

    A sigmoid of a value that is never negative is never below 0.5, so no sample can be classified as negative; a
    softmax cannot tell classes apart that are all unlikely. Clipped logits get no gradient, and a class whose logits
    are all clipped is never learned. An overlap of masks (Dice, Jaccard) needs probabilities, which a ReLU does not
    return. With several classes a network may learn in spite of it; there a patch is accepted only if it trains better.

    Fix safety: unsafe. The outputs can be negative from now on, which is the point.

    References: torch.nn.CrossEntropyLoss ("The input is expected to contain the unnormalized logits for each class").
    """

    code = "DNF326"
    name = "relu-on-logits"
    formerly = ("scores-cut-at-zero",)
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.ACTIVATION
    silent = 10
    message = "a ReLU sets negative logits to 0 before {read_by} reads them"
    triggers = ("relu", "ReLU", "relu6", "ReLU6")

    declined = "the activation cannot be changed in one place"

    def read(self, subject: Subject) -> Iterator[Fault]:
        for use in tensor_values.loss_uses(subject):
            maker = use.producer
            if maker is None or use.facts.task not in (network_facts.Task.CLASSES, network_facts.Task.LABELS):
                continue
            if use.facts.prediction is network_facts.Prediction.LOGITS and _is_relu(maker):
                yield _cut(use.output_site, recipes.bypass(subject, maker), use.name, use.facts.task)
            elif use.activation_name in _SQUASHING and use.activation is not None and maker.inputs:
                inner = (
                    network_facts.through(subject.network, maker.inputs[0])
                    if use.activation.as_argument is None
                    else None
                )
                if inner is not None and _is_relu(inner):
                    edits = recipes.bypass(subject, inner)
                    yield _cut(inner.made_at or inner.site, edits, use.activation_name, use.facts.task)
        yield from _overlaps(subject)

    programs = """
=== example: binary logits from a ReLU
import torch
from torch import nn

- model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1), nn.ReLU())
+ model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
criterion = nn.BCEWithLogitsLoss()
loss = criterion(model(torch.rand(4, 8)), torch.ones(4, 1))
loss.backward()

=== example: class logits from a ReLU
import torch
import torch.nn as nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(20, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = F.relu(self.fc1(x))
-         x = F.relu(self.fc2(x))
+         x = self.fc2(x)
        return x

net = Net()
loss = F.cross_entropy(net(torch.rand(4, 20)), torch.tensor([1, 2, 3, 4]))
loss.backward()

=== example: a ReLU inside the softmax
import torch
import torch.nn as nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(20, 64)
        self.out = nn.Linear(64, 10)

    def forward(self, x):
        x = F.relu(self.hidden(x))
-         return F.log_softmax(F.relu(self.out(x)), dim=1)
+         return F.log_softmax(self.out(x), dim=1)

loss = F.nll_loss(Net()(torch.rand(4, 20)), torch.tensor([1, 2, 3, 4]))
loss.backward()

=== example: masks from a ReLU whose overlap is the loss
from keras import Model, layers, ops

def dice_loss(y_true, y_pred):
    shared = ops.sum(y_true * y_pred)
    return 1 - 2 * shared / (ops.sum(y_true) + ops.sum(y_pred) + 1)

def build():
    image = layers.Input((32, 32, 1))
    x = layers.Conv2D(8, 3, padding="same", activation="relu")(image)
-     mask = layers.Conv2D(1, 1, activation="relu")(x)
+     mask = layers.Conv2D(1, 1, activation="sigmoid")(x)
    return Model(image, mask)

model = build()
model.compile("adam", loss=dice_loss)

=== reject: logits without a ReLU
import torch
from torch import nn
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
loss = nn.CrossEntropyLoss()(model(torch.rand(4, 8)), torch.tensor([0, 1, 2, 0]))

=== reject: an amount that cannot be negative
import torch
from torch import nn
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1), nn.ReLU())
loss = nn.MSELoss()(model(torch.rand(4, 8)), torch.rand(4, 1))

=== reject: maps and masks of other losses
from keras import Model, layers, ops

def dice_loss(y_true, y_pred):
    return 1 - 2 * ops.sum(y_true * y_pred) / ops.sum(y_true + y_pred)

image = layers.Input((32, 32, 1))
x = layers.Conv2D(8, 3, padding="same", activation="relu")(image)
mask = layers.Conv2D(1, 1, activation="sigmoid")(x)
model = Model(image, mask)
model.compile("adam", loss=dice_loss)
depth = layers.Conv2D(1, 1, activation="relu")(x)
other = Model(image, depth)
other.compile("adam", loss="mae")
"""


_SQUASHING = words("softmax log_softmax sigmoid")
_OVERLAPS = words("dice iou jaccard tversky overlap")


def _cut(
    site: Site | None,
    edits: tuple[Edit, ...] | None,
    read_by: str,
    task: network_facts.Task,
    title: str = "Remove the ReLU before the loss",
) -> Fault:
    symptom = Symptom.NOT_LEARNING if task is network_facts.Task.CLASSES else Symptom.VIOLATION
    way = title, edits, 0.85
    return Fault(site, {"read_by": short(read_by)}, (way,), {"task": task.value}, confidence=0.85, symptom=symptom)


def _is_relu(call: Call) -> bool:
    use = network_facts.activation_of(call)
    return use is not None and use.name in ("relu", "relu6")


def _overlaps(subject: Subject) -> Iterator[Fault]:
    """The last unit of the only Keras model, where the program's own loss computes an overlap of masks."""
    source = subject.source
    compiled = [call for call in source.all_calls if compile_calls.is_compile(call)]
    if len(compiled) != 1:
        return
    losses = [k.value for k in compiled[0].keywords if k.arg == "loss"] + compiled[0].args[1:2]
    function = source.definition(losses[0]) if losses and isinstance(losses[0], ast.Name) else None
    if not isinstance(function, ast.FunctionDef) or not _OVERLAPS & frozenset(spelling.words_of(function.name)):
        return
    ends = list(_ends(subject))
    made = ends[0] if len(ends) == 1 else None
    if made is None or not made.args or not isinstance(made.args[0], ast.Constant) or made.args[0].value != 1:
        return
    activation = keyword_value(made, "activation")
    if isinstance(activation, ast.Constant) and activation.value == "relu":
        edits, title = (recipes.reword(subject, activation, "sigmoid"),), "Use a sigmoid at the output"
        yield _cut(source.site(made), edits, function.name, network_facts.Task.LABELS, title)


def _ends(subject: Subject) -> Iterator[ast.Call | None]:
    """The constructors of the last layers of the Keras models."""
    source = subject.source
    for call in source.calls("keras.Model", "keras.models.Model"):
        given = argument_value(call, "outputs", 1)
        if isinstance(given, ast.Name):
            bound = source.bindings(given, at=call)
            given = bound[0] if len(bound) == 1 else None
        layer = given.func if isinstance(given, ast.Call) else None
        yield layer if isinstance(layer, ast.Call) else source.constructor(layer) if layer is not None else None
    for call in source.calls("keras.Sequential", "keras.models.Sequential"):
        last = call.args[0].elts[-1] if call.args and isinstance(call.args[0], ast.List) and call.args[0].elts else None
        added = [
            other.args[0]
            for other in source.all_calls
            if isinstance(other.func, ast.Attribute)
            and other.func.attr == "add"
            and len(other.args) == 1
            and source.constructor(other.func.value) is call
        ]
        end = added[-1] if added else last
        yield end if isinstance(end, ast.Call) else None
