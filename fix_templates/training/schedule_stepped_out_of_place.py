"""A schedule is stepped before the optimizer, twice, or in another turn of the training than its settings count."""

from __future__ import annotations

import ast
import itertools
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
    schedules,
    structure,
    training_loop,
)


class ScheduleSteppedOutOfPlace(ReadTemplate):
    """`scheduler.step()` comes before `optimizer.step()`, twice, or in each batch where its settings count epochs, or the other way round.

    Before the optimizer, the first learning rate is skipped, and each change comes a step early: since PyTorch 1.1 the constructor
    makes the first step. DNF523 has the plain case, a schedule that is stepped first thing in a loop; here the call stands under a
    condition, or in a function that trains for one epoch. `StepLR(optimizer, 10)` that is stepped in each batch has let the rate
    vanish before the first epoch ends, and `OneCycleLR` with the number of batches hardly moves where it is stepped once an epoch.

    Fix safety: unsafe. The program trains with other rates.

    References: https://docs.pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate.
    """

    code = "DNF748"
    name = "schedule-stepped-out-of-place"
    formerly = ("schedule-before-update",)
    message = "{schedule}.step() {what}"
    confidence = 0.8
    family = Family.TRAINING
    fix_pattern = FixPattern.API_CONTRACT
    nature = Nature.RISK
    silent = 3
    default = False
    triggers = ("scheduler", "lr_scheduler", "sched", "schedule", *sorted(schedules.BY_BATCH | schedules.BY_EPOCH))

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if "torch" not in source.frameworks:
            return
        yield from _in_other_turn(source)
        yield from _twice(source)
        for schedule in structure.of_kind(source, structure.Kind.SCHEDULE):
            call, statement = schedule.node, schedule.statement
            if not _is_plain(schedule) or _has_two(source, schedule.on):
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
            what = f"comes before {updates[-1].on}.step(): the first learning rate is skipped, and each change comes a step early"
            yield _fault(source, schedule, what, _moved(source, schedule, updates[-1].at))

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

=== example: in the training phase of an epoch
import torch

for epoch in range(epochs):
    for phase in ("train", "val"):
        if phase == "train":
-             sched.step()
            model.train()
            for x, y in loaders[phase]:
                optimizer.zero_grad()
                criterion(model(x), y).backward()
                optimizer.step()
+             sched.step()

=== example: milestones that are epochs, in each batch
import torch

decay = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[40, 60])
for epoch in range(80):
    for x, y in loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
-         decay.step()
    print(epoch, decay.get_last_lr())
+     decay.step()

=== example: a cycle over batches, once an epoch
import torch

total = epochs * len(loader)
cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=total)
for epoch in range(epochs):
    for x, y in loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
+         cosine.step()
-     cosine.step()

=== finds: in each batch and in each epoch
import torch

for epoch in range(epochs):
    for x, y in loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
        scheduler.step()
    evaluate(model)
    scheduler.step()

=== reject: batches that are counted, and epochs
import torch

slow = torch.optim.lr_scheduler.StepLR(optimizer, step_size=10000, gamma=0.5)
mild = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9999)
cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs * len(loader))
for epoch in range(epochs):
    for x, y in loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
        slow.step()
        mild.step()
        cosine.step()

=== reject: epochs without batches, and every so many batches
import torch

decay = torch.optim.lr_scheduler.StepLR(optimizer, step_size=50, gamma=0.5)
for epoch in range(500):
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
    decay.step()

often = torch.optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.5)
for epoch in range(10):
    for step, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
        if step % 1000 == 0:
            often.step()

=== reject: one of two, by a condition, and a schedule for each phase
import torch

for epoch in range(epochs):
    for x, y in loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
        if by_batch == 1:
            scheduler.step()
    if by_batch == 0:
        scheduler.step()

for epoch in range(epochs):
    train(model, optimizer)
    scheduler.step()
for epoch in range(epochs):
    train(model, optimizer)
    scheduler.step()

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


def _is_plain(step: structure.Operation) -> bool:
    """Whether a schedule is stepped with no epoch or metric."""
    return isinstance(step.node, ast.Call) and not step.node.args and not step.node.keywords


def _fault(source: Source, step: structure.Operation, what: str, repair: Repair | Decline) -> Fault:
    return Fault(source.site(step.node), {"schedule": step.on, "what": what}, (repair,), confidence=0.8)


