"""`self.validation_data` in a callback: `fit` no longer sets it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    AddDefinition,
    ApiChange,
    Edit,
    Hit,
    InsertBefore,
    Replace,
    Source,
    Subject,
    Wrap,
    added,
    keyword_value,
    symbolic,
    uses_of,
)

_NAME = "with_validation_data"
_CODE = f'''\
def {_NAME}(callback, data):
    """The callback, with the validation data as an attribute."""
    callback.validation_data = data
    return callback'''

_FITS = ("fit", "fit_generator")
_DATA = "validation_data"
_SETS = frozenset({"__dict__", "setattr", "vars", "__setattr__", "__getattr__", "__getattribute__"})
"""Names by which a class may set an attribute that it does not name."""


class ValidationDataOfCallback(ApiChange):
    """A callback reads `self.validation_data`, which `fit` has not set since Keras 2.4, and never in `tf.keras`.

    It was a list of the inputs, targets and sample weights of the validation data. Where `fit` gets arrays and a
    callback of such a class, the callback gets the same arrays before. Declined where the callback also reads the
    weights, which `fit` created, or unpacks the list, and for generators. Classes that may have an attribute of that
    name themselves are left alone.

    Fix safety: unsafe: the callback keeps the data, and sees them as the program last changed them.

    References: https://keras.io/api/callbacks/base_callback/, https://github.com/keras-team/keras/releases/tag/2.4.0.
    """

    code = "DNF598"
    name = "validation-data-of-callback"
    message = "fit does not set validation_data on a callback since Keras 2.4"
    triggers = ("validation_data",)

    def hits(self, subject: Subject) -> Iterator[Hit]:
        source = subject.source
        if "validation_data" not in source.words:
            return
        met: set[ast.ClassDef] = set()
        for call in source.all_calls:
            if not isinstance(call.func, ast.Attribute) or call.func.attr not in _FITS:
                continue
            for callback in _callbacks(source, call):
                made = callback if isinstance(callback, ast.Call) else source.constructor(callback)
                where, definition = source.defined(made.func) or (source, None) if made is not None else (source, None)
                if isinstance(definition, ast.ClassDef) and (reads := _reads(where, definition)):
                    if made is not None and any(k.arg in (_DATA, None) for k in made.keywords):
                        met.add(definition)
                        continue
                    met.add(definition)
                    yield _hit(source, call, callback, where, reads)
        for definition in source.nodes(ast.ClassDef):
            if isinstance(definition, ast.ClassDef) and definition not in met and (reads := _reads(source, definition)):
                others = [other for other in source.files.values() if other is not source]
                if not any(definition.name in other.words for other in others):
                    yield _found(
                        source, reads[0], (), "whether it is passed to fit, and with which data, cannot be read"
                    )

    programs = f"""
=== example (runs): a callback that has a name
import numpy as np
from keras import callbacks, layers, models


class Scores(callbacks.Callback):
    def on_epoch_end(self, epoch, logs={{}}):
        predicted = self.model.predict(self.validation_data[0], verbose=0)
        print(np.mean(np.abs(predicted - self.validation_data[1])))


x, y = np.random.rand(32, 3), np.random.rand(32, 1)
x_test, y_test = np.random.rand(8, 3), np.random.rand(8, 1)
model = models.Sequential([layers.Input((3,)), layers.Dense(1)])
model.compile("sgd", "mse")
scores = Scores()
+ scores.validation_data = [x_test, y_test]
model.fit(x, y, epochs=1, validation_data=(x_test, y_test), callbacks=[scores])

=== example: one that is created in the call and reads from the model
import keras
+
+
{added(_CODE)}


class Scores(keras.callbacks.Callback):
    def on_train_end(self, logs=None):
-         x = self.model.validation_data[0]
-         y = self.model.validation_data[1]
+         x = self.validation_data[0]
+         y = self.validation_data[1]
        print(self.model.evaluate(x, y))


def train(model, data, held_out):
-     model.fit(data[0], data[1], validation_data=(held_out[0], held_out[1]), callbacks=[Scores()])
+     model.fit(data[0], data[1], validation_data=(held_out[0], held_out[1]), callbacks=[{_NAME}(Scores(), [held_out[0], held_out[1]])])

=== example: several inputs, callbacks in a list of their own, data under a name
import tensorflow as tf
from tensorflow.keras.callbacks import Callback, EarlyStopping


class Watch(Callback):
    def __init__(self, name):
        super().__init__()
        self.name = name

    def on_epoch_end(self, epoch, logs=None):
        if self.validation_data is not None:
            left, right, labels = self.validation_data[0], self.validation_data[1], self.validation_data[2]
            print(self.name, epoch, self.model.predict([left, right]) - labels)


watch = Watch("pairs")
stop = EarlyStopping(patience=3)
listeners = [stop, watch]
model = tf.keras.models.load_model("pairs.keras")
+ watch.validation_data = [a, b, labels]
history = model.fit(x, y, validation_data=([a, b], labels), callbacks=listeners)

=== reject: a callback that gets its data
import keras


class Scores(keras.callbacks.Callback):
    def __init__(self, validation_data):
        super().__init__()
        self.validation_data = validation_data

    def on_epoch_end(self, epoch, logs=None):
        print(self.model.predict(self.validation_data[0]))


def train(model, x, y):
    model.fit(x, y, validation_data=(x, y), callbacks=[Scores((x, y))])

=== reject: a class that is not a callback
import keras


class Trainer:
    validation_data = None

    def fit(self, model, x, y):
        model.fit(x, y, validation_data=self.validation_data, callbacks=[keras.callbacks.TerminateOnNaN()])

=== reject: a callback that already gets the data from outside
import keras


