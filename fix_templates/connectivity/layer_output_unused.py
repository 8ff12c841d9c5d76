"""The output of a layer is never read: the network continues with an earlier tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from dnnfix.api import (
    Candidate,
    Decline,
    Family,
    Finding,
    FixPattern,
    FixTemplate,
    Replace,
    Subject,
    Symptom,
    graph,
    network_facts,
    within,
)


class LayerOutputUnused(FixTemplate):
    """The output of a layer is assigned to a name that is never read; a later layer uses an earlier tensor instead.

    The layer is not part of the network and is never trained. Most often the name was mistyped, or a line was copied
    without changing its input.

    Fix safety: unsafe. The network gets one more layer.

    References: keras.Model (functional API); torch.nn.Module.
    """

    code = "DNF401"
    name = "layer-output-unused"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    message = "the output of `{layer}` is assigned to `{name}` and never read: the layer is not part of the network"

    def detect(self, subject: Subject) -> Iterator[Finding]:
        for statement in _layer_calls(subject):
            if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
                continue
            target, call = statement.targets[0], statement.value
            if not isinstance(target, ast.Name) or not isinstance(call, ast.Call) or target.id.startswith("_"):
                continue
            read, _ = graph.next_use(subject.source, statement, target, rounds=True)
            if read is not None or _leaves(subject, statement, target.id) or _ends(subject, statement):
                continue
            yield self.finding(
                subject.source.site(statement),
                symptom=Symptom.VIOLATION,
                confidence=0.9,
                evidence={"name": target.id},
                layer=subject.text(subject.source.site(call.func)).partition("(")[0],
                name=target.id,
            )

    def propose(self, finding: Finding, subject: Subject) -> Iterator[Candidate | Decline]:
        own = _joined(subject, finding)
        if own is None:
            yield Decline("no later layer uses the input of this one, so where its output belongs is unknown")
            return
        title, edits, prior = own
        yield self.candidate(finding, title, *edits, prior=prior)
        every = [other for other in self.detect(subject) if _joined(subject, other) is not None]
        if len(every) > 1:
            # Where two branches are joined, one repair alone may return a shape that does not fit the other branch.
            both = [edit for other in every for edit in (_joined(subject, other) or own)[1]]
            joint = self.candidate(
                finding, f"{title}; so for all {len(every)} layers", *dict.fromkeys(both), prior=0.9 * prior
            )
            yield replace(joint, findings=tuple(every))

    programs = """
=== example: a layer takes the input again
import tensorflow as tf

def build(shape):
    inputs = tf.keras.Input(shape)
    x = tf.keras.layers.Conv2D(8, 3)(inputs)
    x = tf.keras.layers.ReLU()(x)
-     x = tf.keras.layers.Conv2D(16, 3)(inputs)
+     x = tf.keras.layers.Conv2D(16, 3)(x)
    x = tf.keras.layers.Flatten()(x)
    return tf.keras.Model(inputs, tf.keras.layers.Dense(10)(x))

=== example: forward goes on from before the layer
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 16)
        self.fc2 = nn.Linear(16, 16)
        self.out = nn.Linear(16, 3)

    def forward(self, x):
        a = torch.relu(self.fc1(x))
        b = self.fc2(a)
-         return self.out(a)
+         return self.out(b)

=== example: a branch is joined with itself
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.both = nn.Linear(4, 4)
        self.out = nn.Linear(4, 3)

    def forward(self, x):
        mean, high = x - x.mean(), x - x.amax()
        mean = self.both(mean)
        high = self.both(high)
-         return self.out(torch.sigmoid(mean + mean))
+         return self.out(torch.sigmoid(mean + high))

=== example: the model ends before its last layer
from keras.applications import VGG16
from keras.layers import Dense, GlobalAveragePooling2D
from keras.models import Model

base = VGG16(weights=None, include_top=False)
x = GlobalAveragePooling2D()(base.output)
x = Dense(64, activation="relu")(x)
predictions = Dense(5, activation="softmax")(x)
- model = Model(inputs=base.input, outputs=x)
+ model = Model(inputs=base.input, outputs=predictions)

