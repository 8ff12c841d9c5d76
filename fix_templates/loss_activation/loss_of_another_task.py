"""The loss is made for another task than the output or the labels."""

from __future__ import annotations

from dnnfix.api import (
    Disagreement,
    Edit,
    Family,
    FixPattern,
    LossTemplate,
    Repairs,
    Subject,
    loss_edits,
    network_facts,
    recipes,
    tensor_values,
)

BLUR = 0.5
"""How far targets may lie outside [0, 1] and still be noisy labels, as some generative models use."""


def _labels_on_classes(_: Subject, use: tensor_values.LossUse) -> bool:
    if (
        use.facts.task is not network_facts.Task.LABELS
        or not use.is_cross_entropy
        or use.width is None
        or use.width < 2
    ):
        return False
    high = use.target.high if use.target is not None else None
    several = use.crashed and (high is None or 1 <= high < use.width)
    return use.rows_sum_to_one or (use.target_is_indices and several)


def _for_classes(subject: Subject, use: tensor_values.LossUse) -> Repairs:
    maker = use.producer
    probabilities = use.facts.prediction is network_facts.Prediction.PROBABILITIES
    chosen = use.target_is_indices or use.target_is_one_hot
    if maker is not None and use.rows_sum_to_one and probabilities and not chosen:
        sigmoid = loss_edits.change_activation(subject, maker, "sigmoid")
        yield "Use a sigmoid for each class", sigmoid, 0.85 if use.target_is_multi_hot else 0.45
    if use.target_is_multi_hot:
        return
    if use.in_keras:
        kind = "SparseCategoricalCrossentropy" if use.target_is_indices else "CategoricalCrossentropy"
        edits = loss_edits.change_loss(subject, use.call, f"keras.losses.{kind}")
        if maker is not None and probabilities and not use.rows_sum_to_one:
            softmax = loss_edits.change_activation(subject, maker, "softmax") or loss_edits.add_activation(
                subject, maker, "softmax"
            )
            edits = recipes.together(edits, softmax)
        yield "Use the loss for one class out of several", edits, 0.85
    else:
        edits = loss_edits.change_loss(subject, use.call, "torch.nn.CrossEntropyLoss")
        yield (
            "Use cross-entropy over the classes",
            recipes.together(loss_edits.without_activation(subject, use), edits),
            0.8,
        )


def _classes_of_one_unit(_: Subject, use: tensor_values.LossUse) -> bool:
    maker, target = use.producer, use.target
    if use.facts.task is not network_facts.Task.CLASSES or maker is None:
        return False
    if use.activation is not None and (use.rows_sum_to_one or use.activation.facts.log):
        return False
    if network_facts.stated_output(maker) not in (1, None) or use.width != 1 or (use.rank is not None and use.rank < 2):
        return False
    return target is None or target.dtype not in ("float32", "float64") or target.integral is not False


def _other_form(_: Subject, use: tensor_values.LossUse) -> bool:
    if (
        not use.call.name.startswith("keras.losses.")
        or use.facts.task is not network_facts.Task.CLASSES
        or (use.width or 0) < 2
    ):
        return False
    if use.facts.target is network_facts.Target.INDICES:
        return use.target_is_one_hot
    high = use.target.high if use.target is not None else None
    return (
        use.facts.target is network_facts.Target.ONE_HOT
        and use.target_is_indices
        and (high is None or high < (use.width or 0))
    )


def _forms(use: tensor_values.LossUse) -> tuple[str, str]:
    """The form of labels that a loss over classes expects, and the other one."""
    rows_last = ("class indices", "one-hot rows")
    return rows_last if use.facts.target is network_facts.Target.INDICES else (rows_last[1], rows_last[0])


def _for_the_form(subject: Subject, use: tensor_values.LossUse) -> Repairs:
    kind = (
        "CategoricalCrossentropy"
        if use.facts.target is network_facts.Target.INDICES
        else "SparseCategoricalCrossentropy"
    )
    yield f"Use the loss for {_forms(use)[1]}", loss_edits.change_loss(subject, use.call, f"keras.losses.{kind}"), 0.8


