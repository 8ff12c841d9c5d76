"""A network is evaluated, and nothing in sight puts it in evaluation mode."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Family,
    Fault,
    FixPattern,
    InsertBefore,
    Nature,
    ReadTemplate,
    Source,
    Subject,
    evaluations,
    structure,
    training_loop,
    within,
)


class EvaluatedWithoutEval(ReadTemplate):
    """A network is evaluated without `model.eval()`: dropout goes on to drop, and batch normalization uses and updates batch statistics.

    `torch.no_grad()` does not change the mode. Where the layers of the network are not seen, this is a risk: those without dropout
    and batch normalization compute the same in both modes. Networks of which all layers are seen and none cares are left alone, as
    are those that a caller, a helper or a framework may have put in evaluation mode.

    Fix safety: unsafe. The network is evaluated in another mode; a loop that trains it further on has to call `train()`.

    References: torch.nn.Module.eval; https://docs.pytorch.org/docs/stable/notes/autograd.html#evaluation-mode-nn-module-eval.
    """

    code = "DNF746"
    name = "evaluated-without-eval"
    message = "`{network}` is evaluated {mode}: dropout and batch normalization go on as in training"
    confidence = 0.8
    family = Family.TRAINING
    fix_pattern = FixPattern.API_CONTRACT
    nature = Nature.RISK
    silent = 2
    default = False

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if "torch" not in source.frameworks:
            return
        yield from _phases(source)
        for each in evaluations.evaluations(source):
            if each.mode is structure.Kind.EVAL or (each.mode is None and evaluations.mode_is_open(source, each)):
                continue
            cares = evaluations.cares_for_mode(source, each.calls[0].func)
            if cares is False or (cares is None and not structure.is_fragment(source)):
                continue  # of a network from another file, nothing is known
            place = _outermost(source, each)
            mode = "in training mode" if each.mode is structure.Kind.TRAIN else "without eval()"
            said = {"network": each.network, "mode": mode}
            edit = InsertBefore(source.site(place), f"{each.network}.eval()")
            yield Fault.with_repair(
                source.site(each.calls[0]), said, f"Put {each.network} in evaluation mode", edit, prior=0.8
            )

    programs = """
=== example: a function that measures
def accuracy(model, loader):
    right = 0
+     model.eval()
    with torch.no_grad():
        for x, y in loader:
            right += (model(x).argmax(1) == y).sum().item()
    return right

=== example: put in training mode for it
import torch
from torchvision.models import resnet18

model = resnet18()

def validate(net, batches, criterion):
    net.train()
    total = 0.0
+     net.eval()
    with torch.no_grad():
        for x, y in batches:
            total += criterion(net(x), y).item()
    return total

=== example: phases of one loop
import torch

for epoch in range(10):
    for phase in ["train", "val"]:
+         model.train(phase == "train")
        for x, y in loaders[phase]:
            loss = criterion(model(x), y)
            if phase == "train":
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

=== reject: phases, each in its mode
import torch

for epoch in range(10):
    for phase in ["train", "val"]:
        if phase == "train":
            model.train()
        else:
            model.eval()
        for x, y in loaders[phase]:
            loss = criterion(model(x), y)
            if phase == "train":
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

=== reject: the caller does it
import torch

def accuracy(model, loader):
    with torch.no_grad():
        return sum((model(x).argmax(1) == y).sum().item() for x, y in loader)

net.eval()
print(accuracy(net, test_loader))

=== reject: no layer that cares
import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))

def accuracy(loader):
    with torch.no_grad():
        return sum((net(x).argmax(1) == y).sum().item() for x, y in loader)

=== reject: a teacher is asked while the network is trained
import torch

for x, y in loader:
    with torch.no_grad():
        wanted = teacher(x)
    loss = (net(x) - wanted).pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def _phases(source: Source) -> Iterator[Fault]:
    """Loops over the phases of an epoch that never change the mode."""
    for loop in source.nodes(ast.For):
        phases = [each.value for each in within(loop.iter, ast.Constant)]
        trained = [phase for phase in phases if isinstance(phase, str) and phase.lower().startswith("train")]
        changed = any(
            isinstance(node.func, ast.Attribute) and node.func.attr in ("train", "eval")
            for node in within(loop, ast.Call)
        )
        calls = structure.forward_calls(source, loop)
        if len(phases) < 2 or len(trained) != 1 or changed or not calls or not isinstance(loop.target, ast.Name):
            continue
        if (
            structure.has(source, loop, structure.Kind.BACKWARD)
            and evaluations.cares_for_mode(source, calls[0].func) is not False
        ):
            network = ast.unparse(calls[0].func)
            edit = InsertBefore(source.site(loop.body[0]), f'{network}.train({loop.target.id} == "{trained[0]}")')
            said = {"network": network, "mode": "in training mode in each phase"}
            yield Fault.with_repair(source.site(calls[0]), said, "Put it in the mode of each phase", edit, prior=0.8)


def _outermost(source: Source, each: evaluations.Evaluation) -> ast.stmt:
    """The statement of the function, or of the loop over epochs, that the evaluation is in."""
    statement = source.statement_of(each.calls[0])
    above = source.parent(statement)
    while above is not None and above is not each.function and not isinstance(above, ast.Module):
        trains = isinstance(above, training_loop.LOOPS) and structure.has(source, above, structure.Kind.BACKWARD)
        if trains or not isinstance(above, ast.stmt):
            break
        statement, above = above, source.parent(above)
    return statement
