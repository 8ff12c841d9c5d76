"""A learning rate scheduler is created and never stepped."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Decline,
    Family,
    Fault,
    FixPattern,
    InsertAfter,
    ReadTemplate,
    Source,
    Subject,
    function_around,
    schedules,
    structure,
    training_loop,
    trees,
)


class SchedulerNeverStepped(ReadTemplate):
    """`scheduler = StepLR(optimizer, 10)` changes nothing until `scheduler.step()` is called in every epoch or batch.

    Reported where the scheduler is never read, and its optimizer is stepped in a loop over batches within a loop over
    epochs.

    Fix safety: unsafe. The learning rate follows the schedule from now on.

    References: https://docs.pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate.
    """

    code = "DNF717"
    name = "scheduler-never-stepped"
    formerly = ("schedule-never-stepped",)
    message = "`{scheduler}` is never stepped, so the learning rate does not change"
    confidence = 0.85
    family = Family.TRAINING
    fix_pattern = FixPattern.API_CONTRACT
    silent = 3
    triggers = ("lr_scheduler", *sorted(schedules.BY_BATCH | schedules.BY_EPOCH | schedules.BY_METRIC))

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if "torch" in source.frameworks:
            yield from _idle_schedules(source)

    programs = """
=== finds: that follows a metric
import torch

sgd = torch.optim.SGD(net.parameters(), lr=0.1)
plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(sgd, "min")
for epoch in range(20):
    for x, y in loader:
        sgd.zero_grad()
        criterion(net(x), y).backward()
        sgd.step()

=== example: one that counts batches
import torch

optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
cycle = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, epochs=20, steps_per_epoch=len(loader))
for epoch in range(20):
    for x, y in loader:
        criterion(net(x), y).backward()
        optimizer.step()
+         cycle.step()
        optimizer.zero_grad()

=== example: with a validation after the batches
import torch

optim = torch.optim.SGD(model.parameters(), lr=1.0)
cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optim, T_max=10)
for epoch in range(10):
    for x, y in train_loader:
        optim.zero_grad()
        loss_fn(model(x), y).backward()
        optim.step()
    with torch.no_grad():
        print(validate(model))
+     cosine.step()

=== example: the batches are in a function, which names the optimizer otherwise
import torch
from torch.optim.lr_scheduler import ExponentialLR

def one_epoch(net, opt):
    for x, y in loader:
        opt.zero_grad()
        criterion(net(x), y).backward()
        opt.step()

def main(net):
    adam = torch.optim.Adam(net.parameters())
    decay = ExponentialLR(adam, gamma=0.95)
    for epoch in range(40):
        one_epoch(net, adam)
        print(validate(net))
+         decay.step()

=== example: kept by an object that trains
import torch

class Runner:
    def __init__(self, net):
        self.sgd = torch.optim.SGD(net.parameters(), lr=0.1)
        self.decay = torch.optim.lr_scheduler.StepLR(self.sgd, 30)
        self.net = net

    def run(self, loader):
        for epoch in range(90):
            for x, y in loader:
                self.sgd.zero_grad()
                self.loss(self.net(x), y).backward()
                self.sgd.step()
+             self.decay.step()

=== reject: kept by an object, and stepped from without
import torch

class Runner:
    def __init__(self, net):
        self.sgd = torch.optim.SGD(net.parameters(), lr=0.1)
        self.decay = torch.optim.lr_scheduler.StepLR(self.sgd, 30)
        self.net = net

    def run(self, loader):
        for epoch in range(90):
            for x, y in loader:
                self.sgd.zero_grad()
                self.loss(self.net(x), y).backward()
                self.sgd.step()
            self.after_epoch()

runner = Runner(net)
runner.after_epoch = lambda: runner.decay.step()

=== reject: stepped by a function that gets it
import torch
from torch.optim.lr_scheduler import StepLR

optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
scheduler = StepLR(optimizer, step_size=5)
for epoch in range(20):
    for x, y in loader:
        optimizer.zero_grad()
        criterion(net(x), y).backward()
        optimizer.step()
    finish(scheduler)

=== reject: one cycle of another number of epochs
import torch

optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
cycle = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, epochs=1, steps_per_epoch=len(loader))
for epoch in range(20):
    for x, y in loader:
        optimizer.zero_grad()
        criterion(net(x), y).backward()
        optimizer.step()

=== reject: one cycle without a number of epochs
import torch
from torch.optim.lr_scheduler import OneCycleLR

optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
scheduler = OneCycleLR(optimizer, 0.1, total_steps=100)
for epoch in range(20):
    for x, y in loader:
        optimizer.zero_grad()
        criterion(net(x), y).backward()
        optimizer.step()