def _regression_on_indices(_: Subject, use: tensor_values.LossUse) -> bool:
    if use.facts.task is not network_facts.Task.REGRESSION or use.width is None or use.width < 2:
        return False
    shape, target = use.prediction.shape, use.target
    if shape is None or len(shape) != 2 or target is None or target.high is None or not use.target_is_indices:
        return False
    return target.shape is not None and target.shape[0] == shape[0] and 1 <= target.high < use.width


def _for_indices(subject: Subject, use: tensor_values.LossUse) -> Repairs:
    title = "Use cross-entropy over the classes"
    if use.in_keras:
        if use.rows_sum_to_one:
            yield title, loss_edits.change_loss(subject, use.call, "keras.losses.SparseCategoricalCrossentropy"), 0.85
        return
    scores: tuple[Edit, ...] | None = ()
    if use.producer is not None and use.activation is not None and use.activation.facts.probabilities:
        scores = recipes.bypass(subject, use.producer)
    loss = loss_edits.change_loss(subject, use.call, "torch.nn.CrossEntropyLoss")
    target = use.target
    code = ".squeeze(-1)" if target is not None and target.shape is not None and len(target.shape) == 2 else ""
    code += ".long()" if target is None or target.dtype != "int64" else ""
    yield (
        title,
        recipes.together(scores, loss, loss_edits.wrap_input(subject, use.call, 1, "", code) if code else ()),
        0.85,
    )


def _real_targets(_: Subject, use: tensor_values.LossUse) -> bool:
    target = use.target
    if (
        use.facts.task not in (network_facts.Task.CLASSES, network_facts.Task.LABELS)
        or target is None
        or target.integral is not False
    ):
        return False
    if use.facts.target is network_facts.Target.SIGNS or not tensor_values.outside(target, -BLUR, 1.0 + BLUR):
        return False
    return target.shape is not None and (len(target.shape) == 1 or target.shape[-1] == 1)


def _for_amounts(subject: Subject, use: tensor_values.LossUse) -> Repairs:
    if use.producer is None:
        return
    width = loss_edits.set_width(subject, use.producer, 1) if use.width not in (1, None) else ()
    loss = loss_edits.change_loss(
        subject, use.call, f"{'keras.losses.MeanSquaredError' if use.in_keras else 'torch.nn.MSELoss'}"
    )
    targets = () if use.in_keras else _like_output(subject, use)
    edits = recipes.together(loss_edits.without_activation(subject, use), width, loss, targets)
    yield "Use the squared error of an output without activation", edits, 0.8


def _like_output(subject: Subject, use: tensor_values.LossUse) -> tuple[Edit, ...] | None:
    """Edits that give the targets the axes and the dtype of the output."""
    shape, target = use.prediction.shape, use.target
    flat = shape is not None and target is not None and target.shape is not None and len(target.shape) == len(shape) - 1
    code = ".unsqueeze(1)" if flat else ""
    code += ".float()" if target is not None and target.dtype != use.prediction.dtype else ""
    return loss_edits.wrap_input(subject, use.call, 1, "", code) if code else ()


