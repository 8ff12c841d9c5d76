"""A weight is updated by hand outside `torch.no_grad()`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Enclose,
    Family,
    Fault,
    FixPattern,
    RaisedTemplate,
    Source,
    Subject,
    function_around,
    spell,
    training_loop,
    within,
)

MESSAGE = r"a (view of a )?leaf Variable that requires grad (is being|has been) used in an in-place operation"

FORWARD = frozenset({"forward", "__call__", "training_step"})
"""Methods in which a change is part of the network."""

SETUP = ("init", "reset", "setup", "build", "load")
"""Parts of the names of functions that initialize weights."""


class WeightUpdatedOutsideNoGrad(RaisedTemplate):
    """A weight that requires grad is changed in place by hand, as in `w -= lr * w.grad`, outside `torch.no_grad()`.

    Autograd would record the change, and raises for a leaf tensor. An update or initialization of a weight is not part
    of the network and belongs under `torch.no_grad()`.

    Reported where the run ended in this way, at an update after a backward pass or an initialization. Adjacent updates
    of other weights go into the same block. Changes in `forward` are left alone: a new tensor may be meant.

    Fix safety: unsafe. The weights are changed from now on, without a gradient through the change.

    References: torch.no_grad; "Locally disabling gradient computation" in "Autograd mechanics" of the torch manual.
    """

    code = "DNF444"
    name = "weight-updated-outside-no-grad"
    formerly = ("weight-changed-in-graph",)
    message = "`{weight}` requires grad and is changed in place outside `torch.no_grad()`"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.OPTIMIZER
    triggers = ("torch",)
    said = MESSAGE
    declined = "the update shares its line with other statements"

    def explain(self, subject: Subject, node: ast.expr | ast.stmt) -> Iterator[Fault]:
        source, header = subject.source, spell(subject, "torch.no_grad")
        changed = _changed(source.statement_of(node))
        if changed is None or not _no_part_of_network(source, source.statement_of(node)):
            return
        groups = [_group(source, source.statement_of(node))]
        for statement in _updates(source):
            if not any(each.lineno <= statement.lineno <= (each.end_lineno or 0) for group in groups for each in group):
                groups.append(_group(source, statement))
        edits = [Enclose(source.site(group[0]), source.site(group[-1]), f"with {header.code}():") for group in groups]
        words = {"weight": ast.unparse(changed)}
        site, title = source.site(source.statement_of(node)), "Update the weights under no_grad"
        yield Fault.with_repair(site, words, title, *edits, *header.imports, confidence=0.95)

    programs = """
=== example: two weights of a regression
import torch

