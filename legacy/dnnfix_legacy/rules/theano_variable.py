"""`optimizer.lr.set_value(0.001)`: methods of Theano's variables, which Keras variables do not have."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import ApiChange, Hit, Replace, Subject, changed_calls, uses_of

METHODS = {"set_value": ("assign", 1), "get_value": ("numpy", 0)}
"""By method of Theano's shared variables, that of Keras's variables, and how many arguments it takes."""

VARIABLES = {
    "lr": "learning_rate",
    "learning_rate": "learning_rate",
    "W": "kernel",
    "kernel": "kernel",
    "b": "bias",
    "bias": "bias",
    "gamma": "gamma",
    "beta": "beta",
}
"""Attributes of optimizers and layers that hold a variable, with what they are called today."""

HOLDERS = ("keras.optimizers.Optimizer", "keras.layers.Layer")


class TheanoVariable(ApiChange):
    """On Theano the variables of Keras were Theano's, with `get_value` and `set_value`; on no other backend.

    The rate of an optimizer and the weights of a layer have `numpy` and `assign` in Keras 3.

    Fix safety: safe where an optimizer or layer of Keras is seen to hold it: the same number is read or written. Unsafe
    elsewhere, as only the names speak for it.

    References: https://keras.io/api/optimizers/, https://keras.io/guides/migrating_to_keras_3/.
    """

    code = "DNF577"
    name = "theano-variable"
    message = "{old} is a method of Theano variables; those of Keras 3 have {new}"
    triggers = ("set_value", "get_value")

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """Calls of the methods on what an optimizer or a layer holds."""
        source = subject.source
        if not source.frameworks or not source.frameworks <= {"keras", "tensorflow"}:
            return
        uses = uses_of(source)
        for call in uses.calls():
            function = call.func
            if not isinstance(function, ast.Attribute) or function.attr not in METHODS:
                continue
            held = function.value
            method, count = METHODS[function.attr]
            plain = isinstance(held, ast.Attribute) and held.attr in VARIABLES and not source.written(function)
            if not plain or not isinstance(held, ast.Attribute) or len(call.args) != count or call.keywords:
                continue
            if function.attr in uses.defined:
                continue  # the program has such a method itself
            owner = source.segment(source.site(held.value))
            site = source.site(function)
            of_keras = [changed_calls.receiver_is(source, held.value, kind) for kind in HOLDERS]
            own = held.attr in uses.kept  # what a layer of the program's own calls its weights stays
            yield Hit(
                site,
                self.message.format(old=function.attr, new=method),
                title=f"call {method}",
                edits=(Replace(site, f"{owner}.{held.attr if own else VARIABLES[held.attr]}.{method}"),),
                safe=any(of_keras) and not own,
                removed={"keras": "2.4"},
                within=source.site(call),
            )

    programs = """
=== example: the rate of an optimizer
from keras.optimizers import Adam

opt = Adam(learning_rate=1e-4)
- opt.lr.set_value(1e-5)
+ opt.learning_rate.assign(1e-5)

=== example: the rate of a model's optimizer, in a callback
import keras


class Halve(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
-         rate = self.model.optimizer.lr.get_value()
-         self.model.optimizer.lr.set_value(rate / 2)
+         rate = self.model.optimizer.learning_rate.numpy()
+         self.model.optimizer.learning_rate.assign(rate / 2)

=== example: the weights of a layer
from keras.models import Sequential
from keras.layers import Dense

model = Sequential([Dense(1)])
- weights = model.layers[0].W.get_value()
+ weights = model.layers[0].kernel.numpy()

=== reject: functions of the backend
from keras import backend as K

K.set_value(model.optimizer.learning_rate, 0.01)
print(K.get_value(model.optimizer.learning_rate))

=== reject: a widget, and a program of another library
import keras

slider.set_value(3)
print(entry.rate.get_value())


class Setting:
    def get_value(self):
        return 1


print(made(Setting).lr.get_value())
"""
