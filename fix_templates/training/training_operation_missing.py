"""A training loop lacks one of its operations, or names one without calling it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import cast

from dnnfix.api import (
    Delete,
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
    training_loop,
    trees,
    within,
    words,
)

MODES = words("eval train")
CALLED = words("zero_grad backward step") | MODES
KEPT_BY = words("zero_grad param_groups state_dict load_state_dict defaults state")
"""What is done with an optimizer that does not step it."""
CLEARED_OTHERWISE = frozenset({"zero_", "grads", "zero_grads"})
IN_PLACE = frozenset({"sub_", "add_", "addcmul_", "addcdiv_"})
"""Methods that change a tensor by what they are given."""
LAYERS = words("Dropout Dropout1d Dropout2d Dropout3d AlphaDropout BatchNorm1d BatchNorm2d BatchNorm3d SyncBatchNorm")
"""Layers that compute another thing in evaluation than in training."""
DIFFERENT = LAYERS | words("""LazyBatchNorm1d LazyBatchNorm2d dropout resnet18 resnet34 resnet50 vgg16 densenet121 mobilenet_v2
    inception_v3 efficientnet_b0 alexnet TransformerEncoderLayer Transformer""")
"""Words of programs whose models compute another thing in evaluation than in training."""
MEASURED = words("argmax max eq topk accuracy_score item mean")
BY_BATCH = words("OneCycleLR CyclicLR")
"""Schedules that count batches."""
BY_EPOCH = words("StepLR MultiStepLR ExponentialLR CosineAnnealingLR LambdaLR MultiplicativeLR LinearLR")
"""Schedules that count epochs; others want a measured value."""
SCHEDULES = tuple(f"torch.optim.lr_scheduler.{name}" for name in sorted(BY_EPOCH | BY_BATCH))


class TrainingOperationMissing(ReadTemplate):
    """A training loop lacks `loss.backward()`, `optimizer.zero_grad()`, `optimizer.step()`, `scheduler.step()` or a change of the mode.

    Without the backward pass there are no gradients, and without the step no use for them. Without the clearing, `backward` adds to the
    gradients of every earlier batch. A schedule that is not stepped leaves the learning rate as it is. After `model.eval()` without
    `model.train()`, dropout drops nothing from the second epoch on; without `model.eval()`, what is measured is measured with dropout, and
    batch normalization takes the statistics of the very batch. `optimizer.step` without its parentheses does nothing either. Nothing
    crashes.

    Reported where the other operations of the training are there, once each, and nothing in the program may do what is missing: no
    function or library is given the optimizer, no gradients are collected over several batches, and no samples are drawn with dropout.

    Fix safety: unsafe. The model is trained, or measured, as it is written, which is the point.

    References: torch.optim ("Taking an optimization step"), torch.Tensor.backward, torch.optim.Optimizer.zero_grad, torch.nn.Module.eval;
    https://docs.pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate.
    """

    code = "DNF702"
    name = "training-operation-missing"
    message = "an operation of the training loop is missing: {what}"
    confidence = 0.85
    formerly = (
        "DNF701",
        "gradients-never-cleared",
        "DNF705",
        "training-left-in-eval-mode",
        "DNF706",
        "evaluation-in-training-mode",
        "DNF717",
        "schedule-never-stepped",
    )
    family = Family.TRAINING
    fix_pattern = FixPattern.API_CONTRACT
    triggers = ("backward", "optim", "eval", "no_grad", "lr_scheduler")

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if "torch" not in source.frameworks:
            return
        alone, other_ways = not source.beside, training_loop.OTHER_WAYS & subject.words
        named = list(_not_called(source)) if "optim" in source.words else []
        yield from named
        if not named and alone and "optim" in source.words and not training_loop.goes_other_ways(source, subject.words):
            yield from _no_step(source)
            yield from _no_backward(source)
            yield from _never_used(source)
        if not other_ways - {"grad"}:
            if not other_ways or training_loop.only_measures_gradients(source):
                yield from _uncleared(source, subject.words)
            yield from _updated_by_hand(source)
        if alone and not DIFFERENT.isdisjoint(subject.words):
            yield from _left_in_evaluation(source)
        if alone and training_loop.SAMPLING.isdisjoint(source.words):
            yield from _measured_in_training(source)
        yield from _idle_schedules(source)

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

=== example: an optimizer that nothing uses
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

=== example: the mode is named behind the training
import torch

optimizer = torch.optim.Adam(net.parameters())
train(net, optimizer)
- net.eval
+ net.eval()
print(net(x_test).argmax(1))

=== example: cleared once an epoch
import torch
import torch.optim as optim

def train(net, batches, loss_fn, epochs):
    opt = optim.Adam(net.parameters())
    for epoch in range(epochs):
-         opt.zero_grad()
        for x, y in batches:
+             opt.zero_grad()
            loss_fn(net(x), y).backward()
            opt.step()

=== example: gradients are measured, not cleared
import torch
from torch import nn

model = nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
norms = []
for epoch in range(100):
    loss = ((model(x) - y) ** 2).mean()
+     optimizer.zero_grad()
    loss.backward()
    norms.append(model.weight.grad.norm().item())
    optimizer.step()

=== example: weights updated by hand
import torch

slope = torch.randn(1, requires_grad=True)
offset = torch.zeros(1, requires_grad=True)
for turn in range(200):
    error = ((slope * x + offset - y) ** 2).mean()
    error.backward()
    with torch.no_grad():
        slope -= 0.01 * slope.grad
        offset -= 0.01 * offset.grad
+         slope.grad.zero_()
+         offset.grad.zero_()

=== example: put back never
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 1))
for epoch in range(10):
+     model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        print(sum(criterion(model(x), y).item() for x, y in val_loader))

=== example: a function that measures
import torch

net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 2))

def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean()

for epoch in range(3):
+     net.train()
    loss = torch.nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(accuracy(net, x_val, y_val))

=== example: in each epoch
import torch
import torch.nn as nn

model = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.Linear(16, 1))
for epoch in range(10):
+     model.train()
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
+     model.eval()
    with torch.no_grad():
        val_loss = criterion(model(x_val), y_val)
        print(epoch, val_loss.item())

=== example: a class of the program
import torch
from torch.nn import Dropout2d, Module


class Net(Module):
    def __init__(self):
        super().__init__()
        self.drop = Dropout2d()


cnn = Net()
for images, labels in train_loader:
    optimizer.zero_grad()
    loss = loss_func(cnn(images), labels)
    loss.backward()
    optimizer.step()
correct = 0
+ cnn.eval()
with torch.no_grad():
    for images, labels in test_loader:
        _, predicted = torch.max(cnn(images).data, 1)
        correct += (predicted == labels).sum().item()

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

=== example: with a validation behind the batches
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

=== reject: gradients of an image, for which nothing is stepped
import torch

for x, y in loader:
    net.zero_grad()
    criterion(net(x), y).backward()
    x.data += 0.1 * x.grad.sign()

=== reject: the loss of an evaluation, with an optimizer that is made for later
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

=== reject: weights that are made anew in every turn
import torch

slope = torch.randn(1, requires_grad=True)
for turn in range(200):
    ((slope * x - y) ** 2).mean().backward()
    slope.data.sub_(0.01 * slope.grad)
    slope = slope.detach().requires_grad_()

=== reject: gradients of an image are used, not of weights
import torch

for x, y in loader:
    x.requires_grad_(True)
    criterion(net(x), y).backward()
    x.data += 0.1 * x.grad.sign()

=== reject: the gradients of several batches are collected
import torch

optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for i, (x, y) in enumerate(loader):
    loss = criterion(model(x), y) / 4
    loss.backward()
    if (i + 1) % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()

=== reject: the model clears them
import torch

optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for x, y in loader:
    model.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()

=== reject: two optimizers, the second cleared by a loop
import torch

first = torch.optim.Adam(a.parameters())
second = torch.optim.Adam(b.parameters())
for x, y in loader:
    for each in (first, second):
        each.zero_grad()
    criterion(b(a(x)), y).backward()
    first.step()
    second.step()

=== reject: a helper does all of it
import torch

optimizer = torch.optim.Adam(model.parameters())

def prepare():
    optimizer.zero_grad()

for x, y in loader:
    prepare()
    criterion(model(x), y).backward()
    optimizer.step()

=== reject: gradients are measured, and cleared in their own memory
import torch

optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for x, y in loader:
    criterion(model(x), y).backward()
    print(model.weight.grad.norm())
    optimizer.step()
    for p in model.parameters():
        p.grad.mul_(0)

=== reject: gradients let go by hand
import torch

optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for x, y in loader:
    criterion(model(x), y).backward()
    optimizer.step()
    for p in model.parameters():
        p.grad = None

=== reject: put back in each epoch
import torch

net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Dropout())
for epoch in range(3):
    net.eval()
    print(net(x).sum())
    net.train()
    loss = net(x).mean()
    loss.backward()
    optimizer.step()

=== reject: put back by the function that trains
import torch

drop = torch.nn.Dropout()

def train(model):
    model.train()
    model(x).mean().backward()
    optimizer.step()

for epoch in range(3):
    train(net)
    net(x).mean().backward()
    net.eval()
    print(net(x))

=== reject: statistics kept as they are, on purpose
import torch
from torchvision import models

net = models.resnet18()
net.eval()
for epoch in range(3):
    net(x).mean().backward()
    optimizer.step()

=== reject: another model is a teacher
import torch

drop = torch.nn.Dropout()
for epoch in range(3):
    teacher.eval()
    loss = (net(x) - teacher(x)).pow(2).mean()
    loss.backward()
    optimizer.step()

=== reject: no layer that cares
import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
for x, y in loader:
    criterion(net(x), y).backward()
    optimizer.step()
with torch.no_grad():
    print(net(x_test).argmax(1))

=== reject: dropout for a spread of predictions
import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 16), nn.Dropout(0.5), nn.Linear(16, 2))
for x, y in loader:
    criterion(net(x), y).backward()
    optimizer.step()
with torch.no_grad():
    samples = torch.stack([net(x_test) for _ in range(50)])
    print(samples.mean(0), samples.std(0))

=== reject: weights are written under no_grad
import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 16), nn.Dropout(0.5), nn.Linear(16, 2))
for x, y in loader:
    criterion(net(x), y).backward()
    with torch.no_grad():
        for p in net.parameters():
            p -= 0.1 * p.grad

=== reject: stepped by a function that is given it
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

=== reject: one cycle that is not told of epochs
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


def _missing(source: Source, place: ast.AST, operation: str, edit: Edit) -> Fault:
    """The explanation for an operation that is missing at a place, with the edit that adds it."""
    called = operation.rpartition(".")[2].removesuffix("()")
    effect = "the model keeps its mode" if called in MODES else "this loop trains nothing"
    return Fault.with_repair(source.site(place), f"without {operation} {effect}", f"Call {operation}", edit)


def _not_called(source: Source) -> Iterator[Fault]:
    """Statements that name an operation of a training and do not call it."""
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
    """Whether an optimizer is given the weights of what is written so."""
    return any(
        ast.unparse(call.func) == f"{text}.parameters"
        for call in training_loop.attribute_calls(source.tree, "parameters")
    )


def _no_step(source: Source) -> Iterator[Fault]:
    """Optimizers that are cleared beside a backward pass, and that nothing steps or is given."""
    for clearing in training_loop.operations_named(source, "zero_grad"):
        optimizer = training_loop.operated_on(clearing)
        block = training_loop.block_of(source, clearing.statement)
        passes = [each for each in training_loop.operations_named(source, "backward") if each.statement in block]
        if (
            not passes
            or not training_loop.loops_around(source, clearing.statement)
            or not training_loop.is_optimizer(source, optimizer)
        ):
            continue
        cleared = [each for each in training_loop.operations_named(source, "zero_grad") if each.statement in block]
        if len(cleared) == 1 and isinstance(optimizer, ast.Name) and not _does_more(source, optimizer):
            text = f"{clearing.on}.step()"
            yield _missing(source, passes[-1].call, text, InsertAfter(source.site(passes[-1].statement), text))


def _does_more(source: Source, optimizer: ast.Name) -> bool:
    """Whether anything is done with an optimizer that may step it."""
    for node in _reads(source, optimizer.id):
        above = source.parent(node)
        is_kept = isinstance(above, ast.Attribute) and above.attr in KEPT_BY
        of_schedule = isinstance(above, ast.Call) and (source.qualified(above.func) or "").startswith(
            "torch.optim.lr_scheduler."
        )
        if not is_kept and not of_schedule:
            return True
    return False


def _reads(source: Source, name: str) -> list[ast.Name]:
    """The places where a name is read, or deleted."""
    return [node for node in source.nodes(ast.Name) if node.id == name and not isinstance(node.ctx, ast.Store)]


def _no_backward(source: Source) -> Iterator[Fault]:
    """Steps beside a clearing, in a program that computes no gradients, with a loss before them."""
    if not {"backward", "closure", "minimize"}.isdisjoint(source.words):
        return
    for step in training_loop.operations_named(source, "step"):
        block = training_loop.block_of(source, step.statement)
        cleared = any(
            each.on == step.on and each.statement in block
            for each in training_loop.operations_named(source, "zero_grad")
        )
        if not cleared or step.call.args or not training_loop.is_optimizer(source, training_loop.operated_on(step)):
            continue
        losses = [name for s in block[: block.index(step.statement)] if (name := _loss(source, s))]
        if losses and training_loop.loops_around(source, step.statement):
            text = f"{losses[-1]}.backward()"
            yield _missing(source, step.call, text, InsertBefore(source.site(step.statement), text))


def _never_used(source: Source) -> Iterator[Fault]:
    """Optimizers that are made and not looked at again, in a program that computes no gradients, but a loss in a loop."""
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
    """The name that a statement gives a loss: what a criterion of torch computes, or what is called a loss."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return ""
    target, value = statement.targets[0], statement.value
    if not isinstance(target, ast.Name) or not isinstance(value, ast.Call):
        return ""
    made = source.constructor(value.func)
    name = (source.qualified(made.func) if made is not None else source.qualified(value.func)) or ""
    is_loss = name.startswith("torch.nn.") and ("loss" in name.lower() or "entropy" in name)
    return target.id if is_loss or target.id in ("loss", "total_loss", "train_loss") else ""


