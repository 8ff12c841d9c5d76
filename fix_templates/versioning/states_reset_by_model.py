"""`model.reset_states()`: a method of models that only the stateful layers have today."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import ApiChange, Example, Hit, Reject, Replace, Subject, receiver_is, uses_of


class StatesResetByModel(ApiChange):
    """Keras 1 and 2 reset all stateful layers by `model.reset_states()`; Keras 3 has the method on the layers alone.

    The statement becomes the loop that the model went through: each layer that keeps a state is told to drop it. A call
    inside an expression, such as a lambda given to a callback, is left.

    Fix safety: safe: the same layers are reset.

    References: https://keras.io/guides/migrating_to_keras_3/, https://keras.io/api/layers/recurrent_layers/lstm/.
    """

    code = "DNF535"
    name = "states-reset-by-model"
    triggers = ("reset_states",)

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """The calls of the method on models."""
        source = subject.source
        if "keras" not in source.frameworks or "reset_states" in uses_of(source).defined:
            return
        for call in uses_of(source).calls():
            function = call.func
            if not isinstance(function, ast.Attribute) or function.attr != "reset_states" or call.args:
                continue
            if not receiver_is(source, function.value, "keras.Model"):
                continue
            statement = source.parent(call)
            alone = isinstance(statement, ast.Expr) and "layer" not in uses_of(source).bound
            model = source.segment(source.site(function.value))
            code = (
                f'for layer in {model}.layers:\n    if getattr(layer, "stateful", False):\n        layer.reset_state()'
            )
            yield Hit(
                source.site(call),
                "reset_states of a model is gone since Keras 3.0; each stateful layer has reset_state",
                title="reset the stateful layers",
                edits=(Replace(source.site(statement), code),) if alone and statement is not None else (),
                decline=""
                if alone
                else "a loop over the layers cannot stand there: call reset_state of each stateful layer",
                safe=True,
                removed={"keras": "3.0"},
            )

    examples = (
        Example(
            "between the epochs",
            """\
from keras.layers import LSTM
from keras.models import Sequential

model = Sequential()
model.add(LSTM(4, stateful=True))
for epoch in range(3):
    model.fit(x, y, epochs=1, shuffle=False)
-     model.reset_states()  # a new sequence
+     for layer in model.layers:
+         if getattr(layer, "stateful", False):
+             layer.reset_state()  # a new sequence
""",
        ),
        Example(
            "of a functional model",
            """\
import tensorflow as tf

inputs = tf.keras.Input(batch_shape=(1, 3, 2))
net = tf.keras.Model(inputs, tf.keras.layers.GRU(4, stateful=True)(inputs))
- net.reset_states()
+ for layer in net.layers:
+     if getattr(layer, "stateful", False):
+         layer.reset_state()
""",
        ),
    )
    rejects = (
        Reject(
            "a method of the program's own",
            """\
import keras


class Net(keras.Model):
    def reset_states(self):
        self.state = None


net = Net()
net.reset_states()
""",
        ),
        Reject(
            "the layers of today",
            """\
import keras

lstm = keras.layers.LSTM(4, stateful=True)
lstm.reset_state()
""",
        ),
    )