=== reject: a skip connection and two heads
from keras import layers, Model, Input

inputs = Input((8,))
x = layers.Dense(8)(inputs)
y = layers.Dense(8)(x)
z = layers.Add()([x, y])
first = layers.Dense(2)(z)
second = layers.Dense(3)(z)
model = Model(inputs, [first, second])

=== reject: a branch under a condition, and a loop
from torch import nn

class Net(nn.Module):
    def __init__(self, deep):
        super().__init__()
        self.deep = deep
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 4)

    def forward(self, x):
        h = self.a(x)
        if self.deep:
            h = self.b(x)
        scales = []
        for _ in range(3):
            scales.append(h)
            h = self.b(h)
        return scales
"""


def _joined(subject: Subject, finding: Finding) -> tuple[str, tuple[Replace, ...], float] | None:
    """A title, the edits that connect the layer, and how likely a person would make them."""
    statement = subject.node(finding.site)
    if not isinstance(statement, ast.Assign):
        return None
    source, name = subject.source, str(finding.evidence["name"])
    if (doubled := _doubled(subject, statement)) is not None:
        title = f"Join `{doubled.id}` with `{name}`, and not with itself"
        return title, (Replace(source.site(doubled), name),), 0.9
    own = _given(statement)
    _, rebound = graph.next_use(source, statement, statement.targets[0])
    after = [each for each in _layer_calls(subject) if each.lineno > statement.lineno]
    later = [each for each in after if _together(subject, each, statement)]
    title = f"Pass the output of the layer, `{name}`, to the layer that follows"
    following = _given(rebound) if rebound in later else None
    beside = _given(later[0]) if later else None
    same = [g for each in later if (g := _given(each)) is not None and own is not None and g.id == own.id]
    if following is not None:
        return title, (Replace(source.site(following), name),), 0.9
    if same:
        return title, (Replace(source.site(same[0]), name),), 0.85
    returned = next((each for each in _returns(subject, statement) if own is not None and each.id == own.id), None)
    if returned is not None:
        return f"Return `{name}`", (Replace(source.site(returned), name),), 0.7
    outputs = list(_model_outputs(subject, statement, own)) if own is not None else []
    if len(outputs) == 1:
        return f"End the model with `{name}`", (Replace(source.site(outputs[0]), name),), 0.8
    if own is None or beside is None or source.parent(later[0]) is not source.parent(statement):
        return None
    if any(value.lineno >= statement.lineno for value in source.bindings(beside)) or not source.bindings(beside):
        return None
    edits = (Replace(source.site(own), beside.id), Replace(source.site(beside), name))
    return f"Put the layer before the next one, between `{beside.id}` and it", edits, 0.4


def _layer_calls(subject: Subject) -> list[ast.Assign | ast.Return]:
    """The assignments and returns that call a layer on a named tensor, in source order."""
    source = subject.source
    owners = (*graph.torch_modules(source), *graph.keras_modules(source))
    found: list[ast.Assign | ast.Return] = []
    nodes: list[ast.Assign | ast.Return] = [*source.nodes(ast.Assign), *source.nodes(ast.Return)]
    for node in nodes:
        call = node.value
        if not isinstance(call, ast.Call) or _first(call) is None:
            continue
        made = call.func if isinstance(call.func, ast.Call) else None
        by_attribute = owners and made is None and isinstance(call.func, ast.Attribute)
        if by_attribute and source.enclosing(call, ast.ClassDef) in owners:
            made = source.constructor(call.func)
        name = source.qualified(made.func) if made is not None else None
        known = name is not None and network_facts.component_kind(name) == "layer"
        if known and not graph.is_display(source, node):
            found.append(node)
    return sorted(found, key=lambda node: node.lineno)


def _first(call: ast.Call) -> ast.Name | None:
    return call.args[0] if call.args and isinstance(call.args[0], ast.Name) else None


def _given(statement: ast.stmt | None) -> ast.Name | None:
    """The tensor that the layer of an assignment or return is called with."""
    if isinstance(statement, (ast.Assign, ast.Return)) and isinstance(statement.value, ast.Call):
        return _first(statement.value)
    return None


def _together(subject: Subject, one: ast.AST, other: ast.AST) -> bool:
    return subject.source.enclosing(one, ast.FunctionDef) is subject.source.enclosing(other, ast.FunctionDef)


def _leaves(subject: Subject, statement: ast.stmt, name: str) -> bool:
    """Whether the name may be read elsewhere: by a function or `locals()`."""
    where = subject.source.enclosing(statement, ast.FunctionDef) or subject.source.tree
    declared: list[ast.Global | ast.Nonlocal] = [*within(where, ast.Global), *within(where, ast.Nonlocal)]
    if any(name in node.names for node in declared):
        return True
    inner = (node for node in within(where, ast.FunctionDef, ast.Lambda) if node is not where)
    if any(n.id == name and isinstance(n.ctx, ast.Load) for node in inner for n in within(node, ast.Name)):
        return True
    called = (call.func for call in within(where, ast.Call))
    if any(isinstance(func, ast.Name) and func.id in ("locals", "globals", "eval") for func in called):
        return True
    at_top = subject.source.parent(statement) is subject.source.tree
    return at_top and not _has_reader(subject, statement)


def _ends(subject: Subject, statement: ast.stmt) -> bool:
    """Whether a function ends with the statement: then its `return` is missing, which is another fault."""
    where = subject.source.parent(statement)
    return isinstance(where, ast.FunctionDef) and where.body[-1] is statement


def _has_reader(subject: Subject, statement: ast.stmt) -> bool:
    """Whether a model is created after the statement; a snippet may end before it."""
    models = ("keras.Model", "keras.models.Model")
    return any(call.lineno > statement.lineno for call in subject.source.calls(*models))


def _model_outputs(subject: Subject, statement: ast.stmt, own: ast.Name) -> Iterator[ast.Name]:
    """Where a model created after the statement has the input of the layer as an output."""
    for call in subject.source.calls("keras.Model", "keras.models.Model"):
        outputs = [keyword.value for keyword in call.keywords if keyword.arg == "outputs"] or call.args[1:2]
        after = call.lineno > statement.lineno and _together(subject, call, statement)
        for each in outputs if after else ():
            parts = each.elts if isinstance(each, (ast.List, ast.Tuple)) else [each]
            yield from (part for part in parts if isinstance(part, ast.Name) and part.id == own.id)


def _returns(subject: Subject, statement: ast.stmt) -> Iterator[ast.Name]:
    where = subject.source.enclosing(statement, ast.FunctionDef)
    for node in within(where, ast.Return) if where is not None else ():
        if isinstance(node.value, ast.Name) and node.lineno > statement.lineno:
            yield node.value


def _doubled(subject: Subject, statement: ast.Assign) -> ast.Name | None:
    """The second mention of a name that is joined with itself further on, where it holds what the same layer made of something else."""
    source, made = subject.source, statement.value
    home = source.enclosing(statement, ast.FunctionDef) or source.tree
    layer = ast.unparse(made.func) if isinstance(made, ast.Call) else ""
    twins = {
        target.id
        for each in within(home, ast.Assign)
        for target in each.targets
        if each is not statement and isinstance(each.value, ast.Call) and isinstance(target, ast.Name)
        if ast.unparse(each.value.func) == layer
    }
    for joined in within(home, ast.BinOp, ast.List, ast.Tuple):
        match joined:
            case ast.BinOp(op=ast.Add(), left=ast.Name(id=one), right=ast.Name(id=other) as last):
                pass
            case ast.List(elts=[ast.Name(id=one), ast.Name(id=other) as last]):
                pass
            case ast.Tuple(elts=[ast.Name(id=one), ast.Name(id=other) as last]):
                pass
            case _:
                continue
        if one == other and one in twins and joined.lineno > statement.lineno:
            return last
    return None
