"""The `forward` of a model does not return the output it computes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Edit,
    Family,
    Fault,
    FixPattern,
    InsertAfter,
    ReadTemplate,
    Replace,
    Subject,
    Symptom,
    graph,
    trees,
    within,
)


class ForwardReturnsNone(ReadTemplate):
    """The `forward` (in Keras: `call`) of a model computes its output and has no `return`: the model returns `None`.

    The program fails where the output is used first, which may be far away: in a loss, or in a layer of another model.

    Fix safety: unsafe. The model returns its last tensor instead of `None`.

    References: torch.nn.Module.forward; keras.Layer.call.
    """

    code = "DNF414"
    name = "forward-returns-none"
    formerly = ("forward-returns-nothing",)
    message = "`{method}` of `{owner}` returns None: the last value that it computes, `{lost}`, is not returned"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    triggers = ("forward", "call")
    confidence = 0.95

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        owned = [(one, "forward") for one in graph.torch_modules(source)] + [
            (one, "call") for one in graph.keras_modules(source)
        ]
        for owner, name in owned:
            for function in owner.body:
                if not isinstance(function, ast.FunctionDef) or function.name != name:
                    continue
                found = _end(subject, function)
                if found is None:
                    continue
                last, outer, bound = found
                site, shown = source.site(last), bound or subject.text(source.site(last))
                edit: Edit = Replace(site, f"return {subject.text(site)}")
                if bound is not None:
                    edit = InsertAfter(source.site(outer), f"return {bound}")
                words = {"method": name, "owner": owner.name, "lost": shown}
                crashed = Symptom.CRASH if _crash_behind(subject, function) else None
                repairs = (("Return the value that is computed last", (edit,), 0.95),)
                yield Fault(site, words, repairs, symptom=crashed)

    programs = """
=== example (runs): a loop over layers, in a training program
import torch
from torch import nn

class Deep(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(depth))

    def forward(self, batch):
        hidden = batch.float()
        for layer in self.layers:
            hidden = torch.tanh(layer(hidden))
+         return hidden

model = Deep(2)
loss = nn.functional.mse_loss(model(torch.ones(5, 3)), torch.zeros(5, 3))
loss.backward()

=== example: a Keras model whose last call has no name
import keras

class Classifier(keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden = keras.layers.Dense(16, activation="relu")
        self.head = keras.layers.Dense(3)

    def call(self, inputs, training=False):
        h = self.hidden(inputs)
-         self.head(h)
+         return self.head(h)

=== reject: a module that keeps what it sees
import torch
from torch import nn

class Recorder(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(4)

    def forward(self, x):
        self.seen = self.norm(x)

=== reject: modules that keep their results in a list and a table
import torch
from torch import nn

class Draw(nn.Module):
    def __init__(self, steps):
        super().__init__()
        self.cell = nn.LSTMCell(4, 4)
        self.canvas = [0] * steps
        self.log = []

    def forward(self, x):
        state = x
        for t in range(len(self.canvas)):
            state, _ = self.cell(x)
            self.canvas[t] = torch.tanh(state)
            state = state + 1

class Taped(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(4, 4)
        self.tape = []

    def forward(self, x):
        self.tape.append(self.cell(x))
        last = self.cell(x)

=== reject: an abstract module, and one that prints
import torch.nn as nn

class Base(nn.Module):
    def forward(self, x):
        raise NotImplementedError

class Shape(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        size = x.shape
        print(size)

=== reject: an earlier return, and a result stored in an argument
import torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x, out=None):
        if out is None:
            return self.layer(x)
        out[:] = self.layer(x)

class Filler(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x, memory):
        y = self.layer(x)
        memory.append(y)
"""


def _end(subject: Subject, method: ast.FunctionDef) -> tuple[ast.stmt, ast.stmt, str | None] | None:
    """The last statement of a `forward` without `return`, the top-level statement around it, and the name it binds."""
    own = [node for node in within(method, ast.Return, ast.Yield, ast.YieldFrom, ast.Global, ast.Nonlocal)]
    if any(not isinstance(node, ast.Return) or node.value is not None for node in own) or method.decorator_list:
        return None
    if _keeps(method):
        return None
    outer = last = method.body[-1]
    while isinstance(last, (ast.For, ast.With)) and last.body and not getattr(last, "orelse", []):
        last = last.body[-1]
    if isinstance(last, ast.Assign) and len(last.targets) == 1 and isinstance(last.targets[0], ast.Name):
        name = last.targets[0].id
        looped = isinstance(outer, ast.For)
        if _layer_called(subject, method) and (not looped or _bound_before(method, outer, name)):
            return last, outer, name
    if isinstance(last, ast.Expr) and last is outer and _is_layer(subject, last.value):
        return last, outer, None
    return None


def _keeps(method: ast.FunctionDef) -> bool:
    """Whether the method stores something in `self`, where its result may be read."""
    me = method.args.args[0].arg if method.args.args else ""
    places: list[ast.Attribute | ast.Subscript] = [*within(method, ast.Attribute), *within(method, ast.Subscript)]
    stored = [node for node in places if not isinstance(node.ctx, ast.Load)]
    added = [
        node.value.func
        for node in within(method, ast.Expr)
        if isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute)
    ]
    return any(_root(node) == me for node in stored) or any(
        _root(node) == me and not isinstance(node.value, ast.Name) for node in added
    )


def _root(expr: ast.expr) -> str:
    while isinstance(expr, (ast.Attribute, ast.Subscript)):
        expr = expr.value
    return expr.id if isinstance(expr, ast.Name) else ""


def _layer_called(subject: Subject, method: ast.FunctionDef) -> bool:
    """Whether the method calls a layer of `self`, or loops over its layers."""
    me = method.args.args[0].arg if method.args.args else ""
    held = [
        node
        for node in within(method, ast.Attribute)
        if isinstance(node.value, ast.Name) and node.value.id == me and isinstance(node.ctx, ast.Load)
    ]
    return any(_is_layer(subject, call) for call in within(method, ast.Call)) or any(
        isinstance(subject.source.parent(node), ast.For) for node in held
    )


def _is_layer(subject: Subject, node: ast.expr) -> bool:
    """Whether an expression calls an attribute of `self` whose constructor is known."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    base = node.func.value
    made = subject.source.constructor(node.func) if trees.is_self(base) else None
    return made is not None and bool(node.args)


def _bound_before(method: ast.FunctionDef, outer: ast.stmt, name: str) -> bool:
    arguments = method.args
    given = {one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    stored = (node for node in within(method, ast.Name) if isinstance(node.ctx, ast.Store))
    return name in given or any(node.id == name and node.lineno < outer.lineno for node in stored)


def _crash_behind(subject: Subject, method: ast.FunctionDef) -> bool:
    """Whether the program crashed outside the method, after it ran."""
    crash, place = subject.crash, subject.source.site(method)
    if crash is None or any(place.encloses(frame.site) for frame in crash.frames):
        return False
    return any(call.site is not None and place.encloses(call.site) for call in subject.network.calls)
