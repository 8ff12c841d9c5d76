"""A Keras model is trained without being compiled."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Delete,
    Family,
    Fault,
    FixPattern,
    InsertBefore,
    RaisedTemplate,
    Repair,
    Replace,
    Source,
    Subject,
    graph,
    trees,
    within,
)

_USES = frozenset({"fit", "evaluate", "train_on_batch", "test_on_batch"})


class ModelNotCompiled(RaisedTemplate):
    """A Keras model is trained before `compile` is called on it.

    Repaired where the program shows what to call: a `compile` of its own class without required arguments, a `compile`
    of the same model that comes too late, or one of another model that is never trained.

    Fix safety: unsafe. The model is trained with the loss and the optimizer stated in the program.

    References: keras.Model.compile.
    """

    code = "DNF426"
    name = "model-not-compiled"
    message = "`{model}` is trained and was never compiled"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    triggers = ("keras",)
    raised = "ValueError RuntimeError AttributeError"
    said = r"must call `?compile\(\)`?|must be compiled"
    declined = "the program has no loss and optimizer for this model"
    confidence = 0.95

    def explain(self, subject: Subject, node: ast.expr | ast.stmt) -> Iterator[Fault]:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _USES:
            model, statement = node.func.value, subject.source.statement_of(node)
            if isinstance(model, (ast.Name, ast.Attribute)):
                repairs = tuple(_compiled(subject.source, statement, model))
                yield Fault(subject.source.site(node), {"model": ast.unparse(model)}, repairs)

    programs = """
=== example: a class that knows how it is compiled
import keras
import numpy as np

class Net(keras.Model):
    def __init__(self, units):
        super().__init__()
        self.dense = keras.layers.Dense(units)

    def call(self, x):
        return self.dense(x)

    def compile(self):
        super().compile(optimizer="sgd", loss="mse")

net = Net(2)
+ net.compile()
net.fit(np.zeros((4, 3)), np.zeros((4, 2)), verbose=0)

=== example: compiled too late
import numpy as np
from keras.layers import Dense, Input
from keras.models import Sequential

model = Sequential([Input((3,)), Dense(1)])
+ model.compile(loss="mse", optimizer="adam")
model.fit(np.zeros((4, 3)), np.zeros((4, 1)), verbose=0)
- model.compile(loss="mse", optimizer="adam")
print(model.evaluate(np.zeros((4, 3)), np.zeros((4, 1)), verbose=0))

=== example: another model compiled
import numpy as np
from keras import Input, Model, layers

start = Input((3,))
code = layers.Dense(2)(start)
encoder = Model(start, code)
autoencoder = Model(start, layers.Dense(3)(code))
- encoder.compile(optimizer="adam", loss="mse")
+ autoencoder.compile(optimizer="adam", loss="mse")
x = np.zeros((4, 3))
autoencoder.fit(x, x, verbose=0)
print(encoder.predict(x, verbose=0))

=== reject: a model that is compiled and trained
import keras
import numpy as np

model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
model.compile(loss="mse", optimizer="adam")
model.fit(np.zeros((4, 3)), np.zeros((4, 1)), verbose=0)

=== reject: a model that only predicts
import keras
import numpy as np

model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
print(model.predict(np.zeros((4, 3)), verbose=0))
"""


def _compiled(source: Source, statement: ast.stmt, model: ast.Name | ast.Attribute) -> Iterator[Repair]:
    """The repairs of a model that a statement trains, from `compile` calls elsewhere in the program."""
    name, before = ast.unparse(model), source.site(statement)
    made = source.constructor(model)
    owner = source.definition(made.func) if made is not None else None
    own = graph.method(owner, "compile") if isinstance(owner, ast.ClassDef) else None
    if own is not None:
        taken = [*own.args.args[1:], *own.args.kwonlyargs]
        given = len(own.args.defaults) + sum(default is not None for default in own.args.kw_defaults)
        if len(taken) == given:
            yield f"Compile the model: {name}.compile()", (InsertBefore(before, f"{name}.compile()"),), 0.9
        return
    calls = [call for call in within(source.tree, ast.Call) if _compiles(call)]
    late = [call for call in calls if trees.receiver(call) == name and _alone(source, call, statement)]
    if len(late) == 1 and late[0].lineno > statement.lineno:
        site = source.site(source.statement_of(late[0]))
        moved = (InsertBefore(before, source.segment(source.site(late[0]))), Delete(site))
        yield "Compile the model before it is trained", moved, 0.85
        return
    others = [call for call in calls if trees.receiver(call) != name and not _is_used(source, trees.receiver(call))]
    if len(calls) == 1 and len(others) == 1 and others[0].lineno < statement.lineno:
        function = others[0].func
        if isinstance(function, ast.Attribute) and _known_before(source, model, others[0]):
            edit = Replace(source.site(function.value), name)
            yield f"Compile `{name}`, which is trained, instead", (edit,), 0.7


def _compiles(call: ast.Call) -> bool:
    method_ = call.func
    return (
        isinstance(method_, ast.Attribute)
        and method_.attr == "compile"
        and trees.receiver(call) not in ("re", "super()")
    )


def _alone(source: Source, call: ast.Call, beside: ast.stmt) -> bool:
    """Whether the call is a statement of its own, in the same block as another."""
    statement = source.statement_of(call)
    own = isinstance(statement, ast.Expr) and statement.value is call
    return own and source.parent(statement) is source.parent(beside)


def _is_used(source: Source, model: str) -> bool:
    """Whether a model is trained or evaluated anywhere, which needs it compiled."""
    return any(
        isinstance(call.func, ast.Attribute) and call.func.attr in _USES and trees.receiver(call) == model
        for call in source.all_calls
    )


def _known_before(source: Source, model: ast.expr, at: ast.Call) -> bool:
    """Whether the model's name is bound before the call, in the same function."""
    values = source.bindings(model)
    same = source.enclosing(at, ast.FunctionDef)
    return bool(values) and all(v.lineno < at.lineno and source.enclosing(v, ast.FunctionDef) is same for v in values)
