"""Tensors that require grad are assigned to the elements of a NumPy array."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Edit,
    Family,
    Fault,
    FixPattern,
    RaisedTemplate,
    RemoveArgument,
    Repair,
    Replace,
    Source,
    Subject,
    keyword_value,
    spell,
    within,
)

_ARRAYS = ("numpy.zeros", "numpy.ones", "numpy.empty", "numpy.full")


class NumpyArrayInGraph(RaisedTemplate):
    """Tensors that require grad are assigned to the elements of a NumPy array, for which torch raises.

    A NumPy array holds plain numbers, so the gradients would end there. A tensor is filled in the same way and keeps
    them.

    Repaired where only torch reads the array: the program computes with it or returns it, and passes it to no function
    of another library.

    Fix safety: unsafe. The values have the default dtype of torch, and the result is a tensor.

    References: torch.Tensor.numpy, torch.zeros.
    """

    code = "DNF429"
    name = "numpy-array-in-graph"
    formerly = ("array-of-numpy-in-graph",)
    message = (
        "{maker} creates a NumPy array, and tensors that require grad are assigned to its elements: expected a tensor"
    )
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.NEURAL_CONNECTION
    triggers = ("torch",)
    raised = "RuntimeError TypeError"
    said = r"Can't call numpy\(\) on Tensor that requires grad"
    declined = "the array is passed to functions that expect a NumPy array"
    confidence = 0.9

    def explain(self, subject: Subject, node: ast.expr | ast.stmt) -> Iterator[Fault]:
        source = subject.source
        statement = source.statement_of(node)
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        if isinstance(statement, ast.AugAssign):
            target = statement.target
        if not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Name):
            return
        values = source.bindings(target.value, statement)
        made = values[0] if len(values) == 1 else None
        kept = ast.unparse(statement.value) if isinstance(statement, (ast.Assign, ast.AugAssign)) else ""
        if isinstance(made, ast.Call) and not _is_loss(source, kept) and source.qualified(made.func) in _ARRAYS:
            yield Fault(source.site(made), {"maker": ast.unparse(made.func)}, tuple(_as_tensor(subject, made)))

    programs = """
=== example: two halves put together
import numpy as np
import torch
from torch import nn

def join(a, b):
-     whole = np.zeros((len(a), 4))
+     whole = torch.zeros((len(a), 4))
    whole[:, 0::2] = a
    whole[:, 1::2] = b
    return whole

net = nn.Linear(2, 2)
x = torch.randn(3, 2)
loss = (join(net(x), x) ** 2).sum()
loss.backward()

=== example: the steps of a sequence, in a method
import numpy
import torch

class Steps(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = torch.nn.GRUCell(2, 3)

    def forward(self, x):
        h = torch.zeros(x.size(0), 3)
-         out = numpy.empty([x.size(1), x.size(0), 3], dtype=numpy.float32)
+         out = torch.empty([x.size(1), x.size(0), 3])
        for t in range(x.size(1)):
            h = self.cell(x[:, t], h)
            out[t] = h
        return out

steps = Steps()
steps(torch.randn(2, 4, 2)).sum().backward()

=== example: the terms of a loss
import numpy as np
import torch

net = torch.nn.Linear(3, 2)
x, y = torch.randn(5, 3), torch.randn(5, 2)
- terms = np.zeros((2, 5))
+ terms = torch.zeros((2, 5))
for column in range(2):
    terms[column] = (net(x) - y)[:, column] ** 2
loss = terms.mean()
loss.backward()

=== reject: a value for display is detached from the graph
import numpy as np
import torch

net = torch.nn.Linear(3, 1)
kept = np.zeros((4, 1))
for row in range(4):
    kept[row] = net(torch.randn(3)).detach().numpy()
print(kept.mean())

=== reject: a record of losses
import numpy as np
import torch

net = torch.nn.Linear(3, 1)
losses = np.zeros(4)
for step in range(4):
    loss = net(torch.randn(3)).sum()
    loss.backward()
    losses[step] = loss

=== reject: a tensor that is filled
import torch

net = torch.nn.Linear(3, 1)
kept = torch.zeros((4, 1))
for row in range(4):
    kept[row] = net(torch.randn(3))
kept.sum().backward()
"""


def _is_loss(source: Source, text: str) -> bool:
    """Whether `backward` is called on the assigned value itself: then the array is only a record of losses."""
    sent = (c.func for c in source.all_calls if isinstance(c.func, ast.Attribute) and c.func.attr == "backward")
    return any(isinstance(f, ast.Attribute) and ast.unparse(f.value) == text for f in sent)


def _as_tensor(subject: Subject, made: ast.Call) -> Iterator[Repair]:
    """The repair that makes a tensor instead of the array, if nothing needs a NumPy array."""
    source = subject.source
    statement = source.statement_of(made)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if not isinstance(target, ast.Name) or _wants_numpy(source, statement, target):
        return
    short = (source.qualified(made.func) or "").rpartition(".")[2]
    new = spell(subject, f"torch.{short}")
    edits: list[Edit] = [Replace(source.site(made.func), new.code), *new.imports]
    dtype = keyword_value(made, "dtype")
    if dtype is not None and "float" in ast.unparse(dtype):
        edits.append(RemoveArgument(source.site(made), "dtype"))
    elif dtype is not None or len(made.args) > (2 if short == "full" else 1):
        return
    yield f"Create a tensor: {new.code}", tuple(edits), 0.85


def _wants_numpy(source: Source, statement: ast.stmt, target: ast.Name) -> bool:
    """Whether the array is passed to a function of a library other than torch."""
    scope = source.enclosing(statement, ast.FunctionDef) or source.tree
    for name in within(scope, ast.Name):
        if name.id != target.id or not isinstance(name.ctx, ast.Load):
            continue
        call = source.enclosing(name, ast.Call)
        if call is None or call.func is name or source.statement_of(call) is not source.statement_of(name):
            continue
        if any(name in within(given, ast.Name) for given in (*call.args, *(k.value for k in call.keywords))):
            called = source.qualified(call.func) or ""
            if called and not called.startswith(("torch.", "builtins.range", "builtins.len", "builtins.print")):
                return True
    return False
