"""`model.predict_classes(x)`: a removed method of sequential models."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import chain, count

from dnnfix.api import (
    AddDefinition,
    AddImport,
    ApiChange,
    Edit,
    Hit,
    Replace,
    Source,
    Subject,
    Wrap,
    branches,
    changed_calls,
    uses_of,
)

_Made = tuple[str, ast.AST | None, int, int | None]
"""A network's name (if any), the function that creates it, its line, and its last `Dense`'s units (if a literal)."""

_MODELS = ("keras.Sequential", "keras.models.Sequential", "keras.Model", "keras.models.Model")
_EITHER = """\
def {name}(outputs):
    # With one output unit the class is whether it is above 0.5, with several the index of the largest.
    return (outputs > 0.5).astype("int32") if outputs.shape[-1] == 1 else outputs.argmax(axis=-1)
"""


class PredictClasses(ApiChange):
    """`predict_classes` returned class indices; TensorFlow 2.6 and Keras 3 leave that to the caller.

    With several output units the class was the index of the largest one, with one unit whether it is above 0.5. The
    network shows which; where its last layer is unknown, the loss does. Of several networks it is the one that the
    statements before the call build under that name. Where a function gets networks of both kinds, or a network is
    built in a branch or loop without the call, the patch decides at run time by the shape of the outputs.

    Fix safety: safe where the number of output units is known; otherwise unsafe, as where a branch or loop decides on
    the layers, layers follow the last `Dense`, or a network was loaded.

    References: https://github.com/tensorflow/tensorflow/releases/tag/v2.5.0 names both replacements.
    """

    code = "DNF506"
    name = "predict-classes"
    message = "predict_classes was removed in TensorFlow 2.6 and Keras 3; compute the classes from predict"

    def hits(self, subject: Subject) -> Iterator[Hit]:
        source = subject.source
        uses = uses_of(source)
        if "predict_classes" not in source.words or "predict_classes" in uses.defined:
            return
        for call in uses.calls():
            function = call.func
            if not isinstance(function, ast.Attribute) or function.attr != "predict_classes":
                continue
            if changed_calls.receiver_is(source, function.value, "keras.Model") is False:
                continue
            unsettled = _unsettled(source, call, function.value) or _goes_on(source, function.value)
            units, differ = (None, True) if unsettled else _units(subject, function.value)
            single = units == 1 if units is not None else _binary(subject)
            owner = source.segment(source.site(function.value))
            edits: list[Edit] = [Replace(source.site(function), f"{owner}.predict")]
            numpy = next((local for local, name in sorted(source.imported_names) if name == "numpy"), None)
            taken = (numpy in uses.bound) if numpy else "np" in source.words
            if differ or taken and not single:
                name = _free_name(source)
                edits += [Wrap(source.site(call), f"{name}(", ")"), AddDefinition(_EITHER.format(name=name))]
            elif single:
                edits.append(Wrap(source.site(call), "(", ' > 0.5).astype("int32")'))
            else:
                edits.append(Wrap(source.site(call), f"{numpy or 'np'}.argmax(", ", axis=-1)"))
                if numpy is None:
                    edits.append(AddImport("import numpy as np"))
            yield Hit(
                source.site(call),
                self.message,
                title="compute the classes from predict",
                edits=tuple(edits),
                safe=not unsettled and (differ or units is not None),
                removed={"tensorflow": "2.6", "keras": "3.0"},
            )

    programs = """
=== example: one output unit
from keras import Input, Sequential, layers

model = Sequential([Input((8,)), layers.Dense(12, activation="relu"), layers.Dense(1, activation="sigmoid")])
model.compile(loss="binary_crossentropy", optimizer="adam")
model.fit(X, y, epochs=2)
- print(model.predict_classes(X)[:5])
+ print((model.predict(X) > 0.5).astype("int32")[:5])

=== example: numpy is not imported yet
import tensorflow as tf
+ import numpy as np

