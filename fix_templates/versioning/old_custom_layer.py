"""`get_output_shape_for`, `self.trainable_weights = [...]`: a custom layer written for Keras 1 or 2."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from dnnfix.api import (
    AddImport,
    ApiChange,
    Delete,
    Edit,
    Hit,
    RemoveArgument,
    Replace,
    ReplaceLines,
    SetArgument,
    Site,
    Subject,
    Wrap,
    changed_calls,
    uses_of,
)

POSITIONS = ("name", "shape", "dtype", "initializer", "regularizer", "trainable", "constraint")
"""The parameters of `add_weight` in Keras 2; Keras 1 and 3 have the shape and the initializer first."""

KERAS_1 = ("shape", "initializer", "name", "trainable", "regularizer", "constraint")

MADE = frozenset(f"keras.backend.{name}" for name in ("zeros", "ones", "random_normal", "random_uniform"))
"""Functions that created a variable in Keras 1 and return a tensor today."""

INITIALIZERS = frozenset({"keras.initializers.get", "keras.initializations.get"})

VARIABLES = frozenset({"keras.backend.variable", "keras.Variable"})


class OldCustomLayer(ApiChange):
    """A custom layer has methods that Keras 3 does not call, or sets attributes that Keras 3 computes.

    `get_output_shape_for` became `compute_output_shape`. `add_weight` expects the shape before the name. Weights that
    Keras 1 created with an initializer or `K.zeros` and listed in `self.trainable_weights` are created by `add_weight`
    or as a `Variable`: a layer trains the variables that are its attributes, and `trainable_weights` cannot be set.

    Fix safety: safe for the method's name and the order of arguments; unsafe where weights are created in another way.

    References: https://keras.io/guides/making_new_layers_and_models_via_subclassing/,
    https://github.com/keras-team/keras/wiki/Keras-2.0-release-notes.
    """

    code = "DNF533"
    name = "old-custom-layer"
    message = "this layer was written for an older Keras: {what}"
    triggers = ("get_output_shape_for", "add_weight", "trainable_weights")

    def hits(self, subject: Subject) -> Iterator[Hit]:
        source = subject.source
        if "keras" not in source.frameworks:
            return
        for definition in uses_of(source).classes():
            bases = [source.qualified(base) or "" for base in definition.bases]
            if any(base.startswith("keras.layers.") for base in bases):
                for hit in (*_methods(subject, definition), *_weights(subject, definition)):
                    yield replace(hit, what=self.message.format(what=hit.what))

    programs = """
=== example: a dense layer of Keras 1
- from keras import backend as K
- from keras import initializations
- from keras.engine.topology import Layer
+ from keras import ops
+ from keras import Variable
+ from keras import initializers
+ from keras.layers import Layer


class Scale(Layer):
    def __init__(self, units, init="glorot_uniform", **kwargs):
        self.units = units
-         self.init = initializations.get(init)
+         self.init = initializers.get(init)
        super(Scale, self).__init__(**kwargs)

    def build(self, input_shape):
-         self.W = self.init((input_shape[1], self.units), name="{}_W".format(self.name))
-         self.b = K.zeros((self.units,))
-         self.trainable_weights = [self.W, self.b]
+         self.W = self.add_weight((input_shape[1], self.units), name="{}_W".format(self.name), initializer=self.init)
+         self.b = Variable(ops.zeros((self.units,)))

    def call(self, x, mask=None):
-         return K.dot(x, self.W) + self.b
+         return ops.matmul(x, self.W) + self.b

-     def get_output_shape_for(self, input_shape):
+     def compute_output_shape(self, input_shape):
        return (input_shape[0], self.units)

=== example: the name before the shape
import keras
from keras.layers import Layer


class Bias(Layer):
    def build(self, input_shape):
-         self.bias = self.add_weight("bias", (input_shape[-1],), initializer="zeros", trainable=True)
+         self.bias = self.add_weight((input_shape[-1],), initializer="zeros", trainable=True, name="bias")

    def call(self, inputs):
        return inputs + self.bias

=== example: TensorFlow's Keras, with the name of a weight third
import tensorflow as tf


class Gate(tf.keras.layers.Layer):
    def build(self, shape):
-         self.gate = self.add_weight((shape[-1],), "ones", "gate")
-         self.scale = self.add_weight(f"{self.name}_scale", shape=(1,), initializer="ones")
+         self.gate = self.add_weight((shape[-1],), "ones", name="gate")
+         self.scale = self.add_weight(shape=(1,), initializer="ones", name=f"{self.name}_scale")

    def call(self, inputs):
        return inputs * self.gate * self.scale

=== reject: a layer of today
import keras
from keras import ops


class Scale(keras.layers.Layer):
    def build(self, input_shape):
        self.w = self.add_weight(shape=(input_shape[-1],), initializer="ones", name="w")
        self.v = self.add_weight((3,), "zeros", trainable=False)

    def call(self, x):
        return x * self.w

    def compute_output_shape(self, input_shape):
        return input_shape

=== reject: a class that is not a layer
import keras


class Graph:
    def get_output_shape_for(self, shape):
        self.trainable_weights = []
        return self.add_weight("edge", 3)

    def add_weight(self, name, weight):
        return keras.ops.ones((weight,))
