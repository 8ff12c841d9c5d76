"""A training loop lacks its backward pass or the step of its optimizer, or names one of them without calling it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    Edit,
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    InsertAfter,
    InsertBefore,
    Reject,
    Repairs,
    Replace,
    Site,
    Source,
    Subject,
    Symptom,
    attribute_calls,
    block_of,
    function_around,
    goes_other_ways,
    is_optimizer,
    loops_around,
    operated_on,
    operations_named,
    words,
)

MODES = words("eval train")
CALLED = words("zero_grad backward step") | MODES
KEPT_BY = words("zero_grad param_groups state_dict load_state_dict defaults state")
"""What is done with an optimizer that does not step it."""


@dataclass(frozen=True, slots=True)
class Missing:
    """Where the operation is missing, what it is, and the edit that adds it."""

    place: ast.AST
    operation: str
    edit: Edit


class TrainingOperationMissing(FaultTemplate[Missing]):
    """A loop without `loss.backward()` has no gradients, one without `optimizer.step()` no use for them.

    `optimizer.step` without its parentheses does nothing either. Nothing crashes; the model stays as it was initialized.

    Reported where the other operations of the training are there: an optimizer of torch that is cleared, beside a
    backward pass, and stepped nowhere in the program and given to nothing; one that is cleared and stepped in a program
    in which nothing computes gradients; one that is made and never used, where a loop computes a loss; or an operation that
    stands alone in its line and is not called.

    Fix safety: unsafe. The model is trained from now on, which is the point.

    References: torch.optim ("Taking an optimization step"), torch.Tensor.backward.
    """

    code = "DNF702"
    name = "training-operation-missing"
    family = Family.TRAINING
    fix_pattern = FixPattern.API_CONTRACT
    message = "{operation} is missing: without it {effect}"
    triggers = ("optim",)
    declined = "where the operation belongs cannot be told"

    def faults(self, subject: Subject) -> Faults[Missing]:
        source = subject.source
        if "torch" not in source.frameworks:
            return
        named = list(_not_called(source))
        yield from ((source.site(found.place), found) for found in named)
        if named or source.beside or goes_other_ways(subject.source, subject.words):
            return
        for found in (*_no_step(source), *_no_backward(source), *_never_used(source)):
            yield source.site(found.place), found

    def report(self, site: Site, fault: Missing) -> Finding:
        called = fault.operation.rpartition(".")[2].removesuffix("()")
        effect = "the model stays in the mode that it is in" if called in MODES else "this loop trains nothing"
        return self.finding(site, symptom=Symptom.VIOLATION, confidence=0.9, operation=fault.operation, effect=effect)

    def repairs(self, subject: Subject, fault: Missing) -> Repairs:
        yield f"Call {fault.operation}", (fault.edit,), 0.9

    examples = (
        Example(
            "no step",
            """\
import torch

optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(net(x), y)
    loss.backward()
+     optimizer.step()
    print(loss.item())
""",
        ),
        Example(
            "no backward pass",
            """\
import torch
from torch import nn, optim

criterion = nn.MSELoss()
opt = optim.Adam(model.parameters())
for epoch in range(100):
    opt.zero_grad()
    cost = criterion(model(x), y)
+     cost.backward()
    opt.step()
""",
        ),
        Example(
            "an optimizer that nothing uses",
            """\
import torch
import torch.nn.functional as F

def fit(net, x, y, turns):
    sgd = torch.optim.SGD(net.parameters(), lr=0.01)
    history = []
    for turn in range(turns):
        error = F.mse_loss(net(x), y)
+         sgd.zero_grad()
+         error.backward()
+         sgd.step()
        history.append(error.item())
    return history
""",
        ),
        Example(
            "the mode is named behind the training",
            """\
import torch

optimizer = torch.optim.Adam(net.parameters())
train(net, optimizer)
- net.eval
+ net.eval()
print(net(x_test).argmax(1))
""",
        ),
    )
    rejects = (
        Reject(
            "a function steps it",
            """\
import torch

optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    criterion(net(x), y).backward()
    finish(optimizer)
""",
        ),
        Reject(
            "a schedule holds the optimizer, which is stepped",
            """\
import torch

optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
for epoch in range(20):
    for x, y in loader:
        optimizer.zero_grad()
        criterion(net(x), y).backward()
        optimizer.step()
    scheduler.step()
""",
        ),
        Reject(
            "gradients of an image, for which nothing is stepped",
            """\
import torch

for x, y in loader:
    net.zero_grad()
    criterion(net(x), y).backward()
    x.data += 0.1 * x.grad.sign()
""",
        ),
        Reject(
            "the loss of an evaluation, with an optimizer that is made for later",
            """\
import torch
import torch.nn.functional as F

adam = torch.optim.Adam(net.parameters())
with torch.no_grad():
    for x, y in loader:
        error = F.mse_loss(net(x), y)
        print(error.item())
""",
        ),
        Reject(
            "a closure computes the gradients",
            """\
import torch

optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

