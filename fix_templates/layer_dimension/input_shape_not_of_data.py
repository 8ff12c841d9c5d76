"""The stated input shape of a Keras model does not match its data: another size, an axis too many, or not a tuple."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dnnfix.api import (
    Decline,
    Edit,
    Family,
    Fault,
    FixPattern,
    Json,
    Repairs,
    Replace,
    SetArgument,
    ShapeTemplate,
    Subject,
    Wrap,
    arithmetic,
    crashes,
    held_values,
    short,
    tensor_shapes,
    within,
)

NO_SHAPE = re.compile(r"Cannot convert '(\d+)' to a shape")
"""Keras 3; older releases raise that an integer is not iterable."""

OLDER = "'int' object is not iterable"

SHAPES = frozenset({"shape", "input_shape", "batch_shape"})


class InputShapeNotOfData(ShapeTemplate):
    """The input shape of a Keras model (`input_shape`, `Input(shape=…)`) does not match its data.

    The first layer creates its weights for the stated size: the number of samples instead of features, another data
    set's size, or axes in another order. Keras adds the batch axis itself: with the shape of the whole data set, the
    first layer gets an axis too many. And `Input(shape=10)` and `Dense(8, input_shape=(10))` state a number: the comma
    makes a tuple, not the parentheses.

    Fix safety: unsafe. The first layer gets another number of weights.

    References: keras.Input (`shape`: "a shape tuple", "not including the batch size"), keras.layers.Layer
    (`input_shape`), keras.layers.Dense ("if the input to the layer …"), keras.Model.fit.
    """

    code = "DNF210"
    name = "input-shape-not-of-data"
    formerly = ("DNF209", "batch-in-input-shape", "DNF244", "number-given-as-shape")
    message = "the input shape does not match: {what}"
    family = Family.LAYER_DIMENSION
    fix_pattern = FixPattern.LAYER_DIMENSION

    def explain(self, subject: Subject) -> Iterator[Fault]:
        other = _mismatch(subject)
        if other is not None:
            stated, sample = other
            what = (
                f"{stated.form} is {tensor_shapes.by(stated.shape)}, and a sample has shape {tensor_shapes.by(sample)}"
            )
            evidence: dict[str, Json] = {"stated": list(stated.shape), "received": list(sample)}
            ways = _as_data(subject, stated, sample)
            yield Fault(subject.source.site(stated.node), what, tuple(ways), evidence, confidence=0.85, reading="size")
        more = _axis_too_many(subject)
        if more is not None:
            stated, wanted, layer = more
            what = f"{stated.form} has {len(stated.shape)} axes, and {layer} expects {wanted} per sample"
            evidence = {"stated": list(stated.shape), "wanted": wanted}
            yield Fault(
                subject.source.site(stated.node), what, tuple(_without_one(subject, stated)), evidence, reading="axis"
            )
        value = _number(subject)
        if value is not None:
            what = f"expected a tuple, got the integer {ast.unparse(value)}"
            yield Fault(
                subject.source.site(value),
                what,
                tuple(_as_tuple(subject, value)),
                {},
                confidence=0.95,
                reading="number",
            )

    programs = """
=== example: number of features guessed
import numpy as np
from keras.models import Sequential
from keras.layers import Dense

x = np.array([[1], [2], [3], [4]])
model = Sequential()
- model.add(Dense(1, input_dim=5))
+ model.add(Dense(1, input_dim=1))
model.compile(optimizer="rmsprop", loss="mse")
model.fit(x, x * 2.0, verbose=0)

=== example: number of samples instead of the width
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

=== example: axes in another order
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

=== example: length of the data in Input
import numpy as np
import keras
from keras import layers

x, y = np.random.rand(20, 6, 2), np.random.rand(20, 1)
- inputs = keras.Input(shape=(20, 6, 2))
+ inputs = keras.Input(shape=(6, 2))
outputs = layers.Dense(1)(layers.LSTM(4)(inputs))
model = keras.Model(inputs, outputs)
model.compile(optimizer="sgd", loss="mse")
model.fit(x, y, verbose=0)

=== example: shape through a variable
import numpy as np
from keras import Sequential, layers