model = tf.keras.models.Sequential([tf.keras.layers.Dense(10, activation="softmax", input_shape=(4,))])
- print(model.predict_classes(images))
+ print(np.argmax(model.predict(images), axis=-1))

=== example: networks with one output and with several, one after the other
import numpy as np
from keras.models import Sequential
from keras.layers import Dense

model = Sequential()
model.add(Dense(1, activation="sigmoid", input_shape=(4,)))
model.compile(loss="binary_crossentropy", optimizer="adam")
- two = model.predict_classes(np.zeros((2, 4)))
+ two = (model.predict(np.zeros((2, 4))) > 0.5).astype("int32")

model = Sequential()
model.add(Dense(3, activation="softmax", input_shape=(4,)))
model.compile(loss="categorical_crossentropy", optimizer="adam")
- three = model.predict_classes(np.zeros((2, 4)))
+ three = np.argmax(model.predict(np.zeros((2, 4))), axis=-1)

=== example: a function that gets both kinds of networks
from keras.models import Sequential
from keras.layers import Dense


+ def predicted_classes(outputs):
+     # With one output unit the class is whether it is above 0.5, with several the index of the largest.
+     return (outputs > 0.5).astype("int32") if outputs.shape[-1] == 1 else outputs.argmax(axis=-1)
+
+
def correct(model, x, y):
-     return (model.predict_classes(x, verbose=0).ravel() == y).mean()
+     return (predicted_classes(model.predict(x, verbose=0)).ravel() == y).mean()


one = Sequential([Dense(1, activation="sigmoid")])
three = Sequential([Dense(3, activation="softmax")])
print(correct(one, x, y), correct(three, x, z))

=== example: a network that is built in a branch, and a variable of the usual name
import sys
from keras.models import Sequential
from keras.layers import Dense
+
+
+ def classes_of_outputs(outputs):
+     # With one output unit the class is whether it is above 0.5, with several the index of the largest.
+     return (outputs > 0.5).astype("int32") if outputs.shape[-1] == 1 else outputs.argmax(axis=-1)
+

if "binary" in sys.argv:
    model = Sequential([Dense(1, activation="sigmoid", input_shape=(4,))])
else:
    model = Sequential([Dense(10, activation="softmax", input_shape=(4,))])
- predicted_classes = model.predict_classes(x)
+ predicted_classes = classes_of_outputs(model.predict(x))

=== example: a last Dense that another layer follows
from keras.models import Sequential
from keras.layers import Dense, LSTM
+
+
+ def predicted_classes(outputs):
+     # With one output unit the class is whether it is above 0.5, with several the index of the largest.
+     return (outputs > 0.5).astype("int32") if outputs.shape[-1] == 1 else outputs.argmax(axis=-1)
+

model = Sequential()
model.add(Dense(64, input_shape=(10, 4)))
model.add(LSTM(1, activation="sigmoid"))
model.compile("adam", "binary_crossentropy")
- print(model.predict_classes(x))
+ print(predicted_classes(model.predict(x)))

=== reject: a method of the program's own
import keras


class Classifier(keras.Model):
    def predict_classes(self, x):
        return self.predict(x).argmax(-1)


print(Classifier().predict_classes(x))

=== reject: what is written today
import numpy as np
import keras

model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
print(np.argmax(model.predict(np.zeros((2, 4))), axis=-1))
"""


def _free_name(source: Source) -> str:
    """A name for the added function that the program does not use; Keras's own example uses `predicted_classes`."""
    numbered = (f"classes_of_outputs_{number}" for number in count(2))
    return next(n for n in chain(("predicted_classes", "classes_of_outputs"), numbered) if n not in source.words)


