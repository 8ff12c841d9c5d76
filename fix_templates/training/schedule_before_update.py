"""A schedule is stepped before the optimizer, in a block of its own or in another function than the loop over epochs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Decline,
    Delete,
    Family,
    Fault,
    FixPattern,
    InsertAfter,
    Nature,
    ReadTemplate,
    Repair,
    Source,
    Subject,
    structure,
    training_loop,
)


class ScheduleBeforeUpdate(ReadTemplate):
    """`scheduler.step()` comes before `optimizer.step()`: the first learning rate is skipped, and each change comes a step early.

    Since PyTorch 1.1 the constructor makes the first step. DNF523 has the plain case, a schedule that is stepped first thing in a loop;
    here the call stands under a condition, or in a function that trains for one epoch.

    Fix safety: unsafe. The program trains with other rates.

    References: https://docs.pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate.
    """

    code = "DNF748"
    name = "schedule-before-update"
    message = "{schedule}.step() comes before {optimizer}.step(): the first learning rate is skipped, and each change comes a step early"
    confidence = 0.8
    family = Family.TRAINING
    fix_pattern = FixPattern.API_CONTRACT
    nature = Nature.RISK
    silent = 3
    default = False
    triggers = ("scheduler", "lr_scheduler", "sched", "schedule")

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if "torch" not in source.frameworks:
            return
        for schedule in structure.of_kind(source, structure.Kind.SCHEDULE):
            call, statement = schedule.node, schedule.statement
            if not isinstance(call, ast.Call) or call.args or call.keywords or _has_two(source, schedule.on):
                continue
            if isinstance(source.parent(statement), training_loop.LOOPS):
                continue  # DNF523
            loops = training_loop.loops_around(source, call)
            region = loops[0] if loops else training_loop.function_around(source, call)
            if region is None:
                continue
            updates = [each for each in structure.happenings(source, region) if each.kind is structure.Kind.UPDATE]
            if (
                not updates
                or any(each.at.lineno < call.lineno for each in updates)
                or _first_time_only(source, statement, region)
            ):
                continue
            said = {"schedule": schedule.on, "optimizer": updates[-1].operation.on}
            yield Fault(
                source.site(call), said, (_moved(source, schedule, updates[-1].at),), confidence=self.confidence
            )

    programs = """
=== example: a function for one epoch
import torch

def train(model, loader, optimizer, scheduler):
    model.train()
-     scheduler.step()
    for x, y in loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
+     scheduler.step()

=== example: in the block of an update
import torch

for step, (x, y) in enumerate(loader):
    criterion(model(x), y).backward()
    if (step + 1) % 4 == 0:
-         scheduler.step()
        optimizer.step()
+         scheduler.step()
        optimizer.zero_grad()

=== reject: after it
import torch

for step, (x, y) in enumerate(loader):
    criterion(model(x), y).backward()
    if (step + 1) % 4 == 0:
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()

=== reject: an epoch that is resumed
import torch

def fit(model, loader, optimizer, scheduler, start):
    for _ in range(start):
        scheduler.step()
    for x, y in loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
    scheduler.step()
"""


def _has_two(source: Source, schedule: str) -> bool:
    """Whether a schedule is stepped at several places: one of them may be for an epoch that was trained before."""
    return sum(each.on == schedule for each in structure.of_kind(source, structure.Kind.SCHEDULE)) > 1


def _first_time_only(source: Source, statement: ast.stmt, region: ast.AST) -> bool:
    """Whether a condition around a statement leaves the first time out, or may do so."""
    above = source.parent(statement)
    while above is not None and above is not region:
        if isinstance(above, ast.If) and any(isinstance(node, ast.Compare) for node in ast.walk(above.test)):
            updates = any(each.kind is structure.Kind.UPDATE for each in structure.happenings(source, above))
            return not updates
        above = source.parent(above)
    return False


def _moved(source: Source, schedule: structure.Operation, last: ast.AST) -> Repair | Decline:
    """The schedule's step after the last update, in the block that holds both."""
    block = training_loop.block_of(source, schedule.statement)
    inside: ast.AST | None = last
    while inside is not None and inside not in block:
        inside = source.parent(inside)
    if not isinstance(inside, ast.stmt):
        return Decline("the update is in another block, and where the schedule belongs there is for a person to say")
    edits = (Delete(source.site(schedule.statement)), InsertAfter(source.site(inside), f"{schedule.on}.step()"))
    return f"Step {schedule.on} after the optimizer", edits, 0.8
