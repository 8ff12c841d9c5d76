"""`K.function([model.input], [layer.output])`: a function of arrays between two places of a network."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import AddDefinition, ApiChange, Edit, Example, Hit, Reject, Replace, Source, Subject, uses_of

_NAME = "backend_function"
_CODE = f'''\
def {_NAME}(inputs, outputs):
    """What a network makes of arrays between two places of it; inputs that are no place say whether it trains."""
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
    """Keras 3 has no `K.function`: it runs eagerly, and there is no graph that a function could be cut out of.

    What lies between two places of a network is a model of its own, which is called with arrays and gives arrays, in
    lists as before. `K.learning_phase()` among the inputs becomes the question whether the network trains. Where the
    function updates variables, or gives gradients, there is no such model.

    Fix safety: unsafe: the same layers with the same weights are run, by a function of the program's own.

    References: https://keras.io/guides/migrating_to_keras_3/, https://keras.io/api/models/model/.
    """

    code = "DNF595"
    name = "backend-function"
    triggers = ("function",)

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """The calls of the function, with what of them the program asks for elsewhere."""
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
                decline = "gradients of Keras's graph are among what is asked for"
            elif _NAME in uses.bound or len(call.args) < 2 and not _named(call, "outputs"):
                decline = "it is called in another way"
            yield Hit(
                source.site(call),
                "keras.backend.function is gone since Keras 3.0: a model from the inputs to the outputs does the same",
                title="build a model from the inputs to the outputs",
                edits=() if decline else tuple(_edits(source, call)),
                decline=decline,
                removed={"keras": "3.0"},
            )

    examples = (
        Example(
            "what a layer in the middle gives",
            """\
from keras import backend as K
from keras.models import load_model

model = load_model("net.h5")
middle = K.function([model.layers[0].input], [model.layers[3].output])
print(middle([images])[0].shape)
""",
            f"""\
from keras.models import load_model


{_CODE}


model = load_model("net.h5")
middle = {_NAME}([model.layers[0].input], [model.layers[3].output])
print(middle([images])[0].shape)
""",
        ),
        Example(
            "with the phase among the inputs",
            """\
import keras

model = keras.models.Sequential([keras.layers.Dense(4), keras.layers.Dropout(0.5)])
outputs = [layer.output for layer in model.layers]
run = keras.backend.function([model.input, keras.backend.learning_phase()], outputs)
print(run([images, 0]), run([images, 1]))
""",
            f"""\
import keras


{_CODE}


model = keras.models.Sequential([keras.layers.Dense(4), keras.layers.Dropout(0.5)])
outputs = [layer.output for layer in model.layers]
run = {_NAME}([model.input, "training"], outputs)
print(run([images, 0]), run([images, 1]))
""",
        ),
        Example(
            "of tf.keras, by names",
            """\
import tensorflow as tf

model = tf.keras.models.Sequential([tf.keras.layers.Dense(4, input_shape=(3,))])
run = tf.keras.backend.function(inputs=model.input, outputs=model.output, updates=[])
""",
            f"""\
import tensorflow as tf


{_CODE}


model = tf.keras.models.Sequential([tf.keras.layers.Dense(4, input_shape=(3,))])
run = {_NAME}(inputs=model.input, outputs=model.output)
""",
        ),
    )
    rejects = (
        Reject(
            "a function of the program's own",
            """\
from keras.models import Sequential


class K:
    @staticmethod
    def function(inputs, outputs):
        return outputs


print(K.function([1], [2]), Sequential())
""",
        ),
        Reject(
            "a function that TensorFlow traces",
            """\
import tensorflow as tf


@tf.function
def step(x):
    return tf.function(lambda y: y + 1)(x)
""",
        ),
    )


def _edits(source: Source, call: ast.Call) -> Iterator[Edit]:
    """The call with the program's own function, and that function."""
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
    """Whether what is called gives gradients as parts of the graph, by Keras, by TensorFlow or by an optimizer."""
    if isinstance(function, ast.Attribute) and function.attr in ("get_gradients", "compute_gradients"):
        return True
    package, _, last = (source.written(function) or "").rpartition(".")
    return last == "gradients" and package.startswith(("keras", "tensorflow", "theano"))


def _named(call: ast.Call, *names: str) -> list[ast.expr]:
    return [keyword.value for keyword in call.keywords if keyword.arg in names]


def _is_empty(value: ast.expr) -> bool:
    """Whether a list is empty, or there is none."""
    return isinstance(value, (ast.List, ast.Tuple)) and not value.elts or isinstance(value, ast.Constant)