def _uncleared(source: Source, program: frozenset[str]) -> Iterator[Fault]:
    """Steps in a loop whose gradients are cleared nowhere, or only outside of this loop."""
    clearings = training_loop.operations_named(source, "zero_grad")
    if not CLEARED_OTHERWISE.isdisjoint(program) or _written_over(source, "grad", "data"):
        return
    if len(clearings) != len(training_loop.attribute_calls(source.tree, "zero_grad")):
        return
    for step in training_loop.operations_named(source, "step"):
        loops = training_loop.loops_around(source, step.statement)
        optimizer = training_loop.operated_on(step)
        known = training_loop.is_optimizer(source, optimizer)
        if step.call.args or step.call.keywords or not loops or not (known or _is_given(source, optimizer)):
            continue
        block = training_loop.block_of(source, step.statement)
        before = block[: block.index(step.statement)]
        backwards = [each for each in training_loop.operations_named(source, "backward") if each.statement in before]
        if not backwards or source.parent(step.statement) is not loops[0] or _once(loops[0]):
            continue
        own = [each for each in clearings if each.on == step.on and known]
        never = not clearings and "zero_grad" not in program
        if not never and len(own) != 1:
            continue
        code = f"{step.on}.zero_grad()"
        edits: tuple[Edit, ...] = (InsertBefore(source.site(_first_since(backwards, before).statement), code),)
        why, title = "nothing clears them", f"Clear the gradients before each backward pass: {code}"
        if not never:
            outside = own[0].statement
            if (
                any(not training_loop.is_optimizer(source, training_loop.operated_on(each)) for each in clearings)
                or function_around(source, outside) is not function_around(source, step.statement)
                or loops[0] in training_loop.loops_around(source, outside)
                or source.parent(outside) not in (*loops[1:], source.parent(loops[-1]))
                or outside.lineno >= loops[0].lineno
            ):
                continue
            why, title = (
                "they are cleared only outside this loop",
                "Clear the gradients in the loop that steps the optimizer",
            )
            edits = (Delete(source.site(outside)), *edits)
        what = f"{step.on}.step() follows the gradients of all earlier batches: {why}"
        yield Fault.with_repair(source.site(step.call), what, title, *edits)


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


