"""A function that builds a network gives its last tensor, and the program takes that for the model."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from dnnfix.api import (
    AddImport,
    Edit,
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    InsertBefore,
    Reject,
    Repairs,
    Site,
    Source,
    Subject,
    Symptom,
    Wrap,
    raised_at,
    spell,
    within,
)

_INPUTS = ("keras.Input", "keras.layers.Input")


@dataclass(frozen=True, slots=True)
class _Tensor:
    """The tensor that is taken for a model, what is asked of it, and the expression that a builder returns it with."""

    read: ast.Name
    asked: str
    returned: ast.expr | None
    last: ast.Assign | None


class TensorTakenForModel(FaultTemplate[_Tensor]):
    """The output of the last layer is compiled or trained, where a model has to be made of the inputs and it first.

    The functional way of Keras builds a graph of tensors; what can be compiled, trained and saved is the `Model` that is
    made of two ends of it.

    Fix safety: unsafe. The model is made of every input that the tensor comes from, in the order in which they are made.

    References: keras.Model (functional API).
    """

    code = "DNF425"
    name = "tensor-taken-for-model"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    message = "`{name}` is a tensor, the output of a network, and `{asked}` belongs to a model"
    triggers = ("keras",)
    needs_run = True
    declined = "the inputs that the tensor comes from have no names where it is made"

    def faults(self, subject: Subject) -> Faults[_Tensor]:
        node = raised_at(subject, "AttributeError", r"KerasTensor' object has no attribute")
        function = node.func if isinstance(node, ast.Call) else node
        if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
            return
        values = [each.value for each in _assigned(subject.source, function.value)]
        built = subject.source.definition(values[-1].func) if values and isinstance(values[-1], ast.Call) else None
        returned, last = None, None
        if isinstance(built, ast.FunctionDef):
            ends = [node.value for node in within(built, ast.Return) if node.value is not None]
            returned = ends[0] if len(ends) == 1 else None
        elif values:
            last = _assigned(subject.source, function.value)[-1]
        yield subject.source.site(function), _Tensor(function.value, function.attr, returned, last)

    def report(self, site: Site, found: _Tensor) -> Finding:
        return self.finding(
            site, symptom=Symptom.CRASH, confidence=0.95, cause="crash", name=found.read.id, asked=found.asked
        )

    def repairs(self, subject: Subject, found: _Tensor) -> Repairs:
        source, model = subject.source, spell(subject, "keras.Model")
        if any(name == "Model" and full.startswith("keras") for name, full in source.imported_names):
            model = spell(subject, "keras.models.Model")
        imports: tuple[AddImport, ...] = model.imports
        edits: tuple[Edit, ...]
        if found.returned is not None:
            inputs = _inputs(source, found.returned)
            edits = (Wrap(source.site(found.returned), f"{model.code}({inputs}, ", ")"), *imports)
        elif found.last is not None:
            inputs = _inputs(source, found.read)
            made = f"{found.read.id} = {model.code}({inputs}, {found.read.id})"
            edits = (InsertBefore(source.site(source.statement_of(found.read)), made), *imports)
        else:
            return
        if inputs is not None:
            yield "Make a model of the inputs and the tensor", edits, 0.9

    examples = (
        Example(
            "a builder that returns a tensor",
            """\
import numpy as np
from keras.layers import Dense, Input
from keras.models import Model

def build(size):
    inputs = Input((size,))
    x = Dense(4, activation="relu")(inputs)
-     return Dense(1)(x)
+     return Model(inputs, Dense(1)(x))

model = build(3)
model.compile(loss="mse", optimizer="sgd")
model.fit(np.zeros((4, 3)), np.zeros((4, 1)), verbose=0)
""",
            runs=True,
        ),
        Example(
            "a script",
            """\
import keras

start = keras.Input((4,))
net = keras.layers.Dense(8)(start)
net = keras.layers.Dense(2)(net)
+ net = keras.Model(start, net)
net.compile("adam", "mse")
print(net.count_params())
""",
            runs=True,
        ),
    )
    rejects = (
        Reject(
            "a model",
            """\
import keras

start = keras.Input((4,))
net = keras.Model(start, keras.layers.Dense(2)(start))
net.compile("adam", "mse")
""",
            runs=True,
        ),
        Reject(
            "another mistake with a model",
            """\
import keras

net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
net.compiled_with("adam")
""",
            runs=True,
        ),
    )


def _assigned(source: Source, name: ast.Name) -> list[ast.Assign]:
    """The assignments of a name before the statement that reads it, in its function or the module."""
    function = source.enclosing(name, ast.FunctionDef)
    return [
        node
        for node in within(function or source.tree, ast.Assign)
        if source.enclosing(node, ast.FunctionDef) is function
        and node.lineno < name.lineno
        and len(node.targets) == 1
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id == name.id
    ]


def _inputs(source: Source, tensor: ast.expr) -> str | None:
    """The names of the inputs that a tensor is computed from, as text; `None` where one has no name of its own."""
    scope = source.enclosing(tensor, ast.FunctionDef) or source.tree
    made = [
        node
        for node in within(scope, ast.Assign)
        if (source.enclosing(node, ast.FunctionDef) or source.tree) is scope and node.lineno <= tensor.lineno
    ]
    waiting = {node.id for node in within(tensor, ast.Name)}
    seen: set[str] = set()
    inputs: list[tuple[int, str]] = []
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        for node in made:
            targets = [each.id for target in node.targets for each in within(target, ast.Name)]
            if name not in targets:
                continue
            if isinstance(node.value, ast.Call) and source.qualified(node.value.func) in _INPUTS:
                inputs.append((node.lineno, name))
                if sum(name in [e.id for t in other.targets for e in within(t, ast.Name)] for other in made) > 1:
                    return None
            waiting.update(each.id for each in within(node.value, ast.Name))
    names = [name for _, name in sorted(inputs)]
    return None if not names else names[0] if len(names) == 1 else f"[{', '.join(names)}]"
