"""A model is put in evaluation mode in every epoch, and never put back before it is trained on."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from dnnfix.api import (
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
    words,
)

DIFFERENT = words("""Dropout Dropout1d Dropout2d Dropout3d AlphaDropout BatchNorm1d BatchNorm2d BatchNorm3d SyncBatchNorm
    LazyBatchNorm1d LazyBatchNorm2d dropout resnet18 resnet34 resnet50 vgg16 densenet121 mobilenet_v2 inception_v3
    efficientnet_b0 alexnet TransformerEncoderLayer Transformer""")
"""Words of programs whose models compute another thing in evaluation than in training."""


@dataclass(frozen=True, slots=True)
class LeftInEval:
    """The loop over epochs, the model, and what puts it in evaluation mode there."""

    loop: ast.For | ast.While
    model: str
    put: ast.Call


class TrainingLeftInEvalMode(FaultTemplate[LeftInEval]):
    """`model.eval()` for the validation of each epoch, with `model.train()` never, or once before the first epoch.

    From the second epoch on, dropout drops nothing while the model is trained, and batch normalization uses the
    statistics of the first epoch.

    Reported where a loop both trains and puts its model in evaluation mode, itself or by a function that it calls,
    nothing in the loop puts it back, and the program has dropout, batch normalization or a ready model.

    Fix safety: unsafe. Dropout and batch normalization take part in the whole training from now on.

    References: torch.nn.Module.eval; https://docs.pytorch.org/docs/stable/notes/autograd.html#evaluation-mode-nn-module-eval.
    """

    code = "DNF705"
    name = "training-left-in-eval-mode"
    family = Family.TRAINING
    fix_pattern = FixPattern.API_CONTRACT
    message = "`{model}` stays in evaluation mode after the first epoch: nothing in this loop puts it back"
    triggers = ("eval",)
    declined = "the loop has no model by that name"

    def faults(self, subject: Subject) -> Faults[LeftInEval]:
        source = subject.source
        if "torch" not in source.frameworks or DIFFERENT.isdisjoint(subject.words) or source.beside:
            return
        for found in _left(source):
            yield source.site(found.put), found

    def report(self, site: Site, fault: LeftInEval) -> Finding:
        return self.finding(site, symptom=Symptom.VIOLATION, confidence=0.9, model=fault.model)

    def repairs(self, subject: Subject, fault: LeftInEval) -> Repairs:
        first = subject.source.site(fault.loop.body[0])
        yield "Put the model in training mode in each epoch", (InsertBefore(first, f"{fault.model}.train()"),), 0.9

    examples = (
        Example(
            "put back never",
            """\
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
""",
        ),
        Example(
            "a function that measures",
            """\
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
""",
        ),
    )
    rejects = (
        Reject(
            "put back in each epoch",
            """\
import torch

net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Dropout())
for epoch in range(3):
    net.eval()
    print(net(x).sum())
    net.train()
    loss = net(x).mean()
    loss.backward()
    optimizer.step()
""",
        ),
        Reject(
            "put back by the function that trains",
            """\
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
""",
        ),
        Reject(
            "statistics kept as they are, on purpose",
            """\
import torch
from torchvision import models

net = models.resnet18()
net.eval()
for epoch in range(3):
    net(x).mean().backward()
    optimizer.step()
""",
        ),
        Reject(
            "another model is a teacher",
            """\
import torch

drop = torch.nn.Dropout()
for epoch in range(3):
    teacher.eval()
    loss = (net(x) - teacher(x)).pow(2).mean()
    loss.backward()
    optimizer.step()
""",
        ),
    )


def _left(source: Source) -> Iterator[LeftInEval]:
    loops: list[ast.For | ast.While] = [*source.nodes(ast.For), *source.nodes(ast.While)]
    for loop in loops:
        trained = [call for call in attribute_calls(loop, "backward") if loop in loops_around(source, call)]
        if (
            not trained
            or loops_around(source, loop)
            or any(_puts_back(source, call) for call in within(loop, ast.Call))
        ):
            continue
        for call in within(loop, ast.Call):
            model = _evaluated(source, call)
            if model is not None and _comes_later(source, loop, call, trained) and _is_trained(trained, loop, model):
                yield LeftInEval(loop, model, call)
                break


def _comes_later(source: Source, loop: ast.For | ast.While, call: ast.Call, trained: list[ast.Call]) -> bool:
    """Whether the mode is changed behind the training of the turn, in the loop's own body or under a condition."""
    return call.lineno > max(each.lineno for each in trained) and loops_around(source, call)[:1] == [loop]


def _evaluated(source: Source, call: ast.Call) -> str | None:
    """The model that a call puts in evaluation mode, itself or in a function of the program that it is given to."""
    if isinstance(call.func, ast.Attribute) and call.func.attr == "eval" and not call.args:
        return ast.unparse(call.func.value)
    definition = source.definition(call.func)
    if not isinstance(definition, ast.FunctionDef) or not isinstance(call.func, ast.Name):
        return None
    parameters = [each.arg for each in definition.args.args]
    for put in attribute_calls(definition, "eval"):
        name = ast.unparse(put.func.value)  # type: ignore[attr-defined]
        given = dict(zip(parameters, call.args, strict=False)).get(name)
        if given is not None and isinstance(given, (ast.Name, ast.Attribute)):
            return ast.unparse(given)
        if name not in parameters and isinstance(source.tree, ast.Module) and name.isidentifier():
            return name if not any(node.id == name for node in _stored(definition)) else None
    return None


def _stored(function: ast.FunctionDef) -> list[ast.Name]:
    return [node for node in within(function, ast.Name) if isinstance(node.ctx, ast.Store)]


def _puts_back(source: Source, call: ast.Call) -> bool:
    """Whether a call may put a model in training mode: `train()`, or what the program does in a function or method."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("train", "training", "set_mode"):
        return True
    definition = source.definition(call.func)
    if definition is None and isinstance(call.func, ast.Attribute):
        own = [n for n in source.nodes(ast.FunctionDef) if n.name == call.func.attr]
        return any(attribute_calls(each, "train") for each in own)
    return definition is not None and bool(attribute_calls(definition, "train"))


def _is_trained(trained: list[ast.Call], loop: ast.For | ast.While, model: str) -> bool:
    """Whether the model is called in the loop before its backward pass."""
    last = max(call.lineno for call in trained)
    return any(ast.unparse(call.func) == model and call.lineno <= last for call in within(loop, ast.Call))
