"""Labels do not have the encoding, the axes or the range of values that their loss expects."""

from __future__ import annotations

from dnnfix.api import (
    Call,
    Disagreement,
    Family,
    FixPattern,
    LossTemplate,
    Repairs,
    Subject,
    Symptom,
    data_edits,
    layer_facts,
    network_facts,
    recipes,
    short,
    spell,
    tensor_shapes,
    tensor_targets,
    tensor_values,
)

Shape = tuple[int | None, ...]


def _shapes(use: tensor_values.LossUse) -> tuple[Shape, Shape] | None:
    """The shapes of the prediction and of the labels, if both are known."""
    labels, shape = use.target.shape if use.target is not None else None, use.prediction.shape
    return (shape, labels) if shape is not None and labels is not None else None


def _numbers_for_rows(_: Subject, use: tensor_values.LossUse) -> bool:
    target, shapes, width = use.target, _shapes(use), use.width
    if target is None or shapes is None or width is None or width < 2:
        return False
    torch = use.in_torch and use.facts.target is network_facts.Target.BINARY
    if not torch and use.facts.target is not network_facts.Target.ONE_HOT:
        return False
    shape, labels = shapes
    if len(shape) != 2 or not (len(labels) == 1 or (len(labels) == 2 and labels[1] == 1)):
        return False
    if not tensor_values.whole(target) or target.low is None or target.high is None:
        return False
    return 0 <= target.low and target.high < width and (target.high > 1 or not torch)


def _rows(subject: Subject, use: tensor_values.LossUse) -> Repairs:
    if use.in_keras or use.target is None:
        spelling = spell(subject, "keras.utils.to_categorical")
        after = f", {use.width})"
    else:
        spelling = spell(subject, "torch.nn.functional.one_hot")
        flat = ".squeeze(1)" if len(use.target.shape or ()) == 2 else ""
        long = "" if use.target.dtype == "int64" else ".long()"
        after = f"{flat}{long}, {use.width}).float()"
    edits = data_edits.change_data(subject, tensor_targets.same_targets(subject, use), f"{spelling.code}(", after)
    yield f"Convert the labels to one-hot rows of {use.width} classes", (*edits, *spelling.imports), 0.8


def _rows_for_numbers(_: Subject, use: tensor_values.LossUse) -> bool:
    target, shapes = use.target, _shapes(use)
    if (
        use.facts.target is not network_facts.Target.INDICES
        or use.facts.prediction is network_facts.Prediction.EMBEDDINGS
    ):
        return False
    if target is None or shapes is None or target.row_sums_to_one is not True or target.integral is False:
        return False
    shape, labels = shapes
    rows = len(shape) == 2 and len(labels) == 2 and labels[1] == shape[1] and (shape[1] or 0) > 1
    return rows and not (use.facts.soft_targets and (target.dtype or "").startswith("float"))


def _numbers(subject: Subject, use: tensor_values.LossUse) -> Repairs:
    nodes = tensor_targets.same_targets(subject, use)
    if use.in_keras:
        function, imports = data_edits.with_numpy(subject, "argmax")
        edits = (*data_edits.change_data(subject, nodes, f"{function}(", ", axis=-1)"), *imports)
    else:
        edits = data_edits.change_data(subject, nodes, "", ".argmax(dim=1)")
    yield "Convert the rows to class indices", edits, 0.75


def _axes(use: tensor_values.LossUse) -> tuple[Shape, str] | None:
    """For labels with a wrong number of axes, the expected shape and the code that reshapes them."""
    target, shapes = use.target, _shapes(use)
    if (
        not use.crashed
        or target is None
        or shapes is None
        or use.facts.prediction is network_facts.Prediction.EMBEDDINGS
    ):
        return None
    shape, labels = shapes
    if use.in_keras and use.facts.target is network_facts.Target.ONE_HOT:
        each_step = len(labels) == len(shape) + 1 == 3 and labels[-1] == shape[-1] and (labels[1] or 0) > 1
        return (shape, "[:, -1]") if each_step else None
    if (
        use.facts.target is not network_facts.Target.INDICES
        or not use.in_torch
        or len(shape) < 2
        or not tensor_values.whole(target)
    ):
        return None
    wanted = (shape[0], *shape[2:])
    long = "" if target.dtype in ("int64", "uint8") else ".long()"
    if labels == (shape[0], 1, *shape[2:]) and shape[1] != 1:
        return wanted, f".squeeze(1){long}"
    return (wanted, f".view(1){long}") if labels == () and wanted == (1,) else None