data = np.random.rand(12, 7)
- shape = data.shape
+ shape = data.shape[1:]
model = Sequential([layers.Dense(4, input_shape=shape), layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
model.fit(data, np.random.rand(12, 1), verbose=0)

=== example: brackets without a comma
import keras
import numpy as np

x = np.random.rand(8, 5)
- given = keras.Input(shape=(x.shape[1]))
+ given = keras.Input(shape=(x.shape[1],))
model = keras.Model(given, keras.layers.Dense(1)(given))
model.compile("sgd", "mse")
model.fit(x, x.sum(axis=1), verbose=0)

=== example: a parameter of a function
import numpy as np
from keras import layers, models


def network(width):
-     return models.Sequential([layers.Input(width), layers.Dense(2, activation="relu"), layers.Dense(1)])
+     return models.Sequential([layers.Input((width,)), layers.Dense(2, activation="relu"), layers.Dense(1)])


net = network(4)
net.compile(optimizer="sgd", loss="mse")
net.fit(np.ones((6, 4)), np.ones((6, 1)), verbose=0)

=== reject: the shape of the data
import numpy as np
import keras
from keras import layers

model = keras.Sequential([keras.Input((7,)), layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
model.fit(np.random.rand(20, 7), np.random.rand(20, 1), verbose=0)

=== reject: a shape that is left open
import numpy as np
import keras
from keras import layers

model = keras.Sequential([keras.Input((None, 2)), layers.LSTM(3), layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
model.fit(np.random.rand(4, 7, 2), np.random.rand(4, 1), verbose=0)

=== reject: shape of one sample
import numpy as np
from keras import Sequential, layers

data = np.random.rand(12, 7)
model = Sequential([layers.Dense(4, input_shape=data.shape[1:]), layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
model.fit(data, np.random.rand(12, 1), verbose=0)

=== reject: a recurrent layer after one that returns its last step
import keras
from keras import layers

keras.Sequential([keras.Input((8, 3)), layers.LSTM(4), layers.LSTM(4)])

=== reject: tuples
import keras
import numpy as np

model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
print(model.predict(np.ones((2, 3)), verbose=0))

=== reject: a loop over a number
import keras

sizes = 4
given = keras.Input((3,))
for size in sizes:
    given = keras.layers.Dense(size)(given)
"""


# --- another size -----------------------------------------------------------------------------------------------------


def _mismatch(subject: Subject) -> tuple[tensor_shapes.StatedInput, tuple[int, ...]] | None:
    """The stated shape and that of one sample, where both have the same number of axes."""
    call = subject.crash.call if subject.crash is not None else None
    if call is None or not call.name.startswith("keras.") or not call.inputs or call.inputs[0].origin == "symbolic":
        return None
    if call.inputs[0].producer is not None and not call.name.startswith("keras.models."):
        return None
    stated = tensor_shapes.stated_keras_input(subject, call)
    sample = tensor_shapes.known((call.inputs[0].shape or ())[1:])
    if stated is None or sample is None or len(sample) != len(stated.shape):
        return None
    differs = any(a is not None and a != b for a, b in zip(stated.shape, sample, strict=True))
    return (stated, sample) if differs else None


def _as_data(subject: Subject, stated: tensor_shapes.StatedInput, sample: tuple[int, ...]) -> Repairs:
    yield Decline("the shape is not written as numbers or as axes of the data")
    yield f"State the input shape {tensor_shapes.by(sample)}", _written_as(subject, stated, sample), 0.8


def _written_as(
    subject: Subject, stated: tensor_shapes.StatedInput, sample: tuple[int, ...]
) -> tuple[Edit, ...] | None:
    node = tensor_shapes.where_written(subject, stated.node)
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
        data, _ = tensor_shapes.fit_data(subject)
        owner = subject.text(subject.source.site(part.value.value))
        if data is not None and data.text == owner:
            return Replace(site, f"{owner}.shape[{place + 1}]")
        return None
    return Replace(site, str(size)) if arithmetic.number(part) is not None else None


# --- an axis too many -------------------------------------------------------------------------------------------------


def _axis_too_many(subject: Subject) -> tuple[tensor_shapes.StatedInput, int, str] | None:
    """The stated shape, how many axes it should have, and what expects so many."""
    crash = subject.crash
    if crash is None or crash.call is None or not crash.call.name.startswith("keras."):
        return None
    stated = tensor_shapes.stated_keras_input(subject, crash.call)
    conflict = crashes.rank_conflict(subject)
    inputs = crash.call.inputs
    built = bool(inputs) and inputs[0].producer is None and inputs[0].origin in ("symbolic", None)
    if stated is None:
        return None
    if conflict is not None and built and conflict.rank == conflict.wanted + 1 == len(stated.shape) + 1:
        return stated, conflict.wanted - 1, short(conflict.call.name)
    data = inputs[0] if inputs and inputs[0].origin == "data" else None
    rank = len(data.shape) if data is not None and data.shape is not None else None
    if rank is not None and rank == len(stated.shape) and rank > 1:
        return stated, rank - 1, "the data"
    found = crashes.crashed_layer(subject)
    if found is not None and len(stated.shape) == rank:
        return stated, len(stated.shape) - 1, short(crash.call.name)
    return None


def _without_one(subject: Subject, stated: tensor_shapes.StatedInput) -> Repairs:
    yield Decline("the shape is not written in one place")
    node = tensor_shapes.where_written(subject, stated.node)
    site = subject.source.site(node)
    if isinstance(node, ast.Attribute) and node.attr == "shape":
        yield "Remove the batch axis from the input shape", (Wrap(site, "", "[1:]"),), 0.95
        return
    if not isinstance(node, (ast.Tuple, ast.List)) or len(node.elts) != len(stated.shape):
        return
    given, _ = tensor_shapes.fit_data(subject)
    sample = tensor_shapes.known(given.value.shape[1:]) if given is not None and given.value.shape else None
    for place, prior in ((0, 0.7), (len(node.elts) - 1, 0.6)):
        left = (*stated.shape[:place], *stated.shape[place + 1 :])
        texts = [subject.text(subject.source.site(one)) for one in (*node.elts[:place], *node.elts[place + 1 :])]
        inside = ", ".join(texts) + ("," if len(texts) == 1 and isinstance(node, ast.Tuple) else "")
        written = f"({inside})" if isinstance(node, ast.Tuple) else f"[{inside}]"
        title = f"Remove the {'first' if place == 0 else 'last'} axis from the input shape"
        yield title, (Replace(site, written),), prior if sample is None or left == sample else prior / 3


# --- a number where a tuple is expected -------------------------------------------------------------------------------


def _number(subject: Subject) -> ast.expr | None:
    """The one shape that is a number, where Keras refused one."""
    crash = subject.crash
    node = subject.node(crash.site) if crash is not None and crash.kind in ("ValueError", "TypeError") else None
    said = NO_SHAPE.search(crash.message) if crash is not None else None
    if crash is None or node is None or said is None and OLDER not in crash.message:
        return None
    wanted = int(said[1]) if said is not None else None
    stated = list(_numbers(subject, subject.source.statement_of(node), wanted))
    if not stated and said is not None:
        stated = list(_numbers(subject, subject.source.tree, wanted))
    return stated[0] if len(stated) == 1 else None


def _as_tuple(subject: Subject, value: ast.expr) -> Repairs:
    site = subject.source.site(value)
    edit: Edit = Replace(site, f"({subject.text(site)},)")
    above = subject.source.parent(value)
    call = subject.source.parent(above) if isinstance(above, ast.keyword) else None
    if isinstance(above, ast.keyword) and above.arg and call is not None:  # including its parentheses
        edit = SetArgument(subject.source.site(call), above.arg, f"({subject.text(site)},)")
    yield "Convert it to a tuple", (edit,), 0.95


def _numbers(subject: Subject, where: ast.AST, wanted: int | None) -> Iterator[ast.expr]:
    """The shapes within a statement that are the number that was refused."""
    for call in within(where, ast.Call):
        named = (subject.source.qualified(call.func) or "").startswith("keras.")
        last = (subject.source.qualified(call.func) or "").rpartition(".")[2]
        given = [keyword.value for keyword in call.keywords if keyword.arg in SHAPES]
        if last == "Input" and call.args:
            given.append(call.args[0])
        for value in given if named else ():
            number = held_values.size_of(subject, value)
            if number is not None and wanted in (None, number):
                yield value
