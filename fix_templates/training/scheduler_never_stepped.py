"""A learning rate scheduler is created and never stepped."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Family,
    Fault,
    FixPattern,
    InsertAfter,
    ReadTemplate,
    Source,
    Subject,
    function_around,
    training_loop,
    words,
)

BY_BATCH = words("OneCycleLR CyclicLR")
"""Schedulers that are stepped once per batch."""
BY_EPOCH = words("StepLR MultiStepLR ExponentialLR CosineAnnealingLR LambdaLR MultiplicativeLR LinearLR")
"""Schedulers that are stepped once per epoch; others need a metric."""
SCHEDULES = tuple(f"torch.optim.lr_scheduler.{name}" for name in sorted(BY_EPOCH | BY_BATCH))


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
    triggers = ("lr_scheduler",)

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if "torch" in source.frameworks:
            yield from _idle_schedules(source)

    programs = """
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
    """Schedulers that are never read and whose optimizer is stepped in two nested loops."""
    for made in source.calls(*SCHEDULES):
        holder = source.parent(made)
        if not isinstance(holder, ast.Assign) or len(holder.targets) != 1 or holder.value is not made or not made.args:
            continue
        target = holder.targets[0]
        if not isinstance(target, ast.Name) or any(target.id in module.words for module in source.beside):
            continue
        if any(node.id == target.id and not isinstance(node.ctx, ast.Store) for node in source.nodes(ast.Name)):
            continue
        optimizer, around = ast.unparse(made.args[0]), function_around(source, made)
        steps = [
            step.statement
            for step in training_loop.operations_named(source, "step")
            if step.on == optimizer and function_around(source, step.statement) is around
        ]
        loops = training_loop.loops_around(source, steps[0]) if len(steps) == 1 else []
        if len(loops) != 2 or not isinstance(loops[1], ast.For) or made.lineno >= loops[1].lineno:
            continue
        if (source.qualified(made.func) or "").rpartition(".")[2] not in BY_BATCH:
            after, turn, fits = loops[1].body[-1], "epoch", _reaches_end(loops[1])
        else:
            in_batch = source.parent(steps[0]) is loops[0]
            after, turn, fits = steps[0], "batch", in_batch and _counts_as_loops(source, made, loops[0], loops[1])
        if fits:
            edit = InsertAfter(source.site(after), f"{target.id}.step()")
            yield Fault.with_repair(
                source.site(made), {"scheduler": target.id}, f"Step the scheduler once in each {turn}", edit, prior=0.85
            )


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