def _first_since(backwards: list[training_loop.LoopOperation], before: list[ast.stmt]) -> training_loop.LoopOperation:
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


def _written_over(source: Source, *attributes: str) -> bool:
    """Whether the program gives gradients, or data, a value of its own."""
    return any(
        isinstance(target, ast.Attribute) and target.attr in attributes
        for node in source.nodes(ast.Assign)
        for target in node.targets
    )


def _updated_by_hand(source: Source) -> Iterator[Fault]:
    """Weights that a loop changes in place by their gradients, which nothing in the program clears."""
    if not CLEARED_OTHERWISE.isdisjoint(source.words) or "zero_grad" in source.words or _written_over(source, "grad"):
        return
    for backward in training_loop.operations_named(source, "backward"):
        loops = training_loop.loops_around(source, backward.statement)
        if not loops:
            continue
        found: dict[str, ast.stmt] = {}
        for statement in source.nodes(ast.Expr) + source.nodes(ast.AugAssign):
            weight = _changed_by_its_gradient(statement) if statement.lineno > backward.statement.lineno else ""
            if (
                weight
                and loops[0] in training_loop.loops_around(source, statement)[:1]
                and not _is_made_in(loops, weight)
            ):
                found[weight] = statement
        last = max(found.values(), key=lambda one: one.lineno, default=None)
        if last is None:
            continue
        weights = [name for name, one in found.items() if one in training_loop.block_of(source, last)]
        updated = source.site(found[weights[-1]])
        clearing = InsertAfter(updated, "\n".join(f"{weight}.grad.zero_()" for weight in weights))
        what = (
            f"the update of {' and '.join(weights)} follows the gradients of all earlier batches: nothing clears them"
        )
        yield Fault.with_repair(updated, what, "Clear the gradients after each update", clearing)


