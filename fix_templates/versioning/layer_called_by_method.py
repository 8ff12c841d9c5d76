"""`self.call(inputs)` on symbolic tensors: a model that is called past Keras."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import ApiChange, Example, Hit, Reject, Replace, Source, Subject, is_symbolic, keras_modules, uses_of


class LayerCalledByMethod(ApiChange):
    """The method `call` of a model or layer is called by its name, on symbolic tensors.

    Until Keras 2 functions of TensorFlow took symbolic tensors and became steps of the network. Since Keras 3 they refuse them,
    unless Keras itself calls the layer: then the method is given what they can compute with, and the whole layer becomes one step. Found
    in a class of the program that is a model or layer, in another method than `call`.

    Fix safety: unsafe: the summary of such a model has one line for the layer, where it had one for each function.

    References: https://keras.io/guides/migrating_to_keras_3/, https://keras.io/api/models/model/.
    """

    code = "DNF599"
    name = "layer-called-by-method"

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """The calls of `self.call` on symbolic tensors."""
        source = subject.source
        for call in uses_of(source).calls():
            own = _past_keras(source, call)
            if own:
                yield Hit(
                    source.site(call),
                    "a method called by its name gets symbolic tensors since Keras 3.0, which functions of TensorFlow and torch refuse",
                    title=f"call {own} itself",
                    edits=(Replace(source.site(call.func), own),),
                    exact=True,
                    removed={"keras": "3.0"},
                    confidence=0.9,
                )

    examples = (
        Example(
            "a model that shows itself",
            """\
import keras
import numpy as np
import torch


class Pairs(keras.Model):
    def __init__(self):
        super().__init__()
        self.embed = keras.layers.Embedding(9, 4)

    def call(self, inputs):
        first, second = inputs
        return torch.nn.functional.cosine_similarity(self.embed(first), self.embed(second), dim=-1)

    def show(self):
        first, second = keras.Input((1,)), keras.Input((1,))
-         keras.Model([first, second], self.call([first, second])).summary()
+         keras.Model([first, second], self([first, second])).summary()


pairs = Pairs()
pairs.show()
pairs.compile("sgd", "mse")
pairs.fit([np.ones((8, 1)), np.ones((8, 1))], np.ones((8, 1)), verbose=0)
""",
            runs=True,
        ),
        Example(
            "a model's graph",
            """\
import numpy as np
import tensorflow as tf
from tensorflow.keras import Input, Model, layers


class Net(Model):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(3)

    def call(self, x, training=False):
        return tf.nn.relu(self.dense(x))

    def build_graph(self):
        x = Input(shape=(4,))
-         return Model(inputs=[x], outputs=self.call(x))
+         return Model(inputs=[x], outputs=self(x))


Net().build_graph().summary()
""",
        ),
    )

    rejects = (
        Reject(
            "a class that is no layer",
            """\
import keras


class Builder:
    def call(self, x):
        return keras.layers.Dense(2)(x)

    def model(self):
        x = keras.Input((3,))
        return keras.Model(x, self.call(x))


print(Builder().model().count_params())
""",
            runs=True,
        ),
        Reject(
            "arrays, and the method within itself",
            """\
import keras
import numpy as np


class Net(keras.Model):
    def __init__(self, inner=None):
        super().__init__()
        self.inner, self.out = inner, keras.layers.Dense(1)

    def call(self, inputs):
        return self.out(inputs) if self.inner is None else self.inner.call(inputs)

    def first(self, x):
        return self.call(x)[0]


net = Net()
net(np.ones((2, 3)))
print(net.first(np.ones((2, 3))).shape)
""",
            runs=True,
        ),
    )


def _past_keras(source: Source, call: ast.Call) -> str:
    """What a model or layer calls itself where another method of it calls its `call` on symbolic tensors; empty elsewhere."""
    function = call.func
    if not isinstance(function, ast.Attribute) or function.attr != "call" or not call.args:
        return ""
    method = source.enclosing(call, ast.FunctionDef)
    if method is None or method.name == "call" or source.parent(method) not in keras_modules(source):
        return ""
    own = method.args.args[0].arg if method.args.args else ""
    given = call.args[0].elts if isinstance(call.args[0], (ast.List, ast.Tuple)) else [call.args[0]]
    symbolic = bool(given) and all(is_symbolic(source, each) for each in given)
    return own if symbolic and getattr(function.value, "id", None) == own else ""
