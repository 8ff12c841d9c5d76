"""`scheduler.step()` at the head of the loop, as it was written before torch 1.1."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import ApiChange, Delete, Example, Hit, InsertAfter, Reject, Subject, older, uses_of

SCHEDULES = "torch.optim.lr_scheduler."
PLATEAU = "torch.optim.lr_scheduler.ReduceLROnPlateau"
SINCE = "1.1"

OF_SCHEDULES = frozenset(
    ("base_lrs", "get_last_lr", "get_lr", "last_epoch", "load_state_dict", "optimizer", "state_dict", "step")
)
"""What the library's schedules have; one that is asked for more is the program's own."""


class ScheduleAheadOfTraining(ApiChange):
    """Since PyTorch 1.1 a schedule has its first rate when it is made: a step before the training passes over that rate.

    `for epoch in range(n): scheduler.step(); train()` trained the first epoch with the first rate; it trains it with the
    second one now, and all that follow come an epoch early: `StepLR(optimizer, 1, 0.1)` begins with a tenth of the rate.
    A program is told of it where it shows that it is from before, or where the run warned. The step is put behind what
    trains.

    Fix safety: unsafe: what is trained today changes, back to what it was when the program was written. What is printed
    of the rate between the two places is the rate in use from then on.

    References: https://docs.pytorch.org/docs/stable/optim.html (how to adjust the learning rate),
    https://github.com/pytorch/pytorch/releases/tag/v1.1.0.
    """

    code = "DNF545"
    name = "schedule-ahead-of-training"
    speaks_of_deprecated = True
    triggers = ("step",)

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """The steps of schedules that come before the training of their loop."""
        if "torch" not in subject.source.frameworks or "step" not in subject.source.words:
            return
        for call in uses_of(subject.source).calls():
            function = call.func
            if not isinstance(function, ast.Attribute) or function.attr != "step" or call.args or call.keywords:
                continue
            if _is_schedule(subject, function.value) and (last := _training_after(subject, call)) is not None:
                reason = _reason(subject, call)
                if reason:
                    yield _hit(subject, call, last, reason)

    examples = (
        Example(
            "at the head of the epoch",
            """\
# tested with PyTorch 1.0
import torch

net = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.1)
for epoch in range(3):
    scheduler.step()
    for _ in range(2):
        optimizer.zero_grad()
        net(torch.ones(1, 2)).sum().backward()
        optimizer.step()
    print(epoch, net(torch.ones(1, 2)).item())
""",
            """\
# tested with PyTorch 1.0
import torch

net = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.1)
for epoch in range(3):
    for _ in range(2):
        optimizer.zero_grad()
        net(torch.ones(1, 2)).sum().backward()
        optimizer.step()
    scheduler.step()
    print(epoch, net(torch.ones(1, 2)).item())
""",
            runs=True,
        ),
        Example(
            "the training in a function, the schedule handed over",
            """\
'''Runs on PyTorch 0.4.1.'''
import torch