def _in_other_turn(source: Source) -> Iterator[Fault]:
    """Schedules that count epochs and are stepped in each batch, or count batches and are stepped in each epoch."""
    made = schedules.schedules(source)
    for schedule in made:
        steps = [each for each in structure.of_kind(source, structure.Kind.SCHEDULE) if each.on == schedule.on]
        counted = schedules.counts(source, schedule)
        turns = {schedules.turn_of(source, each) for each in steps}
        alone = sum(each.on == schedule.on for each in made) == 1 and all(map(_is_plain, steps))
        if not alone or counted is None or len(turns) != 1 or None in turns or counted in turns:
            continue
        (turn,) = turns
        what = f"comes once in each {turn}, and {schedule.kind} is told to count in {counted}s"
        step = steps[0]
        loops = training_loop.loops_around(source, step.node)
        last = loops[1].body[-1] if len(loops) > 1 else None
        if last is not None and last is not loops[0] and source.parent(step.statement) is loops[0]:
            edits = (Delete(source.site(step.statement)), InsertAfter(source.site(last), f"{step.on}.step()"))
            yield _fault(source, step, what, ("Step it once in each epoch", edits, 0.8))
            continue
        updates = [each for each in structure.of_kind(source, structure.Kind.UPDATE) if each.on == schedule.optimizer]
        if turn is schedules.Turn.EPOCH and len(updates) == 1:
            edits = (
                Delete(source.site(step.statement)),
                InsertAfter(source.site(updates[0].statement), f"{step.on}.step()"),
            )
            yield _fault(source, step, what, ("Step it once in each batch", edits, 0.8))
            continue
        yield _fault(source, step, what, Decline("where the schedule belongs is for a person to say"))


def _twice(source: Source) -> Iterator[Fault]:
    """Schedules that are stepped in each batch and once more around the batches, or twice in the same turn."""
    seen: set[ast.AST] = set()
    regions = [*source.nodes(ast.For), *source.nodes(ast.While), *structure.functions(source)]
    for region in regions if len(structure.of_kind(source, structure.Kind.SCHEDULE)) > 1 else ():
        steps = [each for each in structure.happenings(source, region) if each.kind is structure.Kind.SCHEDULE]
        steps = [each for each in steps if each.on and _is_plain(each.operation) and _turn(source, each) is not None]
        for one, other in itertools.combinations(steps, 2):
            turns = {_turn(source, one), _turn(source, other)}
            around, inner = sorted((_around(source, each) for each in (one, other)), key=len)
            nested = inner[len(inner) - len(around) :] == around and (around or schedules.Turn.BATCH in turns)
            distinct = one.operation.node is not other.operation.node
            if one.on == other.on and distinct and nested and other.operation.node not in seen:
                seen.add(other.operation.node)
                what = f"comes twice: line {one.operation.node.lineno} steps it in the same {'epoch' if len(turns) > 1 else turns.pop()}, too"
                yield _fault(source, other.operation, what, Decline("which of the two is meant is for a person to say"))


def _turn(source: Source, step: structure.Happening) -> schedules.Turn | None:
    return schedules.turn_of(source, step.operation)


def _around(source: Source, step: structure.Happening) -> list[training_loop.Loop]:
    """The loops around a step: those of the function that makes it, and those around its call."""
    own = training_loop.loops_around(source, step.operation.node)
    return own if step.at is step.operation.node else own + training_loop.loops_around(source, step.at)


def _has_two(source: Source, schedule: str) -> bool:
    """Whether a schedule is stepped at several places: one of them may be for an epoch that was trained before."""
    return sum(each.on == schedule for each in structure.of_kind(source, structure.Kind.SCHEDULE)) > 1


def _first_time_only(source: Source, statement: ast.stmt, region: ast.AST) -> bool:
    """Whether a condition around a statement leaves the first time out, or may do so."""
    above = source.parent(statement)
    while above is not None and above is not region:
        if isinstance(above, ast.If) and any(_counts(node) for node in ast.walk(above.test)):
            updates = any(each.kind is structure.Kind.UPDATE for each in structure.happenings(source, above))
            return not updates
        above = source.parent(above)
    return False


def _counts(test: ast.AST) -> bool:
    """Whether a test may tell the first turn from others: it compares something, and not with a word or `None`."""
    compared = test.comparators[0] if isinstance(test, ast.Compare) else None
    is_name = isinstance(compared, ast.Constant) and (compared.value is None or isinstance(compared.value, str))
    return compared is not None and not is_name


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
