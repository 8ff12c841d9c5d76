"""An optimizer is made anew in each epoch and forgets what it has learned of the gradients."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
    Delete,
    Example,
    Family,
    Faults,
    FaultTemplate,
    Finding,
    FixPattern,
    InsertBefore,
    Reject,
    Repairs,
    Site,
    Source,
    Subject,
    Symptom,
    attribute_calls,
    loops_around,
    within,
)

WITH_STATE = tuple(
    f"torch.optim.{name}"
    for name in ("Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Adagrad", "Adadelta", "SGD")
)
"""Optimizers that keep running figures of each weight; SGD only with momentum."""

BEGINS_ANEW = ("load_state_dict", "reset_parameters", "deepcopy", "apply", "copy_")
"""Methods of programs that begin each turn with other weights, and want a new optimizer for them."""


@dataclass(frozen=True, slots=True)
class MadeAnew:
    """The assignment that makes the optimizer, its name, and the loop over epochs around it."""

    statement: ast.Assign
    name: str
    made: ast.Call
    epochs: ast.For


class OptimizerMadeAnew(FaultTemplate[MadeAnew]):
    """An optimizer such as Adam is made inside of the loop over epochs: its running averages begin at zero each time.

    Adam divides by an average of squared gradients and corrects it for its youth; made anew, it takes its first steps, the
    crudest ones, in every epoch, and momentum never builds up. Reported where the loop counts, the same batches are gone
    through in every turn, neither the model nor what the optimizer is given changes with it, and nothing puts the weights
    back. Restarts for another task, another fold or other weights are left alone.

    Fix safety: unsafe. Training takes other steps, which is the point.

    References: Kingma and Ba, "Adam: A Method for Stochastic Optimization", section 2; torch.optim ("Constructing it").
    """

    code = "DNF725"
    name = "optimizer-made-anew"
    family = Family.TRAINING
    fix_pattern = FixPattern.OPTIMIZER
    message = "`{optimizer}` is made anew in each turn of the loop: {kind} forgets its running averages"
    triggers = ("optim",)
    declined = "what makes it cannot be moved"

    def faults(self, subject: Subject) -> Faults[MadeAnew]:
        source = subject.source
        for call in source.calls(*WITH_STATE):
            for found in _made_anew(source, call):
                yield source.site(found.statement), found

    def report(self, site: Site, fault: MadeAnew) -> Finding:
        kind = ast.unparse(fault.made.func).rpartition(".")[2]
        return self.finding(site, symptom=Symptom.VIOLATION, confidence=0.8, optimizer=fault.name, kind=kind)

    def repairs(self, subject: Subject, fault: MadeAnew) -> Repairs:
        site = subject.source.site
        text = subject.source.segment(site(fault.statement))
        edits = (Delete(site(fault.statement)), InsertBefore(site(fault.epochs), text))
        yield f"Make `{fault.name}` once, before the loop", edits, 0.9

    examples = (
        Example(
            "Adam in each epoch",
            """\
import torch

net = torch.nn.Linear(4, 2)
for epoch in range(20):
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for x, y in loader:
        optimizer.zero_grad()
        criterion(net(x), y).backward()
        optimizer.step()
""",
            """\
import torch

net = torch.nn.Linear(4, 2)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(20):
    for x, y in loader:
        optimizer.zero_grad()
        criterion(net(x), y).backward()
        optimizer.step()
""",
        ),
        Example(
            "momentum, in a function",
            """\
from torch import optim

def train(model, batches, loss_of, rate, turns):
    for turn in range(turns):
        total = 0.0
        opt = optim.SGD(model.parameters(), rate, momentum=0.9)
        for i, batch in enumerate(batches):
            loss = loss_of(model, batch)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        print(turn, total)
""",
            """\
from torch import optim

def train(model, batches, loss_of, rate, turns):
    opt = optim.SGD(model.parameters(), rate, momentum=0.9)
    for turn in range(turns):
        total = 0.0
        for i, batch in enumerate(batches):
            loss = loss_of(model, batch)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        print(turn, total)
""",
        ),
        Example(
            "rows of one tensor, and a measurement behind them",
            """\
import torch
from torch.optim import RMSprop

for _ in range(epochs):
    model.train()
    step_maker = RMSprop(model.parameters())
    for start in range(0, len(x), 32):
        step_maker.zero_grad()
        error = ((model(x[start : start + 32]) - y[start : start + 32]) ** 2).mean()
        error.backward()
        step_maker.step()
    model.eval()
    print(measure(model))
