"""`model.predict_classes(x)`: a method of sequential models that is gone."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import AddImport, ApiChange, Edit, Example, Hit, Reject, Replace, Subject, Wrap, receiver_is, uses_of


class PredictClasses(ApiChange):
    """`predict_classes` gave class numbers; TensorFlow 2.6 and Keras 3 leave that to the caller.

    For several output units it was the place of the largest one, for a single unit whether it is above one half. The
    network tells which; where its last layer is unknown, the loss does.

    Fix safety: safe where the number of output units is known; otherwise unsafe.

    References: https://github.com/tensorflow/tensorflow/releases/tag/v2.5.0 names both replacements.
    """

    code = "DNF506"
    name = "predict-classes"

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """The calls of the method on models."""
        source = subject.source
        uses = uses_of(source)
        if "predict_classes" not in source.words or "predict_classes" in uses.defined:
            return
        for call in uses.calls():
            function = call.func
            if not isinstance(function, ast.Attribute) or function.attr != "predict_classes":
                continue
            if receiver_is(source, function.value, "keras.Model") is False:
                continue
            units = _units(subject)
            single = units == 1 if units is not None else _binary(subject)
            owner = source.segment(source.site(function.value))
            edits: list[Edit] = [Replace(source.site(function), f"{owner}.predict")]
            if single:
                edits.append(Wrap(source.site(call), "(", ' > 0.5).astype("int32")'))
            else:
                numpy = next((local for local, name in uses.imported.items() if name == "numpy"), None)
                edits.append(Wrap(source.site(call), f"{numpy or 'np'}.argmax(", ", axis=-1)"))
                if numpy is None:
                    edits.append(AddImport("import numpy as np"))
            yield Hit(
                source.site(call),
                "predict_classes is gone since TensorFlow 2.6 and Keras 3",
                title="read the classes off predict",
                edits=tuple(edits),
                safe=units is not None,
                removed={"tensorflow": "2.6", "keras": "3.0"},
            )

    examples = (
        Example(
            "several classes",
            """\
import numpy as np
from keras.models import Sequential
from keras.layers import Dense

model = Sequential()
model.add(Dense(3, activation="softmax", input_shape=(4,)))
model.compile(loss="categorical_crossentropy", optimizer="adam")
predicted = model.predict_classes(np.zeros((2, 4)), verbose=0)
print(predicted)
""",
            """\
import numpy as np
from keras.models import Sequential
from keras.layers import Dense

model = Sequential()
model.add(Dense(3, activation="softmax", input_shape=(4,)))
model.compile(loss="categorical_crossentropy", optimizer="adam")
predicted = np.argmax(model.predict(np.zeros((2, 4)), verbose=0), axis=-1)
print(predicted)
""",
        ),
        Example(
            "one output unit",
            """\
from keras import Input, Sequential, layers

model = Sequential([Input((8,)), layers.Dense(12, activation="relu"), layers.Dense(1, activation="sigmoid")])
model.compile(loss="binary_crossentropy", optimizer="adam")
model.fit(X, y, epochs=2)
print(model.predict_classes(X)[:5])
""",
            """\
from keras import Input, Sequential, layers

model = Sequential([Input((8,)), layers.Dense(12, activation="relu"), layers.Dense(1, activation="sigmoid")])
model.compile(loss="binary_crossentropy", optimizer="adam")
model.fit(X, y, epochs=2)
print((model.predict(X) > 0.5).astype("int32")[:5])
""",
        ),
        Example(
            "numpy is not imported yet",
            """\
import tensorflow as tf

model = tf.keras.models.Sequential([tf.keras.layers.Dense(10, activation="softmax", input_shape=(4,))])
print(model.predict_classes(images))
""",
            """\
import tensorflow as tf
import numpy as np

model = tf.keras.models.Sequential([tf.keras.layers.Dense(10, activation="softmax", input_shape=(4,))])
print(np.argmax(model.predict(images), axis=-1))
""",
        ),
    )
    rejects = (
        Reject(
            "a method of the program's own",
            """\
import keras


class Classifier(keras.Model):
    def predict_classes(self, x):
        return self.predict(x).argmax(-1)


print(Classifier().predict_classes(x))
""",
        ),
        Reject(
            "what is written today",
            """\
import numpy as np
import keras

model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
print(np.argmax(model.predict(np.zeros((2, 4))), axis=-1))
""",
        ),
    )


def _units(subject: Subject) -> int | None:
    """The size of the last axis of the network's output, where all last layers of the program agree on it."""
    for network in (subject.network, subject.source_network):
        last = next((c for c in reversed(network.calls) if c.outputs and c.name.startswith("keras.layers.")), None)
        if last is not None and last.outputs[0].shape:
            return last.outputs[0].shape[-1]
        dense = [c for c in network.components if c.name == "keras.layers.Dense"]
        if dense:
            units = dense[-1].args.get("units")
            return units if isinstance(units, int) else None
    return None


def _binary(subject: Subject) -> bool:
    """Whether the program trains for two classes with one output, as its losses say."""
    words = subject.source.words
    return "binary_crossentropy" in words and words.isdisjoint({"categorical_crossentropy", "softmax"})
