"""A loop computes gradients and steps its optimizer, and nothing clears the gradients in between."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    OTHER_WAYS,
    Delete,
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    InsertBefore,
    LoopOperation,
    Reject,
    Repairs,
    Site,
    Source,
    Subject,
    Symptom,
    block_of,
    function_around,
    is_optimizer,
    loops_around,
    operated_on,
    operations_named,
)

CLEARED_OTHERWISE = frozenset({"zero_", "grads", "zero_grads"})


@dataclass(frozen=True, slots=True)
class Uncleared:
    """A backward pass and the step after it; `outer` is a clearing that stands outside of their loop."""

    backward: LoopOperation
    step: LoopOperation
    outer: LoopOperation | None


class GradientsNeverCleared(FaultTemplate[Uncleared]):
    """`backward` adds to the gradients that are there, so those of every earlier batch take part in each step.

    Reported where a loop calls `backward` and then the `step` of an optimizer, both in every turn, and the gradients of
    this optimizer are cleared nowhere, or only outside of this loop. Programs that collect the gradients of several
    batches step less often than they compute gradients, and are left alone.

    Fix safety: unsafe. Every step follows the gradient of its own batch from now on, which is the point.

    References: torch.optim ("Taking an optimization step"), torch.optim.Optimizer.zero_grad.
    """

    code = "DNF701"
    name = "gradients-never-cleared"
    family = Family.TRAINING
    fix_pattern = FixPattern.API_CONTRACT
    message = "{optimizer}.step() follows the gradients of all earlier batches: {why}"
    triggers = ("backward",)
    declined = "the backward pass and the step do not stand in one block"

    def faults(self, subject: Subject) -> Faults[Uncleared]:
        source = subject.source
        if "torch" not in source.frameworks or not OTHER_WAYS.isdisjoint(subject.words):
            return
        for fault in _uncleared(source, subject.words):
            yield source.site(fault.step.call), fault

    def report(self, site: Site, fault: Uncleared) -> Finding:
        why = "nothing clears them" if fault.outer is None else "they are cleared outside of this loop only"
        return self.finding(site, symptom=Symptom.VIOLATION, confidence=0.9, optimizer=fault.step.on, why=why)

    def repairs(self, subject: Subject, fault: Uncleared) -> Repairs:
        site = subject.source.site
        code = f"{fault.step.on}.zero_grad()"
        insert = InsertBefore(site(fault.backward.statement), code)
        if fault.outer is None:
            yield f"Clear the gradients before each backward pass: {code}", (insert,), 0.9
        else:
            moved = (Delete(site(fault.outer.statement)), insert)
            yield "Clear the gradients in the loop that steps the optimizer", moved, 0.9

    examples = (
        Example(
            "no clearing at all",
            """\
import torch
from torch import nn

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
criterion = nn.MSELoss()
for epoch in range(10):
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
""",
            """\
import torch
from torch import nn

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
criterion = nn.MSELoss()
for epoch in range(10):
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
""",
        ),
        Example(
            "cleared once an epoch",
            """\
import torch
import torch.optim as optim

def train(net, batches, loss_fn, epochs):
    opt = optim.Adam(net.parameters())
    for epoch in range(epochs):
        opt.zero_grad()
        for x, y in batches:
            loss_fn(net(x), y).backward()
            opt.step()
""",
            """\
import torch
import torch.optim as optim

def train(net, batches, loss_fn, epochs):
    opt = optim.Adam(net.parameters())
    for epoch in range(epochs):
        for x, y in batches:
            opt.zero_grad()
            loss_fn(net(x), y).backward()
            opt.step()
""",
        ),
        Example(
            "a trainer of one's own",
            """\
import torch

class Trainer:
    def __init__(self, net):
        self.net = net
        self.optim = torch.optim.RMSprop(net.parameters())

    def epoch(self, loader, criterion):
        for batch in loader:
            error = criterion(self.net(batch[0]), batch[1])
            error.backward()  # through time
            torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
            self.optim.step()
""",
            """\
import torch

class Trainer:
    def __init__(self, net):
        self.net = net
        self.optim = torch.optim.RMSprop(net.parameters())

    def epoch(self, loader, criterion):
        for batch in loader:
            error = criterion(self.net(batch[0]), batch[1])
            self.optim.zero_grad()
            error.backward()  # through time
            torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
            self.optim.step()