"""


def _idle_schedules(source: Source) -> Iterator[Fault]:
    """Schedules that are never read and whose optimizer is stepped in each batch of each epoch."""
    for schedule in schedules.schedules(source):
        known = schedule.kind in schedules.BY_EPOCH | schedules.BY_BATCH | schedules.BY_METRIC
        if not known or _is_read(source, schedule.target):
            continue
        epochs, step = _epochs(source, schedule)
        if epochs is None or step is None:
            continue
        if schedule.kind in schedules.BY_METRIC:
            decline = Decline("which metric it is to follow is for a person to say")
            yield Fault(source.site(schedule.made), {"scheduler": schedule.on}, (decline,), confidence=0.85)
            continue
        statement = source.statement_of(step.operation.node)
        batches = training_loop.loops_around(source, statement)[0]
        if schedule.kind not in schedules.BY_BATCH:
            after, turn, fits = epochs.body[-1], "epoch", _reaches_end(epochs)
        else:
            in_batch = source.parent(statement) is batches and step.at is step.operation.node
            after, turn, fits = (
                statement,
                "batch",
                in_batch and _counts_as_loops(source, schedule.made, batches, epochs),
            )
        if fits:
            edit = InsertAfter(source.site(after), f"{schedule.on}.step()")
            title = f"Step the scheduler once in each {turn}"
            yield Fault.with_repair(source.site(schedule.made), {"scheduler": schedule.on}, title, edit, prior=0.85)


def _is_read(source: Source, target: ast.expr) -> bool:
    """Whether a name or attribute is read anywhere in the program."""
    name = target.attr if isinstance(target, ast.Attribute) else ast.unparse(target)
    if any(name in module.words for module in source.beside):
        return True
    named: list[ast.Name | ast.Attribute] = [*source.nodes(ast.Name), *source.nodes(ast.Attribute)]
    return any(trees.last_name(node) == name and not isinstance(node.ctx, ast.Store) for node in named)


def _epochs(source: Source, schedule: schedules.Schedule) -> tuple[ast.For | None, structure.Happening | None]:
    """The one loop over epochs whose batches step the optimizer of a schedule, where the schedule is known, with that step."""
    owner = source.enclosing(schedule.made, ast.ClassDef) if isinstance(schedule.target, ast.Attribute) else None
    found = []
    for loop in source.nodes(ast.For):
        within_reach = (
            source.enclosing(loop, ast.ClassDef) is owner
            if owner is not None
            else function_around(source, loop) is function_around(source, schedule.made)
            and loop.lineno > schedule.made.lineno
        )
        if within_reach and not training_loop.loops_around(source, loop):
            steps = [each for each in structure.happenings(source, loop) if each.kind is structure.Kind.UPDATE]
            of_it = [each for each in steps if each.on == schedule.optimizer]
            if of_it:
                found.append((loop, of_it))
    if len(found) != 1 or len(found[0][1]) != 1:
        return None, None
    loop, (step,) = found[0]
    around = [*training_loop.loops_around(source, step.operation.node)]
    if step.at is not step.operation.node:
        around += training_loop.loops_around(source, step.at)
    return (loop, step) if len(around) == 2 else (None, None)


def _counts_as_loops(source: Source, made: ast.Call, batches: ast.AST, epochs: ast.For) -> bool:
    """Whether a `OneCycleLR`, which fails beyond its last step, has the epochs and batches of these loops."""
    if not (source.qualified(made.func) or "").endswith("OneCycleLR"):
        return True
    given = {keyword.arg: ast.unparse(keyword.value) for keyword in made.keywords}
    turns = ast.unparse(epochs.iter)
    loader = given.get("steps_per_epoch", "").removeprefix("len(").removesuffix(")")
    return (
        "total_steps" not in given
        and isinstance(batches, ast.For)
        and loader in (ast.unparse(batches.iter), *map(ast.unparse, getattr(batches.iter, "args", ())))
        and turns in (f"range({given.get('epochs')})", f"range(1, {given.get('epochs')} + 1)")
    )


def _reaches_end(epochs: ast.For) -> bool:
    """Whether every iteration of a loop reaches the end of its body."""
    waiting: list[ast.stmt] = list(epochs.body)
    while waiting:
        statement = waiting.pop()
        if isinstance(statement, (ast.Continue, ast.Return)):
            return False
        if not isinstance(statement, (ast.For, ast.While)):
            waiting.extend(node for node in ast.walk(statement) if isinstance(node, ast.stmt) and node is not statement)
    return not isinstance(epochs.body[-1], (ast.Break, ast.Return))
