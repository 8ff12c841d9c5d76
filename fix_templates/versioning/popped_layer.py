"""`model.layers.pop()` removes a layer from a list that is a copy today."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import ApiChange, Hit, Replace, Source, Subject, changed_calls, uses_of

SEQUENTIAL = ("keras.Sequential", "keras.models.Sequential")


class PoppedLayer(ApiChange):
    """`model.layers.pop()` removes nothing: `layers` is a new list on each access.

    A sequential model has the method `pop`. For a functional one, such as the networks of `keras.applications`, a new
    `Model` has to end at an earlier layer; which one depends on the rest of the program, so there is a reason and no
    patch.

    Fix safety: unsafe: the network that the program trains today still has the layer.

    References: https://keras.io/api/models/sequential/#pop-method.
    """

    code = "DNF536"
    name = "popped-layer"
    message = "model.layers is a new list on each access since Keras 2.4: popping from it does not change the model"
    triggers = ("pop",)

    def hits(self, subject: Subject) -> Iterator[Hit]:
        source = subject.source
        if "keras" not in source.frameworks or "layers" not in source.words:
            return
        for call in uses_of(source).calls():
            function = call.func
            if not isinstance(function, ast.Attribute) or function.attr != "pop" or call.args or call.keywords:
                continue
            layers = function.value
            if not isinstance(layers, ast.Attribute) or layers.attr != "layers":
                continue
            if not changed_calls.receiver_is(source, layers.value, "keras.Model") or _is_passed_over(
                source, call, layers
            ):
                continue
            simple = _is_sequential(source, layers.value)
            model = source.segment(source.site(layers.value))
            yield Hit(
                source.site(call),
                self.message,
                title="pop the layer from the model",
                edits=(Replace(source.site(layers), model),) if simple else (),
                decline=""
                if simple
                else f"create a model that ends earlier: Model({model}.inputs, {model}.layers[-2].output)",
                removed={"keras": "2.4"},
            )

    programs = """
=== example: several of them
import tensorflow as tf

net = tf.keras.Sequential()
net.add(tf.keras.layers.Dense(4))
net.add(tf.keras.layers.Dense(3))
for _ in range(2):
-     net.layers.pop()
+     net.pop()

=== example: a network that a function makes
from keras import Sequential
from keras.layers import Dense


def small_net():
    net = Sequential()
    net.add(Dense(4))
    net.add(Dense(10))
    return net


model = small_net()
- model.layers.pop()
+ model.pop()

=== example: a layer that is kept
import keras

model = keras.models.Sequential([keras.layers.Dense(4), keras.layers.Dense(10)])
- head = model.layers.pop()
+ head = model.pop()

=== reject: the method of today
import keras

model = keras.Sequential([keras.layers.Dense(4), keras.layers.Dense(10)])
model.pop()

=== reject: a program that passes over the layer that is still there
from keras.layers import Dense
from keras.models import Sequential

model = Sequential([Dense(4), Dense(10)])
model.layers.pop()
scores = Dense(2)(model.layers[-2].output)

=== reject: a list of the program's own
import keras


class Stack:
    def __init__(self):
        self.layers = [keras.layers.Dense(4)]


stack = Stack()
stack.layers.pop()
"""


def _is_passed_over(source: Source, call: ast.Call, layers: ast.expr) -> bool:
    """Whether the program goes on from a layer before the last, and so expects the last one to remain."""
    text = source.segment(source.site(layers))
    for one in source.nodes(ast.Subscript):
        later = (one.lineno, one.col_offset) > (call.lineno, call.col_offset)
        if later and isinstance(one.slice, ast.UnaryOp) and isinstance(one.slice.op, ast.USub):
            place = one.slice.operand
            if isinstance(place, ast.Constant) and place.value != 1 and source.segment(source.site(one.value)) == text:
                return True
    return False


def _is_sequential(source: Source, model: ast.expr, depth: int = 3) -> bool:
    """Whether a model is sequential, created here or by a function of the program."""
    made = source.constructor(model)
    if made is None or depth == 0:
        return False
    if source.qualified(made.func) in SEQUENTIAL:
        return True
    maker = source.definition(made.func)
    if not isinstance(maker, ast.FunctionDef):
        return False
    given = [node.value for node in ast.walk(maker) if isinstance(node, ast.Return) and node.value is not None]
    return bool(given) and all(_is_sequential(source, value, depth - 1) for value in given)
