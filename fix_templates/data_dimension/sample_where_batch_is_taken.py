"""A Keras model is asked about one sample, which it reads as a batch."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from dnnfix.api import (
    Crash,
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
    shape_said,
    with_numpy,
    wrapped,
)

Shape = tuple[int | None, ...]

METHODS = frozenset({"predict", "predict_on_batch"})

REFUSED = (
    re.compile(r"expected shape=\(([^)]*)\), found shape=\(([^)]*)\)"),
    re.compile(r"Expected shape \(([^)]*)\), but input has incompatible shape (?:torch\.Size\(\[|\()([^)\]]*)"),
)
"""Keras's words for an input of another shape than the model was built for: the wanted shape, and the given one."""


@dataclass(frozen=True, slots=True)
class _Sample:
    """What is handed over without the axis of the batch, and the shape of batches that the model takes."""

    node: ast.expr
    given: Shape
    wanted: Shape


class SampleWhereBatchIsTaken(FaultTemplate[_Sample]):
    """A Keras model is given one sample, and reads its first axis as that of the batch.

    `predict(image)` with an image of shape `(height, width, channels)` asks about `height` samples of two axes. The sample
    gets an axis of size one in front.

    Fix safety: unsafe. The result has a batch axis of size one as well; the program did not run before.

    References: keras.Model.predict, numpy.expand_dims.
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
        first = first_argument(node)
        if first is None or (isinstance(node.func, ast.Attribute) and node.func.attr not in METHODS):
            return
        given = shape_of(subject, first)
        if given is not None and _is_one(given, met):
            yield subject.source.site(first), _Sample(first, given, met)

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
        edit = wrapped(subject, fault.node, f"{function}(", ", axis=0)")
        yield "Give the sample a batch axis of size one", (edit, *imports), 0.95

    examples = (
        Example(
            "one picture judged in a function",
            """\
import keras
import numpy as np

model = keras.Sequential([keras.Input((6, 6, 3)), keras.layers.Conv2D(2, 3), keras.layers.GlobalMaxPooling2D()])


def judge(picture):
-     return model.predict(picture, verbose=0)[0]
+     return model.predict(np.expand_dims(picture, axis=0), verbose=0)[0]


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
- print(np.argmax(net.predict(x_test[4], batch_size=1)))
+ print(np.argmax(net.predict(np.expand_dims(x_test[4], axis=0), batch_size=1)))
""",
            runs=True,
        ),
        Example(
            "a row of measures in a method",
            """\
import numpy as np
from keras import Input, Sequential, layers


class Judge:
    def __init__(self):
        self.net = Sequential([Input((7, 2)), layers.LSTM(3), layers.Dense(1)])

    def of(self, steps):
-         return self.net.predict(x=steps, verbose=0)
+         return self.net.predict(x=np.expand_dims(steps, axis=0), verbose=0)


print(Judge().of(np.ones((7, 2))))
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


def _met(subject: Subject, crash: Crash) -> Shape | None:
    """The shape that the model was built for, as Keras says or as the run recorded it."""
    said = next(filter(None, (one.search(crash.message) for one in REFUSED)), None)
    if said is not None:
        return shape_said(said[1])
    built = {
        value.shape
        for call in subject.network.calls
        for value in call.inputs
        if value.origin == "symbolic" and value.producer is None and value.shape is not None
    }
    return built.pop() if len(built) == 1 else None


def _is_one(given: Shape, wanted: Shape) -> bool:
    """Whether a shape is that of one sample of batches of the wanted shape; a size cut by the batch may be unknown."""
    if not given or len(given) + 1 != len(wanted):
        return False
    return all(a is None or b is None or a == b for a, b in zip(given, wanted[1:], strict=True))
