"""A step of a network is computed and its result never read; the next step goes on from before it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    Reject,
    Repairs,
    Replace,
    Site,
    Source,
    Subject,
    Symptom,
    component_kind,
    keras_modules,
    method,
    torch_modules,
    within,
)

_PASSES = ("forward", "call")
_NUMBERED = re.compile(r"(?P<stem>.*?[A-Za-z]_?)(?P<number>\d+)")
_ROOTS = ("torch.", "tensorflow.", "keras.")


@dataclass(frozen=True, slots=True)
class _Step:
    """The assignment that nobody reads, the name of its result, and where the tensor before it is read instead."""

    statement: ast.Assign
    result: str
    stale: ast.Name


class StepPassedOver(FaultTemplate[_Step]):
    """`h2 = relu(fc2(h1))` is followed by `out = fc3(h1)`: the second layer is computed for nothing.

    Nothing flows through the layer, and nothing trains it. Reported in the pass of a model where the result of a layer,
    put through an activation or another function, is read by nobody, the one thing that still reads what went into it
    comes after it, and either it gives the same name another value, or numbers in the names tell that it follows.

    Fix safety: unsafe. The network gets one more layer, which is the point.

    References: torch.nn.Module, keras.Layer.call.
    """

    code = "DNF438"
    name = "step-passed-over"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    message = "`{result}` is computed by a layer and never read; the next step takes `{stale}`, from before it"
    triggers = ("Module", "Model", "Layer")
    declined = "where the result belongs cannot be told"

    def faults(self, subject: Subject) -> Faults[_Step]:
        source = subject.source
        for owner in (*torch_modules(source), *keras_modules(source)):
            for name in _PASSES:
                entry = method(owner, name)
                if isinstance(entry, ast.FunctionDef):
                    for found in _passed(source, entry):
                        yield source.site(found.statement), found

    def report(self, site: Site, found: _Step) -> Finding:
        return self.finding(site, symptom=Symptom.VIOLATION, confidence=0.9, result=found.result, stale=found.stale.id)

    def repairs(self, subject: Subject, found: _Step) -> Repairs:
        site = subject.source.site(found.stale)
        yield f"Go on from `{found.result}`", (Replace(site, found.result),), 0.85

    examples = (
        Example(
            "an activation around the layer",
            """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 8)
        self.fc2 = nn.Linear(8, 8)
        self.fc3 = nn.Linear(8, 2)

    def forward(self, x):
        h1 = torch.relu(self.fc1(x))
        h2 = torch.relu(self.fc2(h1))
-         return self.fc3(h1)
+         return self.fc3(h2)
""",
        ),
        Example(
            "the input read again",
            """\
import torch.nn as nn
import torch.nn.functional as F

class Encoder(nn.Module):
    def __init__(self):
        super(Encoder, self).__init__()
        self.conv1 = nn.Conv2d(3, 3, 3, padding=1)
        self.conv2 = nn.Conv2d(3, 8, 3, padding=1)

    def forward(self, inputs):
        out = F.max_pool2d(F.relu(self.conv1(inputs)), 2)
-         out = F.max_pool2d(F.relu(self.conv2(inputs)), 2)
+         out = F.max_pool2d(F.relu(self.conv2(out)), 2)
        return out.flatten(1)
""",
        ),
        Example(
            "a Keras model with operations",
            """\
import keras
from keras import layers, ops

class Scorer(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense1 = layers.Dense(6)
        self.dense2 = layers.Dense(6)
        self.dense3 = layers.Dense(1)

    def call(self, inputs, training=False):
        code = ops.tanh(self.dense1(inputs))
        deep = ops.tanh(self.dense2(code))
-         return ops.sigmoid(self.dense3(code))
+         return ops.sigmoid(self.dense3(deep))
""",
        ),
    )
    rejects = (
        Reject(
            "a skip connection, and branches",
            """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 4)

    def forward(self, x):
        a = torch.relu(self.a(x))
        b = torch.relu(self.b(a))
        return b + a + x
""",
        ),
        Reject(
            "results that are read in a condition, in a loop and by name",
            """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, deep):
        super().__init__()
        self.deep = deep
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 4)

    def forward(self, x, steps=3):
        h = torch.relu(self.a(x))
        if self.deep:
            h = torch.relu(self.b(x))
        for _ in range(steps):
            y = torch.tanh(self.b(h))
            h = torch.tanh(self.a(y))
        return h

class Logged(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)

    def forward(self, x):
        size = torch.tensor(len(x))
        return self.a(x)
""",
        ),
    )


def _passed(source: Source, entry: ast.FunctionDef) -> Iterator[_Step]:
    """The steps of a straight pass whose result nobody reads, where one later reading of what went in is left."""
    if within(entry, ast.Call) and any(getattr(call.func, "id", "") == "locals" for call in within(entry, ast.Call)):
        return
    for index, statement in enumerate(entry.body):
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        target = statement.targets[0]
        taken = _taken(source, statement.value)
        if not isinstance(target, ast.Name) or taken is None or target.id == taken or target.id.startswith("_"):
            continue
        stale: list[ast.Name] = []
        dead, again = True, False
        for later in entry.body[index + 1 :]:
            reads = [n for n in within(later, ast.Name) if isinstance(n.ctx, ast.Load)]
            if any(read.id == target.id for read in reads):
                dead = False
                break
            stale += [read for read in reads if read.id == taken]
            stored = {n.id for n in within(later, ast.Name) if isinstance(n.ctx, ast.Store)}
            if stored & {target.id, taken}:
                again = isinstance(later, ast.Assign) and target.id in stored
                dead = isinstance(later, ast.Assign)
                break
        if dead and len(stale) == 1 and (again or _in_row(source, statement, stale[0], target.id, taken)):
            yield _Step(statement, target.id, stale[0])


def _in_row(source: Source, step: ast.Assign, stale: ast.Name, result: str, taken: str) -> bool:
    """Whether names with numbers tell that one step follows on the other: those of the tensors, or of the layers."""
    if _follows(taken, result):
        return True
    first = [node.attr for node in within(step.value, ast.Attribute)]
    second = [node.attr for node in within(source.statement_of(stale), ast.Attribute)]
    return any(_follows(one, other) for one in first for other in second)


def _follows(one: str, other: str) -> bool:
    first, second = _NUMBERED.fullmatch(one), _NUMBERED.fullmatch(other)
    if first is None or second is None or first["stem"] != second["stem"]:
        return False
    return int(second["number"]) == int(first["number"]) + 1


def _taken(source: Source, value: ast.expr) -> str | None:
    """The name of the tensor that goes into a layer whose output is put through at least one function."""
    depth, layers = 0, 0
    expr = value
    while isinstance(expr, ast.Call) and expr.args:
        made = source.constructor(expr.func) if isinstance(expr.func, ast.Attribute) else None
        if made is not None and component_kind(source.qualified(made.func) or "") == "layer":
            layers += 1
        elif not (source.qualified(expr.func) or "").startswith(_ROOTS):
            return None
        depth, expr = depth + 1, expr.args[0]
    return expr.id if isinstance(expr, ast.Name) and layers and depth > 1 else None
