"""A functional Keras model is created with other inputs than its outputs are computed from."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import Family, Fault, FixPattern, ReadTemplate, Replace, Subject, Symptom, graph

MODELS = ("keras.Model", "keras.models.Model")
INPUTS = ("keras.Input", "keras.layers.Input")
MOST_STEPS = 2000


class ModelInputsNotConnected(ReadTemplate):
    """`Model(inputs, outputs)` has an input that the outputs are not computed from, or misses one that they need.

    Keras follows the outputs back to their `Input`s; if one of these is not among the inputs, the graph is disconnected
    and Keras raises.

    Fix safety: unsafe. The model has other inputs, so that the data passed to it has to change too.

    References: keras.Model ("inputs", "outputs").
    """

    code = "DNF410"
    name = "model-inputs-not-connected"
    message = "the outputs of this model are computed from {needed}, but its inputs are {given}"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    triggers = ("Model",)
    declined = "one of the inputs has no name of its own where the model is made"
    confidence = 0.9

    def read(self, subject: Subject) -> Iterator[Fault]:
        source, crash = subject.source, subject.crash
        for call in source.calls(*MODELS):
            given, needed, place = _ends(subject, call) or ([], [], call)
            if all(each in given for each in needed):
                continue
            site, names = (
                source.site(call),
                [_name(subject, each) for each in sorted(needed, key=lambda one: one.lineno)],
            )
            words = {"needed": _listed(subject, needed), "given": _listed(subject, given)}
            text = names[0] if len(names) == 1 else f"[{', '.join(map(str, names))}]"
            title = f"Create the model with the inputs that its outputs are computed from: {text}"
            edits = (Replace(source.site(place), str(text)),) if None not in names else None
            yield Fault(
                site,
                words,
                ((title, edits, 0.85),),
                symptom=Symptom.CRASH if crash is not None and crash.site == site else None,
            )

    programs = """
=== example: one of two inputs is left out
from keras.layers import Concatenate, Dense, Input
from keras.models import Model

image = Input(shape=(4,))
words = Input(shape=(3,))
x = Dense(8)(image)
y = Dense(8)(words)
out = Dense(1)(Concatenate()([x, y]))
- model = Model(inputs=image, outputs=out)
+ model = Model(inputs=[image, words], outputs=out)

=== example: the wrong input, in a function
import tensorflow as tf
from tensorflow.keras import layers

def build():
    a = tf.keras.Input((4,))
    b = tf.keras.Input((4,))
    h = layers.Dense(8, activation="relu")(a)
    h = layers.Dropout(0.5)(h)
-     return tf.keras.Model(b, layers.Dense(2)(h))
+     return tf.keras.Model(a, layers.Dense(2)(h))

=== example: the list repeats an input
import keras
from keras import layers

left = keras.Input(shape=(2,))
right = keras.Input(shape=(2,))
merged = layers.add([layers.Dense(4)(left), layers.Dense(4)(right)])
- model = keras.Model([left, left], [layers.Dense(1)(merged)])
+ model = keras.Model([left, right], [layers.Dense(1)(merged)])

=== reject: a chain that keeps one name, and a second model over it
from keras.layers import Dense, Input
from keras.models import Model

x = inputs = Input(shape=(4,))
x = Dense(8)(x)
code = x
x = Dense(4)(x)
model = Model(inputs, x)
encoder = Model(inputs, code)

=== reject: the inputs of another model
from keras.applications import VGG16
from keras.layers import Dense, Flatten
from keras.models import Model

base = VGG16(weights=None)
out = Dense(2)(Flatten()(base.output))
model = Model(inputs=base.input, outputs=out)
"""


def _ends(subject: Subject, call: ast.Call) -> tuple[list[ast.Call], list[ast.Call], ast.expr] | None:
    """The `Input` calls of a model, those that its outputs are computed from, and the expression of the former.

    `None` if one of them cannot be read from the source.
    """
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    inputs = named.get("inputs", call.args[0] if call.args else None)
    outputs = named.get("outputs", call.args[1] if len(call.args) > 1 else None)
    if inputs is None or outputs is None:
        return None
    given: list[ast.Call] = []
    for each in inputs.elts if isinstance(inputs, (ast.List, ast.Tuple)) else [inputs]:
        if not isinstance(each, ast.Name):
            return None
        made = _value(subject, each, call)
        if not isinstance(made, ast.Call) or subject.source.qualified(made.func) not in INPUTS:
            return None
        given.append(made)
    needed = _behind(subject, outputs, call)
    return (given, needed, inputs) if needed is not None else None


def _value(subject: Subject, name: ast.Name, at: ast.AST) -> ast.expr | None:
    values = subject.source.bindings(name, at)
    return values[0] if len(values) == 1 else None


def _behind(subject: Subject, outputs: ast.expr, at: ast.AST) -> list[ast.Call] | None:
    """The `Input` calls that an expression is computed from; `None` if something in between is unknown."""
    source = subject.source
    found: dict[ast.Call, None] = {}
    waiting: list[tuple[ast.expr, ast.AST]] = [(outputs, at)]
    seen: set[ast.expr] = set()
    while waiting:
        expr, place = waiting.pop()
        if expr in seen:
            continue
        seen.add(expr)
        if len(seen) > MOST_STEPS:
            return None
        if isinstance(expr, ast.Name):
            value = _value(subject, expr, place)
            if value is None:
                return None
            waiting.append((value, value))
        elif isinstance(expr, (ast.List, ast.Tuple)):
            waiting += [(each, place) for each in expr.elts]
        elif isinstance(expr, ast.BinOp):
            waiting += [(each, place) for each in (expr.left, expr.right) if not isinstance(each, ast.Constant)]
        elif isinstance(expr, ast.Call) and source.qualified(expr.func) in INPUTS:
            found[expr] = None
        elif isinstance(expr, ast.Call) and _is_layer(subject, expr) and len(expr.args) == 1 and not expr.keywords:
            waiting.append((expr.args[0], place))
        else:
            return None
    return list(found)


def _is_layer(subject: Subject, call: ast.Call) -> bool:
    """Whether the call applies a Keras layer: created on the spot, held by a name, or a merging function."""
    source = subject.source
    if isinstance(call.func, ast.Call):
        return (source.qualified(call.func.func) or "").startswith("keras.layers.")
    name = source.qualified(call.func) or ""
    if name.startswith("keras.layers."):
        return name.rpartition(".")[2].islower()
    made = source.constructor(call.func) if isinstance(call.func, ast.Name) else None
    return made is not None and (source.qualified(made.func) or "").startswith("keras.layers.")


def _name(subject: Subject, made: ast.Call) -> str | None:
    """The name that is bound to this input only."""
    name = graph.held_by(subject.source, subject.source.site(made))
    return name.id if isinstance(name, ast.Name) and len(subject.source.bindings(name)) == 1 else None


def _listed(subject: Subject, inputs: list[ast.Call]) -> str:
    found = [
        graph.held_by(subject.source, subject.source.site(each))
        for each in sorted(inputs, key=lambda each: each.lineno)
    ]
    return ", ".join(f"`{ast.unparse(name)}`" if name is not None else "an input without a name" for name in found)