def _changed_by_its_gradient(statement: ast.stmt) -> str:
    """The weight that a statement such as `w.data -= rate * w.grad` changes in place; empty for all other statements."""
    if isinstance(statement, ast.AugAssign):
        changed: ast.AST = statement.target
        by: ast.AST = statement.value
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in IN_PLACE or not call.args:
            return ""
        changed, by = call.func.value, ast.Tuple([*call.args, *(k.value for k in call.keywords)], ast.Load())
    else:
        return ""
    if isinstance(changed, ast.Attribute) and changed.attr == "data":
        changed = changed.value
    weight = ast.unparse(changed)
    read = {ast.unparse(n.value) for n in ast.walk(by) if isinstance(n, ast.Attribute) and n.attr == "grad"}
    return weight if read == {weight} else ""


def _is_made_in(loops: Sequence[ast.AST], weight: str) -> bool:
    """Whether the loops assign the weight, or go through it."""
    made = {ast.unparse(target) for node in within(loops[-1], ast.Assign) for target in node.targets}
    augmented = {n.target.id for n in within(loops[-1], ast.AugAssign) if isinstance(n.target, ast.Name)}
    return weight in made or weight.partition(".")[0] in trees.stored_names(loops[-1]) - augmented


def _left_in_evaluation(source: Source) -> Iterator[Fault]:
    """Loops over epochs that train a model and put it in evaluation mode behind that, and do not put it back."""
    loops: list[ast.For | ast.While] = [*source.nodes(ast.For), *source.nodes(ast.While)]
    for loop in loops:
        calls = within(loop, ast.Call)
        trained = [
            call
            for call in training_loop.attribute_calls(loop, "backward")
            if loop in training_loop.loops_around(source, call)
        ]
        if not trained or training_loop.loops_around(source, loop) or any(_puts_back(source, call) for call in calls):
            continue
        last = max(each.lineno for each in trained)
        for call in calls:
            model = _evaluated(source, call)
            later = call.lineno > last and training_loop.loops_around(source, call)[:1] == [loop]
            if later and any(ast.unparse(other.func) == model and other.lineno <= last for other in calls):
                what = f"`{model}` stays in evaluation mode after the first epoch, as this loop does not call train()"
                edit = InsertBefore(source.site(loop.body[0]), f"{model}.train()")
                yield Fault.with_repair(source.site(call), what, "Put the model in training mode in each epoch", edit)
                break