def _with_axes(subject: Subject, use: tensor_values.LossUse) -> Repairs:
    nodes, (_, code) = tensor_targets.same_targets(subject, use), _axes(use) or ((), "")
    title = "Reshape the labels to the shape that the loss expects"
    recurrent = _of_as_many_steps(subject, use)
    returning = recipes.set_constructor_argument(subject, recurrent, "return_sequences", "True") if recurrent else None
    if recurrent is not None and returning is not None:
        yield f"Let {short(recurrent.name)} return every step", tuple(returning), 0.9
    yield title, data_edits.change_data(subject, nodes, "", code, each=True), 0.9 if recurrent is None else 0.4
    if len(nodes) > 1:
        yield title, data_edits.change_data(subject, nodes[:1], "", code), 0.6


def _of_as_many_steps(subject: Subject, use: tensor_values.LossUse) -> Call | None:
    """The recurrent layer that returns its last step only, while there is a label for each of its steps."""
    labels = (use.target.shape if use.target is not None else None) or ()
    for call in tensor_shapes.way_back(subject, use.prediction) if use.in_keras else ():
        facts = layer_facts(call)
        if facts is not None and facts.kind == "recurrent":
            steps = (call.inputs[0].shape or ())[1:2] if call.inputs else ()
            collapsed = call.args.get("return_sequences") in (None, False)
            return call if collapsed and steps == labels[1:2] and None not in steps else None
        passed = (
            facts.kind in ("linear", "dropout", "normalization")
            if facts is not None
            else network_facts.activation_of(call)
        )
        if not passed:
            return None
    return None


def _shift(subject: Subject, use: tensor_values.LossUse) -> tuple[str, str, str] | None:
    """The code around labels that count from one, or are signs, and a title."""
    target, low = use.target, tensor_targets.lowest(subject, use)
    if target is None or low is None or target.high is None or not tensor_values.whole(target):
        return None
    if use.facts.target is network_facts.Target.INDICES and use.width is not None and use.facts.class_axis is not None:
        return ("", " - 1", "Count the classes from zero") if low == 1 and target.high == use.width > 1 else None
    if use.facts.target is not network_facts.Target.BINARY or target.distinct != 2:
        return None
    if low == -1 and target.high == 1:
        return "(", " + 1) / 2", "Map the labels -1 and 1 to 0 and 1"
    return ("", " - 1", "Map the labels 1 and 2 to 0 and 1") if low == 1 and target.high == 2 else None


def _outside(use: tensor_values.LossUse) -> str:
    wanted = (
        f"class indices from 0 to {(use.width or 0) - 1}"
        if use.facts.target is network_facts.Target.INDICES
        else "labels 0 and 1"
    )
    low, high = (use.target.low, use.target.high) if use.target is not None else (None, None)
    return f"{use.name} expects {wanted}, got labels from {low:g} to {high:g}"


def _shifted(subject: Subject, use: tensor_values.LossUse) -> Repairs:
    before, after, title = _shift(subject, use) or ("", "", "")
    yield title, data_edits.change_data(subject, tensor_targets.same_targets(subject, use), before, after), 0.85