w = torch.randn(5, 1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
x = torch.randn(20, 5)
for _ in range(3):
    loss = (x @ w + b).pow(2).mean()
    loss.backward()
-     w -= 0.1 * w.grad
-     b -= 0.1 * b.grad
-     w.grad.zero_()
-     b.grad.zero_()
+     with torch.no_grad():
+         w -= 0.1 * w.grad
+         b -= 0.1 * b.grad
+         w.grad.zero_()
+         b.grad.zero_()
print(loss.item())

=== example: all parameters of a network
import torch
from torch import nn

net = nn.Linear(3, 1)
for x in torch.randn(3, 8, 3):
    net.zero_grad()
    net(x).pow(2).mean().backward()
-     for p in net.parameters():  # gradient descent
-         p.sub_(0.1 * p.grad)
+     with torch.no_grad():
+         for p in net.parameters():  # gradient descent
+             p.sub_(0.1 * p.grad)

=== example: the initialization of a row of a weight
import torch
import torch.nn as nn

class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(6, 3)
-         self.table.weight[0] = torch.zeros(3)
+         with torch.no_grad():
+             self.table.weight[0] = torch.zeros(3)

    def forward(self, index):
        return self.table(index)

net = Words()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    opt.zero_grad()
    net(torch.tensor([1, 2])).sum().backward()
    opt.step()

=== reject: an update under no_grad
import torch

w = torch.randn(5, 1, requires_grad=True)
for x in torch.randn(3, 4, 5):
    (x @ w).pow(2).mean().backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
        w.grad.zero_()

=== reject: a change within the network, which wants a new tensor
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(3, 1)

    def forward(self, x):
        x += 1.0
        return self.lin(x)

given = torch.randn(4, 3, requires_grad=True)
Net()(given).sum().backward()

=== reject: a value that is not a weight
import torch

x = torch.randn(4, 3)
x += 1.0
lin = torch.nn.Linear(3, 1)
lin(x).sum().backward()
"""


def _changed(statement: ast.stmt) -> ast.expr | None:
    """The name or attribute that a statement changes in place, as a whole or in part."""
    target: ast.expr | None = None
    if isinstance(statement, ast.AugAssign):
        target = statement.target
    elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript):
        target = statement.targets[0]
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        function = statement.value.func
        if isinstance(function, ast.Attribute) and function.attr.endswith("_") and not function.attr.startswith("_"):
            target = function.value
    while isinstance(target, ast.Subscript):
        target = target.value
    return target if isinstance(target, (ast.Name, ast.Attribute)) else None


def _no_part_of_network(source: Source, statement: ast.stmt) -> bool:
    """Whether a change is an update, after a backward pass, or an initialization."""
    function = function_around(source, statement)
    if function is not None and function.name in FORWARD:
        return False
    if any(isinstance(node, ast.Attribute) and node.attr == "grad" for node in ast.walk(statement)):
        return True
    loops, changed = training_loop.loops_around(source, statement), _changed(statement)
    where: ast.AST = loops[-1] if loops else function or source.tree
    if any(call.lineno < statement.lineno for call in training_loop.attribute_calls(where, "backward", "grad")):
        return True
    if function is not None and changed is not None and _reads_gradient(function, ast.unparse(changed)):
        return True
    # Else it has to be an initialization: in a set-up function, in no loops but those over parameters and layers.
    if function is not None and not any(word in function.name.lower() for word in SETUP):
        return False
    return all(isinstance(loop, ast.For) and bool(training_loop.attribute_calls(loop.iter, *_LISTS)) for loop in loops)


_LISTS = ("parameters", "named_parameters", "modules", "named_modules", "children", "named_children")


def _updates(source: Source) -> list[ast.stmt]:
    """The statements of the form `w -= … w.grad` under no `with`."""
    found: list[ast.stmt] = []
    for statement in [*source.nodes(ast.AugAssign), *source.nodes(ast.Expr)]:
        changed = _changed(statement)
        if changed is None or not _reads_gradient(statement, ast.unparse(changed)):
            continue
        if source.enclosing(statement, ast.With) is None and not _is_decorated(source, statement):
            found.append(statement)
    return found


def _is_decorated(source: Source, statement: ast.stmt) -> bool:
    function = function_around(source, statement)
    return function is not None and bool(function.decorator_list)


def _reads_gradient(where: ast.AST, changed: str) -> bool:
    return any(ast.unparse(node) == f"{changed}.grad" for node in within(where, ast.Attribute))


def _group(source: Source, statement: ast.stmt) -> list[ast.stmt]:
    """A statement with the adjacent updates; a loop with no other statement as a whole."""
    block = training_loop.block_of(source, statement)
    place = block.index(statement)
    first = last = place
    while first > 0 and _is_update(block[first - 1]):
        first -= 1
    while last + 1 < len(block) and (_is_update(block[last + 1]) or _clears(block[last + 1])):
        last += 1
    group = block[first : last + 1]
    above = source.parent(statement)
    if isinstance(above, ast.For) and not above.orelse and above.body == group:
        return [above]
    return group


def _is_update(statement: ast.stmt) -> bool:
    changed = _changed(statement)
    return changed is not None and _reads_gradient(statement, ast.unparse(changed))


def _clears(statement: ast.stmt) -> bool:
    """Whether a statement clears a gradient: `w.grad.zero_()` or `w.grad = None`."""
    if isinstance(statement, ast.Assign):
        target = statement.targets[0]
        return isinstance(target, ast.Attribute) and target.attr == "grad"
    changed = _changed(statement)
    return isinstance(changed, ast.Attribute) and changed.attr == "grad"