""",
        ),
    )
    rejects = (
        Reject(
            "the gradients of several batches are collected",
            """\
import torch

optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for i, (x, y) in enumerate(loader):
    loss = criterion(model(x), y) / 4
    loss.backward()
    if (i + 1) % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
""",
        ),
        Reject(
            "the model clears them",
            """\
import torch

optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for x, y in loader:
    model.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
""",
        ),
        Reject(
            "two optimizers, the second cleared by a loop",
            """\
import torch

first = torch.optim.Adam(a.parameters())
second = torch.optim.Adam(b.parameters())
for x, y in loader:
    for each in (first, second):
        each.zero_grad()
    criterion(b(a(x)), y).backward()
    first.step()
    second.step()
""",
        ),
        Reject(
            "a helper does all of it",
            """\
import torch

optimizer = torch.optim.Adam(model.parameters())

def prepare():
    optimizer.zero_grad()

for x, y in loader:
    prepare()
    criterion(model(x), y).backward()
    optimizer.step()
""",
        ),
        Reject(
            "gradients let go by hand",
            """\
import torch

optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for x, y in loader:
    criterion(model(x), y).backward()
    optimizer.step()
    for p in model.parameters():
        p.grad = None
""",
        ),
    )


def _uncleared(source: Source, words: frozenset[str]) -> Iterator[Uncleared]:
    clearings = operations_named(source, "zero_grad")
    if not CLEARED_OTHERWISE.isdisjoint(words) or _written_over(source):
        return
    if len(clearings) != sum(
        isinstance(call.func, ast.Attribute) and call.func.attr == "zero_grad" for call in source.all_calls
    ):
        return
    for step in operations_named(source, "step"):
        loops = loops_around(source, step.statement)
        optimizer = operated_on(step)
        known = is_optimizer(source, optimizer)
        if step.call.args or step.call.keywords or not loops or not (known or _is_given(source, optimizer)):
            continue
        block = block_of(source, step.statement)
        before = block[: block.index(step.statement)]
        backwards = [each for each in operations_named(source, "backward") if each.statement in before]
        if not backwards or source.parent(step.statement) is not loops[0] or _once(loops[0]):
            continue
        if not clearings and "zero_grad" not in words:
            yield Uncleared(_first_since(backwards, before), step, None)
            continue
        own = [each for each in clearings if each.on == step.on and known]
        if len(own) != 1 or any(not is_optimizer(source, operated_on(each)) for each in clearings):
            continue
        outside = own[0].statement
        if (
            function_around(source, outside) is function_around(source, step.statement)
            and loops[0] not in loops_around(source, outside)
            and source.parent(outside) in (*loops[1:], source.parent(loops[-1]))
            and outside.lineno < loops[0].lineno
        ):
            yield Uncleared(_first_since(backwards, before), step, own[0])


def _is_given(source: Source, optimizer: ast.expr) -> bool:
    """Whether a function is given the optimizer, by a name that nothing else has."""
    around = function_around(source, optimizer)
    return (
        isinstance(optimizer, ast.Name)
        and optimizer.id in ("optimizer", "optimiser", "optim", "opt")
        and around is not None
        and optimizer.id in {each.arg for each in (*around.args.args, *around.args.kwonlyargs)}
        and source.constructor(optimizer) is None
    )


def _first_since(backwards: list[LoopOperation], before: list[ast.stmt]) -> LoopOperation:
    """The first backward pass after the last step of any optimizer that stands before this one."""
    start = 0
    for place, statement in enumerate(before):
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "step":
            start = place
    later = [each for each in backwards if before.index(each.statement) > start]
    return (later or backwards)[0]


def _once(loop: ast.AST) -> bool:
    """Whether a loop ends in its first turn."""
    return isinstance(loop, (ast.For, ast.While)) and any(isinstance(s, (ast.Break, ast.Return)) for s in loop.body)


def _written_over(source: Source) -> bool:
    """Whether the program gives gradients a value of its own."""
    return any(
        isinstance(target, ast.Attribute) and target.attr in ("grad", "data")
        for node in source.nodes(ast.Assign)
        for target in node.targets
    )