def _unsettled(source: Source, call: ast.Call, model: ast.expr) -> bool:
    """Whether it is only known at run time which network is called, or what its last layer is."""
    loaded = source.constructor(model)
    if loaded is not None and (source.qualified(loaded.func) or "").rpartition(".")[2] in _LOADING:
        return True
    made = list(source.calls(*_MODELS, "keras.layers.Dense"))
    around = branches.branches_around(source, call)
    for layer in made:
        within = branches.branches_around(source, layer)
        if _varies(source, layer) and not any(_follows(source, layer, other) for other in made):
            return True
        if within <= around:
            # In a loop, layers created below the call exist in the next iteration.
            again = any(isinstance(branch, (ast.For, ast.AsyncFor, ast.While)) for branch, _ in within)
            if again and layer.lineno > call.lineno:
                return True
        elif not any(_follows(source, layer, other) for other in made):
            return True
    return False


def _goes_on(source: Source, model: ast.expr) -> bool:
    """Whether the network, or any one if not known which, ends in more than a `Dense` and layers that keep its axes."""
    kinds: dict[_Group, list[str]] = {}
    for call in sorted(source.all_calls, key=lambda n: (n.lineno, n.col_offset)):
        name = source.qualified(call.func) or ""
        statement = source.statement_of(call)
        scope = source.enclosing(call, ast.FunctionDef)
        within = source.enclosing(call, ast.Call)
        above = [within] if within is not None else []
        while above and (outer := source.enclosing(above[-1], ast.Call)) is not None:
            above.append(outer)
        if not name.startswith("keras.layers.") or any(
            (source.qualified(each.func) or "").startswith("keras.layers.") for each in above
        ):
            continue
        target = _name_in(source, statement)
        listed = any(source.qualified(each.func) in _MODELS[:2] for each in above)
        if not listed and not isinstance(statement, ast.Expr):
            continue  # a layer of a functional network, which never had the method
        kind = "Dense" if _is_dense_in_time(source, call) else name.rpartition(".")[2]
        start = max((at for at in _starts(source, target, scope) if at <= call.lineno), default=statement.lineno)
        if target or listed:
            kinds.setdefault((target, scope, start), []).append(kind)
    here = (source.segment(source.site(model)), source.enclosing(model, ast.FunctionDef))
    own = [each for key, each in kinds.items() if key[:2] == here]
    for each in own or kinds.values():
        last = [kind for kind in each if kind not in _KEEPING]
        if "Dense" in last and last[-1] != "Dense":
            return True
    return False


def _is_dense_in_time(source: Source, call: ast.Call) -> bool:
    """Whether a layer is `TimeDistributed(Dense(…))`, whose outputs end in the same axis."""
    inner = call.args[0] if call.args else None
    wraps = source.qualified(call.func) == "keras.layers.TimeDistributed"
    return wraps and isinstance(inner, ast.Call) and source.qualified(inner.func) == "keras.layers.Dense"


def _starts(source: Source, name: str, scope: ast.AST | None) -> list[int]:
    """The lines at which networks of that name begin."""
    made = (call for call in source.calls(*_MODELS) if source.enclosing(call, ast.FunctionDef) is scope)
    return [call.lineno for call in made if name and _name_in(source, source.statement_of(call)) == name]


_Group = tuple[str, ast.AST | None, int]
"""A network's name (if any), the function that creates it, and its first line."""

_KEEPING = frozenset({"Activation", "Dropout", "BatchNormalization", "Softmax", "ReLU", "LeakyReLU"})
"""Layers that keep the axes of their input."""

_LOADING = frozenset({"load_model", "model_from_json", "model_from_yaml", "model_from_config"})


def _follows(source: Source, layer: ast.Call, other: ast.Call) -> bool:
    """Whether the other layer is added to the same network whenever the first one is, so that the first is not last."""
    statement = source.statement_of(other)
    name = _name_in(source, statement)
    if other.lineno <= layer.lineno or not isinstance(statement, ast.Expr) or not name or _varies(source, other):
        return False
    if source.qualified(other.func) in _MODELS or name != _name_in(source, source.statement_of(layer)):
        return False
    if source.enclosing(other, ast.FunctionDef) is not source.enclosing(layer, ast.FunctionDef):
        return False
    inner = branches.branches_around(source, layer) - branches.branches_around(source, other)
    left = (ast.Return, ast.Break, ast.Continue)
    return branches.branches_around(source, other) <= branches.branches_around(source, layer) and not any(
        isinstance(node, left) for branch, _ in inner for node in ast.walk(branch)
    )


