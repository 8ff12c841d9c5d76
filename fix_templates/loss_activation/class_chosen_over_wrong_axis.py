"""The predicted class is chosen over the batch axis, or among the outputs of a network with one output."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Call,
    Family,
    Fault,
    FixPattern,
    Network,
    ReadTemplate,
    Replace,
    SetArgument,
    Site,
    Subject,
    argument_value,
    network_facts,
    progress_figures,
    short,
    tensor_values,
    words,
)


class ClassChosenOverWrongAxis(ReadTemplate):
    """`argmax` or `max` of the class logits runs over axis 0, the batch, or over the single output of a binary network.

    Over the batch, the result names for each class the sample with the highest logit, not for each sample its class.
    Compared with the labels it yields a number that looks like an accuracy, or mismatched shapes. `tf.argmax` uses axis
    0 by default: there it is reported where the labels are a placeholder of shape `[None, classes]`.

    The `argmax` of one output is always 0: every sample is classified as negative. The class of one unit is whether its
    probability is above 0.5. Reported where every loss of the program is binary over one unit, and the `argmax` is over
    the outputs of `model.predict`.

    Fix safety: unsafe. What is reported changes; training is the same unless it depends on the report.

    References: torch.argmax, torch.max (dim: the dimension to reduce); tf.math.argmax (axis: "Default to 0");
    numpy.argmax; keras.metrics.BinaryAccuracy (threshold).
    """

    code = "DNF320"
    name = "class-chosen-over-wrong-axis"
    formerly = (
        "classes-chosen-over-batch",
        "DNF328",
        "class-chosen-among-one",
        "DNF332",
        "labels-compared-over-batch",
    )
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.ACCURACY_METRIC
    message = "the predicted class is not chosen over the class axis: {what}"
    triggers = ("argmax", "max", "arg_max")
    declined = "the axis cannot be changed in one place"

    def read(self, subject: Subject) -> Iterator[Fault]:
        yield from _over_batch(subject)
        if not _CHOOSING.isdisjoint(subject.source.words):
            yield from _compared_over_batch(subject)
            yield from _among_one(subject)

    programs = """
=== example: max with the axis by position
import torch
import torch.nn.functional as F
from torch import nn

net = nn.Linear(4, 3)
scores = net(torch.rand(6, 4))
loss = F.cross_entropy(scores, torch.tensor([0, 1, 2, 0, 1, 2]))
- _, predicted = torch.max(scores.data, 0)
+ _, predicted = torch.max(scores.data, 1)

=== example (runs): argmax of a softmax as a method, seen in a run
import torch
import torch.nn.functional as F
from torch import nn

net = nn.Linear(4, 3)
scores = net(torch.rand(6, 4))
F.cross_entropy(scores, torch.tensor([0, 1, 2, 0, 1, 2])).backward()
- predicted = F.softmax(scores, dim=1).argmax(0)
+ predicted = F.softmax(scores, dim=1).argmax(1)

=== example: no axis at all
import tensorflow as tf

labels = tf.compat.v1.placeholder(tf.float32, shape=(None, 3), name="labels")
- hits = tf.equal(tf.argmax(logits), tf.argmax(labels))
+ hits = tf.equal(tf.argmax(logits, axis=1), tf.argmax(labels, axis=1))

=== example: the method of an array that has a name
import keras
from keras import layers

net = keras.Sequential()
net.add(layers.Dense(16, activation="relu", input_dim=10))
net.add(layers.Dense(1, activation="sigmoid"))
net.compile(loss=keras.losses.BinaryCrossentropy(), optimizer="sgd")
probabilities = net.predict(images)
- classes = probabilities.argmax(axis=-1)
+ classes = (probabilities > 0.5).astype(int).ravel()

=== example: the axis by position in a functional model
import numpy as np
from tensorflow.keras.layers import Dense, Input
from tensorflow.keras.models import Model

inputs = Input(shape=(6,))
outputs = Dense(1, activation="sigmoid")(Dense(12, activation="tanh")(inputs))
model = Model(inputs, outputs)
model.compile("adam", loss="binary_crossentropy")
- y_pred = np.argmax(model.predict(x_val), 1)
+ y_pred = (model.predict(x_val) > 0.5).astype(int).ravel()

