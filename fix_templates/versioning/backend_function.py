"""`K.function([model.input], [layer.output])` maps arrays to outputs of a network; Keras 3 has no such function."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import cast

from dnnfix.api import (
    AddDefinition,
    ApiChange,
    Edit,
    Hit,
    Replace,
    Source,
    Subject,
    added,
    spell,
    uses_of,
)

_NAME = "backend_function"
_CODE = f'''\
def {_NAME}(inputs, outputs):
    """A function of arrays that computes outputs of a network; inputs that are not tensors set the training mode."""
    import keras

    asked = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    network = keras.Model([place for place in asked if keras.backend.is_keras_tensor(place)], outputs)

    def call(values):
        values = list(values) if isinstance(inputs, (list, tuple)) else [values]
        pairs = list(zip(asked, values))
        arrays = [keras.ops.convert_to_tensor(value) for place, value in pairs if keras.backend.is_keras_tensor(place)]
        training = any(value for place, value in pairs if not keras.backend.is_keras_tensor(place))
        results = network(arrays if len(arrays) > 1 else arrays[0], training=training)
        results = list(results) if isinstance(results, (list, tuple)) else [results]
        results = [keras.ops.convert_to_numpy(result) for result in results]
        return results if isinstance(outputs, (list, tuple)) else results[0]

    return call'''


class BackendFunction(ApiChange):
    """Keras 3 has no `K.function`: it runs eagerly, and there is no graph to take a function from.

    The same is computed by a model from the inputs to the outputs, whose `predict_on_batch` maps arrays to arrays.
    Where the program may rely on lists of one array, or passes more than arrays, a function that is added to the
    program handles both; `K.learning_phase()` among the inputs becomes the argument `training`. Functions that update
    variables or return gradients are declined.

    Fix safety: unsafe: the same layers with the same weights run in a function of the program's own.

    References: https://keras.io/guides/migrating_to_keras_3/, https://keras.io/api/models/model/.
    """

    code = "DNF595"
    name = "backend-function"
    message = (
        "keras.backend.function was removed in Keras 3.0; a model from the inputs to the outputs computes the same"
    )
    triggers = ("function",)

    def hits(self, subject: Subject) -> Iterator[Hit]:
        source = subject.source
        calls = [call for call in source.all_calls if _full(source, call.func) == "keras.backend.function"]
        if not calls:
            return
        uses = uses_of(source)
        for call in calls:
            decline = ""
            if any(not _is_empty(value) for value in [*call.args[2:3], *_named(call, "updates", "givens")]):
                decline = "it updates variables, which a model does not"
            elif any(_asks_gradients(source, node.func) for node in source.all_calls):
                decline = "gradients of the graph of Keras are among the outputs"
            elif _NAME in uses.bound or len(call.args) < 2 and not _named(call, "outputs"):
                decline = "its arguments are not known"
            yield Hit(
                source.site(call),
                self.message,
                title="build a model from the inputs to the outputs",
                edits=() if decline else _as_model(subject, call) or tuple(_edits(source, call)),
                decline=decline,
                removed={"keras": "3.0"},
            )

    programs = f"""
=== example: the output of a layer in the middle
- from keras import backend as K
+ import keras
from keras.models import load_model

model = load_model("net.h5")
- middle = K.function([model.layers[0].input], [model.layers[3].output])
- print(middle([images])[0].shape)
+ middle = keras.Model(model.layers[0].input, model.layers[3].output).predict_on_batch
+ print(middle(images).shape)

=== example: two outputs
import keras
- from keras import backend as K

model = keras.models.load_model("net.h5")
- both = K.function([model.input], [model.layers[0].output, model.output])
+ both = keras.Model([model.input], [model.layers[0].output, model.output]).predict_on_batch
first, last = both([images])

=== example: a list that is kept
- from keras import backend as K
from keras.models import load_model

+
{added(_CODE)}
+
+
model = load_model("net.h5")
- middle = K.function([model.layers[0].input], [model.layers[3].output])
+ middle = {_NAME}([model.layers[0].input], [model.layers[3].output])
found = middle([images])

=== example: with the phase among the inputs
import keras
+
+
{added(_CODE)}
+

model = keras.models.Sequential([keras.layers.Dense(4), keras.layers.Dropout(0.5)])
outputs = [layer.output for layer in model.layers]
- run = keras.backend.function([model.input, keras.backend.learning_phase()], outputs)
+ run = {_NAME}([model.input, "training"], outputs)
print(run([images, 0]), run([images, 1]))

=== example: of tf.keras, by names
import tensorflow as tf

+
{added(_CODE)}
+
+
model = tf.keras.models.Sequential([tf.keras.layers.Dense(4, input_shape=(3,))])
- run = tf.keras.backend.function(inputs=model.input, outputs=model.output, updates=[])
+ run = {_NAME}(inputs=model.input, outputs=model.output)

