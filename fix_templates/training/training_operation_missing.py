"""A training loop lacks its backward pass or its step, or names an operation without calling it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import cast

from dnnfix.api import (
    Edit,
    Family,
    Fault,
    FixPattern,
    InsertAfter,
    InsertBefore,
    ReadTemplate,
    Replace,
    Source,
    Subject,
    function_around,
    schedules,
    structure,
    training_loop,
    within,
    words,
)

MODES = words("eval train")
CALLED = words("zero_grad backward step") | MODES
KEPT_BY = words("zero_grad param_groups state_dict load_state_dict defaults state")
"""Uses of an optimizer that do not step it."""


class TrainingOperationMissing(ReadTemplate):
    """A training loop has no `loss.backward()` or no `optimizer.step()`, or names `optimizer.step` without calling it.

    Without the backward pass there are no gradients, and without the step the weights do not change. Nothing crashes.

    Reported where the other operations of the step are there once each, and nothing else may do what is missing: the
    optimizer is not passed to a function or library.

    Fix safety: unsafe. The model is trained as it is written, which is the point.

    References: torch.optim ("Taking an optimization step"), torch.Tensor.backward, torch.optim.Optimizer.step.
    """

    code = "DNF702"
    name = "training-operation-missing"
    message = "{operation} is missing: without it {effect}"
    confidence = 0.85
    family = Family.TRAINING
    fix_pattern = FixPattern.API_CONTRACT
    silent = 3
    triggers = ("optim", "zero_grad")

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if "torch" not in source.frameworks:
            return
        named = list(_not_called(source))
        yield from named
        if not named and not source.beside:
            yield from _no_step(source)
            if not training_loop.goes_other_ways(source, subject.words):
                yield from _no_backward(source)
                yield from _never_used(source)

    programs = """
=== example: no step
import torch

optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(net(x), y)
    loss.backward()
+     optimizer.step()
    print(loss.item())

=== example: no backward pass
import torch
from torch import nn, optim

criterion = nn.MSELoss()
opt = optim.Adam(model.parameters())
for epoch in range(100):
    opt.zero_grad()
    cost = criterion(model(x), y)
+     cost.backward()
    opt.step()

=== example: an unused optimizer
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

=== example: the mode is named after the training
import torch

optimizer = torch.optim.Adam(net.parameters())
train(net, optimizer)
- net.eval
+ net.eval()
print(net(x_test).argmax(1))

=== example: one of two optimizers
import torch

for real in loader:
    fake = G(noise(len(real)))
    opt_critic.zero_grad()
    d_loss = D(fake.detach()).mean() - D(real).mean()
    d_loss.backward()
+     opt_critic.step()
    opt_painter.zero_grad()
    g_loss = -D(fake).mean()
    g_loss.backward()
    opt_painter.step()

=== example: one of two optimizers, in a function for one batch
def learn(rows, words, ear, mouth, ear_optimizer, mouth_optimizer):
    ear_optimizer.zero_grad()
    mouth_optimizer.zero_grad()
    loss = criterion(mouth(ear(rows)), words)
    loss.backward()
+     mouth_optimizer.step()
    ear_optimizer.step()
    return loss.item()

=== reject: a function that another one's steps follow
def learn(rows, words, ear, ear_optimizer):
    ear_optimizer.zero_grad()
    loss = criterion(ear(rows), words)
    loss.backward()
    return loss

=== example: the schedule's step in the place of the optimizer's
import torch

sgd = torch.optim.SGD(params=net.parameters(), lr=0.1)
decay = torch.optim.lr_scheduler.StepLR(optimizer=sgd, step_size=10)
for x, y in loader:
    net.zero_grad()
    loss = criterion(net(x), y)
    loss.backward()
+     sgd.step()
    decay.step()

=== reject: both, one after the other, and one that is stepped elsewhere
import torch

for real in loader:
    opt_a.zero_grad()
    opt_b.zero_grad()
    criterion(b(a(real)), real).backward()
    opt_a.step()
    opt_b.step()

def slow(loss):
    opt_c.step()

for real in loader:
    opt_c.zero_grad()
    opt_d.zero_grad()
    loss = criterion(c(real), real)
    loss.backward()
    opt_d.step()
    slow(loss)

=== reject: a function steps it
import torch

optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    criterion(net(x), y).backward()
    finish(optimizer)

=== reject: a schedule holds the optimizer, which is stepped
import torch

optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
for epoch in range(20):
    for x, y in loader:
        optimizer.zero_grad()
        criterion(net(x), y).backward()
        optimizer.step()
    scheduler.step()

=== reject: gradients of an image, without a step
import torch