def closure():
    optimizer.zero_grad()
    loss = criterion(net(x), y)
    loss.backward()
    return loss

for _ in range(10):
    optimizer.step(closure)
""",
        ),
    )


def _not_called(source: Source) -> Iterator[Missing]:
    """Statements that name an operation of a training and do not call it."""
    for statement in source.nodes(ast.Expr):
        named = statement.value
        if not isinstance(named, ast.Attribute) or named.attr not in CALLED or source.enclosing(statement, ast.Try):
            continue  # in a `try` it may ask whether the attribute is there
        on_model = named.attr in MODES and _is_model(source, ast.unparse(named.value))
        if isinstance(named.value, (ast.Name, ast.Attribute)) and (on_model or loops_around(source, statement)):
            text = f"{ast.unparse(named)}()"
            yield Missing(statement, text, Replace(source.site(named), text))


def _is_model(source: Source, text: str) -> bool:
    """Whether an optimizer is given the weights of what is written so."""
    return any(ast.unparse(call.func) == f"{text}.parameters" for call in attribute_calls(source.tree, "parameters"))


def _no_step(source: Source) -> Iterator[Missing]:
    """Optimizers that are cleared beside a backward pass, and that nothing steps or is given."""
    for clearing in operations_named(source, "zero_grad"):
        optimizer = operated_on(clearing)
        block = block_of(source, clearing.statement)
        passes = [each for each in operations_named(source, "backward") if each.statement in block]
        if not passes or not loops_around(source, clearing.statement) or not is_optimizer(source, optimizer):
            continue
        cleared = [each for each in operations_named(source, "zero_grad") if each.statement in block]
        if len(cleared) == 1 and not isinstance(optimizer, ast.Attribute) and not _does_more(source, optimizer):
            text = f"{clearing.on}.step()"
            yield Missing(passes[-1].call, text, InsertAfter(source.site(passes[-1].statement), text))


def _does_more(source: Source, optimizer: ast.expr) -> bool:
    """Whether anything is done with an optimizer that may step it."""
    if not isinstance(optimizer, ast.Name):
        return True
    for node in source.nodes(ast.Name):
        above = source.parent(node)
        if node.id != optimizer.id or isinstance(node.ctx, ast.Store):
            continue
        is_kept = isinstance(above, ast.Attribute) and above.attr in KEPT_BY
        if not is_kept and not _is_of_schedule(source, above):
            return True
    return False


def _is_of_schedule(source: Source, above: ast.AST | None) -> bool:
    return isinstance(above, ast.Call) and (source.qualified(above.func) or "").startswith("torch.optim.lr_scheduler.")


def _no_backward(source: Source) -> Iterator[Missing]:
    """Steps beside a clearing, in a program that computes no gradients, with a loss before them."""
    if not {"backward", "closure", "minimize"}.isdisjoint(source.words):
        return
    for step in operations_named(source, "step"):
        block = block_of(source, step.statement)
        cleared = any(each.on == step.on and each.statement in block for each in operations_named(source, "zero_grad"))
        if not cleared or step.call.args or not is_optimizer(source, operated_on(step)):
            continue
        losses = [name for s in block[: block.index(step.statement)] if (name := _loss(source, s))]
        if losses and loops_around(source, step.statement):
            text = f"{losses[-1]}.backward()"
            yield Missing(step.call, text, InsertBefore(source.site(step.statement), text))


def _never_used(source: Source) -> Iterator[Missing]:
    """Optimizers that are made and not looked at again, in a program that computes no gradients, but a loss in a loop."""
    if not {"backward", "closure", "minimize", "step"}.isdisjoint(source.words):
        return
    for made in source.nodes(ast.Assign):
        if len(made.targets) != 1 or not isinstance(made.targets[0], ast.Name):
            continue
        name, around = made.targets[0].id, function_around(source, made)
        used = any(node.id == name and isinstance(node.ctx, ast.Load) for node in source.nodes(ast.Name))
        if used or not is_optimizer(source, made.targets[0]):
            continue
        for statement in source.nodes(ast.Assign):
            loss = _loss(source, statement)
            if loss and loops_around(source, statement) and function_around(source, statement) is around:
                if source.enclosing(statement, ast.With) is None:
                    lines = f"{name}.zero_grad()\n{loss}.backward()\n{name}.step()"
                    edit = InsertAfter(source.site(statement), lines)
                    yield Missing(statement, f"{loss}.backward() with {name}.step()", edit)
                break


def _loss(source: Source, statement: ast.stmt) -> str:
    """The name that a statement gives a loss: what a criterion of torch computes, or what is called a loss."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return ""
    target, value = statement.targets[0], statement.value
    if not isinstance(target, ast.Name) or not isinstance(value, ast.Call):
        return ""
    made = source.constructor(value.func)
    name = (source.qualified(made.func) if made is not None else source.qualified(value.func)) or ""
    is_loss = name.startswith("torch.nn.") and ("loss" in name.lower() or "entropy" in name)
    return target.id if is_loss or target.id in ("loss", "total_loss", "train_loss") else ""