class LabelsUnfitForLoss(LossTemplate):
    """Labels are class indices instead of one-hot rows or the reverse, have a wrong number of axes, or count from one.

    Losses with a target for every class expect targets of the shape of the prediction; sparse categorical cross-entropy
    and the negative log-likelihood expect one class index per sample. For predictions of shape `(batch, classes, …)`
    the cross-entropy of torch expects class indices of shape `(batch, …)`: a column of labels has an axis too many, a
    single number one too few. With labels for each step of a sequence and one output per sequence, the recurrent layer
    returns all steps, or the label of the last step is used. A loss over `n` classes expects indices from 0 to `n - 1`,
    a binary one 0 and 1: labels from 1 to `n` make torch raise and other backends return non-finite losses, and with
    labels -1 and 1 a binary cross-entropy has no minimum.

    Fix safety: unsafe. The labels get another shape or other numbers, and of labels for each step only the last may be
    used; other code that reads labels, or prints predicted classes, has to change too.

    References: keras.losses.CategoricalCrossentropy, keras.losses.SparseCategoricalCrossentropy,
    keras.utils.to_categorical, torch.nn.functional.one_hot, torch.nn.CrossEntropyLoss (shape of the target; "class
    indices in the range [0, C)"), torch.nn.NLLLoss, torch.nn.BCEWithLogitsLoss ("targets are numbers between 0 and 1").
    """

    code = "DNF106"
    name = "labels-unfit-for-loss"
    formerly = (
        "labels-not-one-hot",
        "DNF107",
        "labels-one-hot-for-indices",
        "DNF108",
        "label-axes",
        "DNF109",
        "labels-outside-classes",
    )
    message = "the labels do not fit the loss: {what}"
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_DIMENSION
    in_modules = True
    needs_run = True
    declined = "the labels are not passed as one expression"
    disagreements = (
        Disagreement(
            _numbers_for_rows,
            lambda use: (
                f"{use.name} expects one-hot rows of {use.width} classes, got class indices of shape {_labels(use)}"
            ),
            _rows,
            place=tensor_targets.target_site,
        ),
        Disagreement(
            _rows_for_numbers,
            lambda use: f"{use.name} expects class indices, got one-hot rows of shape {_labels(use)}",
            _numbers,
            place=tensor_targets.target_site,
        ),
        Disagreement(
            lambda _, use: _axes(use) is not None,
            lambda use: f"{use.name} expects labels of shape {(_axes(use) or ((),))[0]}, got {_labels(use)}",
            _with_axes,
            confidence=0.95,
            place=tensor_targets.target_site,
            symptom=Symptom.CRASH,
        ),
        Disagreement(
            lambda subject, use: _shift(subject, use) is not None,
            _outside,
            _shifted,
            confidence=0.85,
            place=tensor_targets.target_site,
        ),
    )
    programs = """
=== example: labels of training and test data
import numpy as np
from keras.models import Sequential
from keras.layers import Dense
from keras.utils import to_categorical

x_train, y_train = np.random.rand(20, 4), np.arange(20) % 3
model = Sequential()
model.add(Dense(3, activation="softmax", input_shape=(4,)))
model.compile(optimizer="adam", loss="categorical_crossentropy", metrics=["accuracy"])
+ y_train = to_categorical(y_train, 3)
model.fit(x_train, y_train, epochs=1, verbose=0)
model.evaluate(x_train, y_train, verbose=0)

=== example: class numbers for a loss per class in torch
import torch
import torch.nn as nn
import torch.nn.functional as F

net = nn.Linear(5, 4)
labels = torch.tensor([0, 3, 2, 1, 1, 0])
- loss = F.binary_cross_entropy_with_logits(net(torch.rand(6, 5)), labels)
+ loss = F.binary_cross_entropy_with_logits(net(torch.rand(6, 5)), F.one_hot(labels, 4).float())

=== example: rows for sparse cross-entropy
import numpy as np
import keras

x, y = np.random.rand(21, 4), np.eye(3)[np.arange(21) % 3]
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
- model.fit(x, y, epochs=1, verbose=0)
+ model.fit(x, np.argmax(y, axis=-1), epochs=1, verbose=0)

=== example: rows for the negative log-likelihood
import torch
import torch.nn as nn

net = nn.Sequential(nn.Linear(5, 3), nn.LogSoftmax(dim=1))
rows = torch.eye(3)[torch.tensor([0, 2, 1, 1])]
- loss = nn.NLLLoss()(net(torch.rand(4, 5)), rows)
+ loss = nn.NLLLoss()(net(torch.rand(4, 5)), rows.argmax(dim=1))

=== example: a column of labels
import torch
from torch import nn

model = nn.Linear(4, 3)
labels = torch.tensor([[0], [2], [1], [1], [0]])
- loss = nn.CrossEntropyLoss()(model(torch.rand(5, 4)), labels)
+ loss = nn.CrossEntropyLoss()(model(torch.rand(5, 4)), labels.squeeze(1))

=== example: labels for each step, one answer per sequence
import numpy as np
import keras
from keras import layers

x, y = np.random.rand(8, 6, 3), np.eye(2)[np.arange(48) % 2].reshape(8, 6, 2)
model = keras.Sequential([keras.Input((6, 3)), layers.Flatten(), layers.Dense(2, activation="softmax")])
model.compile(optimizer="sgd", loss="categorical_crossentropy")
- model.fit(x, y, verbose=0)
+ model.fit(x, y[:, -1], verbose=0)

=== example: labels for each step of a recurrent layer
import numpy as np
from keras.models import Sequential
from keras.layers import LSTM, Dense
from keras.utils import to_categorical

X_train, Y_train = np.random.rand(8, 6, 3), to_categorical(np.arange(48).reshape(8, 6) % 4, 4)
model = Sequential()
- model.add(LSTM(5, input_shape=(6, 3)))
+ model.add(LSTM(5, input_shape=(6, 3), return_sequences=True))
model.add(Dense(4, activation='softmax'))
model.compile(loss='categorical_crossentropy', optimizer='adam')
model.fit(X_train, Y_train, verbose=0)

=== example: one label without an axis
import torch
import torch.nn as nn

net = nn.Linear(4, 3)
criterion = nn.CrossEntropyLoss()
label = torch.tensor(2)
- loss = criterion(net(torch.rand(1, 4)), label)
+ loss = criterion(net(torch.rand(1, 4)), label.view(1))

=== example: signs for a binary loss
import torch
import torch.nn.functional as F

net = torch.nn.Linear(2, 1)
x = torch.rand(6, 2)
y = torch.tensor([-1.0, 1.0, 1.0, -1.0, 1.0, -1.0]).unsqueeze(1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
-     loss = F.binary_cross_entropy_with_logits(net(x), y)
+     loss = F.binary_cross_entropy_with_logits(net(x), (y + 1) / 2)
    loss.backward()
    optimizer.step()

=== reject: class numbers for sparse cross-entropy
import numpy as np
import keras

model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
model.fit(np.random.rand(20, 4), np.random.randint(0, 3, 20), epochs=1, verbose=0)

=== reject: probabilities as targets of cross-entropy
import torch
from torch import nn

loss = nn.CrossEntropyLoss()(nn.Linear(5, 3)(torch.rand(4, 5)), torch.softmax(torch.rand(4, 3), dim=1))

=== reject: rows for categorical cross-entropy
import numpy as np
import keras

model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
model.compile(optimizer="adam", loss="categorical_crossentropy")
model.fit(np.random.rand(21, 4), np.eye(3)[np.arange(21) % 3], epochs=1, verbose=0)

=== reject: labels of the right shape
import torch
from torch import nn

loss = nn.CrossEntropyLoss()(nn.Linear(4, 3)(torch.rand(5, 4)), torch.tensor([0, 2, 1, 1, 0]))

=== reject: another number of labels than predictions
import torch
from torch import nn

loss = nn.CrossEntropyLoss()(nn.Linear(4, 3)(torch.rand(5, 4)), torch.tensor([[0], [2], [1]]))

=== reject: one class more than outputs
import torch
from torch import nn

loss = nn.CrossEntropyLoss()(nn.Linear(4, 3)(torch.rand(5, 4)), torch.tensor([0, 3, 1, 1, 0]))

=== reject: a batch without the first class
import torch
from torch import nn

loss = nn.CrossEntropyLoss()(nn.Linear(4, 3)(torch.rand(5, 4)), torch.tensor([1, 2, 1, 1, 2]))
"""


def _labels(use: tensor_values.LossUse) -> Shape | None:
    return use.target.shape if use.target is not None else None