=== reject: a function of the program's own
from keras.models import Sequential


class K:
    @staticmethod
    def function(inputs, outputs):
        return outputs


print(K.function([1], [2]), Sequential())

=== reject: a function that TensorFlow traces
import tensorflow as tf


@tf.function
def step(x):
    return tf.function(lambda y: y + 1)(x)
"""


def _as_model(subject: Subject, call: ast.Call) -> tuple[Edit, ...]:
    """The call as a model in one expression; empty where the program may rely on what only the function did.

    A model returns an array for a list of one output, so each use has to read its first element; several outputs are a
    list.
    """
    source = subject.source
    places = [*call.args[:2], *_named(call, "inputs", "outputs")]
    phases = [node for node in source.all_calls if _full(source, node.func) == "keras.backend.learning_phase"]
    lists = [place for place in places if isinstance(place, ast.List)]
    if (
        len(places) != 2
        or len(lists) != 2
        or phases
        or any(isinstance(e, ast.Starred) for one in lists for e in one.elts)
    ):
        return ()
    model = spell(subject, "keras.Model")
    inputs, outputs = (source.segment(source.site(place)) for place in lists)
    if len(lists[1].elts) > 1:
        code = f"{model.code}({inputs}, {outputs}).predict_on_batch"
        return (Replace(source.site(call), code), *model.imports)
    uses = _first_of_each(source, call)
    if uses is None or len(lists[0].elts) != 1:
        return ()
    inputs, outputs = (source.segment(source.site(one.elts[0])) for one in lists)
    given = [(use, source.segment(source.site(argument))) for use, argument in uses]
    edits: list[Edit] = [Replace(source.site(call), f"{model.code}({inputs}, {outputs}).predict_on_batch")]
    for use, argument in given:
        edits.append(Replace(source.site(use), f"{source.segment(source.site(_called(use)))}({argument})"))
    return (*edits, *model.imports)


def _called(use: ast.Subscript) -> ast.expr:
    return cast(ast.Call, use.value).func


def _first_of_each(source: Source, call: ast.Call) -> list[tuple[ast.Subscript, ast.expr]] | None:
    """The uses `f([x])[0]` of the name that the call is assigned to, with each `x`; `None` if there are others."""
    made = source.parent(call)
    if not isinstance(made, ast.Assign) or len(made.targets) != 1 or not isinstance(made.targets[0], ast.Name):
        return None
    found: list[tuple[ast.Subscript, ast.expr]] = []
    for name in source.nodes(ast.Name):
        if name.id != made.targets[0].id or name is made.targets[0]:
            continue
        asked = source.parent(name)
        first = source.parent(asked) if isinstance(asked, ast.Call) and asked.func is name else None
        if not isinstance(asked, ast.Call) or not isinstance(first, ast.Subscript):
            return None
        given = asked.args[0] if len(asked.args) == 1 and not asked.keywords else None
        if not isinstance(given, ast.List) or len(given.elts) != 1 or isinstance(given.elts[0], ast.Starred):
            return None
        if not isinstance(first.slice, ast.Constant) or first.slice.value != 0:
            return None
        found.append((first, given.elts[0]))
    return found


def _edits(source: Source, call: ast.Call) -> Iterator[Edit]:
    """The edits to the added function, and its definition."""
    given = [source.segment(source.site(arg)) for arg in call.args[:2]]
    given += [
        f"{k.arg}={source.segment(source.site(k.value))}" for k in call.keywords if k.arg in ("inputs", "outputs")
    ]
    for phase in source.all_calls:
        if _full(source, phase.func) == "keras.backend.learning_phase":
            written = source.segment(source.site(phase))
            given = [text.replace(written, '"training"') for text in given]
    yield Replace(source.site(call), f"{_NAME}({', '.join(given)})")
    yield AddDefinition(_CODE)


def _full(source: Source, function: ast.expr) -> str:
    return (source.written(function) or "").removeprefix("tensorflow.").removeprefix("python.")


def _asks_gradients(source: Source, function: ast.expr) -> bool:
    """Whether a function returns gradients of the graph, by Keras, TensorFlow or an optimizer."""
    if isinstance(function, ast.Attribute) and function.attr in ("get_gradients", "compute_gradients"):
        return True
    package, _, last = (source.written(function) or "").rpartition(".")
    return last == "gradients" and package.startswith(("keras", "tensorflow", "theano"))


def _named(call: ast.Call, *names: str) -> list[ast.expr]:
    return [keyword.value for keyword in call.keywords if keyword.arg in names]


def _is_empty(value: ast.expr) -> bool:
    """Whether a list is empty, or a constant such as `None`."""
    return isinstance(value, (ast.List, ast.Tuple)) and not value.elts or isinstance(value, ast.Constant)