=== reject (runs): argmax along the classes
import torch
from torch import nn
model = nn.Linear(4, 3)
out = model(torch.rand(6, 4))
loss = nn.CrossEntropyLoss()(out, torch.tensor([0, 1, 2, 0, 1, 2]))
predicted = out.argmax(dim=1)

=== reject (runs): one sample picked out of the batch
import torch
from torch import nn
model = nn.Linear(4, 3)
out = model(torch.rand(6, 4))
loss = nn.CrossEntropyLoss()(out, torch.tensor([0, 1, 2, 0, 1, 2]))
first = out[0].argmax(dim=0)

=== reject: along the classes
import tensorflow.compat.v1 as tf

y_ = tf.placeholder(tf.float32, [None, 10])
correct = tf.equal(tf.argmax(y, 1), tf.argmax(y_, axis=-1))

=== reject: labels of one sample
import tensorflow.compat.v1 as tf

label = tf.placeholder(tf.float32, [10])
correct = tf.equal(tf.argmax(score, 0), tf.argmax(label, 0))

=== reject: several classes
import numpy as np
from keras.models import Sequential
from keras.layers import Dense

model = Sequential([Dense(8, activation="relu", input_shape=(4,)), Dense(3, activation="softmax")])
model.compile(loss="sparse_categorical_crossentropy", optimizer="adam")
predicted = np.argmax(model.predict(x_test), axis=1)

=== reject: the sample with the highest probability, and labels of a generator
import numpy as np
from keras.models import Sequential
from keras.layers import Dense

