"""`model.compile("adam", "mse", ["accuracy"])`: metrics in the place where Keras 3 expects weights of the losses."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    ApiChange,
    Edit,
    Example,
    Hit,
    Reject,
    RemoveArgument,
    SetArgument,
    Source,
    Subject,
    receiver_is,
    uses_of,
)

PLACES = ("optimizer", "loss", "metrics", "loss_weights", "sample_weight_mode", "weighted_metrics")
"""The arguments of `compile` in the order of Keras 2; in Keras 3 `loss_weights` comes before `metrics`."""

NUMBERS = ("builtins.", "numpy.", "keras.backend.", "keras.Variable")
"""Where functions come from that make weights, and no metrics."""


class MetricsByPlace(ApiChange):
    """`compile` of Keras 1 and 2 took the metrics as its third argument; Keras 3 has the weights of the losses there.

    The call stops where the list is read as weights, or the metrics are never computed. They are given by their name
    where the third argument is a list of names or functions, and not of numbers.

    Fix safety: safe: the same lists reach the same arguments.

    References: https://keras.io/api/models/model_training_apis/.
    """

    code = "DNF570"
    name = "metrics-by-place"
    triggers = ("compile",)

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """Calls of `compile` with a third argument that can only be metrics."""
        source = subject.source
        if "keras" not in source.frameworks:
            return
        for call in uses_of(source).calls():
            function = call.func
            if not isinstance(function, ast.Attribute) or function.attr != "compile" or source.written(function):
                continue
            if not 3 <= len(call.args) <= 4 or receiver_is(source, function.value, "keras.Model") is False:
                continue
            given = call.args[2:]
            if not _are_metrics(source, given[0]) or any(isinstance(value, ast.Starred) for value in call.args):
                continue
            site = source.site(call)
            edits: list[Edit] = [RemoveArgument(site, "", position) for position in range(2, len(call.args))]
            edits += [
                SetArgument(site, name, source.segment(source.site(value)))
                for name, value in zip(PLACES[2:], given, strict=False)
            ]
            yield Hit(
                source.site(given[0]),
                "the third argument of compile is the weights of the losses in Keras 3; metrics are given by name",
                title="give the metrics by name",
                edits=tuple(edits),
                safe=True,
                removed={"keras": "3.0"},
                within=site,
            )

    examples = (
        Example(
            "a list of names",
            """\
from keras.models import Sequential
from keras.layers import Dense

model = Sequential([Dense(3, activation="softmax")])
- model.compile('adam', 'categorical_crossentropy', ['accuracy'])
+ model.compile('adam', 'categorical_crossentropy', metrics=['accuracy'])
""",
        ),
        Example(
            "a list with a name of its own, and weights behind it",
            """\
from keras.models import Model
from keras.optimizers import Adam

wanted = ["mae", "mse"]
network = Model(inputs, outputs)
- network.compile(Adam(), "mse", wanted, [1.0, 0.5])
+ network.compile(Adam(), "mse", metrics=wanted, loss_weights=[1.0, 0.5])
""",
        ),
        Example(
            "functions, in a class",
            """\
from tensorflow import keras


def error(true, predicted):
    return keras.ops.mean(keras.ops.abs(true - predicted))


class Net:
    def __init__(self):
        self.model = keras.Sequential([keras.layers.Dense(1)])
-         self.model.compile("sgd", "mse", [error])
+         self.model.compile("sgd", "mse", metrics=[error])
""",
        ),
    )
    rejects = (
        Reject(
            "weights of the losses",
            """\
import keras

model = keras.Model(inputs, [first, second])
model.compile("adam", "mse", [1.0, 0.2])
""",
        ),
        Reject(
            "a compile that is not a model's",
            """\
import keras
import re

pattern = re.compile("a", re.IGNORECASE)
code = compile("1 + 1", "text", "eval")
model = keras.Sequential()
""",
        ),
        Reject(
            "weights that have names",
            """\
import keras

near, far = 1.0, 0.2
model = keras.Model(inputs, [first, second])
model.compile("adam", "mse", [near, far])
model.compile("adam", "mse", [float(near), keras.backend.variable(far)])
model.compile("adam", "mse", [keras.Variable(near), keras.Variable(far)])
""",
        ),
        Reject(
            "nothing tells what is given",
            """\
import keras


def made(model, extra):
    model.compile("adam", "mse", extra)
""",
        ),
    )


def _are_metrics(source: Source, given: ast.expr) -> bool:
    """Whether an argument is a list of texts or functions, or a dictionary of such, as weights never are."""
    return all(_named(source, value) for value in source.bindings(given) or (given,))


def _named(source: Source, value: ast.expr) -> bool:
    if isinstance(value, (ast.List, ast.Tuple)):
        return bool(value.elts) and all(_named(source, each) or _is_function(source, each) for each in value.elts)
    if isinstance(value, ast.Dict):
        return bool(value.values) and all(_named(source, each) for each in value.values)
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _is_function(source: Source, value: ast.expr) -> bool:
    """Whether an element is a function or class of the program or of a library, or an object made by one."""
    named = value.func if isinstance(value, ast.Call) else value
    known = source.qualified(named) or ""
    return source.definition(named) is not None or bool(known) and not known.startswith(NUMBERS)