""",
            """\
import torch
from torch.optim import RMSprop

step_maker = RMSprop(model.parameters())
for _ in range(epochs):
    model.train()
    for start in range(0, len(x), 32):
        step_maker.zero_grad()
        error = ((model(x[start : start + 32]) - y[start : start + 32]) ** 2).mean()
        error.backward()
        step_maker.step()
    model.eval()
    print(measure(model))
""",
        ),
    )
    rejects = (
        Reject(
            "another model, another task, another rate",
            """\
import torch

for fold in range(5):
    net = torch.nn.Linear(4, 2)
    optimizer = torch.optim.Adam(net.parameters())
    for x, y in loader:
        criterion(net(x), y).backward()
        optimizer.step()

for task in range(5):
    optimizer = torch.optim.Adam(model.parameters())
    for x, y in loaders[task]:
        criterion(model(x), y).backward()
        optimizer.step()

for epoch in range(5):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1 / (epoch + 1))
    for x, y in loader:
        criterion(model(x), y).backward()
        optimizer.step()
""",
        ),
        Reject(
            "the weights are put back, or a schedule begins again",
            """\
import torch

for trial in range(5):
    model.load_state_dict(first)
    optimizer = torch.optim.Adam(model.parameters())
    for x, y in loader:
        criterion(model(x), y).backward()
        optimizer.step()

for cycle in range(5):
    optimizer = torch.optim.Adam(model.parameters())
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 100)
    for x, y in loader:
        criterion(model(x), y).backward()
        optimizer.step()
        schedule.step()
""",
        ),
        Reject(
            "no state to lose, and images that are themselves what is trained",
            """\
import torch

for epoch in range(5):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        criterion(model(x), y).backward()
        optimizer.step()

for index in range(5):
    image = torch.rand(3, 8, 8, requires_grad=True)
    optimizer = torch.optim.Adam([image])
    for _ in range(100):
        loss(image).backward()
        optimizer.step()
""",
        ),
    )


def _made_anew(source: Source, call: ast.Call) -> Iterator[MadeAnew]:
    statement = source.parent(call)
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name) or not _keeps(call):
        return
    name = statement.targets[0].id
    around = loops_around(source, statement)
    epochs = around[0] if around else None
    if not isinstance(epochs, ast.For) or statement not in epochs.body or not _counts(source, epochs):
        return
    changing = _bound(epochs) - {name}
    given = {each.id for part in (*call.args, *(k.value for k in call.keywords)) for each in within(part, ast.Name)}
    if given & changing or _hands_on(epochs, name) or attribute_calls(epochs, *BEGINS_ANEW):
        return
    rest = epochs.body[epochs.body.index(statement) + 1 :]
    batches = [each for each in rest if isinstance(each, ast.For) and _trains(each, name)]
    if len(batches) == 1 and not {each.id for each in within(batches[0].iter, ast.Name)} & changing:
        yield MadeAnew(statement, name, call, epochs)


def _keeps(call: ast.Call) -> bool:
    """Whether the optimizer keeps figures of its steps; SGD does with momentum."""
    if not ast.unparse(call.func).endswith("SGD"):
        return True
    momentum = next((keyword.value for keyword in call.keywords if keyword.arg == "momentum"), None)
    return momentum is not None and not (isinstance(momentum, ast.Constant) and not momentum.value)


def _counts(source: Source, loop: ast.For) -> bool:
    return isinstance(loop.iter, ast.Call) and source.qualified(loop.iter.func) in ("range", "builtins.range")


def _bound(loop: ast.For) -> set[str]:
    """The names that a turn of the loop binds."""
    return {each.id for each in within(loop, ast.Name) if isinstance(each.ctx, ast.Store)}


def _hands_on(loop: ast.For, name: str) -> bool:
    """Whether the optimizer is given to something, or bound more than once, in a turn."""
    calls = within(loop, ast.Call)
    given = any(isinstance(part, ast.Name) and part.id == name for c in calls for part in (*c.args, *_values(c)))
    return given or sum(each.id == name and isinstance(each.ctx, ast.Store) for each in within(loop, ast.Name)) != 1


def _values(call: ast.Call) -> list[ast.expr]:
    return [keyword.value for keyword in call.keywords]


def _trains(loop: ast.For, name: str) -> bool:
    steps = attribute_calls(loop, "step")
    own = any(isinstance(c.func, ast.Attribute) and ast.unparse(c.func.value) == name for c in steps)
    return own and bool(attribute_calls(loop, "backward"))
