"""`Dense(20, 64)`: the input's size before the output's, as the first versions of Keras took them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    ApiChange,
    Edit,
    Example,
    Hit,
    Reject,
    RemoveArgument,
    SetArgument,
    Subject,
    added_by_statement,
    element_of,
    uses_of,
)

SEQUENCES = ("LSTM", "GRU", "SimpleRNN", "TimeDistributedDense")
"""Layers whose input has an axis of time before that of the size."""

LAYERS = ("Dense", *SEQUENCES)


class InputSizeFirst(ApiChange):
    """Before Keras 1.0 a layer was told the size of its input and then that of its output: `Dense(20, 64)`.

    Today the first number is the size of the output and the second the activation, which no number can be: the program
    stops. The first layer of a model keeps the size as its `input_shape`, the others infer it. `Convolution2D` had the
    channels of its input second, before the sides of the kernel.

    Fix safety: unsafe: the network that was meant is built, and defaults of its layers have changed since.

    References: https://github.com/keras-team/keras/releases/tag/1.0.0.
    """

    code = "DNF532"
    name = "input-size-first"
    triggers = (*LAYERS, "Convolution2D")

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """Layers with two sizes, or convolutions with four."""
        source = subject.source
        if "keras" not in source.frameworks:
            return
        for call in uses_of(source).calls():
            if len(call.args) < 2:
                continue
            written = source.written(call.func) or ""
            layer = written.rpartition(".")[2]
            if not written.startswith("keras.layers."):
                continue
            site = source.site(call)
            if layer in LAYERS and all(_is_size(subject, size) for size in call.args[:2]):
                size = source.segment(source.site(call.args[0]))
                edits: list[Edit] = [RemoveArgument(site, "", 0)]
                if _is_first(subject, call) and not any(k.arg == "input_shape" for k in call.keywords):
                    shape = f"(None, {size})" if layer in SEQUENCES else f"({size},)"
                    edits.append(SetArgument(site, "input_shape", shape))
                said = f"{layer} takes the size of its output first since Keras 1.0, and infers that of its input"
            elif layer == "Convolution2D" and len(call.args) == 4 and all(_is_size(subject, a) for a in call.args):
                sides = ", ".join(source.segment(source.site(side)) for side in call.args[2:])
                edits = [
                    RemoveArgument(site, "", 1),
                    SetArgument(site, "kernel_size", f"({sides})", 2),
                    RemoveArgument(site, "", 3),
                ]
                said = "Convolution2D infers the channels of its input since Keras 1.0"
            else:
                continue
            yield Hit(
                source.site(call.args[1]),
                said,
                title="give the size of the output alone",
                edits=tuple(edits),
                removed={"keras": "1.0"},
                within=site,
            )

    examples = (
        Example(
            "a dense network of the first Keras",
            """\
from keras.models import Sequential
- from keras.layers.core import Dense, Dropout
+ from keras.layers import Dense, Dropout

model = Sequential()
- model.add(Dense(20, 64, init="uniform", activation="tanh"))
+ model.add(Dense(64, kernel_initializer="uniform", activation="tanh", input_shape=(20,)))
model.add(Dropout(0.5))
- model.add(Dense(64, 2, init="uniform"))
+ model.add(Dense(2, kernel_initializer="uniform"))
""",
        ),
        Example(
            "a sequence",
            """\
- from keras.layers.recurrent import LSTM
+ from keras.layers import LSTM
from keras.models import Sequential

features = 3
model = Sequential()
- model.add(LSTM(features, 128, return_sequences=True))
- model.add(LSTM(128, 64))
+ model.add(LSTM(128, return_sequences=True, input_shape=(None, features)))
+ model.add(LSTM(64))
""",
        ),
        Example(
            "convolutions with the channels of their input",
            """\
from keras.models import Sequential
from keras.layers import Activation, Convolution2D

model = Sequential()
- model.add(Convolution2D(32, 3, 5, 5, border_mode="same"))
- model.add(Convolution2D(64, 32, 3, 3))
+ model.add(Convolution2D(32, (5, 5), padding="same"))
+ model.add(Convolution2D(64, (3, 3)))
""",
        ),
    )
    rejects = (
        Reject(
            "the size of the output, and an activation",
            """\
from keras.layers import Convolution2D, Dense, LSTM

relu = "relu"
layers = [Dense(64, "relu"), Dense(3, relu), LSTM(32, activation="tanh"), Convolution2D(32, 3, 3)]
""",
        ),
        Reject(
            "a class of the program's own",
            """\
import keras


class Dense:
    def __init__(self, inputs, outputs):
        self.layer = keras.layers.Dense(outputs, input_shape=(inputs,))


layer = Dense(20, 64)
""",
        ),
    )


def _is_size(subject: Subject, expr: ast.expr) -> bool:
    """Whether an argument is a whole number, as far as the program tells."""
    if isinstance(expr, ast.Name):
        bound = subject.source.bindings(expr)
        return bool(bound) and all(isinstance(value, ast.Constant) and type(value.value) is int for value in bound)
    return isinstance(expr, ast.Constant) and type(expr.value) is int


def _is_first(subject: Subject, call: ast.Call) -> bool:
    """Whether a layer is the first of its sequential model."""
    element = element_of(subject, call)
    if element is not None:
        return element[1] == 0
    statement = added_by_statement(subject, call)
    if statement is None or not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    function = ast.dump(statement.value.func)
    for earlier in getattr(subject.source.parent(statement), "body", []):
        if earlier is statement:
            return True
        value = earlier.value if isinstance(earlier, ast.Expr) else None
        if isinstance(value, ast.Call) and ast.dump(value.func) == function:
            return False
    return False
