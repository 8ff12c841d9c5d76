"""A Keras model is told another input shape than its data has."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Candidate,
    Decline,
    Edit,
    Example,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Reject,
    Replace,
    StatedInput,
    Subject,
    Symptom,
    fit_data,
    known,
    number,
    stated_keras_input,
    where_written,
)


class InputShapeNotOfData(FixTemplate):
    """A Keras model is told another input shape than its data has.

    The first layer makes its weights for the size that it is told: for the number of samples instead of the number of
    features, for another data set, or with axes in another order. The program stops at the first batch.

    Fix safety: unsafe. The first layer gets another number of weights.

    References: keras.Input (`shape`), keras.layers.Dense ("if the input to the layer …"), keras.Model.fit.
    """

    code = "DNF210"
    name = "input-shape-not-of-data"
    family = Family.LAYER_DIMENSION
    fix_pattern = FixPattern.LAYER_DIMENSION
    message = "{form} states {stated} and the data has {received} per sample"
    needs_run = True

    def detect(self, subject: Subject) -> Iterator[Finding]:
        found = _mismatch(subject)
        if found is None:
            return
        stated, sample = found
        yield self.finding(
            subject.source.site(stated.node),
            symptom=Symptom.CRASH,
            confidence=0.85,
            cause="crash",
            evidence={"stated": stated.shape, "received": sample},
            form=stated.form,
            stated=" x ".join(map(str, stated.shape)),
            received=" x ".join(map(str, sample)),
        )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        found = _mismatch(subject)
        if found is None:
            return
        edits = _written_as(subject, *found)
        if edits is None:
            yield Decline("the shape is not written as numbers or as axes of the data")
            return
        yield self.candidate(finding, f"State the input shape {' x '.join(map(str, found[1]))}", *edits, prior=0.8)

    examples = (
        Example(
            "number of features guessed",
            """\
import numpy as np
from keras.models import Sequential
from keras.layers import Dense

x = np.array([[1], [2], [3], [4]])
model = Sequential()
- model.add(Dense(1, input_dim=5))
+ model.add(Dense(1, input_dim=1))
model.compile(optimizer="rmsprop", loss="mse")
model.fit(x, x * 2.0, verbose=0)
""",
            runs=True,
        ),
        Example(
            "length of the data taken for its width",
            """\
import numpy as np
from keras import Sequential, layers

X = np.random.rand(20, 7)
model = Sequential([
-     layers.Dense(3, input_shape=(X.shape[0],)),
+     layers.Dense(3, input_shape=(X.shape[1],)),
    layers.Dense(1),
])
model.compile(optimizer="sgd", loss="mse")
model.fit(X, np.random.rand(20, 1), verbose=0)
""",
            runs=True,
        ),
        Example(
            "axes in another order",
            """\
import numpy as np
import keras
from keras import layers

signals = np.random.rand(6, 10, 2)
- inputs = keras.Input(shape=(2, 10))
+ inputs = keras.Input(shape=(10, 2))
outputs = layers.Dense(1)(layers.GRU(3)(inputs))
model = keras.Model(inputs, outputs)
model.compile(optimizer="sgd", loss="mse")
model.fit(signals, np.random.rand(6, 1), verbose=0)
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "the shape of the data",
            """\
import numpy as np
import keras
from keras import layers

model = keras.Sequential([keras.Input((7,)), layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
model.fit(np.random.rand(20, 7), np.random.rand(20, 1), verbose=0)
""",
            runs=True,
        ),
        Reject(
            "a shape that is left open",
            """\
import numpy as np
import keras
from keras import layers

model = keras.Sequential([keras.Input((None, 2)), layers.LSTM(3), layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
model.fit(np.random.rand(4, 7, 2), np.random.rand(4, 1), verbose=0)
""",
            runs=True,
        ),
    )


def _mismatch(subject: Subject) -> tuple[StatedInput, tuple[int, ...]] | None:
    """What is stated and the shape of one sample of what came, where both have the same number of axes."""
    call = subject.crash.call if subject.crash is not None else None
    if call is None or not call.name.startswith("keras.") or not call.inputs or call.inputs[0].origin == "symbolic":
        return None
    if call.inputs[0].producer is not None and not call.name.startswith("keras.models."):
        return None
    stated = stated_keras_input(subject, call)
    sample = known((call.inputs[0].shape or ())[1:])
    if stated is None or sample is None or len(sample) != len(stated.shape):
        return None
    differs = any(a is not None and a != b for a, b in zip(stated.shape, sample, strict=True))
    return (stated, sample) if differs else None


def _written_as(subject: Subject, stated: StatedInput, sample: tuple[int, ...]) -> tuple[Edit, ...] | None:
    node = where_written(subject, stated.node)
    parts = node.elts if isinstance(node, (ast.Tuple, ast.List)) else [node]
    if len(parts) != len(sample):
        return None
    edits: list[Edit] = []
    for place, (part, size, was) in enumerate(zip(parts, sample, stated.shape, strict=True)):
        if was is None or was == size:
            continue
        edit = _part(subject, part, place, size)
        if edit is None:
            return None
        edits.append(edit)
    return tuple(edits)


def _part(subject: Subject, part: ast.expr, place: int, size: int) -> Edit | None:
    """The edit of one size: another axis of the same shape, else a number."""
    for _ in range(3):
        bound = subject.source.bindings(part, part) if isinstance(part, ast.Name) else ()
        part = bound[0] if len(bound) == 1 else part
    site = subject.source.site(part)
    if isinstance(part, ast.Subscript) and isinstance(part.value, ast.Attribute) and part.value.attr == "shape":
        data, _ = fit_data(subject)
        owner = subject.text(subject.source.site(part.value.value))
        if data is not None and data.text == owner:
            return Replace(site, f"{owner}.shape[{place + 1}]")
        return None
    return Replace(site, str(size)) if number(part) is not None else None
