"""Class numbers come with an axis too many or too few for the loss."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.api import (
    Call,
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    LossUse,
    Reject,
    Repairs,
    Site,
    Subject,
    Symptom,
    Target,
    activation_of,
    change_data,
    class_losses,
    layer_facts,
    same_targets,
    set_constructor_argument,
    short,
    target_site,
    way_back,
    whole,
)

Misshapen = tuple[LossUse, tuple[int | None, ...], str]
"""A crashed loss, the shape of the labels that it takes, and the code behind the labels that gives it."""


class LabelAxes(FaultTemplate[Misshapen]):
    """Class numbers come with an axis too many or too few for the loss.

    For predictions of shape `(batch, classes, …)` the cross-entropy of torch takes class numbers of shape `(batch, …)`.
    A column of labels, `(batch, 1)`, as it is read from a table, has an axis too many; a single number has one too few.

    Labels for each step of a sequence, for a network that gives one answer per sequence, have an axis too many as well;
    there a recurrent layer answers at every step, or the label of the last step is taken.

    Fix safety: unsafe. The labels get another shape, and of labels for each step only the last ones may be used.

    References: torch.nn.CrossEntropyLoss (shape of the target), torch.nn.NLLLoss, keras.losses.CategoricalCrossentropy.
    """

    code = "DNF108"
    name = "label-axes"
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_DIMENSION
    message = "{loss} takes labels of shape {wanted} and gets {shape}"
    needs_run = True
    declined = "the labels are not handed over at one place"

    def faults(self, subject: Subject) -> Faults[Misshapen]:
        for fault in _misshapen(subject):
            yield target_site(subject, fault[0]), fault

    def report(self, site: Site, fault: Misshapen) -> Finding:
        use, wanted, _ = fault
        labels = use.target.shape if use.target is not None else None
        return self.finding(
            site,
            symptom=Symptom.CRASH,
            confidence=0.95,
            cause="crash",
            evidence={"prediction": list(use.prediction.shape or ()), "labels": list(labels or ())},
            loss=use.name,
            wanted=wanted,
            shape=labels,
        )

    def repairs(self, subject: Subject, fault: Misshapen) -> Repairs:
        use, _, code = fault
        nodes = same_targets(subject, use)
        title = "Give the labels the shape that the loss takes"
        recurrent = _of_as_many_steps(subject, use)
        returning = set_constructor_argument(subject, recurrent, "return_sequences", "True") if recurrent else None
        if recurrent is not None and returning is not None:
            yield f"Let {short(recurrent.name)} answer at every step", tuple(returning), 0.9
        yield title, change_data(subject, nodes, "", code, each=True), 0.9 if recurrent is None else 0.4
        if len(nodes) > 1:
            yield title, change_data(subject, nodes[:1], "", code), 0.6

    examples = (
        Example(
            "a column of labels",
            """\
import torch
from torch import nn

model = nn.Linear(4, 3)
labels = torch.tensor([[0], [2], [1], [1], [0]])
- loss = nn.CrossEntropyLoss()(model(torch.rand(5, 4)), labels)
+ loss = nn.CrossEntropyLoss()(model(torch.rand(5, 4)), labels.squeeze(1))
""",
            runs=True,
        ),
        Example(
            "labels for each step, one answer per sequence",
            """\
import numpy as np
import keras
from keras import layers

x, y = np.random.rand(8, 6, 3), np.eye(2)[np.arange(48) % 2].reshape(8, 6, 2)
model = keras.Sequential([keras.Input((6, 3)), layers.Flatten(), layers.Dense(2, activation="softmax")])
model.compile(optimizer="sgd", loss="categorical_crossentropy")
- model.fit(x, y, verbose=0)
+ model.fit(x, y[:, -1], verbose=0)
""",
            runs=True,
        ),
        Example(
            "labels for each step that a recurrent layer takes",
            """\
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
""",
            runs=True,
        ),
        Example(
            "one label without an axis",
            """\
import torch
import torch.nn as nn

net = nn.Linear(4, 3)
criterion = nn.CrossEntropyLoss()
label = torch.tensor(2)
- loss = criterion(net(torch.rand(1, 4)), label)
+ loss = criterion(net(torch.rand(1, 4)), label.view(1))
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "labels of the right shape",
            """\
import torch
from torch import nn

loss = nn.CrossEntropyLoss()(nn.Linear(4, 3)(torch.rand(5, 4)), torch.tensor([0, 2, 1, 1, 0]))
""",
            runs=True,
        ),
        Reject(
            "another number of labels than predictions",
            """\
import torch
from torch import nn

loss = nn.CrossEntropyLoss()(nn.Linear(4, 3)(torch.rand(5, 4)), torch.tensor([[0], [2], [1]]))
""",
            runs=True,
        ),
    )


def _misshapen(subject: Subject) -> Iterator[Misshapen]:
    for use in class_losses(subject):
        target, shape = use.target, use.prediction.shape
        if not use.crashed:
            continue
        if use.in_keras and use.facts.target is Target.ONE_HOT:
            if target is not None and target.shape and shape is not None and _for_each_step(target.shape, shape):
                yield use, shape, "[:, -1]"
            continue
        if use.facts.target is not Target.INDICES or not use.in_torch:
            continue
        if target is None or target.shape is None or shape is None or len(shape) < 2 or not whole(target):
            continue
        wanted = (shape[0], *shape[2:])
        long = "" if target.dtype in ("int64", "uint8") else ".long()"
        if len(target.shape) == len(wanted) + 1 and target.shape == (shape[0], 1, *shape[2:]) and shape[1] != 1:
            yield use, wanted, f".squeeze(1){long}"
        elif target.shape == () and wanted == (1,):
            yield use, wanted, f".view(1){long}"


def _of_as_many_steps(subject: Subject, use: LossUse) -> Call | None:
    """The recurrent layer that gives its last step only, where there is a label for each of the steps that it takes."""
    labels = (use.target.shape if use.target is not None else None) or ()
    for call in way_back(subject, use.prediction) if use.in_keras else ():
        facts = layer_facts(call)
        if facts is not None and facts.kind == "recurrent":
            steps = (call.inputs[0].shape or ())[1:2] if call.inputs else ()
            collapsed = call.args.get("return_sequences") in (None, False)
            return call if collapsed and steps == labels[1:2] and None not in steps else None
        if (facts is None and activation_of(call) is None) or (
            facts is not None and facts.kind not in ("linear", "dropout", "normalization")
        ):
            return None
    return None


def _for_each_step(labels: tuple[int | None, ...], shape: tuple[int | None, ...]) -> bool:
    """Whether there is a row of classes for each step, where the network gives one for each sample."""
    if len(labels) != len(shape) + 1 or len(shape) != 2:
        return False
    return labels[-1] == shape[-1] and labels[1] is not None and labels[1] > 1