model = Sequential([Dense(8, activation="relu", input_shape=(4,)), Dense(1, activation="sigmoid")])
model.compile(loss="binary_crossentropy", optimizer="adam")
surest = np.argmax(model.predict(x_test))
first = model.predict(x_test).argmax(axis=0)
labels = np.argmax(one_hot, axis=1)
"""


_TORCH = frozenset(f"{owner}.{name}" for owner in ("torch", "torch.Tensor") for name in ("argmax", "max"))
_ALONG_CLASSES = "Choose over the class axis (axis 1)"
_CHOOSING = words("argmax arg_max")
_SAME = frozenset({"torch.Tensor.data", "torch.Tensor.detach", "torch.Tensor.cpu", "torch.autograd.Variable"})


def _over_batch(subject: Subject) -> Iterator[Fault]:
    """Choices over axis 0 among the logits that a loss over classes reads."""
    uses = [
        use
        for use in tensor_values.loss_uses(subject)
        if use.facts.task is network_facts.Task.CLASSES and use.rank in (2, None)
    ]
    if not uses:
        return
    network = subject.network
    scores = {_place(call) for call in map(network.producer, (use.prediction for use in uses)) if call is not None}
    for call in network.calls:
        if call.name not in _TORCH or call.args.get("dim") != 0 or not call.inputs:
            continue
        shape, maker, node = call.inputs[0].shape, _scores(network, call), subject.call_node(call)
        if maker is None or _place(maker) not in scores or (shape is not None and len(shape) != 2):
            continue
        what = f"{short(call.name)} of the logits runs over the batch (axis 0)"
        position = network_facts.argument_position(call.name, "dim")
        edits = (SetArgument(subject.source.site(node), "dim", "1", position),) if node is not None else None
        yield Fault(call.site, what, ((_ALONG_CLASSES, edits, 0.9),), confidence=0.85)


def _scores(network: Network, call: Call) -> Call | None:
    """The call that made the logits, before an activation."""
    maker = network_facts.through(network, call.inputs[0], _SAME)
    if (
        maker is not None
        and network_facts.activation_of(maker) is not None
        and maker.component is None
        and maker.inputs
    ):
        return network_facts.through(network, maker.inputs[0], _SAME)
    return maker


def _place(call: Call) -> tuple[Site | None, Site | None]:
    return call.site, call.made_at


def _compared_over_batch(subject: Subject) -> Iterator[Fault]:
    """`tf.equal(tf.argmax(y, 0), tf.argmax(y_, 0))`: one result per class instead of one per sample."""
    source = subject.source
    for call in source.all_calls if "tensorflow" in source.frameworks else ():
        if progress_figures.name_of(call.func) != "equal" or len(call.args) != 2:
            continue
        sides = [
            side
            for side in call.args
            if isinstance(side, ast.Call) and progress_figures.name_of(side.func) in _CHOOSING
        ]
        along = [side for side in sides if side.args and _is_zero(_axis(side)[1])]
        labels = [ast.unparse(side.args[0]) for side in along if _is_batch(subject, side.args[0])]
        if len(sides) == 2 and labels:
            edits = tuple(SetArgument(source.site(side), _axis(side)[0], "1", 1) for side in along)
            what = f"argmax runs over the batch, the first axis of `{labels[0]}`"
            yield Fault(source.site(call), what, ((_ALONG_CLASSES, edits, 0.9),))


def _axis(call: ast.Call) -> tuple[str, ast.expr | None]:
    """The keyword for the axis of this `tf.argmax`, and its value."""
    for keyword in call.keywords:
        if keyword.arg in ("axis", "dimension"):
            return keyword.arg, keyword.value
    return "axis", call.args[1] if len(call.args) > 1 else None


def _is_zero(axis: ast.expr | None) -> bool:
    return axis is None or (isinstance(axis, ast.Constant) and axis.value == 0)


def _is_batch(subject: Subject, labels: ast.expr) -> bool:
    """Whether the labels are a placeholder of shape `[None, n]` with n other than 1."""
    made = subject.source.constructor(labels)
    if made is None or progress_figures.name_of(made.func) != "placeholder":
        return False
    shape = argument_value(made, "shape", 1)
    if not isinstance(shape, (ast.List, ast.Tuple)) or len(shape.elts) != 2:
        return False
    rows, width = shape.elts
    several = not (isinstance(width, ast.Constant) and width.value in (None, 1))
    return isinstance(rows, ast.Constant) and rows.value is None and several


def _among_one(subject: Subject) -> Iterator[Fault]:
    """Choices among the outputs of a binary classifier with one unit that ends in a sigmoid."""
    uses = [use for use in tensor_values.loss_uses(subject) if use.in_keras]
    binary = (use.facts.task is network_facts.Task.LABELS and use.is_cross_entropy and use.width == 1 for use in uses)
    if not uses or not all(binary) or any(use.activation_name != "sigmoid" for use in uses):
        return
    source = subject.source
    for call in source.all_calls:
        outputs = _chosen_among(subject, call)
        if outputs is not None and _is_prediction(subject, outputs):
            code = f"({subject.text(source.site(outputs))} > 0.5).astype(int).ravel()"
            what = "the model has one output, so its argmax is 0 for every sample"
            way = "Compare the output with 0.5", (Replace(source.site(call), code),), 0.9
            yield Fault(source.site(call), what, (way,), confidence=0.95)


def _chosen_among(subject: Subject, call: ast.Call) -> ast.expr | None:
    """The expression over whose last of two axes `argmax` runs."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "argmax":
        return None
    function = (subject.source.qualified(call.func) or "") == "numpy.argmax"
    if not function and subject.source.qualified(call.func) is not None:
        return None
    given = (*call.args, *(keyword.value for keyword in call.keywords if keyword.arg in ("axis", "dim")))
    axis = given[1:] if function else given
    if len(axis) != 1 or ast.unparse(axis[0]) not in ("1", "-1"):
        return None
    return given[0] if function else call.func.value


def _is_prediction(subject: Subject, outputs: ast.expr) -> bool:
    """Whether the outputs are the result of `model.predict`, unchanged."""
    bound = subject.source.bindings(outputs, at=outputs) if isinstance(outputs, ast.Name) else (outputs,)
    values = bound or (subject.source.bindings(outputs) if isinstance(outputs, ast.Name) else ())
    return (
        len(values) == 1 and isinstance(values[0], ast.Call) and progress_figures.name_of(values[0].func) == "predict"
    )
