"""A Keras model is asked about one sample, which it reads as a batch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    Crash,
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
    first_argument,
    shape_of,
    with_numpy,
    wrapped,
)

Shape = tuple[int | None, ...]

METHODS = frozenset({"fit", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch"})

REFUSED = (
    re.compile(r"expected shape=\(([^)]*)\), found shape=\(([^)]*)\)"),
    re.compile(r"Expected shape \(([^)]*)\), but input has incompatible shape (?:torch\.Size\(\[|\()([^)\]]*)"),
)
"""Keras's words for an input of another shape than the model was built for: the wanted and the given shape."""


@dataclass(frozen=True, slots=True)
class _Sample:
    """What is handed over without the axis of the batch: the ways to give it one, each as expressions to wrap."""

    node: ast.expr
    given: Shape
    wanted: Shape
    ways: tuple[tuple[ast.expr, ...], ...]


class SampleWhereBatchIsTaken(FaultTemplate[_Sample]):
    """A Keras model is given one sample, and reads its first axis as that of the batch.

    `predict(image)` with an image of shape `(height, width, channels)` asks about `height` samples of two axes. A generator
    that yields one sample at a time does the same to `fit`. The sample gets an axis of size one in front.

    Fix safety: unsafe. The result has a batch axis of size one as well; the program did not run before.

    References: keras.Model.predict, keras.Model.fit ("a generator returning (inputs, targets)").
    """

    code = "DNF142"
    name = "sample-where-batch-is-taken"
    family = Family.DATA_DIMENSION
    fix_pattern = FixPattern.DATA_DIMENSION
    message = "one sample of shape {given} is given to a model of batches {wanted}"
    needs_run = True
    declined = "what is handed over is not written at one place"

    def faults(self, subject: Subject) -> Faults[_Sample]:
        crash = subject.crash
        node = subject.node(crash.site) if crash is not None else None
        met = _met(subject, crash) if crash is not None else None
        if met is None or not isinstance(node, ast.Call):
            return
        method = node.func.attr if isinstance(node.func, ast.Attribute) else "predict"
        first = first_argument(node)
        if first is None or (isinstance(node.func, ast.Attribute) and method not in METHODS):
            return
        wanted, found = met
        given = shape_of(subject, first)
        if given is not None and method.startswith("predict") and _is_one(given, wanted):
            yield subject.source.site(first), _Sample(first, given, wanted, ((first,),))
        elif given is None and method in ("fit", "evaluate") and _is_one(found, wanted):
            pair = _yielded(subject, first)
            if pair is not None:
                yield subject.source.site(pair[0]), _Sample(pair[0], found, wanted, (pair[:1], pair))

    def report(self, site: Site, fault: _Sample) -> Finding:
        return self.finding(
            site,
            symptom=Symptom.CRASH,
            confidence=0.95,
            cause="crash",
            evidence={"given": list(fault.given), "wanted": list(fault.wanted)},
            given=fault.given,
            wanted=fault.wanted,
        )

    def repairs(self, subject: Subject, fault: _Sample) -> Repairs:
        function, imports = with_numpy(subject, "expand_dims")
        for number, way in enumerate(fault.ways):
            edits: tuple[Edit, ...] = tuple(wrapped(subject, one, f"{function}(", ", axis=0)") for one in way)
            what = "sample" if len(way) == 1 else "sample and its target"
            yield f"Give the {what} a batch axis of size one", (*edits, *imports), 0.95 - 0.1 * number

    examples = (
        Example(
            "one picture judged in a function",
            """\
import keras
import numpy as np

model = keras.Sequential([keras.Input((6, 6, 3)), keras.layers.Conv2D(2, 3), keras.layers.GlobalMaxPooling2D()])


def judge(picture):
    return model.predict(picture, verbose=0)[0]


print(judge(np.random.rand(6, 6, 3)))
""",
            """\
import keras
import numpy as np

model = keras.Sequential([keras.Input((6, 6, 3)), keras.layers.Conv2D(2, 3), keras.layers.GlobalMaxPooling2D()])


def judge(picture):
    return model.predict(np.expand_dims(picture, axis=0), verbose=0)[0]


print(judge(np.random.rand(6, 6, 3)))
""",
            runs=True,
        ),
        Example(
            "one of the test images",
            """\
import numpy as np
from keras.layers import Dense, Flatten, Input
from keras.models import Model

x_test = np.random.rand(9, 8, 8)
inputs = Input(shape=(8, 8))
net = Model(inputs, Dense(3, activation="softmax")(Flatten()(inputs)))
print(np.argmax(net.predict(x_test[4], batch_size=1)))
""",
            """\
import numpy as np
from keras.layers import Dense, Flatten, Input
from keras.models import Model

x_test = np.random.rand(9, 8, 8)
inputs = Input(shape=(8, 8))
net = Model(inputs, Dense(3, activation="softmax")(Flatten()(inputs)))
print(np.argmax(net.predict(np.expand_dims(x_test[4], axis=0), batch_size=1)))
""",
            runs=True,
        ),
        Example(
            "a generator of single images",
            """\
import numpy as np
from keras import Input, Sequential, layers


def endless():
    while True:
        image, answer = np.random.rand(7, 7, 1), np.zeros((1, 2))
        yield image, answer


net = Sequential([Input((7, 7, 1)), layers.Conv2D(2, 3), layers.GlobalMaxPooling2D(), layers.Dense(2)])
net.compile("sgd", "mse")
net.fit(endless(), steps_per_epoch=4, epochs=1, verbose=0)
""",
            """\
import numpy as np
from keras import Input, Sequential, layers


def endless():
    while True:
        image, answer = np.random.rand(7, 7, 1), np.zeros((1, 2))
        yield np.expand_dims(image, axis=0), answer


net = Sequential([Input((7, 7, 1)), layers.Conv2D(2, 3), layers.GlobalMaxPooling2D(), layers.Dense(2)])
net.compile("sgd", "mse")
net.fit(endless(), steps_per_epoch=4, epochs=1, verbose=0)
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a batch of one",
            """\
import keras
import numpy as np

model = keras.Sequential([keras.Input((6, 6, 3)), keras.layers.Conv2D(2, 3)])
model.predict(np.random.rand(6, 6, 3)[None], verbose=0)
""",
            runs=True,
        ),
        Reject(
            "images of another size",
            """\
import keras
import numpy as np

model = keras.Sequential([keras.Input((6, 6, 3)), keras.layers.Conv2D(2, 3), keras.layers.Flatten(), keras.layers.Dense(2)])
images = np.random.rand(4, 8, 8, 3)
model.predict(images, verbose=0)
""",
            runs=True,
        ),
    )


def _met(subject: Subject, crash: Crash) -> tuple[Shape, Shape] | None:
    """The shape that the model was built for and the one that came, as Keras says or as the run recorded them."""
    said = next(filter(None, (one.search(crash.message) for one in REFUSED)), None)
    if said is not None:
        return _shape(said[1]), _shape(said[2])
    came = crash.call.inputs[0].shape if crash.call is not None and crash.call.inputs else None
    built = {
        value.shape
        for call in subject.network.calls
        for value in call.inputs
        if value.origin == "symbolic" and value.producer is None and value.shape is not None
    }
    return (built.pop(), came) if came is not None and len(built) == 1 else None


def _shape(text: str) -> Shape:
    sizes = [one.strip() for one in text.split(",") if one.strip()]
    return tuple(int(one) if one.isdigit() else None for one in sizes)


def _is_one(given: Shape, wanted: Shape) -> bool:
    """Whether a shape is that of one sample of batches of the wanted shape; a size cut by the batch may be unknown."""
    if not given or len(given) + 1 != len(wanted):
        return False
    return all(a is None or b is None or a == b for a, b in zip(given, wanted[1:], strict=True))


def _yielded(subject: Subject, generator: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """Sample and target as a generator of the program yields them, where that is written at one place."""
    if isinstance(generator, ast.Name):
        bound = subject.source.bindings(generator, generator)
        generator = bound[0] if len(bound) == 1 else generator
    if not isinstance(generator, ast.Call):
        return None
    function = _function(subject, generator.func)
    given = [node.value for node in ast.walk(function) if isinstance(node, ast.Yield)] if function is not None else []
    return _pair(subject, given[0]) if len(given) == 1 and given[0] is not None else None


def _pair(subject: Subject, expr: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    if isinstance(expr, ast.Tuple):
        return (expr.elts[0], expr.elts[1]) if len(expr.elts) == 2 else None
    function = _function(subject, expr.func) if isinstance(expr, ast.Call) else None
    returned = list(_returned(function)) if function is not None else []
    return _pair(subject, returned[0]) if len(returned) == 1 and isinstance(returned[0], ast.Tuple) else None


def _returned(function: ast.FunctionDef) -> Iterator[ast.expr]:
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and node.value is not None:
            yield node.value


def _function(subject: Subject, expr: ast.expr) -> ast.FunctionDef | None:
    """The function or method of the program under that name, where only one has it."""
    name = expr.id if isinstance(expr, ast.Name) else expr.attr if isinstance(expr, ast.Attribute) else ""
    found = [one for one in subject.source.nodes(ast.FunctionDef) if one.name == name]
    return found[0] if len(found) == 1 else None
