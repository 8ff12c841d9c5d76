"""`validation_split` holds out the end of data that is sorted by class."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from dnnfix.api import (
    Call,
    Decline,
    Edit,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    InsertBefore,
    Repairs,
    Site,
    Subject,
    Symptom,
    Value,
    Wrap,
    argument_value,
    network_facts,
    order_edits,
    spell,
    tensor_values,
    training_loop,
    words,
)

ROWS = 20
"""The least number of samples; below it the program is a toy."""
SAMPLES_PER_CLASS = 5
"""The least number of samples per class; below it rising numbers may not be classes."""

VALIDATION_DATA, SAMPLE_WEIGHT = 7, 10
"""The indices of the positional arguments of `fit`."""

IN_TIME = words("""TimeseriesGenerator timeseries_dataset_from_array sliding_window_view look_back lookback
    to_datetime parse_dates DatetimeIndex""")
"""Names in programs on time series, where the end is held out on purpose."""

INDEXED = {"ndarray": "", "DataFrame": ".iloc", "Series": ".iloc"}
"""The attribute of each type that is indexed with an array of positions."""


@dataclass(frozen=True, slots=True)
class Split:
    """A call of `fit` that holds out the end of sorted data, the fraction, the labels, and the types of both arrays."""

    call: ast.Call
    share: float
    labels: Value
    types: Mapping[str, str]


class ValidationSplitOfSortedData(FaultTemplate[Split]):
    """`fit(x, y, validation_split=0.2)` on data sorted by class, as read from one folder after the other.

    Keras holds out the last samples before anything is shuffled. The last classes are validated and hardly trained, the
    others are never validated: the validation accuracy stays at 0, or is that of a single class.

    Reported where the labels of a classification loss only rise, or only fall, from the first sample to the last, with
    many samples of each class. Programs that need the order are left alone: with `shuffle=False`, with stateful layers,
    or on time series.

    Fix safety: unsafe. Other samples are held out and trained.

    References: keras.Model.fit (`validation_split`: "the validation data is selected from the last samples in the x and
    y data provided, before shuffling").
    """

    code = "DNF164"
    name = "validation-split-of-sorted-data"
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_WRANGLING
    message = (
        "the data is sorted by class, and validation_split={share:g} holds out its end: "
        "training and validation see different classes"
    )
    needs_run = True
    declined = "inputs and labels are not each an array under a name of its own"

    def faults(self, subject: Subject) -> Faults[Split]:
        if subject.trace is None or not IN_TIME.isdisjoint(subject.words):
            return
        network = subject.network
        if any(component.args.get("stateful") is True for component in network.components):
            return
        seen: set[Site | None] = set()
        for call in network.calls:
            if call.name == "keras.Model.fit" and call.site not in seen:
                seen.add(call.site)
                split = _split(subject, call)
                if split is not None:
                    yield call.site, split

    def report(self, site: Site, fault: Split) -> Finding:
        return self.finding(
            site,
            symptom=Symptom.VIOLATION,
            confidence=0.9,
            evidence={"labels": list(fault.labels.shape or ()), "share": fault.share},
            share=fault.share,
        )

    def repairs(self, subject: Subject, fault: Split) -> Repairs:
        source, call = subject.source, fault.call
        if training_loop.loops_around(source, call) or len(training_loop.method_calls(source, "fit")) > 1:
            yield Decline("`fit` is called more than once, and a new order would mix what was held out before")
            return
        if argument_value(call, "sample_weight", SAMPLE_WEIGHT) is not None:
            yield Decline("the weights of the samples would have to be put in the same order")
            return
        permutation, order = spell(subject, "numpy.random.permutation"), order_edits.order_name(source)
        names: list[str] = []
        edits: list[Edit] = []
        for place, role in enumerate(("x", "y")):
            node = argument_value(call, role, place)
            rows = INDEXED.get(fault.types.get(role, "").rpartition(".")[2])
            if not isinstance(node, ast.Name) or rows is None:
                return
            names.append(node.id)
            edits.append(Wrap(source.site(node), "", f"{rows}[{order}]"))
        drawn = order_edits.order_drawn(order, permutation.code, names[0])
        edits += [InsertBefore(source.site(call), drawn), *permutation.imports]
        yield "Pass the samples to `fit` in random order", tuple(edits), 0.9

    programs = """
=== example: one class after the other
import numpy as np
import keras

x = np.concatenate([np.random.normal(place, 1.0, (20, 4)) for place in range(3)])
y = np.repeat(np.arange(3), 20)
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
- model.fit(x, y, epochs=2, validation_split=0.2, verbose=0)
+ order = np.random.permutation(len(x))
+ model.fit(x[order], y[order], epochs=2, validation_split=0.2, verbose=0)

=== example: rows with a one, in a function
from keras import Input, Sequential, layers
from keras.utils import to_categorical
from numpy import array, random


def train(images, labels):
    net = Sequential([Input((6,)), layers.Dense(4, activation="softmax")])
    net.compile("sgd", "categorical_crossentropy")
-     return net.fit(images, labels, validation_split=0.25, verbose=0)
+     order = random.permutation(len(images))
+     return net.fit(images[order], labels[order], validation_split=0.25, verbose=0)


train(random.rand(32, 6), to_categorical(array(sorted(list(range(4)) * 8))))

=== reject: shuffled before
import numpy as np
import keras

y = np.repeat(np.arange(3), 20)
order = np.random.RandomState(0).permutation(60)
x, y = np.random.rand(60, 4)[order], y[order]
model = keras.Sequential([keras.layers.Dense(3, activation="softmax")])
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
model.fit(x, y, validation_split=0.2, verbose=0)

=== reject: amounts that rise
import numpy as np
import keras

x = np.random.rand(60, 4)
y = np.arange(60) // 10
model = keras.Sequential([keras.layers.Dense(1)])
model.compile(optimizer="adam", loss="mse")
model.fit(x, y, validation_split=0.2, verbose=0)

=== reject: sorted labels with validation data of their own
import numpy as np
import keras

x, y = np.random.rand(60, 4), np.repeat(np.arange(3), 20)
model = keras.Sequential([keras.layers.Dense(3, activation="softmax")])
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
model.fit(x, y, validation_split=0.2, validation_data=(x[::2], y[::2]), verbose=0)
model.fit(x, y, verbose=0)

=== reject: the order is wanted
import numpy as np
import keras

x, y = np.random.rand(60, 4), np.repeat([0, 1], 30)
model = keras.Sequential([keras.layers.Dense(1, activation="sigmoid")])
model.compile(optimizer="adam", loss="binary_crossentropy")
model.fit(x, y, validation_split=0.2, shuffle=False, verbose=0)
"""


def _split(subject: Subject, call: Call) -> Split | None:
    """The fault of a call of `fit`, if it has one."""
    node, share, types = subject.call_node(call), call.args.get("validation_split"), call.args.get("types")
    if node is None or not isinstance(share, float) or not isinstance(types, Mapping):
        return None
    starred = any(keyword.arg is None for keyword in node.keywords)
    if not 0 < share < 1 or call.args.get("shuffle") is False or starred:
        return None
    if argument_value(node, "validation_data", VALIDATION_DATA) is not None:
        return None
    roles = call.args.get("inputs")
    labels = [v for v, role in zip(call.inputs, roles, strict=False) if role == "y"] if isinstance(roles, list) else []
    if len(labels) != 1 or not _are_sorted_classes(subject, labels[0]):
        return None
    return Split(node, share, labels[0], {role: str(kind) for role, kind in types.items()})


def _are_sorted_classes(subject: Subject, labels: Value) -> bool:
    shape, low, high = labels.shape, labels.low, labels.high
    if (
        labels.ordered is not True
        or not tensor_values.whole(labels)
        or not shape
        or len(shape) > 2
        or low is None
        or high is None
    ):
        return False
    rows, width = shape[0] or 0, shape[-1] or 0
    if len(shape) == 1 or width == 1:
        classes: float = labels.distinct or high - low + 1
    elif labels.row_sums_to_one is True:
        classes = width
    else:
        return False
    return rows >= max(ROWS, SAMPLES_PER_CLASS * classes) and _are_classes(subject, labels)


def _are_classes(subject: Subject, labels: Value) -> bool:
    """Whether a classification loss was called with the labels."""
    facts = [network_facts.loss_facts(call) for call in subject.network.users(labels)]
    return any(
        each is not None and each.task in (network_facts.Task.CLASSES, network_facts.Task.LABELS) for each in facts
    )
