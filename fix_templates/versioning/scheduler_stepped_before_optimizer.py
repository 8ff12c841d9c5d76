"""`scheduler.step()` at the start of an epoch, as before PyTorch 1.1, skips the first learning rate."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import ApiChange, Delete, Hit, InsertAfter, Subject, argument_value, structure

SCHEDULERS = "torch.optim.lr_scheduler."
BY_METRIC = "torch.optim.lr_scheduler.ReduceLROnPlateau"
"""It is stepped with a metric, and so after the epoch, in every version."""


class SchedulerSteppedBeforeOptimizer(ApiChange):
    """Up to PyTorch 1.0 an epoch began with `scheduler.step()`; since 1.1 it has to end with it.

    The constructor of a scheduler now makes the first step. A program that steps it before the optimizer never uses the
    initial rate, and every change comes an epoch early: `StepLR(optimizer, 2, 0.1)` yields 1, 1, 0.1, 0.1, 0.01 in
    PyTorch 1.0 and 1, 0.1, 0.1, 0.01, 0.01 in 2.13; `CosineAnnealingLR(optimizer, 6)` started with 1, 0.93 and starts
    with 0.93, 0.75. Stepped at the end of the epoch, the rates are the former ones.

    Fix safety: unsafe: the program trains with other rates than it does today, those that it was written for.

    References: https://github.com/pytorch/pytorch/releases/tag/v1.1.0,
    https://docs.pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate.
    """

    code = "DNF523"
    name = "scheduler-stepped-before-optimizer"
    silent = 3
    formerly = ("schedule-stepped-first",)
    message = (
        "{step} is called before the step of {optimizer}: since PyTorch 1.1 this skips the first learning rate, and each change "
        "comes one step early (StepLR(optimizer, 2, 0.1) used 1, 1, 0.1, 0.1 and uses 1, 0.1, 0.1, 0.01)"
    )
    speaks_of_deprecated = True
    stands_alone = True
    triggers = ("lr_scheduler", "scheduler", "lr_sched", "sched")

    def hits(self, subject: Subject) -> Iterator[Hit]:
        source = subject.source
        steps = [call for call in source.all_calls if isinstance(call.func, ast.Attribute) and call.func.attr == "step"]
        for call in steps:
            statement = source.statement_of(call)
            loop = source.parent(statement)
            if call.args or call.keywords or not isinstance(loop, (ast.For, ast.While)) or statement not in loop.body:
                continue
            if not isinstance(statement, ast.Expr) or statement.value is not call:
                continue
            optimizer = _optimizer(subject, call)
            if not optimizer or sum(ast.dump(other) == ast.dump(call) for other in steps) > 1:
                continue
            rest = loop.body[loop.body.index(statement) + 1 :]
            if not any(_steps(subject, later, optimizer) for later in rest):
                continue
            site, last = source.site(statement), source.site(rest[-1])
            leaves = any(isinstance(node, ast.Continue) for later in loop.body for node in _outside_loops(later))
            yield Hit(
                site,
                self.message.format(step=subject.text(source.site(call.func)), optimizer=optimizer),
                title="step the scheduler at the end of the epoch",
                edits=() if leaves else (Delete(site), InsertAfter(last, subject.text(site))),
                decline="the loop uses continue, so its end is not always reached" if leaves else "",
                deprecated=True,
                removed={"torch": "1.1"},
                confidence=0.85,
            )

    programs = """
=== example: a loop over epochs with one over batches
import torch
from torch.optim import lr_scheduler

optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = lr_scheduler.StepLR(optimizer, step_size=30, gamma=0.1)
for epoch in range(100):
-     scheduler.step()
    for x, y in loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
+     scheduler.step()

=== example: an optimizer that is passed on in a list
import torch
from torch.optim import lr_scheduler


def train(loader, optimizers):
    for x, y in loader:
        optimizers[0].zero_grad()
        criterion(model(x), y).backward()
        optimizers[0].step()


weights = torch.optim.SGD(model.parameters(), lr=0.1)
schedule = lr_scheduler.StepLR(weights, 20, gamma=0.8)
for epoch in range(50):
+     train(loader, [weights])
    schedule.step()
-     train(loader, [weights])

=== example: epochs that are functions
import torch
import torch.optim as optim

opt = optim.Adam(net.parameters())
sched = optim.lr_scheduler.MultiStepLR(opt, [5, 8])


def train(epoch):
    for x, y in loader:
        opt.zero_grad()
        loss(net(x), y).backward()
        opt.step()


for epoch in range(10):
-     sched.step()
    train(epoch)
    print(epoch)
+     sched.step()

=== example: the scaler steps the optimizer
import torch

optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
cycle = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=1000)
for x, y in loader:
    optimizer.zero_grad()
    scaler.scale(criterion(model(x), y)).backward()
-     cycle.step()
    scaler.step(optimizer)
    scaler.update()
+     cycle.step()

=== example: epochs that are functions of another file
for epoch in range(50):
-     scheduler.step()
    train(model, train_loader, optimizer)
    validate(model, val_loader)
+     scheduler.step()

=== reject: the order of today
import torch

optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 30)
for epoch in range(100):
    for x, y in loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
    scheduler.step()

=== reject: batch by batch, after the optimizer
import torch

optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, 100)
for x, y in loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
    scheduler.step()
    print(scheduler.get_last_lr())

=== reject: the schedule of another optimizer
import torch

first = torch.optim.SGD(head.parameters(), lr=0.1)
second = torch.optim.SGD(tail.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(first, 30)
for epoch in range(100):
    first.step()
    scheduler.step()
    second.step()

=== reject: stepped by what was measured
import torch

optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
for epoch in range(100):
    scheduler.step(validate(model))
    optimizer.step()
"""


def _optimizer(subject: Subject, call: ast.Call) -> str:
    """The source of the optimizer whose scheduler a call steps; empty if not known."""
    source = subject.source
    made = source.constructor(call.func.value) if isinstance(call.func, ast.Attribute) else None
    if made is None and any(each.node is call for each in structure.of_kind(source, structure.Kind.SCHEDULE)):
        stepped = {each.on for each in structure.of_kind(source, structure.Kind.UPDATE)}
        if not stepped:
            stepped = {node.id for node in source.nodes(ast.Name) if structure.is_optimizer(source, node)}
        return (
            stepped.pop() if len(stepped) == 1 else ""
        )  # a part of a program, in which only the one optimizer can be meant
    name = subject.source.qualified(made.func) if made is not None else None
    if made is None or name is None or not name.startswith(SCHEDULERS) or name == BY_METRIC:
        return ""
    given = argument_value(made, "optimizer", 0)
    return subject.text(subject.source.site(given)) if isinstance(given, (ast.Name, ast.Attribute)) else ""


def _steps(subject: Subject, statement: ast.stmt, optimizer: str) -> bool:
    """Whether a statement steps the optimizer, directly or in a function of the program."""
    for node in ast.walk(statement):
        if not isinstance(node, ast.Call):
            continue
        if _steps_it(subject, node, optimizer) or _trains_with(subject, node, optimizer):
            return True
        definition = subject.source.definition(node.func)
        if isinstance(definition, (ast.FunctionDef, ast.AsyncFunctionDef)) and any(
            isinstance(inner, ast.Call)
            and any(
                _steps_it(subject, inner, name)
                for name in (optimizer, *_names_in(subject, definition, node, optimizer))
            )
            for inner in ast.walk(definition)
        ):
            return True
    return False


def _trains_with(subject: Subject, call: ast.Call, optimizer: str) -> bool:
    """Whether a function that is not seen is called to train, and gets the optimizer."""
    name = ast.unparse(call.func).rpartition(".")[2].lower()
    trains = name.startswith("train") or name.endswith(("_train", "train_epoch", "fit_epoch"))
    given = (*call.args, *(keyword.value for keyword in call.keywords))
    return (
        trains
        and subject.source.definition(call.func) is None
        and any(subject.text(subject.source.site(each)) == optimizer for each in given)
    )


def _names_in(
    subject: Subject, function: ast.FunctionDef | ast.AsyncFunctionDef, call: ast.Call, optimizer: str
) -> Iterator[str]:
    """The function's names for the optimizer that a call passes, alone or in a list."""
    positional = [parameter.arg for parameter in (*function.args.posonlyargs, *function.args.args)]
    given = [*zip(positional, call.args, strict=False), *((k.arg, k.value) for k in call.keywords if k.arg)]
    for name, value in given:
        if isinstance(value, (ast.List, ast.Tuple)):
            for place, item in enumerate(value.elts):
                if subject.text(subject.source.site(item)) == optimizer:
                    yield f"{name}[{place}]"
        elif subject.text(subject.source.site(value)) == optimizer:
            yield name


def _steps_it(subject: Subject, call: ast.Call, optimizer: str) -> bool:
    updates = structure.of_kind(subject.source, structure.Kind.UPDATE)
    return any(each.node is call and each.on == optimizer for each in updates) or (
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "step"
        and subject.text(subject.source.site(call.func.value)) == optimizer
    )


def _outside_loops(statement: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of a statement outside inner loops, whose `continue` is their own."""
    if isinstance(statement, (ast.For, ast.While)):
        return
    for node in ast.iter_child_nodes(statement):
        yield node
        if isinstance(node, ast.stmt):
            yield from _outside_loops(node)