def _varies(source: Source, dense: ast.Call) -> bool:
    """Whether the program decides on the units of a `Dense` at run time: `1 if binary else 10`."""
    words = [word.value for word in dense.keywords if word.arg in {"units", "output_dim"}]
    if source.qualified(dense.func) in _MODELS:
        return False
    values = [value for given in (*dense.args[:1], *words) for value in (given, *source.bindings(given))]
    texts = {ast.dump(value) for given in (*dense.args[:1], *words) for value in source.bindings(given)}
    return len(texts) > 1 or any(isinstance(node, (ast.IfExp, ast.BoolOp)) for v in values for node in ast.walk(v))


def _units(subject: Subject, model: ast.expr) -> tuple[int | None, bool]:
    """The network's number of outputs, and whether that may be one in some runs and more in others."""
    made = _made(subject.source)
    numbers = {units for _name, _scope, _line, units in made}
    if len(numbers) > 1 and not numbers.isdisjoint({1, None}):
        here = (subject.source.segment(subject.source.site(model)), subject.source.enclosing(model, ast.FunctionDef))
        own = [units for name, scope, line, units in made if (name, scope) == here and line < model.lineno]
        return (own[-1], False) if own and own[-1] else (None, True)
    for network in (subject.network, subject.source_network):
        last = next((c for c in reversed(network.calls) if c.outputs and c.name.startswith("keras.layers.")), None)
        if last is not None and last.outputs[0].shape:
            return last.outputs[0].shape[-1], False
        dense = [c for c in network.components if c.name == "keras.layers.Dense"]
        if dense:
            units = dense[-1].args.get("units")
            return units if isinstance(units, int) else None, False
    return None, False


def _made(source: Source) -> list[_Made]:
    """The networks of the program in order, with the units of their last `Dense`."""
    found: list[_Made] = []
    statements: list[ast.stmt] = []
    loose: dict[ast.AST | None, int | None] = {}
    for call in source.calls(*_MODELS, "keras.layers.Dense"):
        scope = source.enclosing(call, ast.FunctionDef)
        statement = source.statement_of(call)
        name = _name_in(source, statement)
        if source.qualified(call.func) in _MODELS:
            functional = len(call.args) + len(call.keywords) > 1
            found.append((name, scope, call.lineno, loose.get(scope) if functional else None))
            statements.append(statement)
            continue
        loose[scope] = units = _given(call)
        place = next((n for n in reversed(range(len(found))) if found[n][:2] == (name, scope)), None)
        if place is not None and (name or statements[place] is statement):
            found[place] = (name, scope, found[place][2], units)
    return found


def _name_in(source: Source, statement: ast.stmt) -> str:
    """The network's name in `model = …` and `model.add(…)`."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        return source.segment(source.site(statement.targets[0]))
    added = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(added, ast.Call) and isinstance(added.func, ast.Attribute) and added.func.attr == "add":
        return source.segment(source.site(added.func.value))
    return ""


def _given(dense: ast.Call) -> int | None:
    """The units of a `Dense`, if a literal."""
    words = [word.value for word in dense.keywords if word.arg in {"units", "output_dim"}]
    value = next(iter([*dense.args[:1], *words]), None)
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, int) else None


def _binary(subject: Subject) -> bool:
    """Whether the program trains for two classes with one output, according to its losses."""
    words = subject.source.words
    return "binary_crossentropy" in words and words.isdisjoint({"categorical_crossentropy", "softmax"})