def _evaluated(source: Source, call: ast.Call) -> str | None:
    """The model that a call puts in evaluation mode, itself or in a function of the program that it is given to."""
    if isinstance(call.func, ast.Attribute) and call.func.attr == "eval" and not call.args:
        return ast.unparse(call.func.value)
    definition = source.definition(call.func)
    if not isinstance(definition, ast.FunctionDef) or not isinstance(call.func, ast.Name):
        return None
    parameters = [each.arg for each in definition.args.args]
    for put in training_loop.attribute_calls(definition, "eval"):
        name = ast.unparse(cast(ast.Attribute, put.func).value)
        given = dict(zip(parameters, call.args, strict=False)).get(name)
        if isinstance(given, (ast.Name, ast.Attribute)):
            return ast.unparse(given)
        if name not in parameters and name.isidentifier():
            return name if name not in trees.stored_names(definition) else None
    return None


def _puts_back(source: Source, call: ast.Call) -> bool:
    """Whether a call may put a model in training mode: `train()`, or what the program does in a function or method."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("train", "training", "set_mode"):
        return True
    definition = source.definition(call.func)
    if definition is None and isinstance(call.func, ast.Attribute):
        own = [n for n in source.nodes(ast.FunctionDef) if n.name == call.func.attr]
        return any(training_loop.attribute_calls(each, "train") for each in own)
    return definition is not None and bool(training_loop.attribute_calls(definition, "train"))


def _measured_in_training(source: Source) -> Iterator[Fault]:
    """Models that are trained and then measured under `torch.no_grad()`, in a program that never changes a mode."""
    trained = training_loop.attribute_calls(source.tree, "backward")
    layers = next(source.calls(*(f"torch.nn.{name}" for name in sorted(LAYERS))), None)
    changed = training_loop.attribute_calls(source.tree, "eval", "train", "training", "functional_call")
    if not trained or layers is None or changed or any(node.attr == "training" for node in source.nodes(ast.Attribute)):
        return
    seen: set[str] = set()
    for block in source.nodes(ast.With):
        made = block.items[0].context_expr
        name = source.qualified(made.func) if isinstance(made, ast.Call) else None
        if name not in ("torch.no_grad", "torch.inference_mode") or function_around(source, block) is not None:
            continue
        if not training_loop.attribute_calls(block, *MEASURED) or block.lineno < min(call.lineno for call in trained):
            continue
        for model in (call.func for call in within(block, ast.Call)):
            if not isinstance(model, ast.Name) or model.id in seen or not _is_model(source, model):
                continue
            epochs = [
                loop
                for loop in training_loop.loops_around(source, block)
                if any(loop in training_loop.loops_around(source, t) for t in trained)
            ]
            if len(epochs) > 1 or any(isinstance(loop, ast.AsyncFor) for loop in epochs):
                return
            seen.add(model.id)
            edits = [InsertBefore(source.site(loop.body[0]), f"{model.id}.train()") for loop in epochs]
            edits.append(InsertBefore(source.site(block), f"{model.id}.eval()"))
            what = f"`{model.id}` is evaluated in training mode, with dropout and batch statistics"
            yield Fault.with_repair(
                source.site(made), what, "Evaluate the model in evaluation mode", *edits, prior=0.85
            )


def _is_model(source: Source, name: ast.Name) -> bool:
    """Whether a name holds a model: a container of torch or a class of the program with layers."""
    made = source.constructor(name)
    if made is None:
        return False
    if source.qualified(made.func) == "torch.nn.Sequential":
        return True
    owner = source.definition(made.func)
    return isinstance(owner, ast.ClassDef) and any("Module" in ast.unparse(base) for base in owner.bases)


def _idle_schedules(source: Source) -> Iterator[Fault]:
    """Schedules whose name is read nowhere, and whose optimizer is stepped in a loop over batches within one over epochs."""
    for made in source.calls(*SCHEDULES):
        holder = source.parent(made)
        if not isinstance(holder, ast.Assign) or len(holder.targets) != 1 or holder.value is not made or not made.args:
            continue
        target = holder.targets[0]
        if not isinstance(target, ast.Name) or _reads(source, target.id):
            continue
        if any(target.id in module.words for module in source.beside):
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
            what = f"`{target.id}` is never stepped, so that the learning rate does not change"
            edit = InsertAfter(source.site(after), f"{target.id}.step()")
            yield Fault.with_repair(
                source.site(made), what, f"Step the scheduler once in each {turn}", edit, prior=0.85
            )


def _counts_as_loops(source: Source, made: ast.Call, batches: ast.AST, epochs: ast.For) -> bool:
    """Whether a schedule of one cycle, which fails when it is stepped once more, is told of the epochs and batches of its loops."""
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
    """Whether every turn of a loop comes to the end of its body."""
    waiting: list[ast.stmt] = list(epochs.body)
    while waiting:
        statement = waiting.pop()
        if isinstance(statement, (ast.Continue, ast.Return)):
            return False
        if not isinstance(statement, (ast.For, ast.While)):
            waiting.extend(node for node in ast.walk(statement) if isinstance(node, ast.stmt) and node is not statement)
    return not isinstance(epochs.body[-1], (ast.Break, ast.Return))
