"""A list of samples is given to a Keras model, which takes it for several inputs."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from dnnfix.api import (
    Edit,
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Reject,
    Repairs,
    Site,
    Subject,
    Symptom,
    described_shape,
    first_argument,
    held_list,
    keyword_value,
    shape_of,
    with_numpy,
    wrapped,
)

METHODS = frozenset({"fit", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch"})

COUNTED = re.compile(r"expects? (\d+) (?:named )?input\(s\)(?: with keys [^,]*)?, but it received (\d+) input")
"""Keras's words for a list of another length than the model has inputs."""


@dataclass(frozen=True, slots=True)
class _Listed:
    """The lists that are handed over, the samples first, and how many samples there are."""

    nodes: tuple[ast.expr, ...]
    count: int
    shape: tuple[int | None, ...]


class ListOfSamples(FaultTemplate[_Listed]):
    """The samples are collected in a list and handed to `fit` as that list.

    Keras takes a list of arrays for the inputs of a model with several of them, one array for each. As an array, the
    samples of equal shape have the axis of the batch in front.

    Fix safety: unsafe. The samples are copied into one array; their values stay.

    References: keras.Model.fit (`x`: "a list of arrays, in case the model has multiple inputs"), numpy.array.
    """

    code = "DNF143"
    name = "list-of-samples"
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_TYPE
    message = "a list of {count} samples of shape {shape} is taken for {count} inputs"
    needs_run = True
    declined = "the list is not handed over by a name"

    def faults(self, subject: Subject) -> Faults[_Listed]:
        crash = subject.crash
        node = subject.node(crash.site) if crash is not None else None
        if crash is None or not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return
        first = first_argument(node) if node.func.attr in METHODS else None
        listed = held_list(subject, first) if first is not None else None
        if first is None or listed is None or listed[0] < 2:
            return
        shapes = {described_shape(one) for one in listed[1]}
        shape = shapes.pop() if len(shapes) == 1 else None
        if not shape:
            return
        target = _target(node)
        answers = held_list(subject, target) if target is not None else None
        rows = shape_of(subject, target) if target is not None else None
        said = COUNTED.search(crash.message)
        one_each = answers is not None and answers[0] == listed[0] and all(described_shape(a) == () for a in answers[1])
        each = one_each or (bool(rows) and rows is not None and rows[0] == listed[0] != shape[0])
        counted = said is not None and said[2] == str(listed[0]) != said[1]
        if each or counted or _is_sample(subject, shape):
            further = (target,) if target is not None and answers is not None else ()
            yield subject.source.site(first), _Listed((first, *further), listed[0], shape)

    def report(self, site: Site, fault: _Listed) -> Finding:
        return self.finding(
            site,
            symptom=Symptom.CRASH,
            confidence=0.95,
            cause="crash",
            evidence={"count": fault.count, "shape": list(fault.shape)},
            count=fault.count,
            shape=fault.shape,
        )

    def repairs(self, subject: Subject, fault: _Listed) -> Repairs:
        function, imports = with_numpy(subject, "array")
        edits: list[Edit] = [wrapped(subject, node, f"{function}(", ")") for node in fault.nodes]
        yield "Make one array of the samples", (*edits, *imports), 0.95

    examples = (
        Example(
            "recordings and their answers in lists",
            """\
import keras
import numpy as np

x, y = [], []
for number in range(12):
    x.append(np.random.rand(5, 2))
    y.append(number % 3)
net = keras.Sequential([keras.Input((5, 2)), keras.layers.Flatten(), keras.layers.Dense(3, activation="softmax")])
net.compile("sgd", "sparse_categorical_crossentropy")
- net.fit(x, y, epochs=1, verbose=0)
+ net.fit(np.array(x), np.array(y), epochs=1, verbose=0)
""",
        ),
        Example(
            "answers in an array already",
            """\
import numpy as np
from keras import layers, models


def pictures(count):
    return [np.full((4, 4, 1), k / count) for k in range(count)]


images = pictures(10)
labels = np.arange(10) % 2
model = models.Sequential([layers.Input((4, 4, 1)), layers.Conv2D(2, 3), layers.Flatten(), layers.Dense(1)])
model.compile(loss="mse", optimizer="sgd")
- model.fit(x=images, y=labels, verbose=0)
+ model.fit(x=np.array(images), y=labels, verbose=0)
""",
        ),
    )
    rejects = (
        Reject(
            "a model of two inputs",
            """\
import keras
import numpy as np

a, b = keras.Input((3,)), keras.Input((3,))
model = keras.Model([a, b], keras.layers.Dense(1)(keras.layers.Concatenate()([a, b])))
model.compile("sgd", "mse")
model.fit([np.ones((4, 3)), np.ones((4, 3))], np.ones((4, 1)), verbose=0)
""",
        ),
        Reject(
            "a crash of the loss, with two inputs that are right",
            """\
import keras
import numpy as np

a, b = keras.Input((3,)), keras.Input((3,))
model = keras.Model([a, b], keras.layers.Dense(5)(keras.layers.Concatenate()([a, b])))
model.compile("sgd", "mse")
inputs = [np.ones((4, 3)), np.ones((4, 3))]
model.fit(inputs, np.ones((4, 2)), verbose=0)
""",
        ),
    )


def _is_sample(subject: Subject, shape: tuple[int | None, ...]) -> bool:
    """Whether the model has one input, and takes batches of samples of that shape."""
    built = {
        (value.id, value.shape)
        for call in subject.network.calls
        for value in call.inputs
        if value.origin == "symbolic" and value.producer is None and value.shape is not None
    }
    wanted = next(iter(built))[1][1:] if len(built) == 1 else ()
    return len(wanted) == len(shape) and all(a is None or a == b for a, b in zip(wanted, shape, strict=True))


def _target(call: ast.Call) -> ast.expr | None:
    if len(call.args) > 1 and not isinstance(call.args[1], ast.Starred):
        return call.args[1]
    return keyword_value(call, "y")
