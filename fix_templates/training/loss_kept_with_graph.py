"""Losses are summed or collected for reporting together with their autograd graphs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Family,
    Fault,
    FixPattern,
    ReadTemplate,
    Source,
    Subject,
    Wrap,
    function_around,
    training_loop,
    within,
    words,
)

OF_TENSOR = words("item detach cpu data numpy tolist backward")
"""Attributes of tensors that numbers do not have, or that a report does not need."""


class LossKeptWithGraph(ReadTemplate):
    """`total += loss` keeps the autograd graph of every batch alive: memory use grows with each iteration.

    Reported where a loss whose `backward` is called in the same loop is added to a name that started as a number, or
    appended to a list that started empty, and nothing later needs a tensor.

    Fix safety: unsafe. The sum is a number instead of a tensor, and prints as one.

    References: https://docs.pytorch.org/docs/stable/notes/faq.html ("My model reports cuda runtime error(2)").
    """

    code = "DNF708"
    name = "loss-kept-with-graph"
    message = "`{keeper}` keeps the autograd graph of every `{loss}`, and only its value is used"
    family = Family.TRAINING
    fix_pattern = FixPattern.MONITOR
    triggers = ("backward",)
    confidence = 0.9

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        for loss, keeper in _kept(source) if "torch" in source.frameworks else ():
            site, title = source.site(loss), f"Keep only the value of `{loss.id}`"
            yield Fault.with_repair(site, {"keeper": keeper, "loss": loss.id}, title, Wrap(site, "", ".item()"))

    programs = """
=== example: a running sum
import torch

for epoch in range(10):
    total_loss = 0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        optimizer.step()
-         total_loss += loss
+         total_loss += loss.item()
    print(epoch, total_loss / len(loader))

=== example: a list for a plot
import matplotlib.pyplot as plt
import torch

losses = []
for step in range(1000):
    cost = (net(x) - y).pow(2).mean()
    optimizer.zero_grad()
    cost.backward()
    optimizer.step()
-     losses.append(cost)
+     losses.append(cost.item())
plt.plot(losses)

=== reject: the sum is what is trained
import torch

for episode in range(10):
    total = 0
    for x, y in steps:
        loss = criterion(net(x), y)
        total += loss
    total.backward()

=== reject: values are kept
import torch

total, losses = 0.0, []
for x, y in loader:
    loss = criterion(net(x), y)
    loss.backward()
    total += loss.item()
    losses.append(loss.detach())

=== reject: the value is read in the end
import torch

total = 0.0
for x, y in loader:
    loss = criterion(net(x), y)
    loss.backward()
    total += loss
print(total.item())

=== reject: the value of the mean is read in the end
import torch

losses = []
for x, y in loader:
    loss = criterion(net(x), y)
    loss.backward()
    losses.append(loss)
mean = sum(losses) / len(losses)
print(mean.item())

=== reject: the name holds a number by then
import torch

total = 0.0
for x, y in loader:
    loss = criterion(net(x), y)
    loss.backward()
    loss = loss.item()
    total += loss
"""


def _kept(source: Source) -> Iterator[tuple[ast.Name, str]]:
    """The losses that are kept, each with the name that keeps it."""
    for step in training_loop.operations_named(source, "backward"):
        loss = training_loop.operated_on(step)
        loops = training_loop.loops_around(source, step.statement)
        if not isinstance(loss, ast.Name) or not loops:
            continue
        around = function_around(source, step.statement)
        stores = [
            node
            for node in within(loops[0], ast.Name)
            if node.id == loss.id and isinstance(node.ctx, ast.Store) and node.lineno > step.statement.lineno
        ]
        if stores:
            continue
        for added, keeper, starts in _keepers(loops[0], loss.id):
            if _begins(source, keeper, starts, added) and not _needs_tensor(source, keeper, around or source.tree):
                yield added, keeper


def _keepers(loop: ast.AST, loss: str) -> Iterator[tuple[ast.Name, str, type[ast.expr]]]:
    """Where a loop keeps a loss: the loss there, the name that keeps it, and the type of that name's initial value."""
    for statement in within(loop, ast.AugAssign):
        value = statement.value
        weighed = isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Mult, ast.Div))
        added = value.left if weighed and isinstance(value, ast.BinOp) else value
        target = statement.target
        if not isinstance(statement.op, ast.Add) or not isinstance(target, ast.Name):
            continue
        if isinstance(added, ast.Name) and added.id == loss:
            yield added, target.id, ast.Constant
    for call in within(loop, ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr == "append" and len(call.args) == 1:
            given, keeper = call.args[0], call.func.value
            if isinstance(given, ast.Name) and given.id == loss and isinstance(keeper, ast.Name):
                yield given, keeper.id, ast.List


def _begins(source: Source, keeper: str, kind: type[ast.expr], at: ast.Name) -> bool:
    """Whether every assignment to the keeper in its function is a constant or an empty list."""
    around = function_around(source, at) or source.tree
    values = [
        value
        for statement in within(around, ast.Assign)
        for target in statement.targets
        for name, value in _pairs(target, statement.value)
        if name == keeper
    ]
    empty = all(not value.elts if isinstance(value, ast.List) else True for value in values)
    return bool(values) and empty and all(isinstance(value, kind) for value in values)


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[str, ast.expr]]:
    if isinstance(target, ast.Name):
        return [(target.id, value)]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return [pair for one, other in zip(target.elts, value.elts, strict=True) for pair in _pairs(one, other)]
    return []


def _made_of(keeper: str, where: ast.AST) -> Iterator[str]:
    """The names that are assigned something computed from the keeper."""
    for statement in within(where, ast.Assign):
        if any(node.id == keeper for node in within(statement.value, ast.Name)):
            yield from (node.id for target in statement.targets for node in within(target, ast.Name))


def _needs_tensor(source: Source, keeper: str, where: ast.AST) -> bool:
    """Whether the keeper is used in a way that needs a tensor."""
    names = {keeper, *_made_of(keeper, where)}
    for node in within(where, ast.Name):
        if node.id not in names or isinstance(node.ctx, ast.Store):
            continue
        above = source.parent(node)
        if source.enclosing(node, ast.Return) is not None and not OF_TENSOR.isdisjoint(source.words - {"backward"}):
            return True
        if isinstance(above, ast.Attribute) and above.attr in OF_TENSOR:
            return True
        if isinstance(above, ast.Subscript) and isinstance(source.parent(above), (ast.Attribute, ast.Subscript)):
            return True
        if isinstance(above, (ast.For, ast.comprehension, ast.Starred)):
            return True
        if isinstance(above, ast.Call) and (source.qualified(above.func) or "").startswith("torch."):
            return True
    return False