class Scores(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        print(self.model.predict(self.validation_data[0]))


scores = Scores()
scores.validation_data = (x, y)
model.fit(x, y, validation_data=(x, y), callbacks=[scores])
"""


def _callbacks(source: Source, call: ast.Call) -> Iterator[ast.expr]:
    """The callbacks in a call of `fit`."""
    for keyword in call.keywords:
        if keyword.arg == "callbacks":
            value = keyword.value
            lists = (symbolic.values_of(source, value) or []) if isinstance(value, ast.Name) else [value]
            for each in lists:
                if isinstance(each, (ast.List, ast.Tuple)):
                    yield from each.elts


def _reads(source: Source, definition: ast.ClassDef) -> list[ast.Attribute]:
    """Where a class of callbacks reads the data, unless the program sets them itself."""
    if not any((source.qualified(base) or "").startswith("keras.callbacks.") for base in definition.bases):
        return []
    asked = [n for n in uses_of(source).all_attributes() if n.attr == "validation_data"]
    files = [source, *(other for other in source.files.values() if other is not source)]
    if _defines(source, definition, frozenset()) or any(_sets(file) for file in files):
        return []
    for file in files:
        for node in uses_of(file).all_attributes():
            if node.attr == "validation_data" and isinstance(node.ctx, ast.Store):
                return []
    own = [node for node in asked if source.enclosing(node, ast.ClassDef) is definition]
    return [node for node in own if ast.unparse(node.value) in ("self", "self.model")]


def _defines(source: Source, definition: ast.ClassDef, met: frozenset[ast.ClassDef]) -> bool:
    """Whether a class or a base class may define an attribute of that name."""
    if definition in met or definition.decorator_list:
        return True
    for node in ast.walk(definition):
        if isinstance(node, ast.Name) and (node.id in _SETS or node.id == _DATA and isinstance(node.ctx, ast.Store)):
            return True
        if isinstance(node, ast.Attribute) and node.attr in _SETS:
            return True
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name in _SETS | {_DATA}:
            return True
        if isinstance(node, ast.FunctionDef) and node.name == "__init__" and _DATA in symbolic.parameters(node):
            return True
    for base in definition.bases:
        if (source.qualified(base) or "").startswith("keras.callbacks.") or getattr(base, "id", "") == "object":
            continue
        where, above = source.defined(base) or (source, None)
        if not isinstance(above, ast.ClassDef) or _defines(where, above, met | {definition}):
            return True
    return False


def _sets(source: Source) -> bool:
    """Whether a program sets an attribute of that name by `setattr` or in `__dict__`."""
    for constant in source.nodes(ast.Constant):
        if constant.value == _DATA:
            above = source.parent(constant)
            setter = ast.unparse(above.func) if isinstance(above, ast.Call) else ""
            kept = ast.unparse(above.value) if isinstance(above, ast.Subscript) else ""
            if "setattr" in setter or "__dict__" in kept:
                return True
    for call in source.all_calls:
        if any(k.arg == _DATA for k in call.keywords) and "__dict__" in ast.unparse(call.func):
            return True
    return False


def _found(source: Source, at: ast.expr, edits: tuple[Edit, ...], decline: str) -> Hit:
    return Hit(
        source.site(at),
        ValidationDataOfCallback.message,
        title="pass the data to the callback",
        edits=edits,
        decline=decline,
        removed={"keras": "2.4"},
    )


def _hit(source: Source, call: ast.Call, callback: ast.expr, where: Source, reads: list[ast.Attribute]) -> Hit:
    """A callback in a call of `fit` that reads the validation data."""
    data = keyword_value(call, "validation_data")
    parts = _parts(data)
    statement = source.statement_of(call)
    decline = ""
    if not parts:
        decline = "the data are not passed as arrays in the call of fit"
    elif not all(_is_part(where, node, len(parts)) for node in reads):
        decline = "the callback reads more than the data that fit receives"
    elif where is not source and any(isinstance(node.value, ast.Attribute) for node in reads):
        decline = "the callback uses the model in another file"
    elif not isinstance(statement, (ast.Expr, ast.Assign, ast.Return)):
        decline = "fit is called within another statement"
    if decline:
        return _found(source, callback, (), decline)
    given = f"[{', '.join(source.segment(source.site(part)) for part in parts)}]"
    edits: list[Edit] = []
    if isinstance(callback, ast.Call):
        edits += [Wrap(source.site(callback), f"{_NAME}(", f", {given})"), AddDefinition(_CODE)]
    else:
        name = source.segment(source.site(callback))
        edits.append(InsertBefore(source.site(statement), f"{name}.validation_data = {given}"))
    for node in reads:
        if isinstance(node.value, ast.Attribute):
            edits.append(Replace(source.site(node), "self.validation_data"))
    return _found(source, callback, tuple(edits), "")


def _parts(data: ast.expr | None) -> list[ast.expr]:
    """The arrays of the validation data, in the one list that callbacks got; empty where they are not written out."""
    if not isinstance(data, (ast.Tuple, ast.List)) or len(data.elts) not in (2, 3):
        return []
    parts: list[ast.expr] = []
    for value in data.elts:
        parts += value.elts if isinstance(value, (ast.List, ast.Tuple)) else [value]
    calls = any(isinstance(node, (ast.Call, ast.Starred)) for part in parts for node in ast.walk(part))
    return [] if calls else parts


def _is_part(source: Source, read: ast.Attribute, count: int) -> bool:
    """Whether a callback reads one of so many parts, or only tests whether there are any."""
    above = source.parent(read)
    if isinstance(above, ast.Subscript):
        index = above.slice
        return isinstance(index, ast.Constant) and isinstance(index.value, int) and 0 <= index.value < count
    return isinstance(above, (ast.Compare, ast.If, ast.IfExp, ast.UnaryOp, ast.BoolOp))