class LossOfAnotherTask(LossTemplate):
    """The loss is made for another task than the one that the output and the labels describe.

    - Binary cross-entropy on a softmax, or on class indices, judges each class by itself: the many classes that do not
      apply outweigh the one that does, and Keras reports an accuracy per class that is high from the start.
    - Categorical cross-entropy over a single unit is always 0, and any label but 0 is out of range; two classes need
      binary cross-entropy.
    - `categorical_crossentropy` expects one-hot rows, `sparse_categorical_crossentropy` class indices.
    - A squared or absolute error between one output per class and class indices treats classes as amounts: class 2 is
      twice as far from class 0 as class 1 is.
    - A cross-entropy on real targets outside [0, 1] has no minimum where prediction and target agree, becomes negative,
      or raises: that task is a regression.

    A softmax on a single unit is reported by `softmax-over-one-unit`.

    Fix safety: unsafe. The loss is another one, and the outputs become logits, probabilities or real values as it
    expects; code that reads them may need the same change.

    References: keras.losses.CategoricalCrossentropy ("we expect labels to be provided in a one_hot representation"),
    keras.losses.SparseCategoricalCrossentropy ("labels to be provided as integers"), keras.losses.BinaryCrossentropy,
    keras.losses.MeanSquaredError, torch.nn.CrossEntropyLoss, torch.nn.BCEWithLogitsLoss, torch.nn.BCELoss (targets
    "between 0 and 1"), torch.nn.MSELoss.
    """

    code = "DNF306"
    name = "loss-of-another-task"
    formerly = (
        "binary-loss-on-classes",
        "DNF308",
        "one-unit-for-classes",
        "DNF309",
        "loss-for-other-labels",
        "DNF310",
        "regression-loss-on-classes",
        "DNF311",
        "class-loss-on-real-targets",
    )
    message = "the loss does not fit the task: {what}"
    family = Family.LOSS_ACTIVATION
    fix_pattern = FixPattern.LOSS_FUNCTION
    in_modules = True
    declined = "neither the loss nor the output can be changed in one place"
    disagreements = (
        Disagreement(
            _labels_on_classes,
            lambda use: (
                f"{use.name} treats the outputs as independent, but "
                f"{'its input is a softmax over' if use.rows_sum_to_one else 'the targets are indices of'} {use.width} classes"
            ),
            _for_classes,
            confidence=lambda use: 0.6 if use.width == 2 and not use.target_is_indices else 0.9,
        ),
        Disagreement(
            _classes_of_one_unit,
            lambda use: f"{use.name} is computed over a single output unit",
            lambda subject, use: iter(loss_edits.for_one_unit(subject, use)),
            confidence=0.95,
        ),
        Disagreement(
            _other_form,
            lambda use: f"{use.name} expects {_forms(use)[0]}, and the labels are {_forms(use)[1]}",
            _for_the_form,
        ),
        Disagreement(
            _regression_on_indices,
            lambda use: f"{use.name} compares {use.width} outputs per sample with class indices",
            _for_indices,
            needs_run=True,
        ),
        Disagreement(
            _real_targets,
            lambda use: f"{use.name} got floating-point targets from {tensor_values.extent(use.target)}",
            _for_amounts,
            needs_run=True,
        ),
    )
    programs = """
=== example: several labels at once
import tensorflow as tf

inputs = tf.keras.Input((12,))
- tags = tf.keras.layers.Dense(5, activation='softmax')(inputs)
+ tags = tf.keras.layers.Dense(5, activation='sigmoid')(inputs)
model = tf.keras.Model(inputs, tags)
model.compile(optimizer='adam', loss=tf.keras.losses.BinaryCrossentropy())

=== example: torch softmax with BCELoss and one-hot targets
import torch
import torch.nn.functional as F
from torch import nn

- model = nn.Sequential(nn.Linear(4, 3), nn.Softmax(dim=1))
- criterion = nn.BCELoss()
+ model = nn.Sequential(nn.Linear(4, 3))
+ criterion = nn.CrossEntropyLoss()
y = F.one_hot(torch.tensor([0, 1, 2]), 3).float()
loss = criterion(model(torch.rand(3, 4)), y)

=== example (runs): class indices against a loss for labels
import torch
from torch import nn

model = nn.Linear(4, 3)
- criterion = nn.BCEWithLogitsLoss()
+ criterion = nn.CrossEntropyLoss()
loss = criterion(model(torch.rand(6, 4)), torch.tensor([0, 1, 2, 0, 1, 2]))
loss.backward()

=== example: sigmoid unit with sparse cross-entropy
from keras.models import Sequential
from keras.layers import Dense

model = Sequential([Dense(8, activation="relu", input_shape=(5,)), Dense(1, activation="sigmoid")])
- model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
+ model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])

=== example (runs): one raw score for two classes, seen in a run
import torch
from torch import nn

model = nn.Linear(4, 1)
- criterion = nn.CrossEntropyLoss()
+ criterion = nn.BCEWithLogitsLoss()
labels = torch.tensor([0, 1, 1, 0, 1, 0])
- loss = criterion(model(torch.rand(6, 4)), labels)
+ loss = criterion(model(torch.rand(6, 4)), labels.float().unsqueeze(1))
loss.backward()

=== example (runs): indices with the loss for one-hot rows
import numpy as np
import keras

x, y = np.random.rand(12, 4), np.random.randint(0, 3, 12)
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
- model.compile(optimizer="sgd", loss="categorical_crossentropy")
+ model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy")
model.fit(x, y, epochs=1, verbose=0)

=== example (runs): one-hot rows with the loss for indices
import numpy as np
import keras
from keras import layers

x, y = np.random.rand(12, 4), keras.utils.to_categorical(np.arange(12) % 3)
model = keras.Sequential([keras.Input((4,)), layers.Dense(8, activation="relu"), layers.Dense(3, activation="softmax")])
- model.compile(optimizer="sgd", loss=keras.losses.SparseCategoricalCrossentropy())
+ model.compile(optimizer="sgd", loss=keras.losses.CategoricalCrossentropy())
model.fit(x, y, epochs=1, verbose=0)

=== example (runs): Keras softmax with mse
import numpy as np
import keras

x, y = np.random.rand(30, 4), np.arange(30) % 3
model = keras.Sequential([keras.layers.Dense(3, activation='softmax')])
- model.compile(optimizer="adam", loss="mse")
+ model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
model.fit(x, y, batch_size=10, epochs=1, verbose=0)

=== example (runs): torch softmax with a float column of labels
import torch
import torch.nn.functional as F
from torch import nn

- model = nn.Sequential(nn.Linear(4, 3), nn.Softmax(dim=1))
+ model = nn.Sequential(nn.Linear(4, 3))
labels = (torch.arange(12) % 3).float().unsqueeze(1)
- loss = F.mse_loss(model(torch.rand(12, 4)), labels)
+ loss = F.cross_entropy(model(torch.rand(12, 4)), labels.squeeze(-1).long())
loss.backward()

=== example (runs): Keras prices with binary cross-entropy
import numpy as np
import keras

x = np.random.rand(32, 3).astype("float32")
y = 10 * x.sum(axis=1, keepdims=True) + 0.5
- model = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1, activation="sigmoid")])
- model.compile(optimizer="adam", loss="binary_crossentropy")
+ model = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)])
+ model.compile(optimizer="adam", loss="mean_squared_error")
model.fit(x, y, epochs=1, verbose=0)

=== example (runs): torch amounts with cross-entropy
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

=== reject: several labels with sigmoids
import keras
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(6, activation="sigmoid")])
model.compile(loss="binary_crossentropy")

=== reject (runs): two classes with one sigmoid
import torch
from torch import nn
model = nn.Sequential(nn.Linear(4, 1), nn.Sigmoid())
loss = nn.BCELoss()(model(torch.rand(6, 4)), torch.tensor([[0.0], [1.0]] * 3))

=== reject (runs): a score per class
import torch
from torch import nn

model = nn.Linear(4, 2)
loss = nn.CrossEntropyLoss()(model(torch.rand(6, 4)), torch.tensor([0, 1, 1, 0, 1, 0]))

=== reject (runs): indices with the loss for indices
import numpy as np
import keras
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy")
model.fit(np.random.rand(12, 4), np.random.randint(0, 3, 12), epochs=1, verbose=0)

=== reject (runs): one-hot rows with the loss for them
import numpy as np
import keras
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
model.compile(optimizer="sgd", loss="categorical_crossentropy")
model.fit(np.random.rand(12, 4), np.eye(3)[np.arange(12) % 3], epochs=1, verbose=0)

=== reject (runs): several amounts per sample
import torch
from torch import nn
model = nn.Linear(4, 3)
loss = nn.MSELoss()(model(torch.rand(20, 4)), torch.rand(20, 3))
loss.backward()

=== reject (runs): whole amounts with one output
import torch
from torch import nn
model = nn.Linear(4, 1)
loss = nn.MSELoss()(model(torch.rand(20, 4)), torch.arange(20).float().unsqueeze(1))
loss.backward()

=== reject (runs): soft labels
import torch
from torch import nn
model = nn.Linear(3, 1)
loss = nn.BCEWithLogitsLoss()(model(torch.randn(16, 3)), torch.rand(16, 1))
loss.backward()

=== reject (runs): labels with noise on them
import torch
from torch import nn
model = nn.Linear(3, 1)
labels = torch.ones(16, 1) + 0.05 * torch.rand(16, 1)
loss = nn.BCEWithLogitsLoss()(model(torch.randn(16, 3)), labels)
loss.backward()

=== reject (runs): amounts with the squared error
import torch
from torch import nn
model = nn.Linear(3, 1)
loss = nn.MSELoss()(model(torch.randn(16, 3)), 9 * torch.rand(16, 1))
loss.backward()
"""