for x, y in loader:
    net.zero_grad()
    criterion(net(x), y).backward()
    x.data += 0.1 * x.grad.sign()

=== reject: the loss of an evaluation, with an optimizer for later
import torch
import torch.nn.functional as F

adam = torch.optim.Adam(net.parameters())
with torch.no_grad():
    for x, y in loader:
        error = F.mse_loss(net(x), y)
        print(error.item())

=== reject: a closure computes the gradients
import torch

optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

def closure():
    optimizer.zero_grad()
    loss = criterion(net(x), y)
    loss.backward()
    return loss

for _ in range(10):
    optimizer.step(closure)
"""


def _missing(source: Source, place: ast.AST, operation: str, edit: Edit) -> Fault:
    """The fault of an operation that is missing at a node, with the edit that adds it."""
    called = operation.rpartition(".")[2].removesuffix("()")
    effect = "the model keeps its mode" if called in MODES else "this loop trains nothing"
    words = {"operation": operation, "effect": effect}
    return Fault.with_repair(source.site(place), words, f"Call {operation}", edit)


def _not_called(source: Source) -> Iterator[Fault]:
    """Statements that name an operation of the training step without calling it."""
    for statement in source.nodes(ast.Expr):
        named = statement.value
        if not isinstance(named, ast.Attribute) or named.attr not in CALLED or source.enclosing(statement, ast.Try):
            continue  # in a `try` it may ask whether the attribute is there
        on_model = named.attr in MODES and _has_weights(source, ast.unparse(named.value))
        if isinstance(named.value, (ast.Name, ast.Attribute)) and (
            on_model or training_loop.loops_around(source, statement)
        ):
            text = f"{ast.unparse(named)}()"
            yield _missing(source, statement, text, Replace(source.site(named), text))


def _has_weights(source: Source, text: str) -> bool:
    """Whether an optimizer gets the parameters of the model that is written so."""
    return any(
        ast.unparse(call.func) == f"{text}.parameters" for call in training_loop.method_calls(source, "parameters")
    )


def _no_step(source: Source) -> Iterator[Fault]:
    """Optimizers that are cleared beside a backward pass and never stepped or passed on."""
    if "step" in source.words and any(True for _ in training_loop.method_calls(source, "step")):
        stepped = structure.of_kind(source, structure.Kind.UPDATE)
        if not stepped and not structure.of_kind(source, structure.Kind.SCHEDULE):
            return  # of what is stepped, nothing is known
    regions: list[training_loop.Loop | training_loop.Function] = [loop for loop, _ in structure.batch_loops(source)]
    if len(structure.of_kind(source, structure.Kind.CLEAR)) > 1:  # of several optimizers, a function may forget one
        regions += [each for each in structure.functions(source) if not any(within(each, *training_loop.LOOPS))]
    for loop in regions:
        happening = structure.happenings(source, loop)
        found = _unstepped(source, loop, happening)
        if found is None:
            continue
        optimizer, last = found
        elsewhere = any(each.on == optimizer for each in structure.of_kind(source, structure.Kind.UPDATE))
        if (
            structure.goes_other_ways(source, loop)
            or elsewhere
            or _does_more(source, optimizer)
            or _weights_are_written(loop)
        ):
            continue
        text = f"{optimizer}.step()"
        yield _missing(source, last, text, InsertAfter(source.site(source.statement_of(last)), text))


def _unstepped(
    source: Source, loop: training_loop.Loop | training_loop.Function, happening: Sequence[structure.Happening]
) -> tuple[str, ast.expr | ast.stmt] | None:
    """The optimizer for which a loop computes gradients and which it does not step, with the last backward pass for it."""
    stepped = {each.on for each in happening if each.kind is structure.Kind.UPDATE}
    passes = [each.at for each in happening if each.kind is structure.Kind.BACKWARD]
    clearings = [each for each in happening if each.kind is structure.Kind.CLEAR and not each.operation.by_hand]
    cleared = {each.operation.on: each for each in clearings if _clears_optimizer(source, each.operation)}
    if stepped:  # of several, one is forgotten: a pass follows its clearing, and the step of another one that pass
        for on, clearing in cleared.items():
            following = happening[happening.index(clearing) + 1 :]
            after = [each for each in following if each.kind is not structure.Kind.CLEAR]
            kinds = [each.kind for each in after]
            if on not in stepped and kinds[:1] == [structure.Kind.BACKWARD] and structure.Kind.UPDATE in kinds:
                return on, after[0].at
        return None
    if not isinstance(loop, training_loop.LOOPS):
        return None  # whoever calls the function may step it
    if len(cleared) == 1 and len({each.operation.on for each in clearings}) == 1:
        return next(iter(cleared)), passes[-1]
    around = function_around(source, loop)
    made = [
        target
        for assign in source.nodes(ast.Assign)
        for target in assign.targets
        if isinstance(assign.value, ast.Call) and structure.is_optimizer(source, target)
    ]
    if cleared or len(made) != 1 or function_around(source, made[0]) is not around or "step" not in source.words:
        return None
    return ast.unparse(made[0]), passes[-1]  # its network is cleared, and its schedule alone is stepped


def _clears_optimizer(source: Source, clearing: structure.Operation) -> bool:
    """Whether it is an optimizer, not a network, that is cleared."""
    return structure.is_optimizer(source, cast(ast.Attribute, cast(ast.Call, clearing.node).func).value)


def _does_more(source: Source, optimizer: str) -> bool:
    """Whether an optimizer is used in a way that may step it."""
    schedules_made = [each.made for each in schedules.schedules(source)]
    named: list[ast.Name | ast.Attribute] = [*source.nodes(ast.Name), *source.nodes(ast.Attribute)]
    for node in named:
        if ast.unparse(node) != optimizer or isinstance(node.ctx, ast.Store):
            continue
        above = source.parent(node)
        above = source.parent(above) if isinstance(above, ast.keyword) else above
        is_kept = isinstance(above, ast.Attribute) and above.attr in KEPT_BY
        of_schedule = above in schedules_made or (
            isinstance(above, ast.Call) and (source.qualified(above.func) or "").startswith(structure.SCHEDULES)
        )
        if not is_kept and not of_schedule:
            return True
    return False


def _weights_are_written(loop: ast.AST) -> bool:
    """Whether a loop changes something by a gradient itself."""
    return any(node.attr == "grad" for node in within(loop, ast.Attribute))


def _reads(source: Source, name: str) -> list[ast.Name]:
    """The nodes that read or delete a name."""
    return [node for node in source.nodes(ast.Name) if node.id == name and not isinstance(node.ctx, ast.Store)]


def _no_backward(source: Source) -> Iterator[Fault]:
    """Steps beside a `zero_grad`, after a loss, in a program that computes no gradients."""
    if not {"backward", "closure", "minimize"}.isdisjoint(source.words):
        return
    for step in training_loop.operations_named(source, "step"):
        block = training_loop.block_of(source, step.statement)
        cleared = any(
            each.on == step.on and each.statement in block
            for each in training_loop.operations_named(source, "zero_grad")
        )
        if not cleared or step.call.args or not structure.is_optimizer(source, training_loop.operated_on(step)):
            continue
        losses = [name for s in block[: block.index(step.statement)] if (name := _loss(source, s))]
        if losses and training_loop.loops_around(source, step.statement):
            text = f"{losses[-1]}.backward()"
            yield _missing(source, step.call, text, InsertBefore(source.site(step.statement), text))


def _never_used(source: Source) -> Iterator[Fault]:
    """Optimizers that are never used, in a program that computes a loss in a loop and no gradients."""
    if not {"backward", "closure", "minimize", "step"}.isdisjoint(source.words):
        return
    for made in source.nodes(ast.Assign):
        if len(made.targets) != 1 or not isinstance(made.targets[0], ast.Name):
            continue
        name, around = made.targets[0].id, function_around(source, made)
        used = any(isinstance(node.ctx, ast.Load) for node in _reads(source, name))
        if used or not training_loop.is_optimizer(source, made.targets[0]):
            continue
        for statement in source.nodes(ast.Assign):
            loss = _loss(source, statement)
            if loss and training_loop.loops_around(source, statement) and function_around(source, statement) is around:
                if source.enclosing(statement, ast.With) is None:
                    lines = f"{name}.zero_grad()\n{loss}.backward()\n{name}.step()"
                    edit = InsertAfter(source.site(statement), lines)
                    yield _missing(source, statement, f"{loss}.backward() and {name}.step()", edit)
                break


def _loss(source: Source, statement: ast.stmt) -> str:
    """The name that a statement assigns a loss: the result of a criterion of torch, or a usual name of a loss."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return ""
    target, value = statement.targets[0], statement.value
    if not isinstance(target, ast.Name) or not isinstance(value, ast.Call):
        return ""
    made = source.constructor(value.func)
    name = (source.qualified(made.func) if made is not None else source.qualified(value.func)) or ""
    is_loss = name.startswith("torch.nn.") and ("loss" in name.lower() or "entropy" in name)
    return target.id if is_loss or target.id in ("loss", "total_loss", "train_loss") else ""