"""


def _methods(subject: Subject, definition: ast.ClassDef) -> Iterator[Hit]:
    source = subject.source
    for method in definition.body:
        if not isinstance(method, ast.FunctionDef) or method.name != "get_output_shape_for":
            continue
        line = source.places.lines[method.lineno - 1]
        renamed = line.replace("def get_output_shape_for(", "def compute_output_shape(", 1)
        edits: list[Edit] = [ReplaceLines(Site(method.lineno, 1, method.lineno, len(line) + 1), renamed)]
        for node in source.nodes(ast.Attribute):
            if not isinstance(node, ast.Attribute) or node.attr != method.name:
                continue
            if changed_calls.receiver_is(source, node.value, "keras.layers.Layer") is not False:
                owner = source.segment(source.site(node.value))
                edits.append(Replace(source.site(node), f"{owner}.compute_output_shape"))
        yield Hit(
            source.site(method),
            "Keras calls compute_output_shape since 2.0; get_output_shape_for is never called",
            title="rename it to compute_output_shape",
            edits=tuple(edits) if renamed != line else (),
            decline="" if renamed != line else "its definition is not in a form that can be edited",
            safe=True,
            removed={"keras": "2.0"},
        )


def _weights(subject: Subject, definition: ast.ClassDef) -> Iterator[Hit]:
    source = subject.source
    held: set[str] = set()
    nodes = list(ast.walk(definition))
    for node in nodes:
        if isinstance(node, ast.Call) and _own(node.func) == "add_weight":
            yield from _ordered(subject, node)
    listed = [(s, v) for s in nodes if (v := _listing(s)) is not None]
    names = {name for _, value in listed for e in getattr(value, "elts", ()) if (name := _own(e))}
    for statement in nodes:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
            continue
        name = _own(statement.targets[0])
        hit = _made(subject, statement.value) if name in names else None
        if hit is not None:
            yield hit
        made = source.written(statement.value.func) or ""
        if hit is not None or made in VARIABLES or _own(statement.value.func) == "add_weight":
            held.add(name)
    for statement, value in listed:
        known = isinstance(value, (ast.List, ast.Tuple)) and all(_own(e) in held for e in value.elts) and value.elts
        yield Hit(
            source.site(statement),
            "trainable_weights cannot be set since Keras 3.0; a layer trains the variables that are its attributes",
            title="remove the assignment",
            edits=(Delete(source.site(statement)),) if known else (),
            decline="" if known else "how its variables are created is not known: create them with add_weight",
            removed={"keras": "3.0"},
        )


def _own(node: ast.AST) -> str:
    """The attribute of `self` in an expression; empty for anything else."""
    own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    return node.attr if own and isinstance(node, ast.Attribute) else ""


def _listing(node: ast.AST) -> ast.expr | None:
    """The value that a statement assigns or adds to `self.trainable_weights`."""
    if isinstance(node, ast.Assign) and _own(node.targets[0]) == "trainable_weights":
        return node.value
    if isinstance(node, ast.AugAssign) and _own(node.target) == "trainable_weights":
        return node.value
    return None


def _ordered(subject: Subject, call: ast.Call) -> Iterator[Hit]:
    """A call of `add_weight` with its arguments in today's order."""
    source = subject.source
    site = source.site(call)
    texts = [source.segment(source.site(argument)) for argument in call.args]
    if any(isinstance(argument, ast.Starred) for argument in call.args) or not texts:
        return
    edits: list[Edit]
    if _is_text(call.args[0]):
        rest = list(zip(POSITIONS[2:], texts[2:], range(2, len(texts)), strict=False))
        if len(texts) > 1:
            edits = [Replace(source.site(call.args[0]), texts[1]), RemoveArgument(site, "", 1)]
        else:
            edits = [RemoveArgument(site, "", 0)]
        named = [("name", texts[0])]
    elif len(texts) > 2 and _is_text(call.args[2]):
        rest, edits, named = list(zip(KERAS_1[2:], texts[2:], range(2, len(texts)), strict=False)), [], []
    else:
        return
    edits += [RemoveArgument(site, "", place) for _, _, place in rest]
    named += [(name, text) for name, text, _ in rest]
    if source.segment(source.site(call.args[0])) in ("None", "''", '""'):
        named = named[1:]
    yield Hit(
        site,
        "add_weight expects the shape first since Keras 3.0, and the name as a keyword argument",
        title="pass the shape to add_weight first",
        edits=(*edits, *(SetArgument(site, name, text) for name, text in named)),
        safe=True,
        removed={"keras": "3.0"},
    )


def _is_text(node: ast.expr) -> bool:
    """Whether an expression is a string, or `None`."""
    if isinstance(node, ast.Constant):
        return node.value is None or isinstance(node.value, str)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return _is_text(node.func.value)
    if isinstance(node, ast.BinOp):
        return _is_text(node.left) or _is_text(node.right)
    return isinstance(node, ast.JoinedStr)


def _made(subject: Subject, call: ast.Call) -> Hit | None:
    """A variable that is created by an initializer or a function of the backend."""
    source = subject.source
    site = source.site(call)
    edits: list[Edit]
    held = _own(call.func)
    bound = source.bindings(call.func) if held else ()
    if held and bound and all(isinstance(v, ast.Call) and source.qualified(v.func) in INITIALIZERS for v in bound):
        edits = [Replace(source.site(call.func), "self.add_weight"), SetArgument(site, "initializer", f"self.{held}")]
        said = "an initializer returns a tensor since Keras 2.0, which a layer does not train"
    elif source.written(call.func) in MADE:
        uses = uses_of(source)
        local = next((name for name, meant in uses.imported.items() if meant in ("keras.Variable", "keras")), "")
        spelled = {"": "Variable", "keras": "keras.Variable"}.get(local, local)
        edits = [Wrap(site, f"{spelled}(", ")")]
        if not local:
            edits.append(AddImport("from keras import Variable"))
        said = "the backend function returns a tensor since Keras 3.0, which a layer does not train"
    else:
        return None
    return Hit(
        site, said, title="create the variables as weights of the layer", edits=tuple(edits), removed={"keras": "3.0"}
    )