def train(net, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(net(x), y).backward()
        optimizer.step()


def fit(net, loader, optimizer, scheduler, epochs):
    for epoch in range(epochs):
        scheduler.step()
        train(net, loader, optimizer)
        print(epoch)
""",
            """\
'''Runs on PyTorch 0.4.1.'''
import torch


def train(net, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(net(x), y).backward()
        optimizer.step()


def fit(net, loader, optimizer, scheduler, epochs):
    for epoch in range(epochs):
        train(net, loader, optimizer)
        scheduler.step()
        print(epoch)
""",
        ),
        Example(
            "side by side in the step",
            """\
# pip install torch==1.0.0
from torch import optim
from torch.optim.lr_scheduler import ExponentialLR

adam = optim.Adam(net.parameters())
decay = ExponentialLR(adam, 0.99)
for x, y in loader:
    adam.zero_grad()
    criterion(net(x), y).backward()
    decay.step()
    adam.step()
""",
            """\
# pip install torch==1.0.0
from torch import optim
from torch.optim.lr_scheduler import ExponentialLR

adam = optim.Adam(net.parameters())
decay = ExponentialLR(adam, 0.99)
for x, y in loader:
    adam.zero_grad()
    criterion(net(x), y).backward()
    adam.step()
    decay.step()
""",
        ),
    )
    rejects = (
        Reject(
            "behind the training",
            """\
# tested with PyTorch 1.0
import torch

net = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
for epoch in range(3):
    net(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    scheduler.step()
""",
            runs=True,
        ),
        Reject(
            "a program of which nothing tells the age",
            """\
import torch

optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
for epoch in range(3):
    scheduler.step()
    net(torch.ones(1, 2)).sum().backward()
    optimizer.step()
""",
        ),
        Reject(
            "a schedule of the program's own",
            """\
# tested with PyTorch 1.0
import torch


class Warmup:
    def step(self):
        pass


optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
scheduler = Warmup()
for epoch in range(3):
    scheduler.step()
    net(torch.ones(1, 2)).sum().backward()
    optimizer.step()
""",
        ),
    )


def _hit(subject: Subject, call: ast.Call, last: ast.stmt, reason: str) -> Hit:
    source = subject.source
    site = source.site(source.statement_of(call))
    text = source.segment(site)
    return Hit(
        source.site(call),
        f"{text} comes before the training: since torch {SINCE} it passes over the first rate ({reason})",
        title="step the schedule after the training",
        edits=(Delete(site), InsertAfter(source.site(last), text)),
        removed={"torch": SINCE},
        evidence={"behind line": last.end_lineno or last.lineno},
        confidence=0.9,
    )


def _is_schedule(subject: Subject, holder: ast.expr) -> bool:
    """Whether an expression holds a schedule of the library, by what made it, or else by its name."""
    made = subject.source.constructor(holder)
    if made is not None:
        kind = subject.source.qualified(made.func) or ""
        return kind.startswith(SCHEDULES) and kind != PLATEAU
    name = _last_name(holder)
    if "scheduler" not in name or subject.source.bindings(holder):
        return False
    asked = {node.attr for node in uses_of(subject.source).all_attributes() if _last_name(node.value) == name}
    return asked <= OF_SCHEDULES


def _last_name(holder: ast.expr) -> str:
    return holder.attr if isinstance(holder, ast.Attribute) else holder.id if isinstance(holder, ast.Name) else ""


def _training_after(subject: Subject, call: ast.Call) -> ast.stmt | None:
    """The last statement behind the call, in the same loop, that trains; `None` where one before it does, or none."""
    statement = subject.source.statement_of(call)
    loop = subject.source.parent(statement)
    if not isinstance(loop, (ast.For, ast.While)) or statement not in loop.body or not isinstance(statement, ast.Expr):
        return None
    if statement.value is not call:
        return None
    place = loop.body.index(statement)
    trains = [_trains(subject, one) for one in loop.body]
    if not any(trains[place + 1 :]) or any(trains[:place]):
        return None
    return next(one for one, does in zip(reversed(loop.body), reversed(trains), strict=True) if does)


def _trains(subject: Subject, statement: ast.stmt, depth: int = 2) -> bool:
    """Whether a statement, or a function of the program that it calls, has an optimizer step."""
    source = subject.source
    for node in ast.walk(statement):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Attribute) and node.func.attr == "step":
            made = source.constructor(node.func.value)
            kind = source.qualified(made.func) or "" if made is not None else ""
            if kind.startswith("torch.optim.") and not kind.startswith(SCHEDULES):
                return True
            if made is None and "optim" in _last_name(node.func.value).lower():
                return True
        definition = source.definition(node.func) if depth else None
        if isinstance(definition, ast.FunctionDef) and any(_trains(subject, one, depth - 1) for one in definition.body):
            return True
    return False


def _reason(subject: Subject, call: ast.Call) -> str:
    """What shows that the order is one of before: the run's warning, or the age of the program."""
    for warning in subject.trace.warnings if subject.trace is not None else ():
        if "before `optimizer.step()`" in warning.message:
            return "the run warned of it"
    proof = older(subject, "torch", SINCE)
    return f"line {proof.line}: {proof.reason}" if proof is not None else ""
