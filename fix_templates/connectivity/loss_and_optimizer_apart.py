"""A training loop that sends the loss back and never steps, or steps and never sends the loss back."""

from __future__ import annotations

import ast
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
    Site,
    Source,
    Subject,
    Symptom,
    component_kind,
    within,
)

_OTHERS = frozenset(
    {
        "autograd",
        "grad",
        "Trainer",
        "Accelerator",
        "accelerator",
        "fabric",
        "LightningModule",
        "engine",
        "scaler",
        "amp",
    }
)
"""Words of a program that moves its weights in another way, or whose loop is in a library."""
_LOOPS = (ast.For, ast.While)


@dataclass(frozen=True, slots=True)
class _Apart:
    """The statement beside which one is missing, what is missing, and the edit that puts it there."""

    statement: ast.stmt
    missing: str
    edit: Edit


class LossAndOptimizerApart(FaultTemplate[_Apart]):
    """A loop of torch has `loss.backward()` and no `optimizer.step()` anywhere, or the other way round.

    Gradients that no step uses change nothing, and a step without gradients does nothing: the weights stay as they were.

    Reported where the program has one optimizer and one loop that trains, and no other way of moving weights.

    Fix safety: unsafe. The network is trained from now on, which is the point.

    References: torch.optim ("Taking an optimization step").
    """

    code = "DNF441"
    name = "loss-and-optimizer-apart"
    family = Family.CONNECTIVITY
    fix_pattern = FixPattern.OPTIMIZER
    message = "the loop never calls `{missing}`, so that the weights stay as they are"
    triggers = ("optim",)
    declined = "the place of the call cannot be told"

    def faults(self, subject: Subject) -> Faults[_Apart]:
        source = subject.source
        if "torch" not in source.frameworks or not _OTHERS.isdisjoint(source.words):
            return
        made = [call for call in source.all_calls if component_kind(source.qualified(call.func) or "") == "optimizer"]
        made = [call for call in made if (source.qualified(call.func) or "").startswith("torch.optim.")]
        statement = source.statement_of(made[0]) if len(made) == 1 else None
        name = statement.targets[0] if isinstance(statement, ast.Assign) else None
        if not isinstance(name, ast.Name) or _handed_on(source, name):
            return
        methods = [call for call in source.all_calls if isinstance(call.func, ast.Attribute)]
        sent = [call for call in methods if isinstance(call.func, ast.Attribute) and call.func.attr == "backward"]
        steps = [call for call in methods if ast.unparse(call.func) == f"{name.id}.step"]
        found = _without_step(source, sent, name.id) if not steps else None
        if not sent and "backward" not in source.words and len(steps) == 1:
            found = _without_backward(source, steps[0])
        if found is not None:
            yield source.site(found.statement), found

    def report(self, site: Site, found: _Apart) -> Finding:
        return self.finding(site, symptom=Symptom.VIOLATION, confidence=0.95, missing=found.missing)

    def repairs(self, subject: Subject, found: _Apart) -> Repairs:
        yield f"Call `{found.missing}`", (found.edit,), 0.9

    examples = (
        Example(
            "no step",
            before="""\
import torch
from torch import nn

net = nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(5):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(net(torch.randn(8, 3)), torch.randn(8, 1))
    loss.backward()
    print(loss.item())
""",
            after="""\
import torch
from torch import nn

net = nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(5):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(net(torch.randn(8, 3)), torch.randn(8, 1))
    loss.backward()
    optimizer.step()
    print(loss.item())
""",
        ),
        Example(
            "nothing sent back",
            before="""\
import torch
import torch.nn as nn
import torch.optim as optim

def train(model, loader):
    criterion = nn.CrossEntropyLoss()
    opt = optim.Adam(model.parameters())
    for x, y in loader:
        opt.zero_grad()
        loss = criterion(model(x), y)
        opt.step()
    return loss.item()
""",
            after="""\
import torch
import torch.nn as nn
import torch.optim as optim

def train(model, loader):
    criterion = nn.CrossEntropyLoss()
    opt = optim.Adam(model.parameters())
    for x, y in loader:
        opt.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        opt.step()
    return loss.item()
""",
        ),
        Example(
            "a loss of two parts without a step",
            before="""\
import torch

coder = torch.nn.Linear(4, 4)
solver = torch.optim.Adam(coder.parameters(), lr=1e-3)
x = torch.randn(16, 4)
step = 0
while step < 10:
    out = coder(x)
    error = ((out - x) ** 2).mean()
    solver.zero_grad()
    (error + 0.1 * out.abs().mean()).backward()
    step += 1
""",
            after="""\
import torch

coder = torch.nn.Linear(4, 4)
solver = torch.optim.Adam(coder.parameters(), lr=1e-3)
x = torch.randn(16, 4)
step = 0
while step < 10:
    out = coder(x)
    error = ((out - x) ** 2).mean()
    solver.zero_grad()
    (error + 0.1 * out.abs().mean()).backward()
    solver.step()
    step += 1
""",
        ),
    )
    rejects = (
        Reject(
            "steps in another function",
            """\
import torch

net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

def update(loss, optimizer):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

for _ in range(3):
    update(net(torch.randn(8, 3)).mean(), optimizer)
""",
        ),
        Reject(
            "weights that are moved by hand, and a step that a list takes",
            """\
import torch

net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    net(torch.randn(8, 3)).mean().backward()
    for weight in net.parameters():
        weight.data -= 0.1 * weight.grad
""",
        ),
    )


def _handed_on(source: Source, name: ast.Name) -> bool:
    """Whether an optimizer may be used elsewhere: given to a function, kept in a list, returned."""
    for node in source.nodes(ast.Name):
        if node.id != name.id or not isinstance(node.ctx, ast.Load):
            continue
        above = source.parent(node)
        scheduler = isinstance(above, ast.Call) and "lr_scheduler" in (source.qualified(above.func) or "")
        if not isinstance(above, ast.Attribute) and not scheduler:
            return True
    return False


def _without_step(source: Source, sent: list[ast.Call], name: str) -> _Apart | None:
    """The one backward pass, in a loop, in the same function as the optimizer, where the gradients are cleared."""
    if len(sent) != 1 or source.enclosing(sent[0], *_LOOPS) is None:
        return None
    statement = source.statement_of(sent[0])
    function = source.enclosing(statement, ast.FunctionDef)
    clears = [
        call
        for call in within(function or source.tree, ast.Call)
        if ast.unparse(call.func) == f"{name}.zero_grad" and source.enclosing(call, ast.FunctionDef) is function
    ]
    if not isinstance(statement, ast.Expr) or not clears:
        return None
    return _Apart(statement, f"{name}.step()", InsertAfter(source.site(statement), f"{name}.step()"))


def _without_backward(source: Source, step: ast.Call) -> _Apart | None:
    """The one step, in a loop, before which a loss is computed and given a name."""
    loop, statement = source.enclosing(step, *_LOOPS), source.statement_of(step)
    if loop is None:
        return None
    named: list[str] = []
    for node in within(loop, ast.Assign):
        target, value = node.targets[0], node.value
        if not isinstance(target, ast.Name) or not isinstance(value, ast.Call) or node.lineno > step.lineno:
            continue
        made = source.constructor(value.func)
        kinds = {component_kind(source.qualified(value.func) or "")}
        kinds |= {component_kind(source.qualified(made.func) or "")} if made is not None else set()
        if "loss" in kinds:
            named.append(target.id)
    if len(named) != 1 or source.parent(statement) is not loop:
        return None
    return _Apart(statement, f"{named[0]}.backward()", InsertBefore(source.site(statement), f"{named[0]}.backward()"))
